package agg

import (
	"slices"
	"strconv"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/sqlerr"
)

// RegisterNames tells the engine which of our functions are aggregates: to its planner that is a matter of the name. It may be called again.
var RegisterNames = sync.OnceFunc(func() {
	planbuilder.IsAggregateFunc = func(ctx *sql.Context, name string) (bool, error) {
		if slices.ContainsFunc(kinds[firstNew:], func(k kindInfo) bool { return k.name == name }) {
			return true, nil
		}
		return planbuilder.IsMySQLAggregateFuncName(ctx, name)
	}
})

// constantNumber is the value of an argument that must be the same for all rows. known is false for a placeholder of a statement that is only prepared yet.
func constantNumber(ctx *sql.Context, k Kind, what string, e sql.Expression) (value float64, known bool, err error) {
	bound := true
	varies := transform.InspectExpr(ctx, e, func(_ *sql.Context, e sql.Expression) bool {
		switch e.(type) {
		case *expression.BindVar:
			bound = false
		case *expression.GetField, *expression.UnresolvedColumn:
			return true
		}
		return false
	})
	if varies {
		return 0, false, sqlerr.New(sqlerr.BadValue, "the %s of '%s' must be a constant: found %v", what, kinds[k].name, e)
	}
	if !bound {
		return 0, false, nil
	}
	v, err := e.Eval(ctx, nil)
	if err != nil {
		return 0, false, err
	}
	if text, ok := v.(string); ok { // as parameters may be sent
		if value, err = strconv.ParseFloat(text, 64); err == nil {
			return value, true, nil
		}
		v = nil
	}
	if v == nil || !types.IsNumber(e.Type(ctx)) {
		return 0, false, sqlerr.New(sqlerr.BadValue, "the %s of '%s' must be a number: found %v", what, kinds[k].name, e)
	}
	value, err = doubleOf(ctx, v)
	return value, true, err
}
