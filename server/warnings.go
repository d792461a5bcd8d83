package server

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
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

// startWarnings is called before a statement runs: it forgets the warnings of the one before, unless it shows them or they are locked. The engine
// forgets them later, and not at all where it fails to understand a statement. ast is nil for statements that the engine does not know.
func (x *session) startWarnings(c *sql.Context, ast sqlparser.Statement) {
	x.warned.shown = showsWarnings(ast)
	if _, sets := ast.(*sqlparser.Set); x.warned.shown || sets || x.locked(c) {
		return
	}
	x.sql.ClearWarnings()
	x.warned.dropped = 0
}

// warnOfError makes an error that a client is sent the one thing that SHOW WARNINGS shows, and SHOW ERRORS: what the statement had to say before is
// of an answer that never came.
func (x *session) warnOfError(ctx context.Context, err error) {
	c := x.context(ctx, "")
	x.startWarnings(c, nil)
	code := int(sqlerr.Unexpected.Errno)
	if e, ok := sqlerr.As(err); ok {
		code = int(e.Kind.Errno)
	}
	x.sql.Warn(&sql.Warning{Level: errorLevel, Code: code, Message: err.Error()})
	x.boundWarnings(c)
}

const errorLevel = "Error"

// showsWarnings reports whether a statement shows warnings or errors, and so leaves them.
func showsWarnings(ast sqlparser.Statement) bool {
	show, ok := ast.(*sqlparser.Show)
	return ok && (strings.EqualFold(show.Type, "warnings") || showsErrors(show))
}

// showsErrors is true for SHOW ERRORS and SHOW COUNT(*) ERRORS.
func showsErrors(show *sqlparser.Show) bool { return strings.EqualFold(show.Type, "errors") }

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
	x.warned.dropped += x.sql.keepWarnings(limit, x.locked(c))
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

// errors are the kept warnings that are errors, the first first.
func (x *session) errors() (list []*sql.Warning) {
	for _, w := range slices.Backward(x.sql.Warnings()) { // the latest comes first
		if w.Level == errorLevel {
			list = append(list, w)
		}
	}
	return list
}

// countWarnings answers SHOW COUNT(*) WARNINGS and SHOW COUNT(*) ERRORS, which leave the warnings as they are.
func (x *session) countWarnings(c *sql.Context, show *sqlparser.Show, r results) error {
	name, n := "warning_count", x.warningCount()
	if showsErrors(show) {
		name, n = "error_count", int64(len(x.errors()))
	}
	return x.answerOwn(c, sql.Schema{{Name: "@@session." + name, Type: types.Uint64}}, []sql.Row{{uint64(n)}}, r)
}

// showErrors answers SHOW ERRORS, which the engine lacks.
func (x *session) showErrors(c *sql.Context, show *sqlparser.Show, r results) error {
	var all []sql.Row
	for _, w := range x.errors() {
		all = append(all, sql.Row{w.Level, int32(w.Code), w.Message})
	}
	if show.Limit != nil {
		offset, err := rowNumber(show.Limit.Offset, 0)
		if err != nil {
			return err
		}
		n, err := rowNumber(show.Limit.Rowcount, len(all))
		if err != nil {
			return err
		}
		all = all[min(offset, len(all)):]
		all = all[:min(n, len(all))]
	}
	return x.answerOwn(c, plan.ShowWarnings{}.Schema(c), all, r)
}

// rowNumber is the number in a LIMIT, without one where there is none.
func rowNumber(e sqlparser.Expr, without int) (int, error) {
	if e == nil {
		return without, nil
	}
	if v, ok := e.(*sqlparser.SQLVal); ok && v.Type == sqlparser.IntVal {
		if n, err := strconv.ParseUint(string(v.Val), 10, 31); err == nil {
			return int(n), nil
		}
	}
	return 0, sqlerr.New(sqlerr.ArgumentValue, "the LIMIT of SHOW ERRORS is '%s', allowed are whole numbers", sqlparser.String(e))
}

// answerOwn sends rows that the session itself has made.
func (x *session) answerOwn(c *sql.Context, schema sql.Schema, all []sql.Row, r results) error {
	columns := columnsOf(c, schema)
	if err := r.Columns(columns); err != nil {
		return err
	}
	e := newEncoder(c, schema, columns, r.Binary())
	for _, row := range all {
		e.row = row
		if err := r.Row(e.fill); err != nil {
			return err
		}
	}
	return r.EndRows()
}
