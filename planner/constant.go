package planner

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/planner/expr"
)

// pureFunctions have a value that depends on their arguments and the start of the statement only, and no effect. The rest of the
// functions stay where the engine evaluates them, once for each row.
var pureFunctions = map[string]bool{
	"adddate": true, "cast": true, "concat": true, "current_timestamp": true, "date": true, "date_add": true, "date_sub": true,
	"datetime": true, "from_unixtime": true, "now": true, "str_to_date": true, "subdate": true, "timestamp": true, "to_timestamp": true,
	"unhex": true, "unix_timestamp": true, "utc_timestamp": true, "millrace_cast": true,
}

// constantOf evaluates e when it is the same for every row and evaluating it has no effect. ok is false otherwise, and when it fails: then
// the engine fails, or not, in its own time.
func constantOf(ctx *sql.Context, e sql.Expression) (v any, ok bool) {
	if !isConstant(e) {
		return nil, false
	}
	v, err := e.Eval(ctx, nil)
	if err != nil {
		return nil, false
	}
	if v, err = sql.UnwrapAny(ctx, v); err != nil {
		return nil, false
	}
	return v, true
}

func isConstant(e sql.Expression) bool {
	switch e := e.(type) {
	case *expression.Literal:
		return true
	case *expression.Interval, *expression.Arithmetic, *expr.Arithmetic, *expression.UnaryMinus, *expression.Convert, *expr.DecimalCast, *corrected, expression.Tuple:
	case sql.FunctionExpression:
		if !pureFunctions[strings.ToLower(e.FunctionName())] {
			return false
		}
	default:
		return false
	}
	for _, c := range e.Children() {
		if !isConstant(c) {
			return false
		}
	}
	return true
}

// integer is a constant as an integer column sees it: floor, and whether there is a fraction above it.
type integer struct {
	floor    int64
	fraction bool
}

// exactFloat is the bound below which every integer is a float64 of its own, so that a comparison in float64, as the engine makes it for
// numbers in text, is exact.
const exactFloat = 1 << 53

// integerOf converts the constant v of type t as the engine does before it compares it with a signed integer column.
func integerOf(v any, t sql.Type) (integer, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return integer{floor: 1}, true
		}
		return integer{}, true
	case int8:
		return integer{floor: int64(v)}, true
	case int16:
		return integer{floor: int64(v)}, true
	case int32:
		return integer{floor: int64(v)}, true
	case int64:
		return integer{floor: v}, true
	case int:
		return integer{floor: int64(v)}, true
	case uint8:
		return integer{floor: int64(v)}, true
	case uint16:
		return integer{floor: int64(v)}, true
	case uint32:
		return integer{floor: int64(v)}, true
	case uint64:
		// Signed against unsigned is a comparison of doubles.
		return integer{floor: int64(v)}, v < exactFloat
	case float32:
		return integerOfFloat(float64(v))
	case float64:
		return integerOfFloat(v)
	case *apd.Decimal:
		return integerOfDecimal(v)
	case string:
		if !types.IsTextOnly(t) {
			return integer{}, false
		}
		// The engine also reads a numeric prefix, with a warning; that stays its own.
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || strings.ContainsAny(v, "xXpP_iInN") {
			return integer{}, false
		}
		return integerOfFloat(f)
	default:
		return integer{}, false
	}
}

func integerOfFloat(f float64) (integer, bool) {
	if !(math.Abs(f) < exactFloat) {
		return integer{}, false
	}
	floor := math.Floor(f)
	return integer{int64(floor), floor != f}, true
}

func integerOfDecimal(d *apd.Decimal) (integer, bool) {
	// Longer ones are of no use as a bound and may cost a lot of digits.
	if d.Form != apd.Finite || d.Exponent > 20 || d.Exponent < -80 {
		return integer{}, false
	}
	r, ok := new(big.Rat).SetString(d.Text('f'))
	if !ok {
		return integer{}, false
	}
	floor, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if !floor.IsInt64() {
		return integer{}, false
	}
	return integer{floor.Int64(), rest.Sign() != 0}, true
}

// doubleOf converts the constant v of type t as the engine does before it compares it with a DOUBLE. A comparison with a DECIMAL is one of
// decimals, and stays the engine's.
func doubleOf(v any, t sql.Type) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, !math.IsNaN(f)
	}
	if types.IsDecimal(t) || types.IsTextOnly(t) {
		return 0, false
	}
	n, ok := integerOf(v, t)
	return float64(n.floor), ok && !n.fraction && -exactFloat < n.floor && n.floor < exactFloat
}

// decimalOf converts the constant v as the engine does before it compares it with a DECIMAL.
func decimalOf(v any) (ops.Expr, bool) {
	switch x := v.(type) {
	case *apd.Decimal:
		if x.Form != apd.Finite || x.Exponent < -types.DecimalTypeMaxScale || x.NumDigits() > types.DecimalTypeMaxPrecision || x.Exponent > 0 {
			return nil, false
		}
		return ops.Const(column.Type{Kind: column.Decimal, Precision: types.DecimalTypeMaxPrecision, Scale: uint8(-x.Exponent)}, x.Text('f')), true
	case int8, int16, int32, int64, int, uint8, uint16, uint32:
		n, _ := integerOf(x, types.Int64)
		return ops.Const(column.Type{Kind: column.Decimal, Precision: 19}, strconv.FormatInt(n.floor, 10)), true
	default:
		return nil, false
	}
}

// momentOf converts the constant v of type t as the engine does before it compares it with a DATETIME column: microseconds since 1970.
func momentOf(ctx *sql.Context, v any, t sql.Type) (int64, bool) {
	switch v.(type) {
	case time.Time:
	case string:
		if !types.IsTextOnly(t) {
			return 0, false
		}
	default:
		return 0, false
	}
	if types.IsTimespan(t) {
		return 0, false
	}
	c, inRange, err := types.DatetimeMaxPrecision.Convert(ctx, v)
	if err != nil || inRange != sql.InRange {
		return 0, false
	}
	at, ok := c.(time.Time)
	if !ok || at.Year() < 1 || at.Year() > 9999 {
		return 0, false
	}
	return at.UnixMicro(), true
}

// bytesOf converts the constant v of type t as the engine does before it compares it with a binary column.
func bytesOf(v any, t sql.Type) ([]byte, bool) {
	s, ok := t.(sql.StringType)
	if !ok {
		return nil, false
	}
	if types.IsTextOnly(t) {
		if cs := s.Collation().CharacterSet(); cs != sql.CharacterSet_utf8mb4 && cs != sql.CharacterSet_utf8mb3 {
			return nil, false
		}
	}
	switch v := v.(type) {
	case string:
		return []byte(v), true
	case []byte:
		return v, true
	default:
		return nil, false
	}
}

// formatMillis shows milliseconds since 1970 as a DATETIME(3).
func formatMillis(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000") }
