package ops

import (
	"unicode/utf8"

	"millrace/internal/column"
)

// Length is the number of bytes of x, a text or byte string.
func Length(x Expr) (Expr, error) {
	switch x.Type().Kind {
	case column.Bytes, column.Text, column.Decimal:
		return &length{x}, nil
	default:
		return nil, unsupported("'length' of %v is not computed on batches", x.Type())
	}
}

type length struct{ x Expr }

func (e *length) Type() column.Type { return column.Type{Kind: column.Int64} }
func (e *length) Nullable() bool    { return e.x.Nullable() }
func (e *length) String() string    { return "length(" + e.x.String() + ")" }

func (e *length) operands() []Expr { return []Expr{e.x} }

func (e *length) bind(l *lane) evaluator { return &lengthEval{x: l.bind(e.x)} }

type lengthEval struct {
	x   evaluator
	out column.Vector
}

func (e *lengthEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = column.Type{Kind: column.Int64}
	out.Int, out.Valid = room(out.Int, in.N), v.Valid
	if sel == nil {
		// Views of NULL rows are undefined; so is what is computed from them.
		beg, end := v.Beg[:in.N], v.End[:in.N]
		to := out.Int[:len(beg)]
		for i := range to {
			to[i] = int64(end[i] - beg[i])
		}
		return out, nil
	}
	for _, i := range sel {
		out.Int[i] = int64(v.End[i] - v.Beg[i])
	}
	return out, nil
}

// Characters is the number of characters of x, a text.
func Characters(x Expr) (Expr, error) {
	if x.Type().Kind != column.Text {
		return nil, unsupported("'char_length' of %v is not computed on batches", x.Type())
	}
	return &characterCount{x}, nil
}

type characterCount struct{ x Expr }

func (e *characterCount) Type() column.Type { return column.Type{Kind: column.Int64} }
func (e *characterCount) Nullable() bool    { return e.x.Nullable() }
func (e *characterCount) String() string    { return "char_length(" + e.x.String() + ")" }

func (e *characterCount) operands() []Expr { return []Expr{e.x} }

func (e *characterCount) bind(l *lane) evaluator { return &characterCountEval{x: l.bind(e.x), lane: l} }

type characterCountEval struct {
	x    evaluator
	lane *lane
	out  column.Vector
}

func (e *characterCountEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = column.Type{Kind: column.Int64}
	out.Int, out.Valid = room(out.Int, in.N), v.Valid
	for _, i := range dropNullsInto(v, e.lane.rows(in.N, sel), &e.lane.scratch) {
		out.Int[i] = int64(utf8.RuneCount(v.Data[v.Beg[i]:v.End[i]]))
	}
	return out, nil
}
