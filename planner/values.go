package planner

import (
	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// valueRows gives the rows of VALUES in FROM. The engine's own fail over NULL in a column of decimals, and cut numbers to the type of the first row without a word, which is an
// error here.
func valueRows(ctx *sql.Context, v *plan.ValueDerivedTable, row sql.Row) (sql.RowIter, error) {
	schema := v.Schema(ctx)
	rows := make([]sql.Row, len(v.ExpressionTuples))
	for i, tuple := range v.ExpressionTuples {
		rows[i] = make(sql.Row, len(tuple))
		for j, e := range tuple {
			value, err := e.Eval(ctx, row)
			if err != nil {
				return nil, err
			}
			if value == nil {
				continue
			}
			t := schema[j].Type
			converted, inRange, err := t.Convert(ctx, value)
			if err == nil && inRange != sql.InRange {
				err = sql.ErrValueOutOfRange.New(value, t)
			}
			if err != nil {
				return nil, err
			}
			if d, ok := converted.(*apd.Decimal); ok {
				if decimal, ok := t.(sql.DecimalType); ok { // which Convert does not round to
					if converted, err = sql.DecimalRound(d, int32(decimal.Scale())); err != nil {
						return nil, err
					}
				}
			}
			rows[i][j] = converted
		}
	}
	return sql.RowsToRowIter(rows...), nil
}
