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
	"millrace/planner/agg"
)

// aggregate is an aggregate that ops computes.
type aggregate struct {
	text string
	typ  sql.Type
	// column describes the results.
	column column.Field
	fails  bool
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
		c.keyExprs, c.keysBelow = append(c.keyExprs, e), false
	}
	c.order = nil
	for _, e := range g.SelectDeps {
		var o output
		if key := keyOf(g, e); key >= 0 {
			o = keyOutput(c.keys[key], key)
		} else {
			a, ok := with.aggregate(e)
			if !ok {
				if a, ok = with.representative(e); !ok {
					return nil, false
				}
			}
			o = resultOutput(a.typ, a.column, len(c.keys)+len(c.aggregates))
			c.aggregates = append(c.aggregates, a)
		}
		if e, ok := e.(sql.IdExpression); ok {
			o.id = e.Id()
		}
		c.outputs = append(c.outputs, o)
	}
	return c, true
}

// resultOutput is result i of a scan that is aggregated.
func resultOutput(typ sql.Type, f column.Field, i int) output {
	build := func(in *inputs) (ops.Expr, error) { return in.result(i, f), nil }
	return output{kernel: kernel{typ: typ, kind: f.Type, nullable: f.Nullable, build: build}, result: i}
}

// keyOutput is the value of key k of a scan that is aggregated, which is result i.
func keyOutput(k kernel, i int) output {
	return resultOutput(k.typ, column.Field{Type: k.kind, Nullable: k.nullable}, i)
}

// absorbDistinct makes each output of s a key: the groups are the distinct rows. The engine's keeps the order of those below it, ours has none.
func absorbDistinct(s *Scan) (*Scan, bool) {
	if s.bounded() || s.aggregated() || len(s.order) > 0 || len(s.outputs) == 0 {
		return nil, false
	}
	c := s.copy()
	for i, o := range s.outputs {
		if !groupable(o.kernel) {
			return nil, false
		}
		c.keys = append(c.keys, o.kernel)
		c.keyTexts = append(c.keyTexts, s.schema[i].Name)
		key := keyOutput(o.kernel, i)
		key.id = o.id
		c.outputs[i] = key
	}
	return c, true
}

// groupable reports whether the engine tells values of k apart as their kernel does.
func groupable(k kernel) bool {
	switch k.kind.Kind {
	case column.Text:
		return bytewise(k.typ)
	case column.Bool, column.Int32, column.Int64, column.Uint64, column.Bytes, column.Timestamp, column.Date:
		return true
	case column.Decimal:
		// All have as many fractional digits, so every number has one spelling, whichever way the engine hashes it.
		return true
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
		return sameExpression(e, key)
	})
}

// sameExpression reports whether e repeats key, over the same columns.
func sameExpression(e, key sql.Expression) bool {
	if field, ok := e.(*expression.GetField); ok {
		k, ok := key.(*expression.GetField)
		return ok && k.Id() != 0 && k.Id() == field.Id()
	}
	_, isField := key.(*expression.GetField)
	return !isField && key.String() == e.String()
}

// sameColumns reports whether two expressions of the same text are over the same columns, of which there are some.
func sameColumns(ctx *sql.Context, e, key sql.Expression) bool {
	columns := func(e sql.Expression) (ids []sql.ColumnId) {
		transform.InspectExpr(ctx, e, func(_ *sql.Context, e sql.Expression) bool {
			if field, ok := e.(*expression.GetField); ok {
				ids = append(ids, field.Id())
			}
			return false
		})
		return ids
	}
	of := columns(e)
	return len(of) > 0 && !slices.Contains(of, 0) && slices.Equal(of, columns(key))
}

// repeatedKey is the key that e repeats. Above a projection the text alone does not tell: it may have given a name to another column. The engine has one there
// for the ORDER BY and HAVING of SELECT value:a AS a … GROUP BY a, and computes the key of a group once more from one of its records.
func (c compiler) repeatedKey(e sql.Expression) (output, bool) {
	for i, key := range c.scan.keyExprs {
		if _, field := key.(*expression.GetField); !field && sameExpression(e, key) && (!c.scan.keysBelow || sameColumns(c.ctx, e, key)) {
			return keyOutput(c.scan.keys[i], i), true
		}
	}
	return output{}, false
}

// dropUnused leaves out the aggregates that nothing is made of. It says which column of the groups each result is.
func (s *Scan) dropUnused() (place map[int]int, err error) {
	in := &inputs{used: map[int]bool{}}
	for _, k := range s.having {
		if _, err := k.build(in); err != nil {
			return nil, err
		}
	}
	for _, k := range s.order {
		if _, err := k.build(in); err != nil {
			return nil, err
		}
	}
	for _, o := range s.outputs {
		if o.unneeded {
			continue
		}
		if _, err := o.build(in); err != nil {
			return nil, err
		}
	}
	place = map[int]int{}
	for i := range s.keys {
		place[i] = i
	}
	var kept []aggregate
	for i, a := range s.aggregates {
		// Without keys there is one group, which takes an aggregate to make.
		if r := len(s.keys) + i; in.used[r] || len(s.keys) == 0 && len(kept) == 0 && i == len(s.aggregates)-1 {
			place[r] = len(s.keys) + len(kept)
			kept = append(kept, a)
		}
	}
	s.aggregates = kept
	for i := range s.outputs {
		if o := &s.outputs[i]; o.result >= 0 {
			at, ok := place[o.result]
			if o.result = at; !ok {
				o.result = -1
			}
		}
	}
	return place, nil
}

// representative is x of some row of the group, which the engine keeps where something above refers to a column that is not grouped: mostly to
// compute a key again, or nothing in the end.
func (c compiler) representative(e sql.Expression) (aggregate, bool) {
	if _, ok := e.(*expression.GetField); !ok {
		return aggregate{}, false
	}
	x, ok := c.compile(e)
	if !ok {
		return aggregate{}, false
	}
	return newAggregate("any "+e.String(), x.typ, ops.Any, x)
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
			return countAll(text)
		}
		if v, ok := constantOf(c.ctx, e.Child); ok && v != nil {
			return countAll(text)
		}
		x, ok := c.compile(e.Child)
		if !ok {
			return aggregate{}, false
		}
		if !x.nullable {
			return countAll(text)
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
	case *agg.Function:
		return c.function(text, e)
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
	if !ordered(x) {
		return aggregate{}, false
	}
	return newAggregate(text, x.typ, f, x)
}

// countAll is COUNT(*): it needs no field, and with exact bounds alone the source counts from the headers of its batches.
func countAll(text string) (aggregate, bool) {
	return describedAggregate(aggregate{text: text, typ: types.Int64, build: func(*inputs) (ops.Aggregate, error) { return ops.Aggregate{Func: ops.Count}, nil }})
}

// describedAggregate is a with the column of its results; ok is false when ops has no such aggregate.
func describedAggregate(a aggregate) (_ aggregate, ok bool) {
	built, err := a.build(new(inputs))
	if err != nil {
		return aggregate{}, false
	}
	a.column, err = built.Result()
	return a, err == nil
}

func newAggregate(text string, typ sql.Type, f ops.Func, x kernel) (aggregate, bool) {
	header := headerExtreme(f, x)
	a := aggregate{text: text, typ: typ, fails: x.fails, header: header, greatest: x.field, isMax: header && f == ops.Max}
	a.build = over(ops.Aggregate{Func: f}, x)
	return describedAggregate(a)
}

// over builds a over the kernels of its arguments.
func over(a ops.Aggregate, x kernel, by ...kernel) func(in *inputs) (ops.Aggregate, error) {
	return func(in *inputs) (_ ops.Aggregate, err error) {
		a := a
		if a.Arg, err = x.build(in); err == nil && len(by) > 0 {
			a.By, err = by[0].build(in)
		}
		return a, err
	}
}
