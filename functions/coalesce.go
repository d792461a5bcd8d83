package functions

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// CoalesceFunction is the engine's COALESCE with the type that DECIMAL arguments have in common. The engine takes the type of the last one:
// coalesce(n, 1.25) with 123.456 in n was an error, since 1.25 is a DECIMAL(3,2), and 1.2345 lost a digit where the last argument had three.
func CoalesceFunction() sql.Function {
	return sql.FunctionN{Name: "coalesce", Fn: func(ctx *sql.Context, args ...sql.Expression) (sql.Expression, error) {
		return function.NewCoalesce(ctx, commonDecimals(ctx, args)...)
	}}
}

// commonDecimals casts DECIMALs that differ in digits to a type that holds all of them. Other arguments stay what they are.
func commonDecimals(ctx *sql.Context, args []sql.Expression) []sql.Expression {
	var whole, scale int
	differ := false
	var first sql.Type
	for _, a := range args {
		if !a.Resolved() {
			return args
		}
		d, ok := a.Type(ctx).(sql.DecimalType)
		if !ok {
			continue
		}
		if first == nil {
			first = d
		}
		differ = differ || !first.Equals(d)
		whole, scale = max(whole, int(d.Precision()-d.Scale())), max(scale, int(d.Scale()))
	}
	if !differ {
		return args
	}
	scale = min(scale, types.DecimalTypeMaxScale)
	precision := min(whole+scale, types.DecimalTypeMaxPrecision)
	cast := make([]sql.Expression, len(args))
	for i, a := range args {
		if _, ok := a.Type(ctx).(sql.DecimalType); ok {
			a = expression.NewConvertWithLengthAndScale(a, expression.ConvertToDecimal, precision, scale)
		}
		cast[i] = a
	}
	return cast
}
