package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// distinctRows are the rows of DISTINCT that the scan does not compute.
func (x explainer) distinctRows(ctx *sql.Context, d *plan.Distinct, row sql.Row) (sql.RowIter, error) {
	child, err := x.engine.Build(ctx, d.Child, row)
	if err != nil {
		return nil, err
	}
	return x.distinct(ctx, child, d.Child.Schema(ctx)), nil
}

// distinct passes on the first of each of the rows that differ.
func (x explainer) distinct(ctx *sql.Context, rows sql.RowIter, schema sql.Schema) sql.RowIter {
	return &distinctIter{RowIter: rows, seen: x.identities(ctx, newRowIdentity(schema), "the different rows of the statement")}
}

type distinctIter struct {
	sql.RowIter
	seen *identities
}

// Next implements sql.RowIter.
func (it *distinctIter) Next(ctx *sql.Context) (sql.Row, error) {
	for {
		row, err := it.RowIter.Next(ctx)
		if err != nil {
			return nil, err
		}
		_, first, err := it.seen.add(ctx, row)
		if err != nil {
			return nil, err
		}
		if first {
			return row, nil
		}
	}
}

// Close implements sql.RowIter.
func (it *distinctIter) Close(ctx *sql.Context) error {
	it.seen.close()
	return it.RowIter.Close(ctx)
}
