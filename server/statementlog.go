package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
)

// finished counts a statement and logs it when it was slow or failed. Statements are logged without their secrets.
func (x *session) finished(st *statement, start time.Time, rows int64, err error) {
	took := time.Since(start)
	kind := statementKind(st)
	x.engine.metrics.statement(kind, took, rows, err)
	if err != nil {
		x.failed(st.shown, start, err)
	}
	_, limit, _ := sql.SystemVariables.GetGlobal("long_query_time")
	if seconds, ok := limit.(float64); ok && seconds > 0 && took.Seconds() > seconds {
		x.engine.metrics.slowCount.Add(1)
		x.engine.log.Warn("slow statement", "connection", x.id, "user", x.client.User, "statement", st.shown.text, "took", took.String(), "rows", rows)
	}
}

// failed logs an error where it belongs: ours are for the operator, others interest whoever looks for them.
func (x *session) failed(shown redacted, start time.Time, err error) {
	level := slog.LevelDebug
	symbol := sqlerr.Engine.Symbol
	if e, ok := sqlerr.As(err); ok {
		symbol = e.Kind.Symbol
		switch e.Kind.Fault {
		case sqlerr.External:
			level = slog.LevelInfo
		case sqlerr.Internal:
			level = slog.LevelError
		}
	}
	x.engine.log.Log(context.Background(), level, "statement failed", "connection", x.id, "user", x.client.User, "statement", shown.text,
		"error", shown.scrubError(err).Error(), "symbol", symbol, "took", time.Since(start).String())
}

// statementKind is the label of a statement in the metrics.
func statementKind(st *statement) string {
	if st.sink != nil && (!st.sink.explain || st.sink.analyze) {
		return "insert"
	}
	switch st.ast.(type) {
	case nil:
		return "own"
	case sqlparser.SelectStatement:
		return "select"
	case *sqlparser.Insert:
		return "insert"
	case *sqlparser.Update:
		return "update"
	case *sqlparser.Delete:
		return "delete"
	case *sqlparser.Show:
		return "show"
	case *sqlparser.Set:
		return "set"
	case *sqlparser.DDL, *sqlparser.DBDDL, *sqlparser.AlterTable:
		return "ddl"
	case *sqlparser.Explain:
		return "explain"
	default:
		return "other"
	}
}
