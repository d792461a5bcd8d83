package convert

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// unscaledOracle is AppendUnscaled by math/big.
func unscaledOracle(b []byte, scale int) string {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if scale <= 0 {
		return v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-scale)), nil)).String()
	}
	digits := new(big.Int).Abs(v).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	text := digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	if v.Sign() < 0 {
		text = "-" + text
	}
	return text
}

func TestUnscaledNumbersAreWhatBigIntSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.Uint32())
			if r.IntN(3) == 0 {
				b[i] = []byte{0, 0xff, 0x80, 0x7f}[r.IntN(4)]
			}
		}
		scale := r.IntN(50) - 10
		got, fault := AppendUnscaled([]byte("x"), b, scale)
		if want := "x" + unscaledOracle(b, scale); fault != OK || string(got) != want {
			t.Fatalf("%x with scale %d is %s (%v), want %s", b, scale, got, fault, want)
		}
	}
}

func TestUnscaledNumbersThatNoColumnTakesAreRefused(t *testing.T) {
	long := make([]byte, maxUnscaled+1)
	long[0] = 1
	for name, fault := range map[string]Fault{
		"too long":   second(AppendUnscaled(nil, long, 0)),
		"scale":      second(AppendUnscaled(nil, []byte{1}, 1<<31-1)),
		"small part": second(AppendUnscaled(nil, []byte{1}, -1<<31)),
	} {
		if fault != Overflow {
			t.Errorf("%s: %v", name, fault)
		}
	}
	if got, fault := AppendUnscaled(nil, long[1:], 2); fault != OK || string(got) != "0.00" {
		t.Errorf("zeros are %s, %v", got, fault)
	}
}

func second(_ []byte, f Fault) Fault { return f }

func TestUnscaledDoesNotAllocate(t *testing.T) {
	dst, b := make([]byte, 0, 100), []byte{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	if n := testing.AllocsPerRun(100, func() { _, _ = AppendUnscaled(dst, b, 4) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
