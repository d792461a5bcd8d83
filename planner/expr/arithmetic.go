package expr

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/sqlerr"
)

// Arithmetic is + - * and % over numbers, with MySQL's types and errors. The engine's wraps around where a BIGINT is out of range, takes a signed and an unsigned
// number for two signed ones, and makes a DECIMAL of the rest of two integers.
type Arithmetic struct {
	op          byte
	left, right sql.Expression
	// typ is BIGINT, BIGINT UNSIGNED, DOUBLE or a DECIMAL. It is found out once: the engine may replace an operand by its value, whose type is the
	// least that holds it.
	typ sql.Type
}

var (
	_ sql.Expression         = (*Arithmetic)(nil)
	_ sql.CollationCoercible = (*Arithmetic)(nil)
)

// DivisionByZero is MySQL's code for the warning of a division by zero.
const DivisionByZero = 1365

// exactContext has room for the product of two decimals of 65 digits.
var exactContext = apd.BaseContext.WithPrecision(160)

// NewArithmetic is l op r, where op is one of + - * and %: an *Arithmetic when both are numbers, else the engine's expression. What holds a division
// is also the engine's, which carries the digits of a quotient through to the outermost operator.
func NewArithmetic(ctx *sql.Context, op byte, l, r sql.Expression) sql.Expression {
	if !divides(l) && !divides(r) {
		if t := arithmeticType(ctx, op, l, r); t != nil {
			return &Arithmetic{op, l, r, t}
		}
	}
	if op == '%' {
		return expression.NewMod(l, r)
	}
	return expression.NewArithmetic(l, r, string(op))
}

// divides reports whether e is a division, or the engine's arithmetic on one.
func divides(e sql.Expression) bool {
	a, ok := e.(expression.ArithmeticOp)
	if !ok {
		return false
	}
	_, division := a.(*expression.Div)
	return division || divides(a.Left()) || divides(a.Right())
}

// arithmeticType is the type of l op r, nil when that is not for us.
func arithmeticType(ctx *sql.Context, op byte, l, r sql.Expression) sql.Type {
	lt, rt := l.Type(ctx), r.Type(ctx)
	if !isNumber(lt) || !isNumber(rt) {
		return nil
	}
	switch {
	case types.IsFloat(lt) || types.IsFloat(rt):
		return types.Float64
	case types.IsDecimal(lt) || types.IsDecimal(rt):
		return decimalResult(op, lt, rt)
	case unsigned(l, lt) || op != '%' && unsigned(r, rt):
		return types.Uint64
	default:
		return types.Int64
	}
}

func isNumber(t sql.Type) bool {
	return types.IsInteger(t) && !types.IsYear(t) && !types.IsBit(t) || types.IsFloat(t) || types.IsDecimal(t)
}

// unsigned reports whether e is an unsigned integer. To the engine a literal has the least type that holds it, be it unsigned; to MySQL it is signed while it
// fits.
func unsigned(e sql.Expression, t sql.Type) bool {
	if literal, ok := e.(*expression.Literal); ok {
		v, ok := literal.Value().(uint64)
		return ok && v > math.MaxInt64
	}
	return types.IsUnsigned(t)
}

// decimalResult is MySQL's type of an operation on decimals and integers.
func decimalResult(op byte, l, r sql.Type) sql.Type {
	lp, ls := digits(l)
	rp, rs := digits(r)
	scale, precision := max(ls, rs), max(lp-ls, rp-rs)+max(ls, rs)
	switch op {
	case '*':
		scale, precision = ls+rs, lp+rp
	case '+', '-':
		precision++
	}
	scale = min(scale, types.DecimalTypeMaxScale)
	precision = max(min(precision, types.DecimalTypeMaxPrecision), scale)
	return types.MustCreateDecimalType(uint8(precision), uint8(scale))
}

// digits is the precision and scale of an exact type.
func digits(t sql.Type) (precision, scale int) {
	if d, ok := t.(sql.DecimalType); ok {
		return int(d.Precision()), int(d.Scale())
	}
	switch t {
	case types.Boolean, types.Int8, types.Uint8:
		return 3, 0
	case types.Int16, types.Uint16:
		return 5, 0
	case types.Int24, types.Uint24:
		return 8, 0
	case types.Int32, types.Uint32:
		return 10, 0
	case types.Uint64:
		return 20, 0
	default:
		return 19, 0
	}
}

// Op is one of + - * and %.
func (a *Arithmetic) Op() byte { return a.op }

// Left is the first operand.
func (a *Arithmetic) Left() sql.Expression { return a.left }

// Right is the second operand.
func (a *Arithmetic) Right() sql.Expression { return a.right }

// Resolved implements sql.Expression.
func (a *Arithmetic) Resolved() bool { return a.left.Resolved() && a.right.Resolved() }

func (a *Arithmetic) String() string { return fmt.Sprintf("(%s %c %s)", a.left, a.op, a.right) }

// Type implements sql.Expression.
func (a *Arithmetic) Type(*sql.Context) sql.Type { return a.typ }

// IsNullable implements sql.Expression.
func (a *Arithmetic) IsNullable(ctx *sql.Context) bool {
	return a.op == '%' || a.left.IsNullable(ctx) || a.right.IsNullable(ctx)
}

// Children implements sql.Expression.
func (a *Arithmetic) Children() []sql.Expression { return []sql.Expression{a.left, a.right} }

// WithChildren implements sql.Expression.
func (a *Arithmetic) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 2 {
		return nil, sql.ErrInvalidChildrenNumber.New(a, len(children), 2)
	}
	return &Arithmetic{a.op, children[0], children[1], a.typ}, nil
}

// CollationCoercibility implements sql.CollationCoercible.
func (*Arithmetic) CollationCoercibility(*sql.Context) (sql.CollationID, byte) {
	return sql.Collation_binary, 5
}

// Eval implements sql.Expression.
func (a *Arithmetic) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	l, err := operandValue(ctx, a.left, row)
	if err != nil || l == nil {
		return nil, err
	}
	r, err := operandValue(ctx, a.right, row)
	if err != nil || r == nil {
		return nil, err
	}
	switch a.typ {
	case types.Float64:
		return a.doubles(ctx, l, r)
	case types.Int64, types.Uint64:
		return a.integers(ctx, l, r)
	default:
		return a.decimals(ctx, l, r)
	}
}

func operandValue(ctx *sql.Context, e sql.Expression, row sql.Row) (any, error) {
	v, err := e.Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	return sql.UnwrapAny(ctx, v)
}

// integers computes in 64 bits; what does not fit the type is out of range.
func (a *Arithmetic) integers(ctx *sql.Context, l, r any) (any, error) {
	x, err := wholeOf(l)
	if err != nil {
		return nil, err
	}
	y, err := wholeOf(r)
	if err != nil {
		return nil, err
	}
	if a.op == '%' && y.size == 0 {
		ctx.Warn(DivisionByZero, "Division by 0")
		return nil, nil
	}
	z, ok := compute(a.op, x, y)
	if a.typ == types.Uint64 {
		if !ok || z.negative {
			return nil, a.outOfRange("BIGINT UNSIGNED", l, r)
		}
		return z.size, nil
	}
	switch {
	case ok && z.negative && z.size <= 1<<63:
		return -int64(z.size), nil
	case ok && !z.negative && z.size < 1<<63:
		return int64(z.size), nil
	default:
		return nil, a.outOfRange("BIGINT", l, r)
	}
}

func (a *Arithmetic) outOfRange(typ string, l, r any) error {
	return sqlerr.New(sqlerr.OutOfRange, "%s value is out of range in '%v'", typ, a).WithDetail("the operands are %v and %v", l, r)
}

// whole is an integer of any type: its sign and its size. Zero is not negative.
type whole struct {
	negative bool
	size     uint64
}

func wholeOf(v any) (whole, error) {
	switch v := v.(type) {
	case uint64:
		return whole{size: v}, nil
	case uint:
		return whole{size: uint64(v)}, nil
	}
	if i, ok := SignedOf(v); ok {
		if i < 0 {
			return whole{true, -uint64(i)}, nil
		}
		return whole{size: uint64(i)}, nil
	}
	return whole{}, fmt.Errorf("a value of type %T where an integer was promised", v)
}

// SignedOf is the value of a signed integer, a small unsigned one or a boolean.
func SignedOf(v any) (int64, bool) {
	switch v := v.(type) {
	case bool:
		return int64(truth(v)), true
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case int:
		return int64(v), true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	default:
		return 0, false
	}
}

// compute is x op y, and whether its size has 64 bits.
func compute(op byte, x, y whole) (whole, bool) {
	switch op {
	case '*':
		high, low := bits.Mul64(x.size, y.size)
		return whole{x.negative != y.negative && low != 0, low}, high == 0
	case '%':
		rest := x.size % y.size
		return whole{x.negative && rest != 0, rest}, true
	case '-':
		y.negative = !y.negative
	}
	if x.negative == y.negative {
		sum, carry := bits.Add64(x.size, y.size, 0)
		return whole{x.negative && sum != 0, sum}, carry == 0
	}
	if x.size < y.size {
		x, y = y, x
	}
	return whole{x.negative && x.size != y.size, x.size - y.size}, true
}

func (a *Arithmetic) doubles(ctx *sql.Context, l, r any) (any, error) {
	x, err := doubleOf(l)
	if err != nil {
		return nil, err
	}
	y, err := doubleOf(r)
	if err != nil {
		return nil, err
	}
	var z float64
	switch a.op {
	case '+':
		z = x + y
	case '-':
		z = x - y
	case '*':
		z = x * y
	default:
		if y == 0 {
			ctx.Warn(DivisionByZero, "Division by 0")
			return nil, nil
		}
		if z = math.Mod(x, y); z == 0 {
			z = 0 // never -0
		}
	}
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return nil, a.outOfRange("DOUBLE", x, y)
	}
	return z, nil
}

func doubleOf(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case float32:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case *apd.Decimal:
		f, _ := v.Float64() // the nearest one
		return f, nil
	}
	if i, ok := SignedOf(v); ok {
		return float64(i), nil
	}
	d, err := exactOf(v)
	if err != nil {
		return 0, err
	}
	f, _ := d.Float64()
	return f, nil
}

// decimals computes exactly, and rounds only a product of more fractional digits than a DECIMAL has.
func (a *Arithmetic) decimals(ctx *sql.Context, l, r any) (any, error) {
	x, err := exactOf(l)
	if err != nil {
		return nil, err
	}
	y, err := exactOf(r)
	if err != nil {
		return nil, err
	}
	z := new(apd.Decimal)
	switch a.op {
	case '+':
		_, err = exactContext.Add(z, x, y)
	case '-':
		_, err = exactContext.Sub(z, x, y)
	case '*':
		_, err = exactContext.Mul(z, x, y)
	default:
		if y.IsZero() {
			ctx.Warn(DivisionByZero, "Division by 0")
			return nil, nil
		}
		_, err = exactContext.Rem(z, x, y)
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", a, err)
	}
	if z.Exponent < -types.DecimalTypeMaxScale {
		round(z, types.DecimalTypeMaxScale)
	}
	if z.IsZero() {
		z.Negative = false
	}
	if z.NumDigits() > types.DecimalTypeMaxPrecision {
		return nil, a.outOfRange("DECIMAL", x, y)
	}
	return z, nil
}

// round cuts d to a number of fractional digits, halves away from zero.
func round(d *apd.Decimal, scale int32) {
	coefficient, unit := d.Coeff.MathBigInt(), tenTo(int64(-d.Exponent-scale))
	coefficient.Add(coefficient, new(big.Int).Rsh(unit, 1))
	d.Coeff.SetMathBigInt(coefficient.Quo(coefficient, unit))
	d.Exponent = -scale
}

func tenTo(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

func exactOf(v any) (*apd.Decimal, error) {
	switch v := v.(type) {
	case *apd.Decimal:
		return v, nil
	case uint64:
		return apd.NewWithBigInt(new(apd.BigInt).SetUint64(v), 0), nil
	case string:
		// A decimal literal.
		d, _, err := apd.NewFromString(v)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number: %w", v, err)
		}
		return d, nil
	}
	if i, ok := SignedOf(v); ok {
		return apd.New(i, 0), nil
	}
	return nil, fmt.Errorf("a value of type %T where a number was promised", v)
}
