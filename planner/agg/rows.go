package agg

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/convert"
	"millrace/planner/expr"
)

// NewCountIf is COUNT_IF(condition).
func NewCountIf(_ *sql.Context, args []sql.Expression) (sql.Expression, error) {
	return &Function{kind: CountIf, args: args, typ: types.Int64, fresh: func() state { return new(trueCounter) }}, nil
}

type trueCounter int64

func (c *trueCounter) add(ctx *sql.Context, values []any) error { return c.count(ctx, values, 1) }

func (c *trueCounter) remove(ctx *sql.Context, values []any) error { return c.count(ctx, values, -1) }

func (c *trueCounter) count(ctx *sql.Context, values []any, times trueCounter) error {
	if values[0] == nil {
		return nil
	}
	is, err := sql.ConvertToBool(ctx, values[0])
	if is {
		*c += times
	}
	return err
}

func (c *trueCounter) value(*sql.Context) (any, error) { return int64(*c), nil }

// NewMinBy is MIN_BY(x, y).
func NewMinBy(ctx *sql.Context, args []sql.Expression) (sql.Expression, error) {
	return newBy(ctx, MinBy, args, -1), nil
}

// NewMaxBy is MAX_BY(x, y).
func NewMaxBy(ctx *sql.Context, args []sql.Expression) (sql.Expression, error) {
	return newBy(ctx, MaxBy, args, 1), nil
}

func newBy(ctx *sql.Context, k Kind, args []sql.Expression, sign int) sql.Expression {
	t, by := args[0].Type(ctx), args[1].Type(ctx)
	return &Function{kind: k, args: args, typ: t, fresh: func() state { return &extremeBy{typ: t, byType: by, sign: sign} }}
}

// extremeBy keeps the first argument in the row where the second is least (sign -1) or greatest. Of several such rows it is the greatest first argument, NULL
// being below all, so that the result does not depend on the order of the rows.
type extremeBy struct {
	typ, byType sql.Type
	sign        int
	seen        bool
	best, by    any
}

func (e *extremeBy) add(ctx *sql.Context, values []any) error {
	v, by := positiveZero(values[0]), values[1]
	if by == nil {
		return nil
	}
	if e.seen {
		c, err := compare(ctx, e.byType, by, e.by)
		if err == nil && c == 0 {
			c, err = compare(ctx, e.typ, v, e.best)
			c *= e.sign
		}
		if err != nil || c != e.sign {
			return err
		}
	}
	e.seen, e.best, e.by = true, v, by
	return nil
}

// positiveZero gives 0 for -0, which is equal to it.
func positiveZero(v any) any {
	if f, ok := v.(float64); ok && f == 0 {
		return 0.0
	}
	return v
}

// compare is an order of all values: NULL below all, NaN above all numbers.
func compare(ctx *sql.Context, t sql.Type, a, b any) (int, error) {
	if a == nil || b == nil {
		return order(a != nil, b != nil), nil
	}
	x, ok := a.(float64)
	if y, both := b.(float64); ok && both && (x != x || y != y) {
		return order(x != x, y != y), nil
	}
	return t.Compare(ctx, a, b)
}

// order puts false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func (e *extremeBy) value(*sql.Context) (any, error) { return e.best, nil }

// NewCollectList is COLLECT_LIST(x).
func NewCollectList(ctx *sql.Context, args []sql.Expression) (sql.Expression, error) {
	t := args[0].Type(ctx)
	layout := `"2006-01-02 15:04:05.999999"`
	if types.IsDateType(t) {
		layout = `"` + time.DateOnly + `"`
	}
	isBoolean := types.IsBoolean(t)
	return &Function{kind: CollectList, args: args, typ: types.JSON, fresh: func() state { return &list{layout: layout, isBoolean: isBoolean} }}, nil
}

// list is a JSON array as it grows: the text of the elements, a comma between two.
type list struct {
	layout    string
	isBoolean bool
	text      []byte
}

func (l *list) add(ctx *sql.Context, values []any) (err error) {
	if values[0] == nil {
		return nil
	}
	if len(l.text) > 0 {
		l.text = append(l.text, ',')
	}
	l.text, err = l.element(ctx, values[0])
	return err
}

func (l *list) element(ctx *sql.Context, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return convert.AppendJSONString(l.text, []byte(v)), nil
	case []byte:
		return convert.AppendJSONString(l.text, v), nil
	case float64:
		return convert.AppendJSONFloat(l.text, v), nil
	case float32:
		return convert.AppendJSONFloat(l.text, float64(v)), nil
	case uint64:
		return strconv.AppendUint(l.text, v, 10), nil
	case *apd.Decimal:
		return append(l.text, v.Text('f')...), nil
	case time.Time:
		return v.UTC().AppendFormat(l.text, l.layout), nil
	case types.Timespan:
		return convert.AppendJSONString(l.text, []byte(v.String())), nil
	case sql.JSONWrapper:
		text, err := types.MarshallJson(ctx, v)
		return append(l.text, text...), err
	}
	i, ok := expr.SignedOf(v)
	switch {
	case !ok:
		return l.text, fmt.Errorf("values of type %T cannot be collected", v)
	case l.isBoolean:
		return strconv.AppendBool(l.text, i != 0), nil
	default:
		return strconv.AppendInt(l.text, i, 10), nil
	}
}

func (l *list) value(*sql.Context) (any, error) {
	return expr.JSONText(append(append([]byte{'['}, l.text...), ']')), nil
}
