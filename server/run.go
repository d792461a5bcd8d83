package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/rowexec"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
	"millrace/server/wire"
	"millrace/streaming/sqltable"
)

// bindings are the values of a statement's placeholders: literals, for the engine, or keys, for the kept plan of a look-up that holds.
type bindings struct {
	literals map[string]sqlparser.Expr
	keys     []any
}

// run executes a statement, with values for its placeholders, and answers.
func (x *session) run(ctx context.Context, st *statement, values bindings, r results) (err error) {
	start := time.Now()
	var pid uint64
	x.engine.questions.Add(1)
	defer func() {
		if p := recover(); p != nil {
			x.engine.log.Error("panic in a statement", "connection", x.id, "statement", st.shown.text, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = sqlerr.New(sqlerr.Unexpected, "the statement failed because of a fault in the server; its log has more")
		}
		if err = st.shown.scrubError(err); err != nil {
			x.engine.scans.fail(pid, err)
			x.warnOfError(ctx, err)
		}
		x.finished(st, start, r.RowCount(), err)
	}()
	ctx, cancel, err := x.limit(ctx, st)
	if err != nil {
		return err
	}
	defer cancel()
	c, err := x.engine.ProcessList.BeginQuery(x.context(ctx, st.shown.text), st.shown.text)
	if err != nil {
		return fault(ctx, err)
	}
	pid = c.Pid()
	defer x.engine.ProcessList.EndQuery(c)
	defer sqltable.EndStatement(c)
	defer x.boundWarnings(c)
	if values.keys != nil {
		return fault(c, x.answerLookup(c, st, values.keys, r))
	}
	if k := x.known(st); k != nil && values.literals == nil {
		return fault(c, x.answerConstant(c, k, r))
	}
	if changesSettings(st) {
		defer func() { x.settings++ }()
	}
	return fault(c, x.insertError(c, st, x.answerCurrent(c, st, values.literals, r)))
}

// answerCurrent is answer for a server that shares its catalog: what changes the catalog begins with what others have made of it, and what met a change of another is run again.
func (x *session) answerCurrent(c *sql.Context, st *statement, values map[string]sqlparser.Expr, r results) error {
	const patience = 10 * time.Second
	for began := time.Now(); ; {
		if changesCatalog(st) {
			if err := x.engine.catchUp(c); err != nil {
				return err
			}
		}
		err := x.answer(c, st, values, r)
		if !sqlerr.HasKind(err, sqlerr.AtOnce) || time.Since(began) > patience {
			return err
		}
		select { // a random wait, so that two servers do not meet again and again
		case <-time.After(rand.N(5 * time.Millisecond)):
		case <-c.Done():
			return err
		}
	}
}

// changesCatalog is true for statements that may change definitions or users.
func changesCatalog(st *statement) bool {
	switch st.own.(type) {
	case nil:
	case dialect.CreateConnection, dialect.DropConnection, dialect.CreateStreamingTable, dialect.RefreshStreamingTable, dialect.AlterStreamingTable, dialect.DropStreamingTable:
		return true
	default:
		return false
	}
	switch st.ast.(type) {
	case sqlparser.SelectStatement, *sqlparser.Insert, *sqlparser.Update, *sqlparser.Delete, *sqlparser.Set, *sqlparser.Use, *sqlparser.Begin, *sqlparser.Commit, *sqlparser.Rollback,
		*sqlparser.Explain, *sqlparser.Show, *sqlparser.Load, *sqlparser.Prepare, *sqlparser.Execute, *sqlparser.Deallocate, *sqlparser.Kill:
		return false
	}
	return true
}

// limit applies max_execution_time, which as in MySQL is for SELECT, and for the SELECT that EXPLAIN ANALYZE runs.
func (x *session) limit(ctx context.Context, st *statement) (context.Context, context.CancelFunc, error) {
	explain, _ := st.ast.(*sqlparser.Explain)
	if _, ok := st.ast.(sqlparser.SelectStatement); !ok && (explain == nil || !explain.Analyze) {
		return ctx, func() {}, nil
	}
	v, err := x.sql.GetSessionVariable(x.idle, "max_execution_time")
	if err != nil {
		return ctx, nil, fault(ctx, err)
	}
	ms, _ := v.(int64)
	if ms <= 0 {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(ms)*time.Millisecond, errTimeout)
	return ctx, cancel, nil
}

// answer routes a statement: ours, or the engine's.
func (x *session) answer(c *sql.Context, st *statement, values map[string]sqlparser.Expr, r results) error {
	for _, v := range st.session {
		v.column.StoredProcVal = x.sessionValue(v.name)
	}
	x.startWarnings(c, st.ast)
	for _, n := range st.logs {
		if err := x.mayReadLog(c, n); err != nil {
			return err
		}
	}
	switch own := st.own.(type) {
	case nil:
	case dialect.Unsupported:
		return dialect.NotSupportedAt(st.text, own.Pos, "%s is not supported yet", own.What)
	case dialect.DescribeFunction:
		return x.describe(c, own, r)
	case dialect.CreateConnection, dialect.DropConnection, dialect.ShowConnections, dialect.DescribeConnection:
		return x.connection(c, own, r)
	case dialect.CreateFlow, dialect.DropFlow, dialect.AlterFlow, dialect.ShowFlows, dialect.ShowCreateFlow:
		return x.flowStatement(c, st, r)
	case dialect.InsertIntoSink:
		return x.insertIntoSink(c, st, values, r)
	case dialect.CreateStreamingTable, dialect.RefreshStreamingTable, dialect.AlterStreamingTable, dialect.DropStreamingTable, dialect.ShowStreamingTables,
		dialect.ShowCreateStreamingTable, dialect.DescribeExtended:
		return x.streamingStatement(c, st, r)
	case dialect.Export:
		return x.export(c, own, r)
	case dialect.Backup:
		return x.backup(c, own, r)
	default:
		return sqlerr.New(sqlerr.NotSupported, "this statement is not supported yet")
	}
	if st.ast == nil && st.grant != nil {
		if err := x.engine.connections.grantable(st.grant.usage); err != nil {
			return err
		}
		if err := st.grant.run(c, x.engine.users); err != nil {
			return err
		}
		return r.OK(0, 0, "")
	}
	if done, err := x.prepared(c, st.ast, r); done {
		return err
	}
	if isDropTemporary(st.ast) {
		return dropTemporary(c, st.ast.(*sqlparser.DDL), r)
	}
	if err := refuseElsewhere(c, st.ast); err != nil {
		return err
	}
	if kill, ok := st.ast.(*sqlparser.Kill); ok {
		return x.kill(c, kill, r)
	}
	if show, ok := st.ast.(*sqlparser.Show); ok && strings.EqualFold(show.Type, "processlist") {
		return x.showProcesses(c, show, r)
	}
	if show, ok := st.ast.(*sqlparser.Show); ok && strings.EqualFold(show.Type, "create view") {
		name := dialect.TableName{Database: show.Table.DbQualifier.String(), Name: show.Table.Name.String()}
		if n, t, err := x.streamingTable(c, name); err == nil {
			return notAView(n.Database, t)
		}
	}
	var key []string // that SHOW CREATE TABLE shows
	if show, ok := st.ast.(*sqlparser.Show); ok && strings.EqualFold(show.Type, "create table") {
		name := dialect.TableName{Database: show.Table.DbQualifier.String(), Name: show.Table.Name.String()}
		if _, t, err := x.streamingTable(c, name); err == nil && t.Streaming != nil {
			return x.showCreateStreaming(c, name, r)
		} else if err == nil {
			key = t.PrimaryKey
		}
	}
	if show, ok := st.ast.(*sqlparser.Show); ok && showsWarnings(show) {
		switch {
		case show.CountStar:
			return x.countWarnings(c, show, r)
		case showsErrors(show):
			return x.showErrors(c, show, r)
		}
	}
	if r, ok := r.(interface{ ReturnsRows() error }); ok && onlyReads(st.ast) {
		// The plan of a scan asks brokers, which may take its time.
		if err := r.ReturnsRows(); err != nil {
			return err
		}
	}
	schema, rows, err := x.execute(c, st, values)
	if err != nil {
		return err
	}
	for _, name := range st.unknown {
		c.Warn(int(sqlerr.UnknownVariable.Errno), "system variable '%s' is unknown: NULL is given for it", name)
	}
	if types.IsOkResultSchema(schema) || len(schema) == 0 {
		return x.answerOK(c, st, rows, r)
	}
	if _, ok := st.ast.(*sqlparser.ShowGrants); ok {
		rows = usageGrants(rows)
	}
	if len(key) > 0 {
		rows = &keyedCreate{rows, key}
	}
	if show, ok := st.ast.(*sqlparser.Show); ok && len(schema) > 1 && schema[1].Name == "Create View" {
		name := x.nameOf(dialect.TableName{Database: show.Table.DbQualifier.String(), Name: show.Table.Name.String()})
		if view, ok := x.engine.catalog.View(name.Database, name.Table); ok {
			rows = &listedCreate{rows, view}
		}
		rows = &redactedColumn{rows, 1}
	}
	return x.answerRows(c, schema, x.keeping(c, st, schema, rows), r)
}

// onlyReads is true for statements that are of no use to a client that has gone.
func onlyReads(ast sqlparser.Statement) bool {
	switch n := ast.(type) {
	case sqlparser.SelectStatement:
		return n.GetInto() == nil
	case *sqlparser.Explain, *sqlparser.Show:
		return true
	}
	return false
}

// execute hands a statement to the engine. The engine looks placeholders up by the statement's text in the session, where it is put for
// this call only: other statements may have the same text.
func (x *session) execute(c *sql.Context, st *statement, values map[string]sqlparser.Expr) (sql.Schema, sql.RowIter, error) {
	if err := checkCounts(st.counts, values); err != nil {
		return nil, nil, err
	}
	if execute, ok := st.ast.(*sqlparser.Execute); ok {
		if err := x.checkExecuted(c, execute); err != nil {
			return nil, nil, err
		}
	}
	state := x.planState()
	if values != nil {
		x.sql.PrepareQuery(st.text, st.ast)
		defer x.sql.UnprepareQuery(st.text)
	}
	schema, rows, _, err := x.engine.QueryWithBindings(c, st.text, st.ast, values, nil)
	if failed := x.dropTables(c); failed != nil && err == nil {
		return nil, nil, errors.Join(failed, rows.Close(c))
	}
	schema = st.shownSchema(schema)
	if err == nil && st.lookup != nil {
		x.keep(c, st, state, schema, values)
	}
	return schema, rows, err
}

// answerOK runs a statement that returns no rows to its end.
func (x *session) answerOK(c *sql.Context, st *statement, rows sql.RowIter, r results) error {
	var ok types.OkResult
	for {
		row, err := rows.Next(c)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			_ = rows.Close(c) // it fails for the same reason, which err tells better
			return err
		}
		if len(row) > 0 {
			if result, is := row[0].(types.OkResult); is {
				ok = result
			}
		}
	}
	if err := rows.Close(c); err != nil {
		return err
	}
	if st.grant != nil {
		if err := st.grant.run(c, x.engine.users); err != nil {
			return err
		}
	}
	info := ""
	if ok.Info != nil {
		info = ok.Info.String()
	}
	return r.OK(ok.RowsAffected, ok.InsertID, info)
}

func (x *session) answerRows(c *sql.Context, schema sql.Schema, rows sql.RowIter, r results) error {
	return x.answerColumns(c, schema, columnsOf(c, schema), rows, r)
}

// answerColumns answers with rows of columns that are described already.
func (x *session) answerColumns(c *sql.Context, schema sql.Schema, columns []wire.Column, rows sql.RowIter, r results) error {
	err := r.Columns(columns)
	whole := false
	if err == nil {
		whole, err = send(c, schema, columns, rows, r)
	}
	if closing := rows.Close(c); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if whole {
		c.GetLastQueryInfo().FoundRows.Store(r.RowCount()) // the engine counts rows that pass its own iterators, and says so when they are closed
	}
	return r.EndRows()
}

// batchIter is implemented by the iterators of our own plan nodes: batches instead of rows, valid until the next call.
type batchIter interface {
	NextBatch(*sql.Context) (*column.Batch, error)
	Fields() []column.Field
}

// unwrap looks through the engine's bookkeeping at the root of a plan. Whoever takes batches from below must still close the root.
func unwrap(rows sql.RowIter) sql.RowIter {
	for {
		switch i := rows.(type) {
		case *rowexec.ExprCloserIter:
			rows = i.GetIter()
		case *plan.TrackedRowIter:
			rows = i.GetIter()
		case *rowexec.TransactionCommittingIter:
			rows = i.GetIter()
		default:
			return rows
		}
	}
}

// send sends all rows: as whole batches when the root of the plan and the results both speak them.
func send(c *sql.Context, schema sql.Schema, columns []wire.Column, rows sql.RowIter, r results) (whole bool, err error) {
	if b, ok := r.(batches); ok {
		if from, ok := unwrap(rows).(batchIter); ok && len(from.Fields()) == len(columns) {
			return true, takeBatches(c, from, func(part *column.Batch) error { return b.Batch(part) })
		}
	}
	e := newEncoder(c, schema, columns, r.Binary())
	for {
		row, err := rows.Next(c)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err == nil {
			err = c.Err() // not every iterator of the engine looks at the context
		}
		if err != nil {
			return false, err
		}
		e.row = row
		if err := r.Row(e.fill); err != nil {
			return false, err
		}
	}
}
