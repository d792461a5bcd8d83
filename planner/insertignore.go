package planner

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/sqlerr"
)

// insertIgnore runs INSERT IGNORE of rows that fit: the engine's own warnings about those that do not name neither column nor row, mostly under a number that says
// nothing. nil leaves n to the engine.
func (x explainer) insertIgnore(ctx *sql.Context, n *plan.InsertInto, row sql.Row) (sql.RowIter, error) {
	if _, done := n.Source.(*fitted); done {
		return nil, nil // the call below comes back
	}
	fits := *n
	fits.Source = &fitted{UnaryNode: plan.UnaryNode{Child: n.Source}, schema: n.Destination.Schema(ctx), missing: n.DeferredDefaults.Contains}
	return x.engine.Build(ctx, &fits, row)
}

// fitted is the source of an INSERT IGNORE, whose rows have the values that are nearest to those that do not go into the table.
type fitted struct {
	plan.UnaryNode
	schema sql.Schema
	// missing reports whether the statement gives a column no value, and neither does a DEFAULT.
	missing func(column int) bool
}

var _ sql.Node = (*fitted)(nil)

func (f *fitted) String() string { return f.Child.String() }

// Schema implements sql.Node.
func (f *fitted) Schema(ctx *sql.Context) sql.Schema { return f.Child.Schema(ctx) }

// IsReadOnly implements sql.Node.
func (f *fitted) IsReadOnly() bool { return f.Child.IsReadOnly() }

// WithChildren implements sql.Node.
func (f *fitted) WithChildren(_ *sql.Context, children ...sql.Node) (sql.Node, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(f, len(children), 1)
	}
	n := *f
	n.Child = children[0]
	return &n, nil
}

func (x explainer) fitted(ctx *sql.Context, f *fitted, row sql.Row) (sql.RowIter, error) {
	rows, err := x.engine.Build(ctx, f.Child, row)
	if err != nil {
		return nil, err
	}
	return &fittingIter{RowIter: rows, of: f}, nil
}

type fittingIter struct {
	sql.RowIter
	of *fitted
	n  int64
}

// Next implements sql.RowIter.
func (i *fittingIter) Next(ctx *sql.Context) (sql.Row, error) {
	row, err := i.RowIter.Next(ctx)
	if err != nil || len(row) != len(i.of.schema) {
		return row, err
	}
	i.n++
	for k, v := range row {
		col := i.of.schema[k]
		switch {
		case v == nil && col.Nullable:
		case v == nil && i.of.missing(k):
			row[k] = col.Type.Zero()
			warnOf(ctx, sqlerr.New(sqlerr.NoDefault, "Field '%s' doesn't have a default value", col.Name))
		case v == nil:
			row[k] = col.Type.Zero()
			warnOf(ctx, sqlerr.New(sqlerr.NotNull, "Column '%s' cannot be null", col.Name))
		default:
			if e := Refused(ctx, col, v, i.n); e != nil {
				row[k] = nearest(ctx, col.Type, v)
				if e.Kind == sqlerr.DataTooLong || e.Kind == sqlerr.BadValue { // where the value is taken after all
					e = sqlerr.New(sqlerr.DataTruncated, "Data truncated for column '%s' at row %d", col.Name, i.n)
				}
				warnOf(ctx, e)
			}
		}
	}
	return row, nil
}

func warnOf(ctx *sql.Context, e *sqlerr.Error) { ctx.Warn(int(e.Kind.Errno), "%s", e.Msg) }

// nearest is the value of a type that is nearest to one which it cannot hold; zero where none is near.
func nearest(ctx *sql.Context, t sql.Type, v any) any {
	if text, ok := t.(sql.StringType); ok {
		switch v := v.(type) {
		case string:
			whole := []rune(v)
			return string(whole[:min(int64(len(whole)), text.MaxCharacterLength())])
		case []byte:
			return v[:min(int64(len(v)), text.MaxByteLength())]
		}
	}
	if d, ok := t.(sql.DecimalType); ok {
		if number, err := d.ConvertToDecimal(v); number != nil && (err == nil || types.ErrConvertToDecimalLimit.Is(err)) {
			most, _, err := apd.NewFromString(fmt.Sprintf("%se-%d", strings.Repeat("9", int(d.Precision())), d.Scale()))
			if err == nil {
				most.Negative = number.Negative
				return most
			}
		}
	}
	var converted any
	var inRange sql.ConvertInRange
	if rounding, ok := t.(sql.RoundingNumberType); ok {
		converted, inRange, _ = rounding.ConvertRound(ctx, v)
	} else if sql.IsNumberType(t) {
		converted, inRange, _ = t.Convert(ctx, v)
	}
	if converted == nil || types.IsUnsigned(t) && inRange == sql.Underflow {
		return t.Zero()
	}
	return converted
}
