package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
)

// aggregate is an aggregate that ops computes.
type aggregate struct {
	text  string
	typ   sql.Type
	build func(in *inputs) (ops.Aggregate, error)
}

// absorbGroupBy replaces an aggregation without keys over s, when ops can compute all of it. The result is one row.
func absorbGroupBy(ctx *sql.Context, g *plan.GroupBy, s *Scan) (*Scan, bool) {
	if len(g.GroupByExprs) > 0 || len(g.SelectDeps) == 0 || s.bounded() || s.aggregates != nil {
		return nil, false
	}
	c := s.copy()
	c.outputs = nil
	c.aggregates = nil
	c.exprs = g.SelectDeps
	c.schema = g.Schema(ctx)
	for _, e := range g.SelectDeps {
		a, ok := compiler{ctx, s}.aggregate(e)
		if !ok {
			return nil, false
		}
		var id sql.ColumnId
		if e, ok := e.(sql.IdExpression); ok {
			id = e.Id()
		}
		c.aggregates = append(c.aggregates, a)
		c.outputs = append(c.outputs, output{kernel: kernel{typ: a.typ}, id: id, aggregate: true})
	}
	return c, true
}

func (c compiler) aggregate(e sql.Expression) (aggregate, bool) {
	text := e.String()
	if alias, ok := e.(*expression.Alias); ok {
		e = alias.Child
	}
	switch e := e.(type) {
	case *aggregation.Count:
		if e.Window() != nil {
			return aggregate{}, false
		}
		if _, star := e.Child.(*expression.Star); star {
			return countAll(text), true
		}
		if v, ok := constantOf(c.ctx, e.Child); ok && v != nil {
			return countAll(text), true
		}
		x, ok := c.compile(e.Child)
		if !ok {
			return aggregate{}, false
		}
		if !x.nullable {
			return countAll(text), true
		}
		return newAggregate(text, types.Int64, ops.Count, x)
	case *ExactSum:
		x, ok := c.compile(e.Child)
		if !ok || !x.integral() || e.Window() != nil {
			return aggregate{}, false
		}
		return newAggregate(text, e.Type(c.ctx), ops.Sum, x)
	case *aggregation.Avg:
		x, ok := c.compile(e.Child)
		if !ok || !x.integral() || e.Window() != nil || e.Type(c.ctx) != types.Float64 {
			return aggregate{}, false
		}
		return newAggregate(text, types.Float64, ops.Avg, x)
	case *aggregation.Min:
		if e.Window() != nil {
			return aggregate{}, false
		}
		return c.extreme(text, ops.Min, e.Child)
	case *aggregation.Max:
		if e.Window() != nil {
			return aggregate{}, false
		}
		return c.extreme(text, ops.Max, e.Child)
	default:
		return aggregate{}, false
	}
}

// extreme is MIN or MAX of what the engine orders as the kernel does.
func (c compiler) extreme(text string, f ops.Func, arg sql.Expression) (aggregate, bool) {
	x, ok := c.compile(arg)
	if !ok {
		return aggregate{}, false
	}
	switch {
	case x.integral(), x.kind.Kind == column.Timestamp, x.kind.Kind == column.Bytes:
	case x.kind.Kind == column.Text && bytewise(x.typ):
	default:
		return aggregate{}, false
	}
	return newAggregate(text, x.typ, f, x)
}

// countAll is COUNT(*): it needs no field, and with exact bounds alone the source counts from the headers of its batches.
func countAll(text string) aggregate {
	return aggregate{text, types.Int64, func(*inputs) (ops.Aggregate, error) { return ops.Aggregate{Func: ops.Count}, nil }}
}

func newAggregate(text string, typ sql.Type, f ops.Func, x kernel) (aggregate, bool) {
	return aggregate{text, typ, func(in *inputs) (ops.Aggregate, error) {
		arg, err := x.build(in)
		if err != nil {
			return ops.Aggregate{}, err
		}
		return ops.Aggregate{Func: f, Arg: arg, Float: f == ops.Avg}, nil
	}}, true
}
