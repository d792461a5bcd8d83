package server

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
)

// keyedCreate is the answer of SHOW CREATE TABLE with the PRIMARY KEY in it, of which the engine is not told: it would take it for enforced.
type keyedCreate struct {
	sql.RowIter
	key []string
}

// Next implements sql.RowIter.
func (k *keyedCreate) Next(c *sql.Context) (sql.Row, error) {
	row, err := k.RowIter.Next(c)
	if err != nil || len(row) < 2 {
		return row, err
	}
	text, ok := row[1].(string)
	end := strings.LastIndex(text, "\n) ")
	if !ok || end < 0 {
		return row, nil
	}
	names := make([]string, len(k.key))
	for i, name := range k.key {
		names[i] = backquoted(name)
	}
	row = row.Copy()
	row[1] = text[:end] + ",\n  PRIMARY KEY (" + strings.Join(names, ",") + ")" + text[end:]
	return row, nil
}
