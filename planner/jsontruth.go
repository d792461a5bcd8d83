package planner

import (
	"slices"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// jsonTruth is a JSON value as a condition: MySQL compares it with the JSON number 0, so it is true unless it is a number that is zero, and unknown when it is NULL. The engine
// knows that for some of its own documents only, and for none of ours.
type jsonTruth struct{ expression.UnaryExpressionStub }

// jsonConditions puts the truth of JSON values where e takes its operands for conditions.
func jsonConditions(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
	switch e := e.(type) {
	case *expression.And, *expression.Or, *expression.Xor, *expression.Not:
		operands, changed := slices.Clone(e.Children()), false
		for i := range operands {
			var one bool
			operands[i], one = asCondition(ctx, operands[i])
			changed = changed || one
		}
		if !changed {
			return e, transform.SameTree, nil
		}
		n, err := e.WithChildren(ctx, operands...)
		return n, transform.NewTree, err
	case *function.If:
		operands := slices.Clone(e.Children())
		cond, changed := asCondition(ctx, operands[0])
		if !changed {
			return e, transform.SameTree, nil
		}
		operands[0] = cond
		n, err := e.WithChildren(ctx, operands...)
		return n, transform.NewTree, err
	case *expression.Case:
		if e.Expr != nil {
			return e, transform.SameTree, nil
		}
		branches, changed := slices.Clone(e.Branches), false
		for i := range branches {
			var one bool
			branches[i].Cond, one = asCondition(ctx, branches[i].Cond)
			changed = changed || one
		}
		if !changed {
			return e, transform.SameTree, nil
		}
		return expression.NewCase(nil, branches, e.Else), transform.NewTree, nil
	}
	return e, transform.SameTree, nil
}

// jsonFilter does so for the condition of a WHERE, a HAVING or a join.
func jsonFilter(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
	switch n.(type) {
	case *plan.Filter, *plan.Having, *plan.JoinNode:
	default:
		return n, transform.SameTree, nil
	}
	conditions, changed := slices.Clone(n.(sql.Expressioner).Expressions()), false
	for i := range conditions {
		var one bool
		conditions[i], one = asCondition(ctx, conditions[i])
		changed = changed || one
	}
	if !changed {
		return n, transform.SameTree, nil
	}
	n, err := n.(sql.Expressioner).WithExpressions(ctx, conditions...)
	return n, transform.NewTree, err
}

func asCondition(ctx *sql.Context, e sql.Expression) (sql.Expression, bool) {
	if e == nil || !e.Resolved() || !types.IsJSON(e.Type(ctx)) {
		return e, false
	}
	return &jsonTruth{expression.UnaryExpressionStub{Child: e}}, true
}

// Type implements sql.Expression.
func (*jsonTruth) Type(*sql.Context) sql.Type { return types.Boolean }

// IsNullable implements sql.Expression.
func (*jsonTruth) IsNullable(*sql.Context) bool { return true }

// String implements sql.Expression.
func (t *jsonTruth) String() string { return t.Child.String() }

// WithChildren implements sql.Expression.
func (t *jsonTruth) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(t, len(children), 1)
	}
	return &jsonTruth{expression.UnaryExpressionStub{Child: children[0]}}, nil
}

// Eval implements sql.Expression.
func (t *jsonTruth) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := t.Child.Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	if w, ok := v.(sql.JSONWrapper); ok {
		if v, err = w.ToInterface(ctx); err != nil {
			return nil, err
		}
	}
	switch v := v.(type) {
	case int64:
		return v != 0, nil
	case uint64:
		return v != 0, nil
	case float64:
		return v != 0, nil
	case *apd.Decimal:
		return !v.IsZero(), nil
	}
	return true, nil
}
