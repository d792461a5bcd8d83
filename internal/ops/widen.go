package ops

import (
	"fmt"
	"strconv"

	"millrace/internal/column"
)

const microsPerDay = 86_400_000_000

// widen gives x, an integer, decimal or date, as the wider kind: Decimal, Float64 or Timestamp. It never fails.
func widen(x Expr, to column.Kind) Expr {
	if x.Type().Kind == to {
		return x
	}
	t := column.Type{Kind: to}
	if to == column.Decimal {
		t.Precision = 20
	}
	w := &widened{x, t}
	if c, ok := x.(*constant); ok {
		k := &constant{typ: t, null: c.null}
		if !c.null {
			e := &widenEval{widened: w}
			one := column.Vector{Type: c.typ, Int: []int64{c.i}, Float: []float64{c.f}, Beg: []uint32{0}, End: []uint32{uint32(len(c.b))}, Data: c.b}
			e.convert(&one, 1, []int32{0})
			switch to {
			case column.Decimal:
				k.b = e.out.View(0)
			case column.Float64:
				k.f = e.out.Float[0]
			default:
				k.i = e.out.Int[0]
			}
		}
		return k
	}
	return w
}

type widened struct {
	x   Expr
	typ column.Type
}

func (e *widened) Type() column.Type { return e.typ }
func (e *widened) Nullable() bool    { return e.x.Nullable() }
func (e *widened) String() string    { return fmt.Sprintf("%v(%v)", e.typ.Kind, e.x) }

func (e *widened) operands() []Expr { return []Expr{e.x} }

func (e *widened) bind(l *lane) evaluator { return &widenEval{widened: e, in: l.bind(e.x), lane: l} }

type widenEval struct {
	*widened
	in   evaluator
	lane *lane
	out  column.Vector
}

func (e *widenEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.in.eval(in, sel)
	if err != nil {
		return nil, err
	}
	rows := dropNullsInto(v, e.lane.rows(in.N, sel), &e.lane.scratch)
	e.convert(v, in.N, rows)
	e.out.Valid = v.Valid
	return &e.out, nil
}

func (e *widenEval) convert(v *column.Vector, n int, rows []int32) {
	out, from := &e.out, e.x.Type().Kind
	out.Type = e.typ
	switch e.typ.Kind {
	case column.Float64:
		out.Float = room(out.Float, n)
		switch from {
		case column.Decimal:
			for _, i := range rows {
				out.Float[i] = parseFloat(v.Data[v.Beg[i]:v.End[i]])
			}
		case column.Uint64:
			for _, i := range rows {
				out.Float[i] = float64(uint64(v.Int[i]))
			}
		default:
			for _, i := range rows {
				out.Float[i] = float64(v.Int[i])
			}
		}
	case column.Decimal:
		out.Beg, out.End, out.Data = room(out.Beg, n), room(out.End, n), out.Data[:0]
		for _, i := range rows {
			out.Beg[i] = uint32(len(out.Data))
			if from == column.Uint64 {
				out.Data = strconv.AppendUint(out.Data, uint64(v.Int[i]), 10)
			} else {
				out.Data = strconv.AppendInt(out.Data, v.Int[i], 10)
			}
			out.End[i] = uint32(len(out.Data))
		}
	default:
		out.Int = room(out.Int, n)
		for _, i := range rows {
			out.Int[i] = v.Int[i] * microsPerDay
		}
	}
}

// dropNullsInto gives the rows of sel that are not NULL in v; it copies only where there are NULLs.
func dropNullsInto(v *column.Vector, sel []int32, scratch *[]int32) []int32 {
	if v.Valid == nil {
		return sel
	}
	*scratch = room(*scratch, len(sel))
	return chooseValid(v, 0, sel, true, *scratch)
}
