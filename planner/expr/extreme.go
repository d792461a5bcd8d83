package expr

import (
	"fmt"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// Extreme is GREATEST or LEAST of integers. The engine's computes with doubles, and fails for what no BIGINT holds.
type Extreme struct {
	// call is the engine's, which says what is resolved and shown.
	call     sql.FunctionExpression
	greatest bool
	// typ is BIGINT, BIGINT UNSIGNED or, where there are both, a DECIMAL. It is found out once: the engine may replace an argument by its value.
	typ sql.Type
}

var (
	_ sql.FunctionExpression = (*Extreme)(nil)
	_ sql.CollationCoercible = (*Extreme)(nil)
)

// NewExtreme is call, of GREATEST or LEAST: an *Extreme when all arguments are integers, else call itself.
func NewExtreme(ctx *sql.Context, call sql.Expression, greatest bool) sql.Expression {
	f, ok := call.(sql.FunctionExpression)
	if !ok || !f.Resolved() {
		return call
	}
	var withSign, without bool
	for _, arg := range f.Children() {
		t := arg.Type(ctx)
		if !isNumber(t) || !types.IsInteger(t) {
			return call
		}
		if unsigned(arg, t) {
			without = true
		} else {
			withSign = true
		}
	}
	x := &Extreme{f, greatest, types.Int64}
	switch {
	case withSign && without:
		x.typ = types.MustCreateDecimalType(20, 0)
	case without:
		x.typ = types.Uint64
	}
	return x
}

// FunctionName implements sql.FunctionExpression.
func (x *Extreme) FunctionName() string { return x.call.FunctionName() }

// Description implements sql.FunctionExpression.
func (x *Extreme) Description() string { return x.call.Description() }

// Resolved implements sql.Expression.
func (x *Extreme) Resolved() bool { return x.call.Resolved() }

// IsNullable implements sql.Expression.
func (x *Extreme) IsNullable(ctx *sql.Context) bool { return x.call.IsNullable(ctx) }

// Type implements sql.Expression.
func (x *Extreme) Type(*sql.Context) sql.Type { return x.typ }

// CollationCoercibility implements sql.CollationCoercible.
func (*Extreme) CollationCoercibility(*sql.Context) (sql.CollationID, byte) {
	return sql.Collation_binary, 5
}

func (x *Extreme) String() string { return x.call.String() }

// Children implements sql.Expression.
func (x *Extreme) Children() []sql.Expression { return x.call.Children() }

// WithChildren implements sql.Expression.
func (x *Extreme) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	e, err := x.call.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	call, ok := e.(sql.FunctionExpression)
	if !ok {
		return nil, fmt.Errorf("%s of other arguments is a %T", x.FunctionName(), e)
	}
	return &Extreme{call, x.greatest, x.typ}, nil
}

// Eval implements sql.Expression.
func (x *Extreme) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	var best any
	for _, arg := range x.Children() {
		v, err := arg.Eval(ctx, row)
		if v == nil || err != nil {
			return nil, err
		}
		if v, _, err = x.typ.Convert(ctx, v); err != nil {
			return nil, err
		}
		if best != nil {
			order, err := x.typ.Compare(ctx, v, best)
			if err != nil {
				return nil, err
			}
			if order > 0 != x.greatest {
				continue
			}
		}
		best = v
	}
	return best, nil
}
