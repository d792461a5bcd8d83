package ops

import (
	"strings"

	"millrace/internal/column"
)

// Concat is the texts of list one after the other, NULL when one is NULL.
func Concat(list ...Expr) (Expr, error) {
	e := &concat{list: list}
	texts := make([]string, len(list))
	for i, x := range list {
		if x.Type().Kind != column.Text {
			return nil, unsupported("'concat' of %v is not computed on batches", x.Type())
		}
		texts[i] = x.String()
		e.nullable = e.nullable || x.Nullable()
	}
	e.text = "concat(" + strings.Join(texts, ", ") + ")"
	return e, nil
}

type concat struct {
	list     []Expr
	nullable bool
	text     string
}

func (e *concat) Type() column.Type { return column.Type{Kind: column.Text} }
func (e *concat) Nullable() bool    { return e.nullable }
func (e *concat) String() string    { return e.text }

func (e *concat) operands() []Expr { return e.list }

func (e *concat) bind(l *lane) evaluator {
	ev := &concatEval{list: make([]evaluator, len(e.list)), vectors: make([]*column.Vector, len(e.list)), lane: l}
	for i, x := range e.list {
		ev.list[i] = l.bind(x)
	}
	return ev
}

type concatEval struct {
	list    []evaluator
	vectors []*column.Vector
	lane    *lane
	out     column.Vector
	valid   []uint64
}

func (e *concatEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	out := &e.out
	startText(out, in.N)
	out.Valid = nil
	for k, x := range e.list {
		v, err := x.eval(in, sel)
		if err != nil {
			return nil, err
		}
		e.vectors[k] = v
		if valid := both(e.valid, out, v, in.N); valid != nil {
			e.valid, out.Valid = valid, valid
		}
	}
	for _, i := range dropNullsInto(out, e.lane.rows(in.N, sel), &e.lane.scratch) {
		out.Beg[i] = uint32(len(out.Data))
		for _, v := range e.vectors {
			out.Data = append(out.Data, v.Data[v.Beg[i]:v.End[i]]...)
		}
		out.End[i] = uint32(len(out.Data))
	}
	return out, nil
}
