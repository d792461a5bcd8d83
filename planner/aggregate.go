package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
)

// aggregate is an aggregate that ops computes.
type aggregate struct {
	text  string
	typ   sql.Type
	fails bool
	// header is set when the headers of batches tell the result.
	header bool
	// greatest is the field of which it is the MAX, when that and header are so.
	greatest scan.Field
	isMax    bool
	build    func(in *inputs) (ops.Aggregate, error)
}

// absorbGroupBy replaces an aggregation over the scan, when ops can compute all of it.
func absorbGroupBy(g *plan.GroupBy, with compiler) (*Scan, bool) {
	ctx, s := with.ctx, with.scan
	if len(g.SelectDeps) == 0 || s.bounded() || s.aggregated() {
		return nil, false
	}
	c := s.copy()
	c.outputs = nil
	c.exprs = g.SelectDeps
	c.schema = g.Schema(ctx)
	for _, e := range g.GroupByExprs {
		k, ok := with.compile(e)
		if !ok || !groupable(k) {
			return nil, false
		}
		c.keys = append(c.keys, k)
		if alias, ok := e.(*expression.Alias); ok {
			e = alias.Child
		}
		c.keyTexts = append(c.keyTexts, e.String())
	}
	for _, e := range g.SelectDeps {
		o := output{aggregate: true}
		if key := keyOf(g, e); key >= 0 {
			o.kernel, o.result = c.keys[key], key
		} else if a, ok := with.aggregate(e); ok {
			o.kernel, o.result = kernel{typ: a.typ, nullable: true}, len(c.keys)+len(c.aggregates)
			c.aggregates = append(c.aggregates, a)
		} else if a, ok := with.representative(g, e); ok {
			o.kernel, o.result = kernel{typ: a.typ, nullable: true}, len(c.keys)+len(c.aggregates)
			c.aggregates = append(c.aggregates, a)
		} else {
			return nil, false
		}
		if e, ok := e.(sql.IdExpression); ok {
			o.id = e.Id()
		}
		c.outputs = append(c.outputs, o)
	}
	return c, true
}

// absorbDistinct makes each output of s a key: the groups are the distinct rows.
func absorbDistinct(s *Scan) (*Scan, bool) {
	if s.bounded() || s.aggregated() || len(s.outputs) == 0 {
		return nil, false
	}
	c := s.copy()
	for i, o := range s.outputs {
		if !groupable(o.kernel) {
			return nil, false
		}
		c.keys = append(c.keys, o.kernel)
		c.keyTexts = append(c.keyTexts, s.schema[i].Name)
		c.outputs[i].aggregate, c.outputs[i].result = true, i
	}
	return c, true
}

// groupable reports whether the engine tells values of k apart as their kernel does.
func groupable(k kernel) bool {
	switch k.kind.Kind {
	case column.Text:
		return bytewise(k.typ)
	case column.Bool, column.Int32, column.Int64, column.Bytes, column.Timestamp, column.Date:
		return true
	case column.Decimal:
		// Without a fraction every number has one spelling, whichever way the engine hashes it.
		return k.kind.Scale == 0
	default:
		return false
	}
}

// keyOf finds the grouping expression that e repeats, -1 when there is none.
func keyOf(g *plan.GroupBy, e sql.Expression) int {
	if alias, ok := e.(*expression.Alias); ok {
		e = alias.Child
	}
	return slices.IndexFunc(g.GroupByExprs, func(key sql.Expression) bool {
		if alias, ok := key.(*expression.Alias); ok {
			key = alias.Child
		}
		if field, ok := e.(*expression.GetField); ok {
			k, ok := key.(*expression.GetField)
			return ok && k.Id() != 0 && k.Id() == field.Id()
		}
		_, isField := key.(*expression.GetField)
		return !isField && key.String() == e.String()
	})
}

// representative handles SELECT f(x) … GROUP BY f(x). The engine keeps x of some row of the group and computes f(x) from it above; any row
// will do, as all have the same f(x), so the least x does. That would not hold for f(x, y), where x and y must be of one row.
func (c compiler) representative(g *plan.GroupBy, e sql.Expression) (aggregate, bool) {
	dep, ok := e.(*expression.GetField)
	if !ok {
		return aggregate{}, false
	}
	used := false
	for _, key := range g.GroupByExprs {
		fields := map[sql.ColumnId]bool{}
		transform.InspectExpr(c.ctx, key, func(_ *sql.Context, e sql.Expression) bool {
			if f, ok := e.(*expression.GetField); ok {
				fields[f.Id()] = true
			}
			return false
		})
		if len(fields) > 1 {
			return aggregate{}, false
		}
		used = used || dep.Id() != 0 && fields[dep.Id()]
	}
	if !used {
		return aggregate{}, false
	}
	return c.extreme("any "+e.String(), ops.Min, e)
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
	case *aggregation.CountDistinct:
		if len(e.ChildExpressions) != 1 || e.Window() != nil {
			return aggregate{}, false
		}
		x, ok := c.compile(e.ChildExpressions[0])
		if !ok || !groupable(x) {
			return aggregate{}, false
		}
		return newAggregate(text, types.Int64, ops.CountDistinct, x)
	case *ExactSum:
		x, ok := c.compile(e.Child)
		if !ok || !x.integral() && x.kind.Kind != column.Decimal || e.Window() != nil {
			return aggregate{}, false
		}
		return newAggregate(text, e.Type(c.ctx), ops.Sum, x)
	case *aggregation.Sum:
		x, ok := c.compile(e.Child)
		if !ok || x.kind.Kind != column.Float64 || e.Window() != nil {
			return aggregate{}, false
		}
		return newAggregate(text, types.Float64, ops.Sum, x)
	case *aggregation.Avg:
		x, ok := c.compile(e.Child)
		if !ok || !x.integral() && x.kind.Kind != column.Float64 || e.Window() != nil || e.Type(c.ctx) != types.Float64 {
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
	case x.integral(), x.kind.Kind == column.Timestamp, x.kind.Kind == column.Date, x.kind.Kind == column.Bytes, x.kind.Kind == column.Float64, x.kind.Kind == column.Decimal:
	case x.kind.Kind == column.Text && bytewise(x.typ):
	default:
		return aggregate{}, false
	}
	return newAggregate(text, x.typ, f, x)
}

// countAll is COUNT(*): it needs no field, and with exact bounds alone the source counts from the headers of its batches.
func countAll(text string) aggregate {
	return aggregate{text: text, typ: types.Int64, build: func(*inputs) (ops.Aggregate, error) { return ops.Aggregate{Func: ops.Count}, nil }}
}

func newAggregate(text string, typ sql.Type, f ops.Func, x kernel) (aggregate, bool) {
	build := func(in *inputs) (ops.Aggregate, error) {
		arg, err := x.build(in)
		if err != nil {
			return ops.Aggregate{}, err
		}
		return ops.Aggregate{Func: f, Arg: arg, Float: f == ops.Avg}, nil
	}
	header := headerExtreme(f, x)
	return aggregate{text: text, typ: typ, fails: x.fails, header: header, greatest: x.field, isMax: header && f == ops.Max, build: build}, true
}
