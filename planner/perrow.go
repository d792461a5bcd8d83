package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// perRow is a function that gives another value, or does something, each time. In a condition the engine evaluates what depends on no column once, when it
// plans: rand() < 0.5 then keeps all rows or none. So that it does not, perRow has one more operand than its function, of the only kind that the engine takes for
// something that is not known yet and else lets alone. Nobody evaluates it.
type perRow struct{ sql.FunctionExpression }

var unknown = expression.NewProcedureParam("", types.Null)

// keepPerRow is a rule that runs before the engine's.
func keepPerRow(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	return transform.NodeExprsWithOpaque(ctx, n, func(_ *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		switch f := e.(type) {
		case *function.Rand:
			if f.Child != nil {
				return e, transform.SameTree, nil // the same number for the same seed
			}
			return perRow{f}, transform.NewTree, nil
		case *function.UUIDFunc:
			return perRow{f}, transform.NewTree, nil
		case *function.UUIDShortFunc:
			return perRow{f}, transform.NewTree, nil
		case *function.Sleep:
			return perRow{f}, transform.NewTree, nil
		case *function.RandomBytes:
			return perRow{f}, transform.NewTree, nil
		}
		return e, transform.SameTree, nil
	})
}

// Children implements sql.Expression.
func (p perRow) Children() []sql.Expression {
	return append([]sql.Expression{unknown}, p.FunctionExpression.Children()...)
}

// WithChildren implements sql.Expression.
func (p perRow) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) == 0 {
		return nil, sql.ErrInvalidChildrenNumber.New(p, 0, len(p.Children()))
	}
	e, err := p.FunctionExpression.WithChildren(ctx, children[1:]...)
	if f, ok := e.(sql.FunctionExpression); ok && err == nil {
		return perRow{f}, nil
	}
	return e, err
}

// IsNonDeterministic implements sql.NonDeterministicExpression.
func (perRow) IsNonDeterministic() bool { return true }
