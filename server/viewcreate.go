package server

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/catalog"
)

// listedCreate is the answer of SHOW CREATE VIEW with the list of columns in it, which the engine leaves out: the view that its text makes has other columns.
type listedCreate struct {
	sql.RowIter
	view catalog.View
}

// Next implements sql.RowIter.
func (l *listedCreate) Next(c *sql.Context) (sql.Row, error) {
	row, err := l.RowIter.Next(c)
	if err != nil || len(row) < 2 {
		return row, err
	}
	columns := listOf(c, l.view)
	text, ok := row[1].(string)
	query, begins := strings.CutPrefix(text, "CREATE VIEW "+backquoted(l.view.Name)+" AS ")
	if len(columns) == 0 || !ok || !begins {
		return row, nil
	}
	names := make([]string, len(columns))
	for i, name := range columns {
		names[i] = backquoted(name.String())
	}
	row = row.Copy()
	row[1] = "CREATE VIEW " + backquoted(l.view.Name) + " (" + strings.Join(names, ",") + ") AS " + query
	return row, nil
}

// listOf is the list of columns that a view was made with, empty when they are those of its query.
func listOf(c *sql.Context, v catalog.View) sqlparser.Columns {
	mode := sql.NewSqlModeFromString(v.SQLMode)
	st, err := parseIn(v.Create, dialectMode(mode), mode.ParserOptions(), c)
	if err != nil {
		return nil
	}
	if ddl, ok := st.ast.(*sqlparser.DDL); ok && ddl.ViewSpec != nil {
		return ddl.ViewSpec.Columns
	}
	return nil
}
