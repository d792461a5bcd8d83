package server

import (
	"context"
	"errors"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/functions/readkafka"
	"millrace/functions/writekafka"
	"millrace/internal/catalog"
	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/planner"
	"millrace/streaming"
	"millrace/streaming/executor"
	"millrace/streaming/sqltable"
)

// streamPlanner plans the queries of streaming tables: as SELECTs of their owners, so that the same names, grants and rules hold.
type streamPlanner struct{ engine *engine }

var _ streaming.Planner = streamPlanner{}

// Plan implements streaming.Planner.
func (p streamPlanner) Plan(ctx context.Context, d catalog.Streaming, table string) (_ *streaming.Planned, err error) {
	x := p.engine.openBackground(sql.Client{User: d.User, Address: d.Host})
	q := &streamQuery{session: x, schemas: readkafka.NewSchemas(d.Schemas, d.Samples)}
	defer func() {
		if err != nil {
			q.Close()
		}
	}()
	if err := x.use(ctx, d.Database); err != nil {
		return nil, err
	}
	c := q.context(ctx)
	if err := x.sql.SetSessionVariable(c, "sql_mode", d.SQLMode); err != nil {
		return nil, fault(c, err)
	}
	q.text, q.flow = d.Query, d.Sink != ""
	if err := q.plan(c); err != nil {
		return nil, fault(c, err)
	}
	if q.flow {
		if err := q.planSink(c, d.Sink); err != nil {
			return nil, fault(c, err)
		}
	}
	if err := q.widen(c, &d, table); err != nil {
		return nil, fault(c, err)
	}
	query := slices.Clone(q.columns)
	if err := q.obey(c, &d, table); err != nil {
		return nil, fault(c, err)
	}
	return &streaming.Planned{Query: q, Schemas: q.schemas.Used(), Samples: q.schemas.Samples(), Columns: query, Added: q.columns[len(query) : len(q.columns)-q.expectations]}, nil
}

// streamQuery is a planned query with the session that it runs in. It implements executor.Query.
type streamQuery struct {
	session *session
	text    string
	schemas *readkafka.Schemas
	// node is the plan. A volatile query, which asks for the time or for chance, is planned anew for each run: a plan holds such values.
	node     sql.Node
	volatile bool
	schema   sql.Schema
	fields   []column.Field
	columns  []streaming.Column
	// expectations is how many of the last fields are the results of expectations.
	expectations int
	checks       []executor.Check
	read         executor.Read
	// faults find the records that cannot be decoded, nil when nothing is decoded.
	faults *faults
	// flow says that the rows go to a sink.
	flow bool
	sink *writekafka.Plan
	env  readkafka.Env
}

// noun is what the query is of, for messages.
func (q *streamQuery) noun() string {
	if q.flow {
		return "flow"
	}
	return "streaming table"
}

func (q *streamQuery) context(ctx context.Context) *sql.Context {
	return q.session.context(readkafka.WithSchemas(ctx, q.schemas), redact(q.text).text)
}

// plan reads, checks and analyses the query.
func (q *streamQuery) plan(c *sql.Context) error {
	st, err := parse(c, q.text)
	if err != nil {
		return err
	}
	if _, ok := st.ast.(sqlparser.SelectStatement); !ok {
		return sqlerr.New(sqlerr.NotSupported, "a %s is made of a SELECT", q.noun()).WithHint("AS SELECT … FROM STREAM read_kafka(…)")
	}
	if st.params > 0 {
		return sqlerr.New(sqlerr.NotSupported, "the query of a %s may have no placeholders", q.noun())
	}
	bound, err := q.session.bind(c, st)
	if err != nil {
		return err
	}
	source, err := q.streamOf(c, bound)
	if err != nil {
		return err
	}
	if q.volatile, err = q.isVolatile(c, bound); err != nil {
		return err
	}
	if q.read, err = q.readOf(c, source); err != nil {
		return err
	}
	q.faults = newFaults(source.Layout())
	node, err := q.session.engine.BoundQueryPlan(c, st.text, st.ast, nil)
	if err != nil {
		return err
	}
	node, err = planner.CorrectNullability(c, node)
	if err != nil {
		return err
	}
	q.node, q.schema = node, node.Schema(c)
	if q.fields, err = sqltable.FieldsOf(q.schema); err != nil {
		return err
	}
	q.columns = q.columns[:0]
	for i, f := range q.fields {
		f.Nullable = true
		if q.flow && types.IsBoolean(q.schema[i].Type) {
			f.Type.Kind, f.Width = column.Bool, 0
		}
		q.fields[i] = f
		q.columns = append(q.columns, streaming.Column{Field: f, SQL: typeText(q.schema[i].Type)})
	}
	return nil
}

// streamOf finds the one STREAM read_kafka(…) that a query reads, and refuses what a streaming table cannot be made of.
func (q *streamQuery) streamOf(c *sql.Context, n sql.Node) (*readkafka.Node, error) {
	var found *readkafka.Node
	var failed error
	later := func(what string) {
		if failed == nil {
			failed = sqlerr.New(sqlerr.NotSupported, "%s in the query of a %s is not supported yet", what, q.noun()).
				WithHint("a %s selects columns and expressions of one STREAM read_kafka(…), with WHERE", q.noun())
		}
	}
	transform.InspectWithOpaque(c, n, func(c *sql.Context, n sql.Node) bool {
		switch n := n.(type) {
		case *readkafka.Node:
			switch {
			case found != nil:
				later("more than one read_kafka")
			case !n.IsStream():
				failed = sqlerr.New(sqlerr.OptionMissing, "the query of a %s reads a stream, and this read_kafka has an end", q.noun()).WithHint("write STREAM before it: FROM STREAM read_kafka(…)")
			}
			found = n
		case *plan.Project, *plan.Filter, *plan.TableAlias, *plan.SubqueryAlias:
		case *plan.GroupBy:
			later("GROUP BY, or an aggregate,")
		case *plan.Distinct, *plan.OrderedDistinct:
			later("DISTINCT")
		case *plan.Limit, *plan.Offset:
			later("LIMIT")
		case *plan.Sort, *plan.TopN:
			later("ORDER BY")
		case *plan.Window:
			later("a window function")
		case *plan.JoinNode:
			later(joined(c, n))
		case *plan.SetOp:
			later("a set operation")
		case sql.TableFunction:
			later("the table function " + n.Name())
		case *plan.ResolvedTable:
			if plan.IsDualTable(n) {
				break
			}
			later("a table")
		default:
			later("this construct")
		}
		if e, ok := n.(sql.Expressioner); ok && failed == nil {
			for _, e := range e.Expressions() {
				transform.InspectExpr(c, e, func(_ *sql.Context, e sql.Expression) bool {
					if _, ok := e.(*plan.Subquery); ok {
						later("a subquery in an expression")
					}
					return failed != nil
				})
			}
		}
		return failed == nil
	})
	if failed == nil && found == nil {
		failed = sqlerr.New(sqlerr.OptionMissing, "the query of a %s reads no stream", q.noun()).WithHint("for example: SELECT value::string AS text FROM STREAM read_kafka(bootstrapServers => 'localhost:9092', subscribe => 'topic')")
	}
	return found, failed
}

// isVolatile reports whether a query has values that are others each time. User variables are refused: there is no user when it runs.
func (q *streamQuery) isVolatile(c *sql.Context, n sql.Node) (bool, error) {
	found := false
	var failed error
	transform.InspectWithOpaque(c, n, func(c *sql.Context, n sql.Node) bool {
		e, ok := n.(sql.Expressioner)
		if !ok {
			return true
		}
		for _, e := range e.Expressions() {
			transform.InspectExpr(c, e, func(_ *sql.Context, e sql.Expression) bool {
				switch e := e.(type) {
				case *expression.UserVar:
					failed = sqlerr.New(sqlerr.NotSupported, "the query of a %s may not use the variable %s", q.noun(), e)
				case sql.NonDeterministicExpression:
					found = found || e.IsNonDeterministic()
				case sql.FunctionExpression:
					found = found || slices.Contains(clocks, e.FunctionName())
				}
				return false
			})
		}
		return true
	})
	return found, failed
}

// clocks are functions that tell the time, which the engine does not call non-deterministic.
var clocks = []string{"now", "current_timestamp", "sysdate", "curdate", "current_date", "curtime", "current_time", "utc_timestamp", "utc_date", "utc_time", "unix_timestamp", "localtime", "localtimestamp"}

// readOf is what a call reads.
func (q *streamQuery) readOf(c *sql.Context, n *readkafka.Node) (executor.Read, error) {
	args, err := n.Args(c)
	if err != nil {
		return executor.Read{}, err
	}
	if args.Spec.MaxTime > 0 || args.Spec.MaxRecords > 0 {
		return executor.Read{}, sqlerr.New(sqlerr.OptionConflict, "'maxReadTimeSeconds' and 'maxNumRecords' end a read, and a %s has no end", q.noun()).WithHint("leave them out")
	}
	return executor.Read{
		Cluster: args.Cluster, Spec: args.Spec, Latest: !args.NamesStart(), Discovery: args.DiscoveryInterval,
		MaxOffsets: args.Trigger.MaxOffsets, MinOffsets: args.Trigger.MinOffsets, MaxDelay: args.Trigger.MaxDelay,
		Mirror: executor.Mirror(args.Mirror), Evolution: evolutions[args.Format.Evolution],
	}, nil
}

// evolutions are what the words of schemaEvolution mean.
var evolutions = map[string]executor.Evolution{readkafka.EvolutionNone: executor.KeepsColumns, readkafka.EvolutionAdds: executor.AddsColumns, readkafka.EvolutionRestart: executor.StopsForColumns}

// Columns implements executor.Query.
func (q *streamQuery) Columns() []column.Field { return q.fields[:len(q.fields)-q.expectations] }

// Checks implements executor.Query.
func (q *streamQuery) Checks() []executor.Check { return q.checks }

// Read implements executor.Query.
func (q *streamQuery) Read() executor.Read { return q.read }

// Close implements executor.Query.
func (q *streamQuery) Close() { q.session.close() }

// Run implements executor.Query.
func (q *streamQuery) Run(ctx context.Context, open executor.Open, take func(*column.Batch) error) (bad *column.Batch, err error) {
	var wait func() (*column.Batch, error)
	c := q.context(readkafka.WithSource(ctx, func(ctx context.Context, req scan.Request) (scan.Source, error) {
		if q.faults == nil || wait != nil {
			return open(ctx, req)
		}
		return q.faults.openWatched(ctx, open, req, &wait)
	}))
	err = q.run(c, take)
	if wait != nil {
		found, failed := wait()
		bad, err = found, errors.Join(err, failed)
	}
	return bad, err
}

// run runs the plan in the context that says what is read.
func (q *streamQuery) run(c *sql.Context, take func(*column.Batch) error) (err error) {
	defer sqltable.EndStatement(c)
	c.ClearWarnings()
	if q.volatile {
		if err := q.plan(c); err != nil {
			return err
		}
	}
	rows, err := q.session.engine.Analyzer.ExecBuilder.Build(c, q.node, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close(c)) }()
	return eachBatch(c, q.schema, q.fields, rows, take)
}

// sameLayout reports whether batches of one sort can be taken for the other: the same vectors hold the values.
func sameLayout(have, want []column.Field) bool {
	return slices.EqualFunc(have, want, func(a, b column.Field) bool {
		return a.Type.Kind == b.Type.Kind || a.Type.Kind.IsInt() && b.Type.Kind.IsInt() && a.Type.Kind <= column.Uint64 && b.Type.Kind <= column.Uint64
	})
}

// joined names what a join was written as.
func joined(c *sql.Context, n *plan.JoinNode) string {
	what := "a join"
	transform.InspectWithOpaque(c, n, func(_ *sql.Context, n sql.Node) bool {
		if t, ok := n.(*plan.SubqueryAlias); ok && t.Name() == windowsTable {
			what = "a window with a slide, which puts a record into several rows,"
		}
		return true
	})
	return what
}
