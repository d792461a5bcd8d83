package ops

import (
	"fmt"
	"math"
	"strconv"

	"millrace/internal/column"
)

// CompareOp is a comparison operator.
type CompareOp uint8

// The comparisons. NullSafeEq is MySQL's <=>: NULL equals NULL, and the result is never NULL.
const (
	Eq CompareOp = iota
	NullSafeEq
	Ne
	Lt
	Le
	Gt
	Ge
)

func (op CompareOp) String() string { return [...]string{"=", "<=>", "<>", "<", "<=", ">", ">="}[op] }

// accepts is the set of outcomes for which op is TRUE.
func (op CompareOp) accepts() accepts {
	return [...]accepts{equal, equal, less | greater, less, less | equal, greater, greater | equal}[op]
}

// mirrored is op with its operands swapped.
func (op CompareOp) mirrored() CompareOp {
	return [...]CompareOp{Eq, NullSafeEq, Ne, Gt, Ge, Lt, Le}[op]
}

// domain is what two operands are compared as.
type domain uint8

const (
	none domain = iota
	asInt
	asUint
	asIntUint // signed left, unsigned right
	asFloat
	asBytes
	asDecimal
)

// Compare is l op r. Integers of any width, sign and BOOL compare by value; with a DECIMAL exactly, with a DOUBLE as doubles;
// text and bytes bytewise; a DATE with a TIMESTAMP as midnight. Other mixtures are the engine's.
func Compare(op CompareOp, l, r Expr) (Expr, error) {
	text := fmt.Sprintf("(%v %v %v)", l, op, r)
	nullable := op != NullSafeEq && (l.Nullable() || r.Nullable())
	if isNullConst(l) {
		l, r = r, l
	}
	if isNullConst(r) {
		if op == NullSafeEq {
			return IsNull(l), nil
		}
		return Const(boolType, nil), nil
	}
	if _, ok := l.(*constant); ok {
		l, r, op = r, l, op.mirrored()
	}
	c := comparison{condition: condition{nullable, text}, op: op, l: l, r: r}
	switch lk, rk := family(l), family(r); {
	case lk == rk:
		c.as = lk
	case lk == asUint && rk == asInt, lk == asInt && rk == asUint:
		if k, ok := r.(*constant); ok {
			return c.withRange(k), nil
		}
		if lk == asUint {
			c.l, c.r, c.op = r, l, op.mirrored()
		}
		c.as = asIntUint
	case lk <= asUint && lk != none && rk == asDecimal:
		if k, ok := r.(*constant); ok {
			return c.withDecimal(k), nil
		}
		c.l, c.as = widen(l, column.Decimal), asDecimal
	case lk == asDecimal && rk <= asUint && rk != none:
		c.r, c.as = widen(r, column.Decimal), asDecimal
	case lk == asFloat && rk != none && rk != asBytes:
		c.r, c.as = widen(r, column.Float64), asFloat
	case rk == asFloat && lk != none && lk != asBytes:
		c.l, c.as = widen(l, column.Float64), asFloat
	}
	if c.as == none {
		var ok bool
		if c.l, c.r, ok = sameTime(l, r); !ok {
			return nil, unsupported("%v and %v cannot be compared on batches in '%s'", l.Type(), r.Type(), text)
		}
		c.as = asInt
	}
	if k, ok := c.r.(*constant); ok && (c.as == asInt || c.as == asUint) {
		return c.withRange(k), nil
	}
	return &c, nil
}

func isNullConst(e Expr) bool {
	c, ok := e.(*constant)
	return ok && c.null
}

func family(e Expr) domain {
	switch e.Type().Kind {
	case column.Bool, column.Int32, column.Int64:
		return asInt
	case column.Uint64:
		return asUint
	case column.Float64:
		return asFloat
	case column.Bytes, column.Text:
		return asBytes
	case column.Decimal:
		return asDecimal
	default:
		return none
	}
}

// sameTime brings two times to one kind, where they have one.
func sameTime(l, r Expr) (Expr, Expr, bool) {
	switch lk, rk := l.Type().Kind, r.Type().Kind; {
	case lk == rk && lk >= column.Date:
		return l, r, true
	case lk == column.Date && rk == column.Timestamp:
		return widen(l, column.Timestamp), r, true
	case lk == column.Timestamp && rk == column.Date:
		return l, widen(r, column.Timestamp), true
	default:
		return l, r, false
	}
}

type comparison struct {
	condition
	op   CompareOp
	as   domain
	l, r Expr
}

// inRange is true when x, seen as an unsigned distance from lo, is at most width, or with invert when it is not.
type inRange struct {
	condition
	x         Expr
	lo, width uint64
	invert    bool
	nullSafe  bool
}

// bounds of the integers that x can hold, as numbers on one line: an int64 or uint64 is a sign and a magnitude.
func (c *comparison) withRange(k *constant) Expr {
	unsigned := c.l.Type().Kind == column.Uint64
	below, above := false, false // the constant lies outside of what x can hold
	switch constUnsigned := k.typ.Kind == column.Uint64; {
	case unsigned && !constUnsigned:
		below = k.i < 0
	case !unsigned && constUnsigned:
		above = k.i < 0
	}
	switch {
	case below:
		return c.rangeOutside(false)
	case above:
		return c.rangeOutside(true)
	}
	return c.rangeAt(k.i)
}

// limits are the bit patterns of the smallest and largest number of x's type.
func (c *comparison) limits() (lo, hi uint64) {
	if c.l.Type().Kind == column.Uint64 {
		return 0, math.MaxUint64
	}
	return 1 << 63, math.MaxInt64
}

// rangeAt compares with the integer whose bits are v.
func (c *comparison) rangeAt(v int64) Expr {
	lo, hi := c.limits()
	at := uint64(v)
	switch c.op {
	case Eq, NullSafeEq:
		return c.rangeOf(at, at, false)
	case Ne:
		return c.rangeOf(at, at, true)
	case Lt:
		return c.rangeOf(at, hi, true)
	case Le:
		return c.rangeOf(lo, at, false)
	case Gt:
		return c.rangeOf(lo, at, true)
	default:
		return c.rangeOf(at, hi, false)
	}
}

// rangeOutside compares with a number that is above all that x can hold, or below.
func (c *comparison) rangeOutside(above bool) Expr {
	at := less
	if !above {
		at = greater
	}
	lo, hi := c.limits()
	return c.rangeOf(lo, hi, c.op.accepts()&at == 0)
}

func (c *comparison) rangeOf(lo, hi uint64, invert bool) Expr {
	return &inRange{c.condition, c.l, lo, hi - lo, invert, c.op == NullSafeEq}
}

// withDecimal compares integers with a decimal constant, exactly: x > 1.5 is x > 1.
func (c *comparison) withDecimal(k *constant) Expr {
	negative, whole, fraction := decimalParts(k.b)
	text := string(whole)
	if text == "" {
		text = "0"
	}
	d := *c
	if len(fraction) > 0 {
		// The constant lies between two integers; the one nearer to zero stands for it.
		switch c.op {
		case Eq, NullSafeEq:
			lo, hi := c.limits()
			return c.rangeOf(lo, hi, true)
		case Ne:
			lo, hi := c.limits()
			return c.rangeOf(lo, hi, false)
		case Lt, Le:
			if d.op = Le; negative {
				d.op = Lt
			}
		default:
			if d.op = Gt; negative {
				d.op = Ge
			}
		}
	}
	magnitude, err := strconv.ParseUint(text, 10, 64)
	unsigned := c.l.Type().Kind == column.Uint64
	switch {
	case err != nil:
		return d.rangeOutside(!negative)
	case negative && unsigned && magnitude > 0, negative && magnitude > 1<<63:
		return d.rangeOutside(false)
	case !negative && !unsigned && magnitude > math.MaxInt64:
		return d.rangeOutside(true)
	case negative:
		return d.rangeAt(-int64(magnitude))
	}
	return d.rangeAt(int64(magnitude))
}

func (e *inRange) operands() []Expr { return []Expr{e.x} }

func (e *inRange) bind(l *lane) evaluator {
	return withValue(&rangeEval{e, l.bind(e.x)})
}

type rangeEval struct {
	*inRange
	x evaluator
}

func (e *rangeEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	v, err := e.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	if e.nullSafe && !want && v.Valid != nil {
		return e.chooseNotSame(v, in.N, sel, dst), nil
	}
	return dropNulls(v, chooseRange(v.Int, in.N, sel, e.lo, e.width, want != e.invert, dst)), nil
}

// chooseNotSame is FALSE of <=>: outside the range, or NULL.
func (e *rangeEval) chooseNotSame(v *column.Vector, n int, sel, dst []int32) []int32 {
	k := 0
	add := func(i int32) {
		if v.IsNull(int(i)) || (uint64(v.Int[i])-e.lo <= e.width) == e.invert {
			dst[k] = i
			k++
		}
	}
	if sel == nil {
		dst = dst[:n]
		for i := range int32(n) {
			add(i)
		}
		return dst[:k]
	}
	dst = dst[:len(sel)]
	for _, i := range sel {
		add(i)
	}
	return dst[:k]
}

func (c *comparison) operands() []Expr { return []Expr{c.l, c.r} }

func (c *comparison) bind(l *lane) evaluator {
	e := &compareEval{comparison: c, l: l.bind(c.l), r: l.bind(c.r)}
	if k, ok := c.r.(*constant); ok {
		e.k = k
	}
	return withValue(e)
}

type compareEval struct {
	*comparison
	l, r evaluator
	k    *constant // the right operand, where it is constant
	rows []int32
}

func (e *compareEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	a, err := e.l.eval(in, sel)
	if err != nil {
		return nil, err
	}
	b, err := e.r.eval(in, sel)
	if err != nil {
		return nil, err
	}
	if e.op == NullSafeEq {
		return e.chooseSame(a, b, in.N, sel, want, dst), nil
	}
	return e.compare(a, b, e.valid(a, b, in.N, sel, dst), want, dst), nil
}

func (e *compareEval) valid(a, b *column.Vector, n int, sel, dst []int32) []int32 {
	return dropNulls(b, chooseValid(a, n, sel, true, dst))
}

// compare picks from rows where neither side is NULL.
func (e *compareEval) compare(a, b *column.Vector, sel []int32, want bool, dst []int32) []int32 {
	set := e.op.accepts()
	if !want {
		set ^= less | equal | greater
	}
	switch e.as {
	case asInt:
		return chooseInts(a.Int, b.Int, sel, set, dst)
	case asUint:
		return chooseUints(a.Int, b.Int, sel, set, dst)
	case asIntUint:
		return chooseIntsUints(a.Int, b.Int, sel, set, dst)
	case asFloat:
		if e.k != nil {
			return chooseFloatsConst(a.Float, e.k.f, sel, set, dst)
		}
		return chooseFloats(a.Float, b.Float, sel, set, dst)
	case asDecimal:
		return chooseDecimals(a, b, sel, set, dst)
	default:
		if e.k != nil {
			return chooseBytesConst(a, e.k.b, sel, set, dst)
		}
		return chooseBytes(a, b, sel, set, dst)
	}
}

// chooseSame is <=>: TRUE where both are NULL or equal, else FALSE.
func (e *compareEval) chooseSame(a, b *column.Vector, n int, sel []int32, want bool, dst []int32) []int32 {
	e.rows = room(e.rows, 3*n)
	part := func(k int) []int32 { return e.rows[k*n : k*n : (k+1)*n] }
	nulls := chooseValid(a, n, sel, false, part(0))
	if b.Valid == nil {
		nulls = nulls[:0]
	} else {
		nulls = chooseValid(b, n, nulls, false, nulls)
	}
	valid := e.valid(a, b, n, sel, part(1))
	same := union(nulls, e.compare(a, b, valid, true, valid), part(2))
	if want {
		return dst[:copy(dst[:len(same)], same)]
	}
	return minus(n, sel, same, dst)
}
