package ops

import (
	"strings"

	"millrace/internal/column"
)

// When is a branch of Case.
type When struct {
	// Cond chooses the branch where it is TRUE; nil chooses it where its value is not NULL.
	Cond Expr
	Then Expr
}

// Case is the value of the first branch that is chosen, else otherwise, NULL when that is nil. A condition is evaluated at the rows that no
// branch before it took, a value at the rows of its branch only. All values have one type, where BIGINT takes INT in and a NULL constant fits
// any.
func Case(branches []When, otherwise Expr) (Expr, error) {
	e := &choice{branches: branches, otherwise: otherwise, nullable: otherwise == nil || otherwise.Nullable()}
	var text strings.Builder
	text.WriteString("(CASE")
	for _, b := range branches {
		text.WriteString(" WHEN ")
		if b.Cond == nil {
			text.WriteString(b.Then.String() + " IS NOT NULL")
		} else {
			if err := isCondition(b.Cond); err != nil {
				return nil, err
			}
			e.nullable = e.nullable || b.Then.Nullable()
			text.WriteString(b.Cond.String())
		}
		text.WriteString(" THEN " + b.Then.String())
		if err := e.admit(b.Then); err != nil {
			return nil, err
		}
	}
	if otherwise != nil {
		text.WriteString(" ELSE " + otherwise.String())
		if err := e.admit(otherwise); err != nil {
			return nil, err
		}
	}
	if e.typ.Kind == column.Invalid {
		return nil, unsupported("a CASE of NULLs is not computed on batches")
	}
	e.text = text.String() + " END)"
	return e, nil
}

// Coalesce is the first of list that is not NULL.
func Coalesce(list ...Expr) (Expr, error) {
	branches, texts := make([]When, len(list)), make([]string, len(list))
	for i, x := range list {
		branches[i].Then, texts[i] = x, x.String()
	}
	last := len(list) - 1
	e, err := Case(branches[:last], list[last])
	if err != nil {
		return nil, err
	}
	return &renamed{e, "coalesce(" + strings.Join(texts, ", ") + ")"}, nil
}

type choice struct {
	branches  []When
	otherwise Expr
	typ       column.Type
	nullable  bool
	text      string
}

func (e *choice) Type() column.Type { return e.typ }
func (e *choice) Nullable() bool    { return e.nullable }
func (e *choice) String() string    { return e.text }

func (e *choice) operands() []Expr {
	var out []Expr
	for _, b := range e.branches {
		if b.Cond != nil {
			out = append(out, b.Cond)
		}
		out = append(out, b.Then)
	}
	if e.otherwise != nil {
		out = append(out, e.otherwise)
	}
	return out
}

// admit makes the type of e one that holds the values of x.
func (e *choice) admit(x Expr) error {
	t := x.Type()
	whole := func(k column.Kind) bool { return k == column.Int32 || k == column.Int64 }
	switch {
	case isNullConst(x), t == e.typ:
	case e.typ.Kind == column.Invalid && t.Kind != column.Bool:
		e.typ = t
	case whole(t.Kind) && whole(e.typ.Kind):
		e.typ.Kind = column.Int64
	default:
		return unsupported("a CASE of %v and %v is not computed on batches", e.typ, t)
	}
	return nil
}

func (e *choice) bind(l *lane) evaluator {
	ev := &choiceEval{choice: e, lane: l, conds: make([]predicate, len(e.branches)), values: make([]evaluator, len(e.branches))}
	for i, b := range e.branches {
		if b.Cond != nil {
			ev.conds[i] = asPredicate(b.Cond, l)
		}
		ev.values[i] = l.bind(b.Then)
	}
	if e.otherwise != nil {
		ev.last = l.bind(e.otherwise)
	}
	return ev
}

type choiceEval struct {
	*choice
	lane   *lane
	conds  []predicate
	values []evaluator
	last   evaluator
	out    column.Vector
	valid  []uint64
	// rest are the rows that no branch has taken, taken those of the branch at hand, live those of them that are not NULL.
	rest, taken, live []int32
}

func (e *choiceEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	e.start(in.N)
	rest := e.rest[:copy(e.rest, e.lane.rows(in.N, sel))]
	for i, x := range e.values {
		if len(rest) == 0 {
			break
		}
		taken := rest
		if p := e.conds[i]; p != nil {
			var err error
			if taken, err = p.choose(in, rest, true, e.taken); err != nil {
				return nil, err
			}
		}
		if len(taken) == 0 {
			continue
		}
		live, err := e.take(in, x, taken)
		if err != nil {
			return nil, err
		}
		if e.conds[i] == nil {
			taken = live
		}
		rest = minus(in.N, rest, taken, e.rest)
	}
	if e.last != nil && len(rest) > 0 {
		if _, err := e.take(in, e.last, rest); err != nil {
			return nil, err
		}
	}
	return &e.out, nil
}

// start makes a result of n rows, all NULL.
func (e *choiceEval) start(n int) {
	e.rest, e.taken, e.live = room(e.rest, n), room(e.taken, n), room(e.live, n)
	e.valid = room(e.valid, (n+63)/64)
	clear(e.valid)
	out := &e.out
	out.Type, out.Valid = e.typ, e.valid
	switch {
	case e.typ.Kind.IsView():
		out.Beg, out.End, out.Data = room(out.Beg, n), room(out.End, n), out.Data[:0]
		// Views of NULL rows lie in Data too.
		clear(out.Beg)
		clear(out.End)
	case e.typ.Kind == column.Float64:
		out.Float = room(out.Float, n)
	default:
		out.Int = room(out.Int, n)
	}
}

// take gives the rows sel of the result the values of x, and says at which of them x is not NULL. Bytes are copied: branches have
// memory of their own, and the next one may compute what this one points into.
func (e *choiceEval) take(in *column.Batch, x evaluator, sel []int32) (live []int32, err error) {
	v, err := x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	live = chooseValid(v, in.N, sel, true, e.live)
	out := &e.out
	switch {
	case e.typ.Kind.IsView():
		for _, i := range live {
			out.Beg[i] = uint32(len(out.Data))
			out.Data = append(out.Data, v.Data[v.Beg[i]:v.End[i]]...)
			out.End[i] = uint32(len(out.Data))
		}
	case e.typ.Kind == column.Float64:
		for _, i := range live {
			out.Float[i] = v.Float[i]
		}
	default:
		for _, i := range live {
			out.Int[i] = v.Int[i]
		}
	}
	for _, i := range live {
		e.valid[i>>6] |= 1 << (uint(i) & 63)
	}
	return live, nil
}
