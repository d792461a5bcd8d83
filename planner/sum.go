package planner

import (
	"fmt"
	"math/big"
	"math/bits"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// ExactSum is SUM over integers and decimals. The engine's own adds integers up as doubles, and is wrong above 2^53; this one is
// exact and has MySQL's type, a DECIMAL with 22 digits more than its argument.
type ExactSum struct {
	// Sum is the engine's, which knows its argument, id and window.
	*aggregation.Sum
}

var (
	_ sql.FunctionExpression        = (*ExactSum)(nil)
	_ sql.Aggregation               = (*ExactSum)(nil)
	_ sql.WindowAdaptableExpression = (*ExactSum)(nil)
)

// NewSum is SUM(e): exact where e is, else the engine's.
func NewSum(ctx *sql.Context, e sql.Expression) sql.Expression {
	if t := e.Type(ctx); types.IsInteger(t) || types.IsDecimal(t) {
		return &ExactSum{aggregation.NewSum(e)}
	}
	return aggregation.NewSum(e)
}

// Type implements sql.Expression.
func (s *ExactSum) Type(ctx *sql.Context) sql.Type {
	t := s.Child.Type(ctx)
	if d, ok := t.(sql.DecimalType); ok {
		return types.MustCreateDecimalType(uint8(min(int(d.Precision())+22, types.DecimalTypeMaxPrecision)), d.Scale())
	}
	digits := 19
	switch t {
	case types.Boolean, types.Int8, types.Uint8:
		digits = 3
	case types.Int16, types.Uint16:
		digits = 5
	case types.Int24, types.Uint24:
		digits = 7
	case types.Int32, types.Uint32:
		digits = 10
	case types.Uint64:
		digits = 20
	}
	return types.MustCreateDecimalType(uint8(digits+22), 0)
}

// IsNullable implements sql.Expression: the sum of no rows is NULL.
func (s *ExactSum) IsNullable(*sql.Context) bool { return true }

// WithChildren implements sql.Expression.
func (s *ExactSum) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	e, err := s.Sum.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	return &ExactSum{e.(*aggregation.Sum)}, nil
}

// WithId implements sql.IdExpression.
func (s *ExactSum) WithId(id sql.ColumnId) sql.IdExpression {
	return &ExactSum{s.Sum.WithId(id).(*aggregation.Sum)}
}

// WithWindow implements sql.WindowAdaptableExpression.
func (s *ExactSum) WithWindow(ctx *sql.Context, window *sql.WindowDefinition) sql.WindowAdaptableExpression {
	return &ExactSum{s.Sum.WithWindow(ctx, window).(*aggregation.Sum)}
}

// NewBuffer implements sql.Aggregation.
func (s *ExactSum) NewBuffer(ctx *sql.Context) (sql.AggregationBuffer, error) {
	child, err := transform.Clone(ctx, s.Child)
	if err != nil {
		return nil, err
	}
	return &sumBuffer{expr: child}, nil
}

// NewWindowFunction implements sql.WindowAdaptableExpression.
func (s *ExactSum) NewWindowFunction(ctx *sql.Context) (sql.WindowFunction, error) {
	child, err := transform.Clone(ctx, s.Child)
	if err != nil {
		return nil, err
	}
	base, err := s.Sum.NewWindowFunction(ctx)
	if err != nil {
		return nil, err
	}
	return &windowSum{WindowFunction: base, expr: child}, nil
}

// sumBuffer is the state of an ExactSum over a group.
type sumBuffer struct {
	expr  sql.Expression
	total total
}

func (b *sumBuffer) Update(ctx *sql.Context, row sql.Row) error {
	v, err := b.expr.Eval(ctx, row)
	if err != nil {
		return err
	}
	return b.total.add(v)
}

func (b *sumBuffer) Eval(*sql.Context) (any, error) { return b.total.value(), nil }

func (b *sumBuffer) Dispose(*sql.Context) {}

// windowSum is the state of an ExactSum over a window: totals[i] is the sum of the first i rows of the partition, so that each frame costs
// one subtraction.
type windowSum struct {
	sql.WindowFunction
	expr   sql.Expression
	start  int
	totals []total
}

func (w *windowSum) StartPartition(ctx *sql.Context, part sql.WindowInterval, buf sql.WindowBuffer) error {
	w.start = part.Start
	w.totals = make([]total, 1, part.End-part.Start+1)
	for _, row := range buf[part.Start:part.End] {
		v, err := w.expr.Eval(ctx, row)
		if err != nil {
			return err
		}
		next := w.totals[len(w.totals)-1].clone()
		if err := next.add(v); err != nil {
			return err
		}
		w.totals = append(w.totals, next)
	}
	return nil
}

func (w *windowSum) Compute(_ *sql.Context, frame sql.WindowInterval, _ sql.WindowBuffer) (any, error) {
	if frame.End <= frame.Start {
		return nil, nil
	}
	t := w.totals[frame.End-w.start].clone()
	t.subtract(w.totals[frame.Start-w.start])
	return t.value(), nil
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

// sumContext has room for the sum of 2^63 decimals of 65 digits on either side of the point.
var sumContext = apd.BaseContext.WithPrecision(160)

func (t *total) add(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		if v {
			t.addInt(1)
		}
	case int8:
		t.addInt(int64(v))
	case int16:
		t.addInt(int64(v))
	case int32:
		t.addInt(int64(v))
	case int64:
		t.addInt(v)
	case int:
		t.addInt(int64(v))
	case uint8:
		t.addInt(int64(v))
	case uint16:
		t.addInt(int64(v))
	case uint32:
		t.addInt(int64(v))
	case uint64:
		var carry uint64
		t.low, carry = bits.Add64(t.low, v, 0)
		t.high += int64(carry)
	case uint:
		return t.add(uint64(v))
	case *apd.Decimal:
		if t.decimals == nil {
			t.decimals = new(apd.Decimal)
		}
		if _, err := sumContext.Add(t.decimals, t.decimals, v); err != nil {
			return err
		}
	case string:
		// A decimal literal.
		d, _, err := apd.NewFromString(v)
		if err != nil {
			return fmt.Errorf("sum: %q is not a number: %w", v, err)
		}
		return t.add(d)
	default:
		return fmt.Errorf("sum: a value of type %T where an exact number was promised", v)
	}
	t.rows++
	return nil
}

func (t *total) addInt(x int64) {
	var carry uint64
	t.low, carry = bits.Add64(t.low, uint64(x), 0)
	t.high += x>>63 + int64(carry)
}

func (t *total) subtract(o total) {
	var borrow uint64
	t.rows -= o.rows
	t.low, borrow = bits.Sub64(t.low, o.low, 0)
	t.high -= o.high + int64(borrow)
	if o.decimals != nil {
		// t holds at least the rows of o, so it has decimals too; the digits fit as they did in Add.
		_, _ = sumContext.Sub(t.decimals, t.decimals, o.decimals)
	}
}

func (t total) clone() total {
	if t.decimals != nil {
		t.decimals = new(apd.Decimal).Set(t.decimals)
	}
	return t
}

// value is the sum as an *apd.Decimal, nil when there were no values.
func (t *total) value() any {
	if t.rows == 0 {
		return nil
	}
	i := new(big.Int).Lsh(big.NewInt(t.high), 64)
	i.Add(i, new(big.Int).SetUint64(t.low))
	sum := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(i), 0)
	if t.decimals != nil {
		_, _ = sumContext.Add(sum, sum, t.decimals)
	}
	return sum
}
