package server

import (
	"math"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// defaultMaxErrorCount is MySQL's.
const defaultMaxErrorCount = 1024

// warned is what a session knows of warnings beside those that the engine's session holds.
type warned struct {
	// dropped is how many more there were than @@max_error_count allows to keep.
	dropped int
	// shown says that the last statement showed warnings: it has none itself.
	shown bool
}

// startWarnings is called before the engine runs a statement, which forgets the warnings of the one before or keeps them.
func (x *session) startWarnings(c *sql.Context, ast sqlparser.Statement) {
	x.warned.shown = isShowWarnings(ast)
	if _, sets := ast.(*sqlparser.Set); x.warned.shown || sets || x.locked(c) {
		return
	}
	x.warned.dropped = 0
}

func isShowWarnings(ast sqlparser.Statement) bool {
	show, ok := ast.(*sqlparser.Show)
	return ok && strings.EqualFold(show.Type, "warnings")
}

// locked reports whether statements leave the warnings as they are.
func (x *session) locked(c *sql.Context) bool {
	v, err := x.sql.GetSessionVariable(c, "lock_warnings")
	on, ok := v.(int8)
	return err == nil && ok && on != 0
}

// boundWarnings forgets the latest warnings beyond @@max_error_count, but counts them. The engine keeps all: one for each of the millions of records
// that a scan reads. So it is called between the batches of scans, and at the end of a statement.
func (x *session) boundWarnings(c *sql.Context) {
	limit := defaultMaxErrorCount
	if v, err := x.sql.GetSessionVariable(c, "max_error_count"); err == nil {
		if n, ok := v.(int64); ok {
			limit = int(n)
		}
	}
	if int(x.sql.WarningCount()) <= limit {
		return
	}
	all := x.sql.Warnings() // the latest comes first
	if len(all) <= limit {
		return
	}
	locked := x.locked(c)
	x.sql.UnlockWarnings()
	x.sql.ClearWarnings()
	for i := range limit {
		x.sql.Warn(all[len(all)-1-i])
	}
	if locked {
		x.sql.LockWarnings()
	}
	x.warned.dropped += len(all) - limit
}

// warningCount is @@warning_count, which counts the warnings that were not kept as well.
func (x *session) warningCount() int64 { return int64(len(x.sql.Warnings()) + x.warned.dropped) }

// sentWarningCount is the count that goes with a result.
func (x *session) sentWarningCount() uint16 {
	if x.warned.shown {
		return 0
	}
	return uint16(min(int(x.sql.WarningCount())+x.warned.dropped, math.MaxUint16))
}

// countWarnings answers SHOW COUNT(*) WARNINGS, which leaves the warnings as they are.
func (x *session) countWarnings(c *sql.Context, r results) error {
	x.warned.shown = true
	schema := sql.Schema{{Name: "@@session.warning_count", Type: types.Uint64}}
	columns := columnsOf(c, schema)
	if err := r.Columns(columns); err != nil {
		return err
	}
	e := newEncoder(c, schema, columns, r.Binary())
	e.row = sql.Row{uint64(x.warningCount())}
	if err := r.Row(e.fill); err != nil {
		return err
	}
	return r.EndRows()
}
