package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// groupCheck is the id of the engine's rule for ONLY_FULL_GROUP_BY.
const groupCheck = "validateGroupBy"

// checkingGroups gives batches with a rule for ONLY_FULL_GROUP_BY that knows what is the same for all rows of a group. To the engine's everything without operands
// is a column: it refuses SELECT now(), count(*) and SELECT @@version, max(x).
func checkingGroups(batches []*analyzer.Batch) []*analyzer.Batch {
	out := make([]*analyzer.Batch, len(batches))
	for i, b := range batches {
		out[i] = &analyzer.Batch{Desc: b.Desc, Iterations: b.Iterations, Rules: slices.Clone(b.Rules)}
		for j, r := range b.Rules {
			if r.Id.String() == groupCheck {
				out[i].Rules[j].Apply = checkGroups(r.Apply)
			}
		}
	}
	return out
}

// checkGroups has the engine's rule look at a plan of which nothing is kept but the error.
func checkGroups(engine analyzer.RuleFunc) analyzer.RuleFunc {
	return func(ctx *sql.Context, a *analyzer.Analyzer, n sql.Node, scope *plan.Scope, sel analyzer.RuleSelector, flags *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
		if flags == nil || !flags.IsSet(sql.QFlagAggregation) {
			return n, transform.SameTree, nil
		}
		shown, _, err := transform.NodeExprsWithOpaque(ctx, n, func(_ *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
			if ofNoColumn(e) {
				return columnless{e}, transform.NewTree, nil
			}
			return e, transform.SameTree, nil
		})
		if err != nil {
			return nil, transform.SameTree, err
		}
		_, _, err = engine(ctx, a, shown, scope, sel, flags)
		return n, transform.SameTree, err
	}
}

// ofNoColumn is true for what has no operands and is no column.
func ofNoColumn(e sql.Expression) bool {
	switch e := e.(type) {
	case perRow:
		return len(e.FunctionExpression.Children()) == 0
	case *expression.SystemVar, *expression.UserVar, *expression.BindVar, *expression.ProcedureParam:
		return true
	case *plan.Subquery:
		return e.Correlated().Empty()
	case sql.Aggregation, sql.WindowAdaptableExpression:
		return false
	case sql.FunctionExpression:
		return len(e.Children()) == 0
	}
	return false
}

// columnless is an expression with a literal as its operand, which the check takes for what it is.
type columnless struct{ sql.Expression }

var literally = []sql.Expression{expression.NewLiteral(nil, types.Null)}

// Children implements sql.Expression.
func (columnless) Children() []sql.Expression { return literally }

// WithChildren implements sql.Expression.
func (c columnless) WithChildren(*sql.Context, ...sql.Expression) (sql.Expression, error) {
	return c, nil
}
