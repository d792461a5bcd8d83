package agg

import (
	"fmt"
	"math/big"
	"math/bits"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/planner/expr"
)

// averageDigits is how many fractional digits AVG adds, MySQL's div_precision_increment.
const averageDigits = 4

// exactContext has room for the sum of 2^63 products of decimals of 65 digits.
var exactContext = apd.BaseContext.WithPrecision(160)

// isExact reports whether values of t are integers or decimals.
func isExact(t sql.Type) bool { return types.IsInteger(t) || types.IsDecimal(t) }

// digitsOf is the precision and scale of an exact type.
func digitsOf(t sql.Type) (precision, scale int) {
	if d, ok := t.(sql.DecimalType); ok {
		return int(d.Precision()), int(d.Scale())
	}
	switch t {
	case types.Boolean, types.Int8, types.Uint8:
		return 3, 0
	case types.Int16, types.Uint16:
		return 5, 0
	case types.Int24, types.Uint24:
		return 7, 0
	case types.Int32, types.Uint32:
		return 10, 0
	case types.Uint64:
		return 20, 0
	default:
		return 19, 0
	}
}

// sumType is MySQL's: a DECIMAL with 22 digits more than the argument.
func sumType(t sql.Type) sql.Type {
	precision, scale := digitsOf(t)
	return types.MustCreateDecimalType(uint8(min(precision+22, types.DecimalTypeMaxPrecision)), uint8(scale))
}

// averageType is MySQL's: four more fractional digits.
func averageType(t sql.Type) sql.DecimalType {
	precision, scale := digitsOf(t)
	more := max(0, min(averageDigits, types.DecimalTypeMaxScale-scale))
	return types.MustCreateDecimalType(uint8(min(precision+averageDigits, types.DecimalTypeMaxPrecision)), uint8(scale+more))
}

// exactSum is SUM and, where average is not nil, AVG over integers and decimals. The engine's own adds integers up as doubles, and is wrong above 2^53.
type exactSum struct {
	total   total
	average sql.DecimalType
}

func (s *exactSum) add(_ *sql.Context, values []any) error {
	return s.total.count(values[0], 1)
}

func (s *exactSum) remove(_ *sql.Context, values []any) error {
	return s.total.count(values[0], -1)
}

func (s *exactSum) value(*sql.Context) (any, error) {
	if s.total.rows == 0 {
		return nil, nil
	}
	sum := s.total.sum()
	if s.average == nil {
		return sum, nil
	}
	return divided(sum, s.total.rows, int32(s.average.Scale())), nil
}

// total is an exact sum: integers in 128 bits, decimals apart.
type total struct {
	// rows is the number of values that are not NULL.
	rows int64
	high int64
	low  uint64
	// decimals is nil until there is one.
	decimals *apd.Decimal
}

// count adds v times, which is 1 or -1.
func (t *total) count(v any, times int64) error {
	if v == nil {
		return nil
	}
	switch v := v.(type) {
	case uint64:
		t.addUint(v, times)
	case uint:
		t.addUint(uint64(v), times)
	case *apd.Decimal:
		if err := t.addDecimal(v, times); err != nil {
			return err
		}
	case string:
		// A decimal literal.
		d, err := decimalOf(v)
		if err != nil {
			return err
		}
		if err := t.addDecimal(d, times); err != nil {
			return err
		}
	default:
		i, ok := expr.SignedOf(v)
		if !ok {
			return notExact(v)
		}
		t.addInt(i, times)
	}
	t.rows += times
	return nil
}

func (t *total) addInt(x, times int64) { t.addWords(x>>63, uint64(x), times) }

func (t *total) addUint(x uint64, times int64) { t.addWords(0, x, times) }

func (t *total) addWords(high int64, low uint64, times int64) {
	var carry uint64
	if times < 0 {
		t.low, carry = bits.Sub64(t.low, low, 0)
		t.high -= high + int64(carry)
		return
	}
	t.low, carry = bits.Add64(t.low, low, 0)
	t.high += high + int64(carry)
}

func (t *total) addDecimal(d *apd.Decimal, times int64) error {
	if t.decimals == nil {
		t.decimals = new(apd.Decimal)
	}
	apply := exactContext.Add
	if times < 0 {
		apply = exactContext.Sub
	}
	_, err := apply(t.decimals, t.decimals, d)
	return err
}

// sum is the value of t.
func (t *total) sum() *apd.Decimal {
	i := new(big.Int).Lsh(big.NewInt(t.high), 64)
	i.Add(i, new(big.Int).SetUint64(t.low))
	sum := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(i), 0)
	if t.decimals != nil {
		_, _ = exactContext.Add(sum, sum, t.decimals) // fits, as the decimals did
	}
	return sum
}

// divided is x/n for positive n with scale fractional digits, halves away from zero, as MySQL rounds.
func divided(x *apd.Decimal, n int64, scale int32) *apd.Decimal {
	numerator, denominator := new(big.Int).Abs(x.Coeff.MathBigInt()), big.NewInt(n)
	if shift := int64(scale) + int64(x.Exponent); shift >= 0 {
		numerator.Mul(numerator, powerOfTen(shift))
	} else {
		denominator.Mul(denominator, powerOfTen(-shift))
	}
	quotient, rest := numerator.QuoRem(numerator, denominator, new(big.Int))
	if rest.Lsh(rest, 1).Cmp(denominator) >= 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	out := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(quotient), -scale)
	out.Negative = x.Negative && quotient.Sign() != 0
	return out
}

func powerOfTen(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

func decimalOf(text string) (*apd.Decimal, error) {
	d, _, err := apd.NewFromString(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number: %w", text, err)
	}
	return d, nil
}

func notExact(v any) error {
	return fmt.Errorf("a value of type %T where an exact number was promised", v)
}
