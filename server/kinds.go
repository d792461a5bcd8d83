package server

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/streaming"
)

// Tables, streaming tables, flows and views of a database share one space of names, and each has statements of its own. This file tells who uses the statement of another
// what the name is, in place of that it does not exist.

const flowHint = "ALTER FLOW … PAUSE, RESUME and DROP FLOW change it, SHOW CREATE FLOW shows it"

// flowMeant is the error about a flow where a table is wanted.
func flowMeant(n streaming.Name) *sqlerr.Error {
	return sqlerr.New(sqlerr.TableState, "'%s' is a flow, not a table", n).WithHint("%s", flowHint)
}

// tableMeant is the error about a table where a flow is wanted.
func tableMeant(n streaming.Name) *sqlerr.Error {
	return sqlerr.New(sqlerr.TableState, "'%s' is a table, not a flow", n)
}

// notAView is the error about a table, or a flow, where a view is wanted.
func notAView(db string, t catalog.Table) error {
	err := sqlerr.New(sqlerr.NotAView, "'%s.%s' is not a view", db, t.Name)
	switch {
	case isFlow(t):
		return err.WithHint("it is a flow: DROP FLOW drops it, SHOW CREATE FLOW shows it")
	case t.Streaming != nil:
		return err.WithHint("it is a streaming table: DROP STREAMING TABLE drops it, SHOW CREATE TABLE shows it")
	}
	return err.WithHint("it is a table: DROP TABLE drops it, SHOW CREATE TABLE shows it")
}

// flowNamed completes a name that the engine has given.
func flowNamed(c *sql.Context, name string) streaming.Name {
	if db, table, ok := strings.Cut(name, "."); ok {
		return streaming.Name{Database: db, Table: table}
	}
	return streaming.Name{Database: c.GetCurrentDatabase(), Table: name}
}

// hasFlow reports whether there is a flow of that name that the user may see.
func (e *engine) hasFlow(c *sql.Context, n streaming.Name) bool {
	t, ok := e.catalog.Table(n.Database, n.Table)
	return ok && isFlow(t) && e.sees(c, n.Database, n.Table)
}
