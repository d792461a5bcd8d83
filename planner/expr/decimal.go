package expr

import (
	"fmt"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// DecimalCast is CAST(x AS DECIMAL(p, s)). The engine's keeps the sign of what becomes 0, which is then shown as -0.00 and is a group of its own; it takes
// DECIMAL(p) for a type with thirty digits behind the point, and gives 0 for what is out of range where MySQL gives the number nearest to it.
type DecimalCast struct {
	// cast is the engine's, which has the quotients in its operand keep all their digits.
	cast sql.Expression
	typ  sql.DecimalType
	// most is the greatest value of typ.
	most *apd.Decimal
}

var (
	_ sql.Expression         = (*DecimalCast)(nil)
	_ sql.CollationCoercible = (*DecimalCast)(nil)
)

// MySQL's codes for the warnings about a value that is out of range, and about one that is no number.
const (
	columnRange    = 1264
	incorrectValue = 1292
)

// NewDecimalCast makes the function into which a CAST is rewritten: its arguments are x and two literals, precision and scale.
func NewDecimalCast(ctx *sql.Context, args ...sql.Expression) (sql.Expression, error) {
	if len(args) != 3 {
		return nil, sql.ErrInvalidArgumentNumber.New("millrace_decimal", 3, len(args))
	}
	var numbers [2]uint8
	for i, a := range args[1:] {
		v, err := a.Eval(ctx, nil)
		if err != nil {
			return nil, err
		}
		n, _, err := types.Uint8.Convert(ctx, v)
		if err != nil {
			return nil, err
		}
		numbers[i] = n.(uint8)
	}
	typ, err := types.CreateDecimalType(numbers[0], numbers[1])
	if err != nil {
		return nil, err
	}
	most := apd.New(1, int32(numbers[0]))
	if _, err := exactContext.Sub(most, most, apd.New(1, 0)); err != nil {
		return nil, fmt.Errorf("the greatest %s: %w", typ, err)
	}
	most.Exponent = -int32(numbers[1])
	return &DecimalCast{expression.NewConvert(args[0], expression.ConvertToDecimal), typ, most}, nil
}

// Resolved implements sql.Expression.
func (d *DecimalCast) Resolved() bool { return d.cast.Resolved() }

// IsNullable implements sql.Expression.
func (d *DecimalCast) IsNullable(ctx *sql.Context) bool { return d.cast.IsNullable(ctx) }

// Type implements sql.Expression.
func (d *DecimalCast) Type(*sql.Context) sql.Type { return d.typ }

// CollationCoercibility implements sql.CollationCoercible.
func (*DecimalCast) CollationCoercibility(*sql.Context) (sql.CollationID, byte) {
	return sql.Collation_binary, 5
}

func (d *DecimalCast) String() string {
	return fmt.Sprintf("convert(%v, %v)", d.Children()[0], d.typ)
}

// Children implements sql.Expression.
func (d *DecimalCast) Children() []sql.Expression { return d.cast.Children() }

// WithChildren implements sql.Expression.
func (d *DecimalCast) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	cast, err := d.cast.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	return &DecimalCast{cast, d.typ, d.most}, nil
}

// Eval implements sql.Expression.
func (d *DecimalCast) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	operand := d.cast.Children()[0]
	v, err := operand.Eval(ctx, row)
	if v == nil || err != nil {
		return nil, err
	}
	x, err := unboundedDecimal(ctx, v, operand.Type(ctx))
	if err != nil {
		return nil, err
	}
	if x == nil {
		return nil, nil
	}
	// Digits before the point are counted first: rounding writes out all zeros of 1e308.
	outside := x.Form == apd.Infinite || !x.IsZero() && x.NumDigits()+int64(x.Exponent) > int64(d.typ.Precision())-int64(d.typ.Scale())
	if !outside {
		if x, err = sql.DecimalRound(x, int32(d.typ.Scale())); err != nil {
			return nil, err
		}
		outside = new(apd.Decimal).Abs(x).Cmp(d.most) > 0
	}
	if outside {
		ctx.Warn(columnRange, "Out of range value for %s", d.typ)
		x = &apd.Decimal{Negative: x.Negative, Coeff: d.most.Coeff, Exponent: d.most.Exponent}
	}
	return unsignedZero(x), nil
}

// unboundedDecimal converts v of type t to a DECIMAL as the engine does, which takes what is no number for 0; but to one of any size, where the engine's has at
// most 65 digits and all others are 0 too.
func unboundedDecimal(ctx *sql.Context, v any, t sql.Type) (*apd.Decimal, error) {
	v, err := sql.UnwrapAny(ctx, v)
	if err != nil {
		return nil, err
	}
	if v, err = types.ConvertHexBlobToDecimalForNumericContext(v, t); err != nil {
		ctx.Warn(incorrectValue, "Incorrect decimal value: %v", v)
		return nil, nil
	}
	x, err := types.InternalDecimalType.ConvertToDecimal(v)
	switch {
	case sql.ErrTruncatedIncorrect.Is(err):
		ctx.Warn(incorrectValue, "%s", err.Error())
		return x, nil
	case err != nil || x != nil && x.Form > apd.Infinite:
		return new(apd.Decimal), nil
	}
	return x, nil
}

// unsignedZero is x, or 0 for -0, which SQL does not have.
func unsignedZero(x *apd.Decimal) *apd.Decimal {
	if !x.Negative || !x.IsZero() {
		return x
	}
	return &apd.Decimal{Exponent: x.Exponent}
}

// Rounded is a function of the engine's that rounds, such as ROUND, whose result has no sign where it is 0.
type Rounded struct{ sql.FunctionExpression }

// NewRounded wraps a function that rounds.
func NewRounded(e sql.Expression) sql.Expression {
	if f, ok := e.(sql.FunctionExpression); ok {
		return &Rounded{f}
	}
	return e
}

// CollationCoercibility implements sql.CollationCoercible.
func (r *Rounded) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	return sql.GetCoercibility(ctx, r.FunctionExpression)
}

// WithChildren implements sql.Expression.
func (r *Rounded) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	e, err := r.FunctionExpression.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	return NewRounded(e), nil
}

// Eval implements sql.Expression.
func (r *Rounded) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := r.FunctionExpression.Eval(ctx, row)
	if x, ok := v.(*apd.Decimal); ok && err == nil {
		return unsignedZero(x), nil
	}
	return v, err
}
