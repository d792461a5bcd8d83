package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
)

// corrected is an expression in the place of another, whose text it has: the engine finds groups, and the aggregates of a projection, by their text.
type corrected struct {
	expression.UnaryExpressionStub
	text string
}

var (
	_ sql.Expression         = (*corrected)(nil)
	_ sql.CollationCoercible = (*corrected)(nil)
)

// shownAs is e with the text of what it replaces.
func shownAs(e, replaced sql.Expression) sql.Expression {
	return &corrected{expression.UnaryExpressionStub{Child: e}, replaced.String()}
}

// Type implements sql.Expression.
func (c *corrected) Type(ctx *sql.Context) sql.Type { return c.Child.Type(ctx) }

// CollationCoercibility implements sql.CollationCoercible.
func (c *corrected) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	return sql.GetCoercibility(ctx, c.Child)
}

func (c *corrected) String() string { return c.text }

// Eval implements sql.Expression.
func (c *corrected) Eval(ctx *sql.Context, row sql.Row) (any, error) { return c.Child.Eval(ctx, row) }

// WithChildren implements sql.Expression.
func (c *corrected) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(c, len(children), 1)
	}
	return &corrected{expression.UnaryExpressionStub{Child: children[0]}, c.text}, nil
}
