package server

import (
	"github.com/dolthub/go-mysql-server/sql"
)

// redactedColumn are rows of which one column has texts of statements: definitions of views, whose secrets are shown to nobody.
type redactedColumn struct {
	sql.RowIter
	at int
}

// Next implements sql.RowIter.
func (r *redactedColumn) Next(c *sql.Context) (sql.Row, error) {
	row, err := r.RowIter.Next(c)
	if err != nil || len(row) <= r.at {
		return row, err
	}
	text, ok := row[r.at].(string)
	if shown := redact(text).text; ok && shown != text {
		row = row.Copy()
		row[r.at] = shown
	}
	return row, nil
}
