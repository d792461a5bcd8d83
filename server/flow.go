package server

import (
	"context"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/functions/writekafka"
	"millrace/internal/catalog"
	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
	"millrace/streaming"
	"millrace/streaming/executor"
)

// planSink plans the call that the rows of a flow go to, as its owner.
func (q *streamQuery) planSink(c *sql.Context, call string) error {
	st, err := parse(c, "SELECT * FROM "+call)
	if err != nil {
		return err
	}
	if st.params > 0 {
		return sqlerr.New(sqlerr.NotSupported, "the sink of a flow may have no placeholders")
	}
	node, err := q.session.sinkNode(c, st, nil)
	if err != nil {
		return err
	}
	args, err := node.Args(c)
	if err != nil {
		return err
	}
	q.env = node.Env()
	q.sink, err = args.FlowPlan(q.fields)
	return err
}

var _ executor.Outputs = (*streamQuery)(nil)

// Output implements executor.Outputs.
func (q *streamQuery) Output(ctx context.Context, id string) (executor.Output, error) {
	if q.sink == nil {
		return nil, nil
	}
	o := &kafkaOutput{plan: q.sink, name: kafka.MarkGroups + id}
	transactional := ""
	if o.Exact() {
		transactional = o.name
	}
	var err error
	if o.writer, err = q.sink.Continuous(transactional).Open(ctx, q.env); err != nil {
		return nil, err
	}
	return o, nil
}

// CheckOutput implements executor.Outputs.
func (q *streamQuery) CheckOutput(ctx context.Context) (executor.Target, error) {
	if q.sink == nil {
		return executor.Target{}, nil
	}
	w, err := q.sink.Continuous("").Open(ctx, q.env)
	if err != nil {
		return executor.Target{}, err
	}
	w.Close()
	cluster, topics, err := q.sink.Target(ctx, q.env)
	return executor.Target{Cluster: cluster, Topics: topics}, err
}

// kafkaOutput writes the rows of a flow by write_kafka. It implements executor.Output.
type kafkaOutput struct {
	plan   *writekafka.Plan
	writer *writekafka.Writer
	// name is the transactional id and the consumer group of the flow.
	name string
}

// Exact implements executor.Output.
func (o *kafkaOutput) Exact() bool { return o.plan.ExactlyOnce() }

// Place implements executor.Output: the topic of the first row.
func (o *kafkaOutput) Place(rows *column.Batch) string { return o.plan.TopicOf(rows, 0) }

// Delivered implements executor.Output.
func (o *kafkaOutput) Delivered(ctx context.Context, place string) (*executor.Delivery, error) {
	m, err := o.writer.Marked(ctx, o.name, place)
	if err != nil || m == nil {
		return nil, err
	}
	return &executor.Delivery{Number: m.Number, Token: m.Note, Place: m.Topic}, nil
}

// Deliver implements executor.Output.
func (o *kafkaOutput) Deliver(ctx context.Context, rows *column.Batch, d executor.Delivery) error {
	o.writer.Restart()
	if !o.Exact() {
		if err := o.writer.Write(ctx, rows); err != nil {
			return err
		}
		return o.writer.Flush(ctx)
	}
	if err := o.writer.Begin(); err != nil {
		return err
	}
	unknown, err := false, o.writer.Write(ctx, rows)
	if err == nil {
		unknown, err = o.writer.Commit(ctx, &kafka.Mark{Group: o.name, Topic: d.Place, Number: d.Number, Note: d.Token})
	}
	if err != nil && !unknown {
		// A flow that has failed must not hold consumers up; one that goes on opens another output, which ends the transaction in any case.
		_ = o.writer.Abort(ctx)
	}
	return err
}

// Close implements executor.Output.
func (o *kafkaOutput) Close() { o.writer.Close() }

// isFlow reports whether what the catalog has as a streaming table is a flow, which holds no rows.
func isFlow(t catalog.Table) bool { return t.Streaming != nil && t.Streaming.Sink != "" }

// flowStatement runs a statement on flows.
func (x *session) flowStatement(c *sql.Context, st *statement, r results) error {
	m := x.engine.streaming
	if m == nil {
		return sqlerr.New(sqlerr.ServerGone, "the server is starting")
	}
	var err error
	switch own := st.own.(type) {
	case dialect.CreateFlow:
		err = x.createFlow(c, st, own)
	case dialect.DropFlow:
		err = x.changeFlow(c, own.Flow, own.IfExists, "drop a flow", m.Drop)
	case dialect.AlterFlow:
		change := m.Resume
		if own.Pause {
			change = m.Pause
		}
		err = x.changeFlow(c, own.Flow, false, "alter a flow", change)
	case dialect.ShowFlows:
		return x.showFlows(c, own, r)
	case dialect.ShowCreateFlow:
		name, t, err := x.streamingTable(c, own.Flow)
		if err == nil && !isFlow(t) {
			err = tableMeant(name)
		}
		if err != nil {
			return err
		}
		return x.answerRows(c, textSchema("Flow", "Create Flow"), sql.RowsToRowIter(sql.Row{t.Name, redact(t.Streaming.Create).text}), r)
	}
	if err != nil {
		return err
	}
	return r.OK(0, 0, "")
}

func noFlow(n streaming.Name) error {
	return sqlerr.New(sqlerr.NoTable, "flow '%s' does not exist", n).WithHint("SHOW FLOWS lists them")
}

// changeFlow does something to a flow that exists.
func (x *session) changeFlow(c *sql.Context, n dialect.TableName, ifExists bool, what string, change func(context.Context, streaming.Name) error) error {
	if err := x.engine.administerStreaming(c, what); err != nil {
		return err
	}
	name := x.nameOf(n)
	t, ok := x.engine.catalog.Table(name.Database, name.Table)
	switch {
	case ok && isFlow(t):
		return change(c, name)
	case ok:
		return tableMeant(name)
	case ifExists:
		c.Warn(int(sqlerr.UnknownTable.Errno), "flow '%s' does not exist", name)
		return nil
	}
	return noFlow(name)
}

func (x *session) createFlow(c *sql.Context, st *statement, own dialect.CreateFlow) error {
	if err := x.engine.administerStreaming(c, "create a flow"); err != nil {
		return err
	}
	name := x.nameOf(own.Flow)
	if name.Database == "" {
		return sqlerr.New(sqlerr.NoDatabase, "no database is selected").WithHint("USE one, or name it: CREATE FLOW db.%s …", own.Flow.Name)
	}
	if !x.engine.provider.HasDatabase(c, name.Database) {
		return sqlerr.New(sqlerr.NoDatabase, "database '%s' does not exist", name.Database)
	}
	if strings.Contains(own.Flow.Name, "$") {
		return sqlerr.New(sqlerr.OptionInvalid, "the name of a flow may not contain '$'").WithHint("names with $ are those of the tables that belong to it, such as %s$errors", strings.ReplaceAll(own.Flow.Name, "$", "_"))
	}
	if err := x.checkConstants(c, own.Sink.Query); err != nil {
		return err
	}
	mode, err := c.GetSessionVariable(c, createVariable)
	if err != nil {
		return err
	}
	create := streaming.Create{
		Name: name, IfNotExists: own.IfNotExists, Async: true, Unvalidated: mode == createBlind, Comment: own.Comment,
		Warn: warnings(c),
		Definition: catalog.Streaming{
			Create: st.text, Query: own.Sink.Query, Sink: own.Sink.Call, SQLMode: sql.LoadSqlMode(c).String(), Database: x.sql.GetCurrentDatabase(), User: x.client.User, Host: x.client.Address,
		},
	}
	if create.Definition.Database == "" {
		create.Definition.Database = name.Database
	}
	return x.engine.streaming.Create(c, create)
}

// flows calls do for each flow that the user may see, in order of names.
func (e *engine) flows(c *sql.Context, do func(n streaming.Name, t catalog.Table, x *executor.Table)) {
	e.streamingTables(c, func(n streaming.Name, t catalog.Table, x *executor.Table) {
		if isFlow(t) {
			do(n, t, x)
		}
	})
}

// flowsSchema is that of SHOW FLOWS.
var flowsSchema = sql.Schema{
	{Name: "Database", Type: types.LongText}, {Name: "Flow", Type: types.LongText}, {Name: "State", Type: types.LongText}, {Name: "Reason", Type: types.LongText, Nullable: true},
	{Name: "Rows_written", Type: types.Int64}, {Name: "Lag", Type: types.Int64, Nullable: true}, {Name: "Last_commit", Type: types.DatetimeMaxPrecision, Nullable: true},
}

func (x *session) showFlows(c *sql.Context, own dialect.ShowFlows, r results) error {
	database, matches, err := x.shownDatabase(c, own.ShowStreamingTables)
	if err != nil {
		return err
	}
	x.engine.lookAtIdle(c)
	var rows []sql.Row
	x.engine.flows(c, func(n streaming.Name, _ catalog.Table, flow *executor.Table) {
		if strings.EqualFold(n.Database, database) && matches(n.Table) {
			s := flow.Status()
			rows = append(rows, sql.Row{n.Database, n.Table, string(s.State), orNull(oneLine(s.Reason)), s.Written, knownOrNull(s.Lag()), timeOrNull(s.LastCommit)})
		}
	})
	return x.answerRows(c, flowsSchema, sql.RowsToRowIter(rows...), r)
}

var streamingFlowsSchema = columnsIn("streaming_flows",
	&sql.Column{Name: "flow_schema", Type: infoText(64)},
	&sql.Column{Name: "flow_name", Type: infoText(64)},
	&sql.Column{Name: "state", Type: infoText(16)},
	&sql.Column{Name: "reason", Type: infoText(4096), Nullable: true},
	&sql.Column{Name: "since", Type: infoTime},
	&sql.Column{Name: "rows_written", Type: types.Int64},
	&sql.Column{Name: "lag", Type: types.Int64, Nullable: true},
	&sql.Column{Name: "last_commit", Type: infoTime, Nullable: true},
	&sql.Column{Name: "batches", Type: types.Int64},
	&sql.Column{Name: "input_records", Type: types.Int64},
	&sql.Column{Name: "input_bytes", Type: types.Int64},
	&sql.Column{Name: "bad_records", Type: types.Int64},
	&sql.Column{Name: "sink", Type: infoText(65535)},
	&sql.Column{Name: "comment", Type: infoText(2048)},
)

// flowRows are the rows of streaming_flows.
func (e *engine) flowRows(c *sql.Context) []sql.Row {
	e.lookAtIdle(c)
	var rows []sql.Row
	e.flows(c, func(n streaming.Name, t catalog.Table, x *executor.Table) {
		s := x.Status()
		rows = append(rows, sql.Row{n.Database, n.Table, string(s.State), orNull(s.Reason), s.Since.UTC(), s.Written, knownOrNull(s.Lag()), timeOrNull(s.LastCommit), s.Batches, s.Records, s.Bytes,
			s.BadRecords, redact(t.Streaming.Sink).text, t.Comment})
	})
	return rows
}
