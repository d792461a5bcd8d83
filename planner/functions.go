package planner

import (
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/planner/agg"
)

// numeric are the aggregates of ours over numbers that ops has.
var numeric = map[agg.Kind]ops.Func{
	agg.Sum: ops.Sum, agg.Avg: ops.Avg, agg.VarPop: ops.VarPop, agg.VarSamp: ops.VarSamp, agg.StdDevPop: ops.StdDevPop, agg.StdDevSamp: ops.StdDevSamp,
}

// function compiles an aggregate of ours.
func (c compiler) function(text string, e *agg.Function) (aggregate, bool) {
	if e.Window() != nil {
		return aggregate{}, false
	}
	x, ok := c.compile(e.Args()[0])
	if !ok {
		return aggregate{}, false
	}
	a := aggregate{text: text, typ: e.Type(c.ctx), fails: x.fails}
	switch e.Kind() {
	case agg.CountIf:
		if !x.condition() {
			return aggregate{}, false
		}
		a.build = over(ops.Aggregate{Func: ops.CountIf}, x)
	case agg.ApproxCountDistinct:
		if x.kind.Kind == column.JSON {
			return aggregate{}, false
		}
		a.build = over(ops.Aggregate{Func: ops.ApproxCountDistinct, Precision: e.Precision}, x)
	case agg.MinBy, agg.MaxBy:
		by, ok := c.compile(e.Args()[1])
		if !ok || !ordered(x) || !ordered(by) {
			return aggregate{}, false
		}
		f := ops.MinBy
		if e.Kind() == agg.MaxBy {
			f = ops.MaxBy
		}
		a.fails = a.fails || by.fails
		a.build = over(ops.Aggregate{Func: f}, x, by)
	case agg.CollectList:
		a.build = over(ops.Aggregate{Func: ops.CollectList}, x)
	case agg.PercentileApprox:
		if x.kind.Kind == column.Decimal {
			if x, ok = unary(types.Float64, x, func(x ops.Expr) (ops.Expr, error) { return ops.Cast(x, column.Type{Kind: column.Float64}, false) }); !ok {
				return aggregate{}, false
			}
		}
		if !x.integral() && x.kind.Kind != column.Float64 && x.kind.Kind != column.Timestamp && x.kind.Kind != column.Date {
			return aggregate{}, false
		}
		a.build = over(ops.Aggregate{Func: ops.PercentileApprox, Fraction: e.Fraction, Accuracy: e.Accuracy}, x)
	default:
		f, ok := numeric[e.Kind()]
		if !ok || !x.whole() && x.kind.Kind != column.Decimal && x.kind.Kind != column.Float64 {
			return aggregate{}, false
		}
		a.build = over(ops.Aggregate{Func: f}, x)
	}
	return describedAggregate(a)
}

// ordered reports whether the engine orders values of k as the kernel does.
func ordered(k kernel) bool {
	switch k.kind.Kind {
	case column.Timestamp, column.Date, column.Bytes, column.Float64, column.Decimal:
		return true
	case column.Text:
		return bytewise(k.typ)
	default:
		return k.whole()
	}
}
