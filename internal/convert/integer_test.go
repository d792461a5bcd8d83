package convert

import (
	"math/big"
	"math/rand"
	"strconv"
	"strings"
	"testing"
)

func TestInt64(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  int64
		fault Fault
	}{
		{"0", 0, OK}, {"-0", 0, OK}, {"+7", 7, OK}, {" \t12\n", 12, OK}, {"007", 7, OK},
		{"999999999999999999", 999999999999999999, OK},
		{"9223372036854775807", 1<<63 - 1, OK}, {"-9223372036854775808", -1 << 63, OK},
		{"9223372036854775808", 0, Overflow}, {"-9223372036854775809", 0, Overflow}, {"18446744073709551616", 0, Overflow},
		{"1" + strings.Repeat("0", 100), 0, Overflow}, {strings.Repeat("0", 100) + "1", 1, OK},
		{"1.0", 1, OK}, {"1.", 1, OK}, {"1e3", 1000, OK}, {"1E+3", 1000, OK}, {"1200e-2", 12, OK}, {"0.5e1", 5, OK}, {".5e1", 5, OK}, {"0e999999999999", 0, OK}, {"0.000", 0, OK},
		{"9.223372036854775807e18", 1<<63 - 1, OK}, {"9.223372036854775808e18", 0, Overflow},
		{"1.5", 0, Syntax}, {"1e-1", 0, Syntax}, {"1e-999999999999", 0, Syntax}, {"1e999999999999", 0, Overflow},
		{"", 0, Syntax}, {" ", 0, Syntax}, {"-", 0, Syntax}, {"+-1", 0, Syntax}, {"1 2", 0, Syntax}, {"abc", 0, Syntax}, {"0x10", 0, Syntax}, {"1_0", 0, Syntax},
		{".", 0, Syntax}, {"e5", 0, Syntax}, {"1e", 0, Syntax}, {"1e+", 0, Syntax}, {"1.2.3", 0, Syntax}, {"١", 0, Syntax},
	} {
		if got, fault := Int64([]byte(c.text)); got != c.want || fault != c.fault {
			t.Errorf("%q: got %d, %v; want %d, %v", c.text, got, fault, c.want, c.fault)
		}
	}
}

func TestUint64(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  uint64
		fault Fault
	}{
		{"0", 0, OK}, {"-0", 0, OK}, {"-0.0", 0, OK}, {"18446744073709551615", 1<<64 - 1, OK}, {"18446744073709551616", 0, Overflow},
		{"99999999999999999999", 0, Overflow}, {"-1", 0, Overflow}, {"1e19", 1e19, OK}, {"2e19", 0, Overflow}, {"x", 0, Syntax},
	} {
		if got, fault := Uint64([]byte(c.text)); got != c.want && fault == OK || fault != c.fault {
			t.Errorf("%q: got %d, %v; want %d, %v", c.text, got, fault, c.want, c.fault)
		}
	}
}

// checkInteger compares with math/big, which takes the same grammar but for the underscore, prefixes, and words.
func checkInteger(t *testing.T, text string) {
	t.Helper()
	got, fault := Int64([]byte(text))
	unsigned, unsignedFault := Uint64([]byte(text))
	want, ok := ratOf(text)
	switch {
	case !ok || !want.IsInt():
		if fault == OK || unsignedFault == OK {
			t.Fatalf("%q became %d, %d", text, got, unsigned)
		}
	case want.Num().IsInt64() && (fault != OK || got != want.Num().Int64()):
		t.Fatalf("%q became %d, %v", text, got, fault)
	case !want.Num().IsInt64() && fault != Overflow:
		t.Fatalf("%q became %d, %v", text, got, fault)
	case want.Num().IsUint64() && (unsignedFault != OK || unsigned != want.Num().Uint64()):
		t.Fatalf("%q became %d, %v", text, unsigned, unsignedFault)
	case !want.Num().IsUint64() && unsignedFault != Overflow:
		t.Fatalf("%q became %d, %v", text, unsigned, unsignedFault)
	}
}

// ratOf is the oracle for the grammar and value of numbers.
func ratOf(text string) (*big.Rat, bool) {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	for _, c := range text {
		if !strings.ContainsRune("0123456789+-.eE", c) {
			return nil, false
		}
	}
	// big.Rat would work on exponents without bound for very long.
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if n, err := strconv.Atoi(exponent); err != nil || n > 5000 || n < -5000 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

func randomNumber(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString([]string{"", "", "-", "+", " "}[r.Intn(5)])
	for range r.Intn(25) {
		b.WriteByte("0012345678999"[r.Intn(13)])
	}
	if r.Intn(2) == 0 {
		b.WriteByte('.')
		for range r.Intn(12) {
			b.WriteByte("00000123456789"[r.Intn(14)])
		}
	}
	if r.Intn(3) == 0 {
		b.WriteString([]string{"e", "E", "e-", "e+"}[r.Intn(4)])
		b.WriteString(strconv.Itoa(r.Intn(25)))
	}
	return b.String()
}

func TestIntegersAreThoseOfBigRat(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 50_000 {
		checkInteger(t, randomNumber(r))
	}
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "-9223372036854775808", "1e3", "1.50", "0.000", "1e-400", "1E400", "9.995", ".", "1_0", "0x1p4", "inf", "1.e1"} {
		f.Add(s, uint8(10), uint8(2))
	}
	f.Fuzz(func(t *testing.T, text string, precision, scale uint8) {
		if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); !ok || len(exponent) < 4 {
			checkInteger(t, text)
			checkDecimal(t, text, 1+int(precision%MaxPrecision), int(scale%(MaxScale+1)))
		}
		checkFloat(t, text)
		if _, fault := Bool([]byte(text)); fault == Overflow {
			t.Fatal("a word cannot overflow")
		}
	})
}

func BenchmarkInt64(b *testing.B) {
	for _, text := range []string{"42", "1700000000123", "9223372036854775807", "1e3"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			in := []byte(text)
			for b.Loop() {
				if _, fault := Int64(in); fault != OK {
					b.Fatal(fault)
				}
			}
		})
	}
}
