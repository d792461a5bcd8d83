package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// exactDistinct gives an aggregate with DISTINCT, such as MAX(DISTINCT x), an operand that knows values apart. The engine's makes a text of them, which fails over bytes
// that are no text.
func (x explainer) exactDistinct(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
	return transform.Expr(ctx, e, func(_ *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		if d, ok := e.(*expression.DistinctExpression); ok {
			return &distinctValue{DistinctExpression: d, explainer: x}, transform.NewTree, nil
		}
		return e, transform.SameTree, nil
	})
}

// distinctValue is its operand where that is new, else NULL, which aggregates leave out. Each group has its own.
type distinctValue struct {
	*expression.DistinctExpression
	explainer explainer
	seen      *identities
	value     [1]any
}

// Eval implements sql.Expression.
func (d *distinctValue) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := d.Child.Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	if d.seen == nil {
		d.seen = d.explainer.identities(ctx, rowIdentityOf(ctx, d.Children()), "the different values of DISTINCT")
	}
	d.value[0] = v
	_, first, err := d.seen.add(ctx, d.value[:])
	if err != nil || !first {
		return nil, err
	}
	return v, nil
}

// WithChildren implements sql.Expression: what it gives has seen nothing.
func (d *distinctValue) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(d, len(children), 1)
	}
	return &distinctValue{DistinctExpression: expression.NewDistinctExpression(children[0]), explainer: d.explainer}, nil
}

// Dispose implements sql.Disposable.
func (d *distinctValue) Dispose(*sql.Context) {
	if d.seen != nil {
		d.seen.close()
		d.seen = nil
	}
}
