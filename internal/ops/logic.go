package ops

import (
	"strings"

	"millrace/internal/column"
)

var boolType = column.Type{Kind: column.Bool}

// condition is the part that all predicates share as expressions.
type condition struct {
	nullable bool
	text     string
}

func (c *condition) Type() column.Type { return boolType }
func (c *condition) Nullable() bool    { return c.nullable }
func (c *condition) String() string    { return c.text }

// asPredicate binds e as a condition: predicates as they are, numbers by MySQL's truth (not zero).
func asPredicate(e Expr, l *lane) predicate {
	ev := l.bind(e)
	if p, ok := ev.(predicate); ok {
		return p
	}
	return withValue(&truth{x: ev, kind: e.Type().Kind})
}

func isCondition(e Expr) error {
	switch k := e.Type().Kind; {
	case k >= column.Bool && k <= column.Float64:
		return nil
	default:
		if c, ok := e.(*constant); ok && c.null {
			return nil
		}
		return unsupported("'%v' is no condition: its type is %v", e, e.Type())
	}
}

func conditions(list []Expr) error {
	for _, e := range list {
		if err := isCondition(e); err != nil {
			return err
		}
	}
	return nil
}

// And is true when every operand is true, false when one is false. Operands are evaluated from left to right, each only at rows
// where those before it do not decide.
func And(list ...Expr) (Expr, error) { return newLogic(list, true) }

// Or is true when one operand is true, false when all are false.
func Or(list ...Expr) (Expr, error) { return newLogic(list, false) }

func newLogic(list []Expr, and bool) (Expr, error) {
	if err := conditions(list); err != nil {
		return nil, err
	}
	word, neutral := " OR ", false
	if and {
		word, neutral = " AND ", true
	}
	switch len(list) {
	case 0:
		return Const(boolType, neutral), nil
	case 1:
		return list[0], nil
	}
	e := &logic{list: list, and: and}
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = x.String()
		e.nullable = e.nullable || x.Nullable()
	}
	e.text = "(" + strings.Join(texts, word) + ")"
	return e, nil
}

type logic struct {
	condition
	list []Expr
	and  bool
}

func (e *logic) operands() []Expr { return e.list }

func (e *logic) bind(l *lane) evaluator {
	ps := make([]predicate, len(e.list))
	for i, x := range e.list {
		ps[i] = asPredicate(x, l)
	}
	return withValue(&logicEval{list: ps, and: e.and})
}

type logicEval struct {
	list              []predicate
	and               bool
	rest, found, next []int32
}

// choose narrows when every operand must agree (TRUE of AND, FALSE of OR), else it collects: what one operand has decided, the
// next need not look at.
func (e *logicEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	if want == e.and {
		var err error
		for _, p := range e.list {
			if sel, err = p.choose(in, sel, want, dst); err != nil {
				return nil, err
			}
			if len(sel) == 0 {
				return dst[:0], nil
			}
		}
		return sel, nil
	}
	e.rest, e.found, e.next = room(e.rest, in.N), room(e.found, in.N), room(e.next, in.N)
	total, spare := e.found[:0], e.next
	for k, p := range e.list {
		// The answers of p must not overwrite rest, which the next operand needs; dst is free only once sel is no longer read.
		more, err := p.choose(in, sel, want, spare)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			total, spare = more, e.found
		}
		if k < len(e.list)-1 {
			sel = minus(in.N, sel, more, e.rest)
		}
		if k > 0 {
			merged := union(total, more, dst)
			total = total[:cap(total)][:copy(total[:cap(total)], merged)]
		}
		if len(sel) == 0 {
			break
		}
	}
	return dst[:copy(dst[:len(total)], total)], nil
}

// Not is true when x is false.
func Not(x Expr) (Expr, error) {
	if err := isCondition(x); err != nil {
		return nil, err
	}
	return &not{condition{x.Nullable(), "(NOT " + x.String() + ")"}, x}, nil
}

type not struct {
	condition
	x Expr
}

func (e *not) operands() []Expr { return []Expr{e.x} }

func (e *not) bind(l *lane) evaluator { return withValue(&notEval{asPredicate(e.x, l)}) }

type notEval struct{ x predicate }

func (e *notEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	return e.x.choose(in, sel, !want, dst)
}

// IsNull is true where x is NULL, else false.
func IsNull(x Expr) Expr { return &isNull{condition{false, "(" + x.String() + " IS NULL)"}, x} }

type isNull struct {
	condition
	x Expr
}

func (e *isNull) operands() []Expr { return []Expr{e.x} }

func (e *isNull) bind(l *lane) evaluator { return withValue(&isNullEval{l.bind(e.x)}) }

type isNullEval struct{ x evaluator }

func (e *isNullEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	v, err := e.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	return chooseValid(v, in.N, sel, !want, dst), nil
}

// truth takes a number as a condition.
type truth struct {
	x    evaluator
	kind column.Kind
}

func (e *truth) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	v, err := e.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	switch {
	case e.kind == column.Float64:
		sel = chooseValid(v, in.N, sel, true, dst)
		dst = dst[:len(sel)]
		k := 0
		for _, i := range sel {
			dst[k] = i
			if (v.Float[i] != 0) == want {
				k++
			}
		}
		return dst[:k], nil
	case e.kind == column.Invalid:
		return dst[:0], nil
	default:
		sel = chooseRange(v.Int, in.N, sel, 0, 0, !want, dst)
		return dropNulls(v, sel), nil
	}
}

// dropNulls takes the NULL rows out of sel, in place.
func dropNulls(v *column.Vector, sel []int32) []int32 {
	if v.Valid == nil {
		return sel
	}
	return chooseValid(v, 0, sel, true, sel)
}

// chooser is a predicate without a value of its own; withValue adds it.
type chooser interface {
	choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error)
}

func withValue(c chooser) predicate { return &boolValue{chooser: c} }

// boolValue computes a condition as a column: NULL, then the rows that are TRUE, then those that are FALSE.
type boolValue struct {
	chooser
	out  column.Vector
	rows []int32
}

func (e *boolValue) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v := &e.out
	v.Type = boolType
	v.Int, e.rows = room(v.Int, in.N), room(e.rows, in.N)
	v.Valid = room(v.Valid, (in.N+63)/64)
	clear(v.Valid)
	for want, x := range [2]int64{0, 1} {
		rows, err := e.choose(in, sel, want == 1, e.rows)
		if err != nil {
			return nil, err
		}
		for _, i := range rows {
			v.Int[i] = x
			v.Valid[i>>6] |= 1 << (uint(i) & 63)
		}
	}
	return v, nil
}
