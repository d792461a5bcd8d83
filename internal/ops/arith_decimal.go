package ops

import (
	"math/big"
	"math/bits"
	"strconv"

	"millrace/internal/column"
)

// mostScale is the most fractional digits of MySQL's DECIMAL.
const mostScale = 30

// decimalResult is the type of l op r; ok is false for a product that would have to be rounded, which is the engine's.
func decimalResult(op ArithOp, l, r column.Type) (_ column.Type, ok bool) {
	scale, precision := max(l.Scale, r.Scale), int(max(l.Precision-l.Scale, r.Precision-r.Scale))+1
	if precision += int(scale); op == Mul {
		scale, precision = l.Scale+r.Scale, int(l.Precision)+int(r.Precision)
	}
	return column.Type{Kind: column.Decimal, Precision: uint8(min(precision, mostDigits)), Scale: scale}, scale <= mostScale
}

// decimals computes a op b for the given rows. The result has the scale of the type, whatever the digits are; more than a DECIMAL has are out of
// range.
func (e *arithEval) decimals(a, b *column.Vector, n int, rows []int32) error {
	out := &e.out
	out.Beg, out.End, out.Data = room(out.Beg, n), room(out.End, n), out.Data[:0]
	scale := int(e.typ.Scale)
	left, right := scale, scale // what both sides are brought to
	if e.op == Mul {
		left, right = int(a.Type.Scale), int(b.Type.Scale)
	}
	for _, i := range rows {
		if out.Beg[i] = uint32(len(out.Data)); out.IsNull(int(i)) {
			out.End[i] = out.Beg[i]
			continue
		}
		x, y := a.View(int(i)), b.View(int(i))
		if z, ok := smallArith(e.op, x, y, left, right); ok {
			out.Data = appendScaledInt(out.Data, z, scale)
		} else if !e.bigArith(x, y, left, right, scale) {
			return e.outOfRange("DECIMAL", int(i), string(x), string(y))
		}
		out.End[i] = uint32(len(out.Data))
	}
	return nil
}

// smallArith computes in 64 bits, where the digits fit.
func smallArith(op ArithOp, x, y []byte, left, right int) (int64, bool) {
	a, ok := scaledInt(x, left)
	if !ok {
		return 0, false
	}
	b, ok := scaledInt(y, right)
	if !ok {
		return 0, false
	}
	switch op {
	case Add:
		return a + b, true // of 18 digits each
	case Sub:
		return a - b, true
	}
	negative := (a < 0) != (b < 0)
	high, low := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
	if high != 0 || low >= 1<<63 {
		return 0, false
	}
	if negative {
		return -int64(low), true
	}
	return int64(low), true
}

// bigArith appends the result to the data of out, if it has no more digits than a DECIMAL.
func (e *arithEval) bigArith(x, y []byte, left, right, scale int) bool {
	a, b := scaledBig(x, left), scaledBig(y, right)
	switch e.op {
	case Add:
		a.Add(a, b)
	case Sub:
		a.Sub(a, b)
	default:
		a.Mul(a, b)
	}
	if a.CmpAbs(widest) > 0 {
		return false
	}
	e.out.Data = appendScaled(e.out.Data, a, scale)
	return true
}

// widest has as many digits as a DECIMAL.
var widest = new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(mostDigits), nil), big.NewInt(1))

// appendScaledInt writes x*10^-scale as a decimal text.
func appendScaledInt(dst []byte, x int64, scale int) []byte {
	if x < 0 {
		dst = append(dst, '-')
		x = -x
	}
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], x, 10)
	whole := len(text) - scale
	if whole <= 0 {
		dst = append(dst, '0')
	} else {
		dst = append(dst, text[:whole]...)
	}
	if scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	for range -whole {
		dst = append(dst, '0')
	}
	return append(dst, text[max(whole, 0):]...)
}
