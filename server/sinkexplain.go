package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/functions/writekafka"
	"millrace/internal/sqlerr"
	"millrace/planner"
)

// explained is EXPLAIN of the query of a sink.
func (s *sink) explained() *statement {
	return &statement{text: s.query.text, ast: &sqlparser.Explain{Statement: s.query.ast, ExplainFormat: sqlparser.TreeStr, Analyze: s.analyze && !s.values}}
}

// planBelow gives the plan of a sink's query. With ANALYZE it has run then, and somebody has taken its rows.
func (x *session) planBelow(c *sql.Context, s *sink, values map[string]sqlparser.Expr) (string, error) {
	_, rows, err := x.execute(c, s.explained(), values)
	if err != nil {
		return "", err
	}
	below, err := sql.RowIterToRows(c, rows)
	if err != nil {
		return "", err
	}
	var plan strings.Builder
	for _, row := range below {
		text, ok := row[0].(string)
		if !ok {
			return "", sqlerr.New(sqlerr.Unexpected, "a line of the plan is a %T", row[0])
		}
		plan.WriteString(text + "\n")
	}
	return strings.TrimRight(plan.String(), "\n"), nil
}

// sinkFigures are what a sink has done.
type sinkFigures struct {
	writekafka.Written
	took time.Duration
}

// analyzeSink answers EXPLAIN ANALYZE: it writes the rows, and says how that went. What the engine makes of VALUES is not run, see valueRows.
func (x *session) analyzeSink(c *sql.Context, s *sink, node *writekafka.Node, args *writekafka.Args, values map[string]sqlparser.Expr, r results) error {
	var did sinkFigures
	began := time.Now()
	take := func(c *sql.Context, schema sql.Schema, rows sql.RowIter) (err error) {
		did.Written, err = s.write(c, node, args, schema, rows)
		did.took = time.Since(began)
		return err
	}
	if s.values {
		schema, rows, err := x.valueRows(c, s, args, values)
		if err == nil {
			err = take(c, schema, rows)
		}
		if err != nil {
			return err
		}
	}
	plan, err := x.planBelow(planner.WithTaker(c, take), s, values)
	if err != nil {
		return err
	}
	return x.answerSinkPlan(c, s, args, plan, &did, r)
}

// answerSinkPlan sends the sink, and below it the plan of the query; did is nil when nothing was written.
func (x *session) answerSinkPlan(c *sql.Context, s *sink, args *writekafka.Args, plan string, did *sinkFigures, r results) error {
	head, about := "Sink("+writekafka.Name+")", args.Describe()
	if s.columns != nil {
		about = append(about, "columns: "+strings.Join(s.columns, ", "))
	}
	if did != nil {
		head += fmt.Sprintf("  [rows in %d, written %d, time %s]", did.Rows+did.SetAside, did.Rows, planner.ShortTime(did.took))
		about = append(about, fmt.Sprintf("batches: %d acknowledged, %d bytes of records, %d compressed", did.Batches, did.Bytes, did.Compressed))
		if did.SetAside > 0 {
			about = append(about, fmt.Sprintf("set aside: %d rows that cannot be written", did.SetAside))
		}
	}
	p := sql.NewTreePrinter()
	_ = p.WriteNode("%s", head) // the printer fails only when it is used in the wrong order
	_ = p.WriteChildren(append(about, plan)...)
	var lines []sql.Row
	for line := range strings.Lines(p.String()) {
		lines = append(lines, sql.Row{strings.TrimRight(line, "\r\n")})
	}
	// The engine has ended the context with the last line of its plan.
	return x.answerRows(x.context(context.WithoutCancel(c), ""), textSchema("plan"), sql.RowsToRowIter(lines...), r)
}
