package agg

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// NewSum is SUM(e).
func NewSum(ctx *sql.Context, e sql.Expression) sql.Expression {
	t := e.Type(ctx)
	switch {
	case isExact(t):
		return unary(Sum, e, sumType(t), func() state { return &exactSum{} })
	case isDouble(t):
		return unary(Sum, e, types.Float64, func() state { return &doubleSum{} })
	default:
		return aggregation.NewSum(e)
	}
}

// NewAvg is AVG(e).
func NewAvg(ctx *sql.Context, e sql.Expression) sql.Expression {
	t := e.Type(ctx)
	switch {
	case isExact(t):
		result := averageType(t)
		return unary(Avg, e, result, func() state { return &exactSum{average: result} })
	case isDouble(t):
		return unary(Avg, e, types.Float64, func() state { return &doubleSum{average: true} })
	default:
		return aggregation.NewAvg(e)
	}
}

// NewSpread makes the functions of one of the variances and deviations. The engine's have the type of their argument, which cuts off the fraction.
func NewSpread(k Kind) func(ctx *sql.Context, e sql.Expression) sql.Expression {
	s := spread{sample: k == VarSamp || k == StdDevSamp, root: k == StdDevPop || k == StdDevSamp}
	return func(ctx *sql.Context, e sql.Expression) sql.Expression {
		t := e.Type(ctx)
		switch {
		case isExact(t):
			return unary(k, e, types.Float64, func() state { return &exactMoments{spread: s} })
		case isDouble(t):
			return unary(k, e, types.Float64, func() state { return &doubleMoments{spread: s} })
		case k == VarPop:
			return aggregation.NewVarPop(e)
		case k == VarSamp:
			return aggregation.NewVarSamp(e)
		case k == StdDevPop:
			return aggregation.NewStdDevPop(e)
		default:
			return aggregation.NewStdDevSamp(e)
		}
	}
}

func unary(k Kind, e sql.Expression, typ sql.Type, fresh func() state) *Function {
	return &Function{kind: k, args: []sql.Expression{e}, typ: typ, fresh: fresh}
}
