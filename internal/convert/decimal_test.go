package convert

import (
	"math/rand"
	"strings"
	"testing"
)

func TestAppendDecimal(t *testing.T) {
	for _, c := range []struct {
		text             string
		precision, scale int
		want             string
		fault            Fault
	}{
		{"1.5", 10, 2, "1.50", OK}, {"1.50", 10, 1, "1.5", OK}, {"1", 1, 0, "1", OK}, {"-1", 1, 0, "-1", OK}, {"0", 1, 1, "0.0", OK},
		{"0.5", 1, 1, "0.5", OK}, {"0.95", 1, 1, "", Overflow}, {"0.94", 1, 1, "0.9", OK}, {"1", 1, 1, "", Overflow}, {"0.05", 1, 1, "0.1", OK}, {"0.04", 1, 1, "0.0", OK},
		{"-0.04", 1, 1, "0.0", OK}, {"-0", 3, 0, "0", OK}, {"9.5", 1, 0, "", Overflow}, {"9.4", 1, 0, "9", OK}, {"9.5", 2, 0, "10", OK}, {"99.995", 5, 2, "100.00", OK},
		{"99.995", 4, 2, "", Overflow}, {"-2.5", 5, 0, "-3", OK}, {"1e2", 3, 0, "100", OK}, {"1e3", 3, 0, "", Overflow}, {"1e-2", 5, 2, "0.01", OK}, {"1e-3", 5, 2, "0.00", OK},
		{"5e-3", 5, 2, "0.01", OK}, {"000123.4500", 6, 2, "123.45", OK}, {"1e999999999999999999999", 65, 0, "", Overflow}, {"1e-99999999999999999999", 65, 30, "0.000000000000000000000000000000", OK},
		{"0e999", 1, 0, "0", OK}, {"abc", 5, 2, "", Syntax}, {"", 5, 2, "", Syntax}, {"1.2.3", 5, 2, "", Syntax},
		{strings.Repeat("9", 65), 65, 0, strings.Repeat("9", 65), OK}, {strings.Repeat("9", 65) + ".5", 65, 0, "", Overflow},
	} {
		got, fault := AppendDecimal([]byte("x"), []byte(c.text), c.precision, c.scale)
		if string(got) != "x"+c.want || fault != c.fault {
			t.Errorf("%q as (%d,%d): got %s, %v; want %s, %v", c.text, c.precision, c.scale, got[1:], fault, c.want, c.fault)
		}
	}
}

// checkDecimal compares with big.Rat, rounded half away from zero.
func checkDecimal(t *testing.T, text string, precision, scale int) {
	t.Helper()
	precision = max(precision, scale)
	got, fault := AppendDecimal(nil, []byte(text), precision, scale)
	value, ok := ratOf(text)
	if !ok {
		if fault == OK {
			t.Fatalf("%q became %s", text, got)
		}
		return
	}
	want := value.FloatString(scale) // rounds half away from zero
	if strings.Trim(want, "-0.") == "" {
		want = strings.TrimPrefix(want, "-")
	}
	digits := len(strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(want), "0"))
	switch {
	case digits > precision && fault != Overflow:
		t.Fatalf("%q as (%d,%d) became %s, %v", text, precision, scale, got, fault)
	case digits <= precision && (fault != OK || string(got) != want):
		t.Fatalf("%q as (%d,%d) became %s, %v; want %s", text, precision, scale, got, fault, want)
	}
	if fault != OK {
		return
	}
	// The canonical text is a fixed point.
	if again, fault := AppendDecimal(nil, got, precision, scale); fault != OK || string(again) != string(got) {
		t.Fatalf("%s became %s, %v", got, again, fault)
	}
}

func TestDecimalsAreThoseOfBigRat(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 50_000 {
		scale := r.Intn(8)
		checkDecimal(t, randomNumber(r), 1+r.Intn(40), scale)
	}
}

func TestCompareDecimal(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	texts := []string{"0", "-0", "0.0", "1", "1.0", "10", "1e1", "-1", "-10", "0.1", "-0.1", "0.10", "9223372036854775807", "9223372036854775808"}
	for len(texts) < 300 {
		if s := randomNumber(r); isNumber(s) {
			texts = append(texts, s)
		}
	}
	for _, a := range texts {
		for _, b := range texts {
			x, _ := ratOf(a)
			y, _ := ratOf(b)
			if got, want := CompareDecimal([]byte(a), []byte(b)), x.Cmp(y); got != want {
				t.Fatalf("%s against %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func isNumber(s string) bool {
	_, ok := ratOf(s)
	return ok
}

func BenchmarkAppendDecimal(b *testing.B) {
	b.ReportAllocs()
	buffer := make([]byte, 0, 80)
	in := []byte("1234567.895")
	for b.Loop() {
		if _, fault := AppendDecimal(buffer, in, 20, 2); fault != OK {
			b.Fatal(fault)
		}
	}
}
