package agg

import (
	"fmt"
	"strconv"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/planner/expr"
)

// doubleSum is SUM and AVG over doubles, and over text, which is read as a double as far as it goes, with a warning where that is not all of it.
type doubleSum struct {
	average bool
	rows    int64
	sum     float64
}

func (s *doubleSum) add(ctx *sql.Context, values []any) error {
	if values[0] == nil {
		return nil
	}
	x, err := doubleOf(ctx, values[0])
	if err != nil {
		return err
	}
	s.sum += x
	s.rows++
	return nil
}

func (s *doubleSum) value(*sql.Context) (any, error) {
	switch {
	case s.rows == 0:
		return nil, nil
	case s.average:
		return s.sum / float64(s.rows), nil
	default:
		return s.sum, nil
	}
}

// isDouble reports whether values of t are taken as doubles.
func isDouble(t sql.Type) bool { return types.IsFloat(t) || types.IsText(t) && !types.IsJSON(t) }

// truncatedValue is MySQL's code for the warning about text that is not a number, or not only.
const truncatedValue = 1292

func doubleOf(ctx *sql.Context, v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case float32:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case *apd.Decimal:
		return nearest(v)
	case string:
		return doubleOfText(ctx, v)
	case []byte:
		return doubleOfText(ctx, string(v))
	}
	if i, ok := expr.SignedOf(v); ok {
		return float64(i), nil
	}
	return 0, fmt.Errorf("a value of type %T where a number was promised", v)
}

func nearest(d *apd.Decimal) (float64, error) {
	f, err := strconv.ParseFloat(d.Text('e'), 64)
	if err != nil {
		return 0, fmt.Errorf("%v as a double: %w", d, err)
	}
	return f, nil
}

func doubleOfText(ctx *sql.Context, text string) (float64, error) {
	number, cut := types.TruncateStringToDouble(text)
	if cut {
		ctx.Warn(truncatedValue, "Truncated incorrect DOUBLE value: '%s'", shortened(text))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil && f == 0 {
		return 0, nil // nothing of the text is a number; of one out of range, f is the infinity
	}
	return f, nil
}

// shortened cuts a value that a warning shows.
func shortened(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
