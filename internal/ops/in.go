package ops

import (
	"math"
	"strings"

	"millrace/internal/column"
)

// fewItems is the longest list that is compared item by item; a longer one is hashed.
const fewItems = 8

// In is x IN (list). It is TRUE when x equals an item, else NULL when x or an item is NULL, else FALSE.
func In(x Expr, list []Expr) (Expr, error) {
	texts := make([]string, len(list))
	nullable, constant := x.Nullable(), true
	for i, e := range list {
		texts[i] = e.String()
		nullable = nullable || e.Nullable()
		constant = constant && sameForm(x, e)
	}
	c := condition{nullable, "(" + x.String() + " IN (" + strings.Join(texts, ", ") + "))"}
	if constant && len(list) > 1 {
		return newInSet(c, x, list), nil
	}
	items := make([]Expr, len(list))
	for i, e := range list {
		var err error
		if items[i], err = Compare(Eq, x, e); err != nil {
			return nil, err
		}
	}
	any, err := Or(items...)
	if err != nil {
		return nil, err
	}
	return &renamed{any, c.text}, nil
}

// Between is x BETWEEN lo AND hi.
func Between(x, lo, hi Expr) (Expr, error) {
	text := "(" + x.String() + " BETWEEN " + lo.String() + " AND " + hi.String() + ")"
	from, err := Compare(Ge, x, lo)
	if err != nil {
		return nil, err
	}
	to, err := Compare(Le, x, hi)
	if err != nil {
		return nil, err
	}
	if a, ok := from.(*inRange); ok {
		if b, ok := to.(*inRange); ok && a.x == b.x {
			if r, ok := a.intersect(b); ok {
				r.text = text
				return r, nil
			}
		}
	}
	e, err := And(from, to)
	if err != nil {
		return nil, err
	}
	return &renamed{e, text}, nil
}

// intersect is a AND b over the same x as one range, where both are plain intervals of the line of numbers.
func (e *inRange) intersect(o *inRange) (*inRange, bool) {
	aLo, aHi, ok := e.interval()
	bLo, bHi, ok2 := o.interval()
	if !ok || !ok2 || e.nullSafe || o.nullSafe {
		return nil, false
	}
	lo, hi := max(aLo, bLo), min(aHi, bHi)
	r := &inRange{condition: condition{e.nullable || o.nullable, "(" + e.text + " AND " + o.text + ")"}, x: e.x}
	if lo > hi {
		r.lo, r.width, r.invert = 0, math.MaxUint64, true
		return r, true
	}
	r.lo, r.width = lo^e.bias(), hi-lo
	return r, true
}

// bias maps the bit patterns of x's type onto unsigned numbers in the same order.
func (e *inRange) bias() uint64 {
	if e.x.Type().Kind == column.Uint64 {
		return 0
	}
	return 1 << 63
}

// interval is the set of numbers for which e is TRUE, biased, if that is an interval that is not empty.
func (e *inRange) interval() (lo, hi uint64, ok bool) {
	lo = e.lo ^ e.bias()
	hi = lo + e.width
	switch {
	case !e.invert:
		return lo, hi, true
	case lo == 0 && hi != math.MaxUint64:
		return hi + 1, math.MaxUint64, true
	case hi == math.MaxUint64 && lo != 0:
		return 0, lo - 1, true
	default:
		return 0, 0, false
	}
}

// renamed shows an expression as the user wrote it.
type renamed struct {
	Expr
	text string
}

func (e *renamed) String() string { return e.text }

// sameForm reports whether e is a constant whose bits can be compared with those of x.
func sameForm(x, e Expr) bool {
	if _, ok := e.(*constant); !ok {
		return false
	}
	if isNullConst(e) {
		return true
	}
	switch f := family(x); f {
	case asInt, asUint, asBytes:
		return f == family(e)
	default:
		return x.Type().Kind == e.Type().Kind && x.Type().Kind >= column.Date
	}
}

func newInSet(c condition, x Expr, list []Expr) Expr {
	e := &inSet{condition: c, x: x}
	for _, item := range list {
		k := item.(*constant)
		switch {
		case k.null:
			e.hasNull = true
		case x.Type().Kind.IsView():
			e.texts = append(e.texts, string(k.b))
		default:
			e.ints = append(e.ints, k.i)
		}
	}
	if len(e.ints) > fewItems {
		e.intSet = make(map[int64]struct{}, len(e.ints))
		for _, i := range e.ints {
			e.intSet[i] = struct{}{}
		}
	}
	if len(e.texts) > fewItems {
		e.textSet = make(map[string]struct{}, len(e.texts))
		for _, t := range e.texts {
			e.textSet[t] = struct{}{}
		}
	}
	return e
}

// inSet holds the list; the maps exist when it is long. They are never written after construction, so lanes share them.
type inSet struct {
	condition
	x       Expr
	hasNull bool
	ints    []int64
	texts   []string
	intSet  map[int64]struct{}
	textSet map[string]struct{}
}

func (e *inSet) operands() []Expr { return []Expr{e.x} }

func (e *inSet) bind(l *lane) evaluator { return withValue(&inSetEval{e, l.bind(e.x)}) }

type inSetEval struct {
	*inSet
	in evaluator
}

func (e *inSetEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	v, err := e.in.eval(in, sel)
	if err != nil {
		return nil, err
	}
	if !want && e.hasNull {
		return dst[:0], nil
	}
	sel = chooseValid(v, in.N, sel, true, dst)
	dst = dst[:len(sel)]
	flip := bit(!want)
	k := 0
	for _, i := range sel {
		dst[k] = i
		k += bit(e.holds(v, i)) ^ flip
	}
	return dst[:k], nil
}

func (e *inSetEval) holds(v *column.Vector, i int32) bool {
	switch {
	case e.intSet != nil:
		_, ok := e.intSet[v.Int[i]]
		return ok
	case e.textSet != nil:
		_, ok := e.textSet[string(v.Data[v.Beg[i]:v.End[i]])]
		return ok
	case v.Type.Kind.IsView():
		x := v.Data[v.Beg[i]:v.End[i]]
		for _, t := range e.texts {
			if string(x) == t {
				return true
			}
		}
		return false
	default:
		for _, y := range e.ints { // none for a list of NULLs, whatever kind v is of
			if v.Int[i] == y {
				return true
			}
		}
		return false
	}
}
