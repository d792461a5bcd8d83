package planner

import (
	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/scan"
)

// Table is a leaf of a plan that reads records. The node of a table function implements it, and the rule looks for it.
type Table interface {
	sql.TableFunction

	// Layout says what each column of the schema is made of.
	Layout() Layout

	// Open fixes what a request reads. It is called once for each execution of the node, so a correlated scope opens many
	// sources. The caller closes the source. Open may add warnings to ctx's session.
	Open(ctx *sql.Context, req scan.Request) (scan.Source, error)

	// Describe lists what EXPLAIN should say of the arguments, "name: value", secrets left out. It must not fail when an argument has no
	// value yet: it leaves that out.
	Describe(ctx *sql.Context) []string
}

// TimeOrdered is a Table that may know more of the order of its records.
type TimeOrdered interface {
	// TimeOrdered reports whether the user has asserted how far records may be out of the order of their timestamps. Then an upper bound of
	// timestamps may end a read, and a read for the newest may begin at the end. The assertion itself is the table's affair: it applies it
	// in Open. False when an argument has no value yet.
	TimeOrdered(ctx *sql.Context) bool
}
