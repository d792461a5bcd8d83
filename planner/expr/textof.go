package expr

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// textOf is the text of a value of any type as a client is shown it, which is what MySQL takes where a text is wanted.
type textOf struct{ expression.UnaryExpressionStub }

var (
	_ sql.Expression         = (*textOf)(nil)
	_ sql.CollationCoercible = (*textOf)(nil)
)

// String implements sql.Expression: columns are named by the text of the statement.
func (s *textOf) String() string { return s.Child.String() }

// Type implements sql.Expression.
func (s *textOf) Type(*sql.Context) sql.Type { return types.LongText }

// CollationCoercibility implements sql.CollationCoercible: that of a text which is made of a number or a time.
func (s *textOf) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	return ctx.GetCollation(), 4
}

// WithChildren implements sql.Expression.
func (s *textOf) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(s, len(children), 1)
	}
	return &textOf{expression.UnaryExpressionStub{Child: children[0]}}, nil
}

// Eval implements sql.Expression.
func (s *textOf) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := s.Child.Eval(ctx, row)
	if v == nil || err != nil {
		return nil, err
	}
	text, err := s.Child.Type(ctx).SQL(ctx, nil, v)
	if err != nil {
		return nil, err
	}
	return text.ToString(), nil
}
