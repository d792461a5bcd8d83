package ops

import (
	"fmt"
	"math"
	"math/bits"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// ArithOp is an arithmetic operator.
type ArithOp uint8

// The operators.
const (
	Add ArithOp = iota
	Sub
	Mul
)

func (op ArithOp) String() string { return [...]string{"+", "-", "*"}[op] }

// Arith is l op r with MySQL's types: DOUBLE when one side is a DOUBLE, else DECIMAL when one is a DECIMAL, else BIGINT UNSIGNED when one is unsigned, else
// BIGINT. A result that does not fit is an error.
func Arith(op ArithOp, l, r Expr) (Expr, error) {
	e := &arith{op: op, l: l, r: r, text: fmt.Sprintf("(%v %v %v)", l, op, r)}
	refused := unsupported("'%v' of %v and %v is not computed on batches", op, l.Type(), r.Type())
	switch lk, rk := family(l), family(r); {
	case lk == asInt && rk == asInt:
		e.typ.Kind = column.Int64
	case !isNumber(lk) || !isNumber(rk):
		return nil, refused
	case lk == asFloat || rk == asFloat:
		e.typ.Kind = column.Float64
		e.l, e.r = widen(l, column.Float64), widen(r, column.Float64)
	case lk == asDecimal || rk == asDecimal:
		e.l, e.r = widen(l, column.Decimal), widen(r, column.Decimal)
		var ok bool
		if e.typ, ok = decimalResult(op, e.l.Type(), e.r.Type()); !ok {
			return nil, refused
		}
	default:
		e.typ.Kind = column.Uint64
	}
	return e, nil
}

func isNumber(d domain) bool { return d == asInt || d == asUint || d == asFloat || d == asDecimal }

type arith struct {
	op   ArithOp
	l, r Expr
	typ  column.Type
	text string
}

func (e *arith) Type() column.Type { return e.typ }
func (e *arith) Nullable() bool    { return e.l.Nullable() || e.r.Nullable() }
func (e *arith) String() string    { return e.text }

func (e *arith) operands() []Expr { return []Expr{e.l, e.r} }

func (e *arith) bind(l *lane) evaluator {
	return &arithEval{arith: e, left: l.bind(e.l), right: l.bind(e.r), lane: l}
}

type arithEval struct {
	*arith
	left, right evaluator
	lane        *lane
	out         column.Vector
	valid       []uint64
}

func (e *arithEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	a, err := e.left.eval(in, sel)
	if err != nil {
		return nil, err
	}
	b, err := e.right.eval(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = e.typ
	if out.Valid = both(e.valid, a, b, in.N); out.Valid != nil {
		e.valid = out.Valid
	}
	rows := e.lane.rows(in.N, sel)
	switch e.typ.Kind {
	case column.Decimal:
		return out, e.decimals(a, b, in.N, rows)
	case column.Uint64:
		return out, e.unsigned(a, b, in.N, rows)
	case column.Float64:
		out.Float = room(out.Float, in.N)
		if !floatArith(e.op, a.Float, b.Float, rows, out.Float) {
			for _, i := range rows {
				if x, y, z := a.Float[i], b.Float[i], out.Float[i]; math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) && !out.IsNull(int(i)) {
					return nil, e.outOfRange("DOUBLE", int(i), x, y)
				}
			}
		}
		return out, nil
	}
	out.Int = room(out.Int, in.N)
	if !intArith(e.op, a.Int, b.Int, rows, out.Int) {
		// Some row overflowed; it may be a NULL one, whose number means nothing.
		for k, i := range rows {
			if !out.IsNull(int(i)) && !intArith(e.op, a.Int, b.Int, rows[k:k+1], out.Int) {
				return nil, e.outOfRange("BIGINT", int(i), a.Int[i], b.Int[i])
			}
		}
	}
	return out, nil
}

func (e *arithEval) outOfRange(typ string, row int, x, y any) error {
	return &rowError{row, sqlerr.New(sqlerr.OutOfRange, "%s value is out of range in '%v'", typ, e).WithDetail("the operands are %v and %v", x, y)}
}

// unsigned computes integers of which one side at least is unsigned; a negative result is out of range as well.
func (e *arithEval) unsigned(a, b *column.Vector, n int, rows []int32) error {
	out := &e.out
	out.Int = room(out.Int, n)
	signedLeft, signedRight := family(e.l) == asInt, family(e.r) == asInt
	for _, i := range rows {
		if out.IsNull(int(i)) {
			continue
		}
		x, y := sizeOf(a.Int[i], signedLeft), sizeOf(b.Int[i], signedRight)
		z, ok := x.apply(e.op, y)
		if !ok || z.negative {
			return e.outOfRange("BIGINT UNSIGNED", int(i), x, y)
		}
		out.Int[i] = int64(z.size)
	}
	return nil
}

// size is an integer by its sign and size. Zero is not negative.
type size struct {
	negative bool
	size     uint64
}

func sizeOf(x int64, signed bool) size {
	if signed && x < 0 {
		return size{true, -uint64(x)}
	}
	return size{false, uint64(x)}
}

func (x size) String() string {
	if x.negative {
		return fmt.Sprintf("-%d", x.size)
	}
	return fmt.Sprint(x.size)
}

// apply is x op y, and whether its size has 64 bits.
func (x size) apply(op ArithOp, y size) (size, bool) {
	if op == Mul {
		high, low := bits.Mul64(x.size, y.size)
		return size{x.negative != y.negative && low != 0, low}, high == 0
	}
	if op == Sub {
		y.negative = !y.negative
	}
	if x.negative == y.negative {
		sum, carry := bits.Add64(x.size, y.size, 0)
		return size{x.negative && sum != 0, sum}, carry == 0
	}
	if x.size < y.size {
		x, y = y, x
	}
	return size{x.negative && x.size != y.size, x.size - y.size}, true
}

// intArith fills out and reports whether no row overflowed. The checks gather sign bits, so the loop takes no branch.
func intArith(op ArithOp, a, b []int64, rows []int32, out []int64) bool {
	var over int64
	switch op {
	case Add:
		for _, i := range rows {
			x, y := a[i], b[i]
			z := x + y
			over |= (x ^ z) & (y ^ z)
			out[i] = z
		}
	case Sub:
		for _, i := range rows {
			x, y := a[i], b[i]
			z := x - y
			over |= (x ^ y) & (x ^ z)
			out[i] = z
		}
	default:
		for _, i := range rows {
			x, y := a[i], b[i]
			hi, lo := bits.Mul64(uint64(x), uint64(y))
			// The signed high word must be the sign of the low one.
			top := int64(hi) - x>>63&y - y>>63&x
			d := top ^ int64(lo)>>63
			over |= d | -d
			out[i] = int64(lo)
		}
	}
	return over >= 0
}

// floatArith fills out and reports whether all results are finite.
func floatArith(op ArithOp, a, b []float64, rows []int32, out []float64) bool {
	check := 0.0
	switch op {
	case Add:
		for _, i := range rows {
			out[i] = a[i] + b[i]
			check += out[i] * 0
		}
	case Sub:
		for _, i := range rows {
			out[i] = a[i] - b[i]
			check += out[i] * 0
		}
	default:
		for _, i := range rows {
			out[i] = a[i] * b[i]
			check += out[i] * 0
		}
	}
	return check == 0
}
