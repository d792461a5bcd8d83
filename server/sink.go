package server

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/functions/writekafka"
	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/planner"
	"millrace/server/dialect"
	"millrace/streaming/sqltable"
)

// sink is INSERT INTO write_kafka(…) query: two statements that the engine plans, one for the call and one for the rows. Placeholders of the call come first.
type sink struct {
	call, query *statement
	// columns are the names that the statement gives to the columns of the rows, nil for those of the query. values says that the rows are VALUES.
	columns []string
	values  bool
	// explain is set for EXPLAIN, analyze for EXPLAIN ANALYZE.
	explain, analyze bool
}

// parseSink reads the parts of the statement.
func parseSink(st *statement, own dialect.Sink, mode dialect.Mode, options sqlparser.ParserOptions, ctx context.Context) error {
	s := &sink{columns: own.Columns, values: own.Values}
	var err error
	if s.call, err = parseText("SELECT * FROM "+own.Call, mode, options, ctx); err != nil {
		return err
	}
	if s.query, err = parseIn(own.Query, mode, options, ctx); err != nil {
		return err
	}
	if query, ok := s.query.ast.(sqlparser.SelectStatement); !ok || query.GetInto() != nil {
		return sqlerr.New(sqlerr.NotSupported, "rows for a sink come from a SELECT").WithHint("INSERT INTO write_kafka(…) SELECT … AS value FROM …")
	}
	if s.values {
		if err := checkValues(s.query.ast, s.columns); err != nil {
			return err
		}
	} else if err := planner.WidenValues(s.query.text, s.query.ast); err != nil {
		return err
	}
	if err := s.query.bindVariables(); err != nil {
		return err
	}
	st.sink, st.params = s, s.call.params+s.query.params
	return nil
}

// share gives the values of a statement's placeholders that belong to a part of it: params of them behind the first skip, counted anew.
func share(values map[string]sqlparser.Expr, skip, params int) map[string]sqlparser.Expr {
	if params == 0 {
		return nil
	}
	part := make(map[string]sqlparser.Expr, params)
	for i := 1; i <= params; i++ {
		if v, ok := values["v"+strconv.Itoa(skip+i)]; ok {
			part["v"+strconv.Itoa(i)] = v
		}
	}
	return part
}

// sinkNode finds the call of the sink, once the user is known to be allowed to make it.
func (x *session) sinkNode(c *sql.Context, call *statement, values map[string]sqlparser.Expr) (*writekafka.Node, error) {
	node, err := x.engine.BoundQueryPlan(c, call.text, call.ast, values)
	if err != nil {
		return nil, err
	}
	var found *writekafka.Node
	transform.InspectWithOpaque(c, node, func(_ *sql.Context, n sql.Node) bool {
		if w, ok := n.(*writekafka.Node); ok {
			found = w
		}
		return found == nil
	})
	if found == nil {
		return nil, sqlerr.New(sqlerr.NotSupported, "rows can be written to write_kafka(…) only")
	}
	return found, nil
}

// insertIntoSink runs INSERT INTO write_kafka(…) query, or explains it.
func (x *session) insertIntoSink(c *sql.Context, st *statement, values map[string]sqlparser.Expr, r results) error {
	s := st.sink
	defer x.endPlanned(c)
	for _, v := range s.query.session {
		v.column.StoredProcVal = x.sessionValue(v.name)
	}
	node, err := x.sinkNode(c, s.call, share(values, 0, s.call.params))
	if err != nil {
		return err
	}
	args, err := node.Args(c)
	if err != nil {
		return err
	}
	queried := share(values, s.call.params, s.query.params)
	if s.explain && !s.analyze {
		plan, err := x.planBelow(c, s, queried)
		if err != nil {
			return err
		}
		return x.answerSinkPlan(c, s, args, plan, nil, r)
	}
	if strings.Contains(strings.ToLower(s.query.text), "stream") {
		planned, err := x.engine.BoundQueryPlan(c, s.query.text, s.query.ast, queried)
		if err == nil {
			err = planner.NeedsEnd(c, planned, "INSERT INTO write_kafka takes all rows")
		}
		if err != nil {
			return err
		}
	}
	if gone, ok := r.(interface{ ReturnsRows() error }); ok && args.ExactlyOnce {
		// A client that has gone does not learn that all was written, and likely writes it again.
		if err := gone.ReturnsRows(); err != nil {
			return err
		}
	}
	if s.analyze {
		return x.analyzeSink(c, s, node, args, queried, r)
	}
	n, err := x.writeRows(c, s, node, args, queried)
	if err != nil {
		return err
	}
	return r.OK(uint64(n.Rows), 0, "")
}

// writeRows runs the query and writes its rows.
func (x *session) writeRows(c *sql.Context, s *sink, node *writekafka.Node, args *writekafka.Args, values map[string]sqlparser.Expr) (n writekafka.Written, err error) {
	schema, rows, err := x.sinkRows(c, s, args, values)
	if err != nil {
		return n, err
	}
	defer func() {
		if closing := rows.Close(c); err == nil {
			err = closing
		}
	}()
	return s.write(c, node, args, schema, rows)
}

// write writes rows, which the caller closes.
func (s *sink) write(c *sql.Context, node *writekafka.Node, args *writekafka.Args, schema sql.Schema, rows sql.RowIter) (n writekafka.Written, err error) {
	fields, err := sinkFields(schema)
	if err != nil {
		return n, err
	}
	named, err := s.named(fields)
	if err != nil {
		return n, err
	}
	args.Listed, args.Values = s.columns != nil, s.values
	plan, err := args.Plan(named)
	if err != nil {
		return n, err
	}
	for _, w := range append(args.Warnings, plan.Warnings...) {
		c.Warn(planner.WarningCode, "%s", w)
	}
	w, err := plan.Open(c, node.Env())
	if err != nil {
		return n, err
	}
	defer w.Close()
	write := func() error {
		err := eachBatch(c, schema, fields, rows, func(b *column.Batch) error { return w.Write(c, b) })
		if flushed := w.Flush(c); err == nil || sqlerr.HasKind(flushed, sqlerr.SinkRow) {
			err = flushed
		}
		return err
	}
	if args.ExactlyOnce {
		if err := together(c, w, write); err != nil {
			return n, err
		}
	} else if err := write(); err != nil {
		return n, undone(c, err, w.Delivered())
	}
	if text := w.Warning(); text != "" {
		c.Warn(planner.WarningCode, "%s", text)
	}
	return w.Written(), nil
}

// together makes what write writes one transaction: all of it or nothing.
func together(c *sql.Context, w *writekafka.Writer, write func() error) error {
	if err := w.Begin(); err != nil {
		return err
	}
	unknown, err := false, write()
	if err == nil {
		unknown, err = w.Commit(c, nil)
	}
	switch e, ok := sqlerr.As(err); {
	case err == nil:
		w.AwaitVisible(c)
		return nil
	case unknown && ok:
		return e.WithDetail("whether the transaction was committed is not known")
	case unknown:
		return sqlerr.New(sqlerr.KafkaWriteFailed, "whether the transaction was committed is not known: %w", err)
	}
	if aborting := w.Abort(c); aborting != nil && c.Err() == nil {
		c.Warn(planner.WarningCode, "the transaction is left to the broker, which aborts it after its time-out: %v", aborting)
	}
	return err
}

// undone says of a write that failed how much of it is there.
func undone(c *sql.Context, err error, delivered int64) error {
	if e, ok := sqlerr.As(err); ok && delivered > 0 && c.Err() == nil {
		detail := strconv.FormatInt(delivered, 10) + " rows were written before the error"
		if e.Detail != "" {
			detail = e.Detail + "; " + detail
		}
		return e.WithDetail("%s", detail)
	}
	return err
}

// sinkRows starts what gives the rows.
func (x *session) sinkRows(c *sql.Context, s *sink, args *writekafka.Args, values map[string]sqlparser.Expr) (sql.Schema, sql.RowIter, error) {
	if s.values {
		return x.valueRows(c, s, args, values)
	}
	return x.execute(c, s.query, values)
}

// named gives columns the names of the statement's list, if it has one.
func (s *sink) named(fields []column.Field) ([]column.Field, error) {
	if s.columns == nil {
		return fields, nil
	}
	if len(fields) != len(s.columns) {
		return nil, sqlerr.New(sqlerr.ValueCount, "the list names %d columns, and the query has %d", len(s.columns), len(fields)).WithHint("name as many as there are, in their order")
	}
	named := slices.Clone(fields)
	for i, name := range s.columns {
		named[i].Name = name
	}
	return named, nil
}

// endPlanned ends the transaction that planning begins, where it is not one that the session has begun: a statement whose rows the engine runs ends it by that.
func (x *session) endPlanned(c *sql.Context) {
	if !c.GetIgnoreAutoCommit() && x.autocommit(c) {
		c.SetTransaction(nil)
	}
}

// sinkFields are the columns of a query as a sink takes them.
func sinkFields(schema sql.Schema) ([]column.Field, error) {
	fields := make([]column.Field, len(schema))
	for i, col := range schema {
		var err error
		if fields[i], err = sinkField(col.Name, col.Type, col.Nullable); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// sinkField is a column as a sink takes it: BOOLEAN is a type of its own there, and NULL AS x has no type.
func sinkField(name string, t sql.Type, nullable bool) (column.Field, error) {
	switch {
	case types.IsNullType(t):
		return column.Field{Name: name, Nullable: true}, nil
	case types.IsBoolean(t):
		return column.Field{Name: name, Nullable: nullable, Type: column.Type{Kind: column.Bool}}, nil
	}
	return sqltable.FieldOf(name, t, nullable)
}

// eachBatch gives the rows of a plan as batches whose columns are fields, valid until take returns.
func eachBatch(c *sql.Context, schema sql.Schema, fields []column.Field, rows sql.RowIter, take func(*column.Batch) error) error {
	if from, ok := unwrap(rows).(batchIter); ok && sameLayout(from.Fields(), fields) {
		return takeBatches(c, from, take)
	}
	return takeRows(c, schema, fields, rows, take)
}

// takeBatches hands on batches of a plan that ends in ours.
func takeBatches(c *sql.Context, from batchIter, take func(*column.Batch) error) error {
	for {
		b, err := from.NextBatch(c)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(b); err != nil {
			return err
		}
	}
}

// rowsAtOnce is the number of rows of the engine that go into one batch.
const rowsAtOnce = 1024

// takeRows gathers rows of the engine into batches.
func takeRows(c *sql.Context, schema sql.Schema, fields []column.Field, rows sql.RowIter, take func(*column.Batch) error) error {
	appender := sqltable.NewAppender(c, schema, fields)
	var b column.Batch
	b.Reset(fields)
	for {
		row, err := rows.Next(c)
		if errors.Is(err, io.EOF) {
			return take(&b)
		}
		if err == nil {
			err = c.Err()
		}
		if err == nil {
			err = appender.Append(&b, row)
		}
		if err != nil {
			return err
		}
		if b.N == rowsAtOnce {
			if err := take(&b); err != nil {
				return err
			}
			b.Reset(fields)
		}
	}
}
