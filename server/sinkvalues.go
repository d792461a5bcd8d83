package server

import (
	"io"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/functions/writekafka"
	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// checkValues wants rows of as many values as there are columns, and nothing behind them.
func checkValues(ast sqlparser.Statement, columns []string) error {
	wrong := sqlerr.New(sqlerr.NotSupported, "VALUES of a sink are rows of values, and nothing follows them").WithHint("INSERT INTO write_kafka(…) (key, value) VALUES ('k1', 'text'), ('k2', NULL)")
	query, ok := ast.(*sqlparser.Select)
	if !ok || len(query.From) != 1 || query.OrderBy != nil || query.Limit != nil {
		return wrong
	}
	from, ok := query.From[0].(*sqlparser.AliasedTableExpr)
	if !ok {
		return wrong
	}
	values, ok := from.Expr.(*sqlparser.ValuesStatement)
	if !ok {
		return wrong
	}
	for i, row := range values.Rows {
		if len(row) != len(columns) {
			return sqlerr.New(sqlerr.ValueCount, "row %d has %d values, and the list names %d columns", i+1, len(row), len(columns)).WithHint("a row has a value for each column of the list; NULL is one")
		}
	}
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		if _, ok := n.(*sqlparser.Default); ok {
			return false, sqlerr.New(sqlerr.NotSupported, "DEFAULT is no value for a sink, whose columns have none").WithHint("leave the column out of the list, or write NULL")
		}
		return true, nil
	}, values.Rows)
}

// valueRows gives the rows of VALUES. The engine plans them, but what it makes of values of several types loses some: here a column has a type that holds the values of all
// rows; where a record takes text or bytes, a number is its text, as a client would get it.
func (x *session) valueRows(c *sql.Context, s *sink, args *writekafka.Args, values map[string]sqlparser.Expr) (sql.Schema, sql.RowIter, error) {
	node, err := x.engine.BoundQueryPlan(c, s.query.text, s.query.ast, values)
	if err != nil {
		return nil, nil, err
	}
	var found *plan.ValueDerivedTable
	transform.Inspect(node, func(n sql.Node) bool {
		if v, ok := n.(*plan.ValueDerivedTable); ok {
			found = v
		}
		return found == nil
	})
	if found == nil {
		return nil, nil, sqlerr.New(sqlerr.Unexpected, "the plan of VALUES has none")
	}
	if err := wantConstant(c, found); err != nil {
		return nil, nil, err
	}
	rows := &valueRows{tuples: found.ExpressionTuples, kinds: make([]column.Kind, len(s.columns))}
	schema := make(sql.Schema, len(s.columns))
	for i, name := range s.columns {
		var t column.Type
		for _, tuple := range rows.tuples {
			f, err := sinkField(name, tuple[i].Type(c), true)
			if err != nil {
				return nil, nil, err
			}
			t = wider(t, f.Type)
		}
		if t.Kind != column.Invalid && args.WantsText(name, t.Kind) {
			t = column.Type{Kind: column.Text}
		}
		rows.kinds[i] = t.Kind
		schema[i] = &sql.Column{Name: name, Type: typeOfValues(t), Nullable: true}
	}
	return schema, rows, nil
}

// wantConstant refuses aggregates and window functions, which the engine plans without what computes them.
func wantConstant(c *sql.Context, v *plan.ValueDerivedTable) error {
	for i, tuple := range v.ExpressionTuples {
		for _, e := range tuple {
			of := false
			transform.InspectExpr(c, e, func(_ *sql.Context, e sql.Expression) bool {
				switch e.(type) {
				case *expression.GetField, sql.Aggregation, sql.WindowAdaptableExpression:
					of = true
				}
				return of
			})
			if of {
				return sqlerr.New(sqlerr.NotSupported, "row %d of VALUES holds an aggregate or a window function, and there are no rows to compute it of", i+1).
					WithHint("compute it in a subquery: VALUES ((SELECT max(x) FROM …))")
			}
		}
	}
	return nil
}

// valueRows computes rows of VALUES one after the other.
type valueRows struct {
	tuples [][]sql.Expression
	// kinds are those of the columns.
	kinds []column.Kind
}

// Next implements sql.RowIter.
func (r *valueRows) Next(c *sql.Context) (sql.Row, error) {
	if len(r.tuples) == 0 {
		return nil, io.EOF
	}
	row := make(sql.Row, len(r.kinds))
	for i, e := range r.tuples[0] {
		v, err := e.Eval(c, nil)
		if err != nil {
			return nil, err
		}
		if t := e.Type(c); v != nil && (r.kinds[i] == column.Text || r.kinds[i] == column.Bytes) && !types.IsText(t) { // as a client would get it
			text, err := t.SQL(c, nil, v)
			if err != nil {
				return nil, err
			}
			v = text.ToString()
		}
		row[i] = v
	}
	r.tuples = r.tuples[1:]
	return row, nil
}

// Close implements sql.RowIter.
func (r *valueRows) Close(*sql.Context) error { return nil }

// mostDigits are those of a DECIMAL.
const mostDigits = 65

// wholeDigits are those before the point that numbers of a kind may have, 0 for what is no exact number.
func wholeDigits(t column.Type) uint8 {
	switch t.Kind {
	case column.Bool:
		return 1
	case column.Int32:
		return 10
	case column.Int64:
		return 19
	case column.Uint64:
		return 20
	case column.Decimal:
		return max(1, t.Precision-t.Scale)
	}
	return 0
}

// wider is the type of a column that has values of both: where types differ, what is no number is text, and all are bytes beside bytes.
func wider(a, b column.Type) column.Type {
	if b.Kind < a.Kind {
		a, b = b, a
	}
	wholeA, wholeB := wholeDigits(a), wholeDigits(b)
	has := func(k column.Kind) bool { return a.Kind == k || b.Kind == k }
	switch {
	case a.Kind == column.Invalid: // NULL
		return b
	case has(column.Decimal) && wholeA > 0 && wholeB > 0, has(column.Uint64) && a.Kind != b.Kind && wholeA > 0 && wholeB > 0:
		whole, scale := max(wholeA, wholeB), max(a.Scale, b.Scale)
		scale = min(scale, mostDigits-whole)
		return column.Type{Kind: column.Decimal, Precision: whole + scale, Scale: scale}
	case a.Kind == b.Kind:
		a.Scale = max(a.Scale, b.Scale)
		return a
	case wholeA > 0 && wholeB > 0:
		return column.Type{Kind: column.Int64}
	case has(column.Float64) && wholeA+wholeB > 0:
		return column.Type{Kind: column.Float64}
	case has(column.Date) && has(column.Timestamp):
		return column.Type{Kind: column.Timestamp, Scale: max(a.Scale, b.Scale)}
	case has(column.Bytes):
		return column.Type{Kind: column.Bytes}
	}
	return column.Type{Kind: column.Text}
}

// typeOfValues is a type of the engine for a column.
func typeOfValues(t column.Type) sql.Type {
	switch t.Kind {
	case column.Invalid:
		return types.Null
	case column.Bool:
		return types.Boolean
	case column.Int32:
		return types.Int32
	case column.Int64:
		return types.Int64
	case column.Uint64:
		return types.Uint64
	case column.Decimal:
		return types.MustCreateDecimalType(t.Precision, t.Scale)
	case column.Float64:
		return types.Float64
	case column.Date:
		return types.Date
	case column.Time:
		return types.Time
	case column.Timestamp:
		return types.MustCreateDatetimeType(sqltypes.Datetime, int(t.Scale))
	case column.JSON:
		return types.JSON
	case column.Bytes:
		return types.LongBlob
	}
	return types.LongText
}
