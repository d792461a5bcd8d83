package convert

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestBigEndianIsTheInverseOfUnscaled(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 20_000 {
		n := new(big.Int).SetUint64(r.Uint64() >> r.IntN(64))
		if i%2 == 0 {
			n.Mul(n, new(big.Int).SetUint64(r.Uint64()))
		}
		if i%3 == 0 {
			n.SetBit(new(big.Int), r.IntN(100), 1) // powers of two are where the length changes
		}
		if r.IntN(2) == 0 {
			n.Neg(n)
		}
		scale := r.IntN(10)
		text := unscaledOf(n, scale)
		b, fault := AppendBigEndian(nil, text, scale)
		if fault != OK {
			t.Fatalf("%s: %v", text, fault)
		}
		back, fault := AppendUnscaled(nil, b, scale)
		if fault != OK || string(back) != string(text) {
			t.Fatalf("%s is %x, back %s, %v", text, b, back, fault)
		}
		if len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
			t.Fatalf("%s is %x, which is longer than needed", text, b)
		}
	}
	if _, fault := AppendBigEndian(nil, []byte("x"), 2); fault != Syntax {
		t.Error(fault)
	}
	if _, fault := AppendBigEndian(nil, []byte("1e64"), 2); fault != Overflow {
		t.Error(fault)
	}
}

// unscaledOf is n over 10^scale as text.
func unscaledOf(n *big.Int, scale int) []byte {
	text := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
	return []byte(text)
}
