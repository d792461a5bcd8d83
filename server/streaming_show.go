package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
	"golang.org/x/sync/errgroup"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
	"millrace/streaming"
	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// streamingTables calls do for each streaming table and flow that the user may see, in order of names.
func (e *engine) streamingTables(c *sql.Context, do func(n streaming.Name, t catalog.Table, x *executor.Table)) {
	state := e.catalog.State()
	for _, key := range slices.Sorted(maps.Keys(state.Databases)) {
		db := state.Databases[key]
		for _, name := range slices.Sorted(maps.Keys(db.Tables)) {
			t := db.Tables[name]
			n := streaming.Name{Database: db.Name, Table: t.Name}
			if t.Streaming == nil || !e.users.UserHasPrivileges(c, sql.NewPrivilegedOperation(sql.PrivilegeCheckSubject{Database: db.Name, Table: t.Name}, sql.PrivilegeType_Select)) {
				continue
			}
			if x, ok := e.streaming.Table(n); ok {
				do(n, t, x)
			}
		}
	}
}

// lookPatience is how long somebody who wants to see tables waits for brokers that do not answer.
const lookPatience = 2 * time.Second

// lookAtIdle has the tables that do not read, and that the user may see, ask how far they are behind.
func (e *engine) lookAtIdle(c *sql.Context) {
	var tables []*executor.Table
	e.streamingTables(c, func(_ streaming.Name, _ catalog.Table, x *executor.Table) { tables = append(tables, x) })
	lookAt(c, tables...)
}

// lookAt has tables ask at once, a few at a time.
func lookAt(ctx context.Context, tables ...*executor.Table) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	var asking errgroup.Group
	asking.SetLimit(16)
	for _, t := range tables {
		asking.Go(func() error {
			t.Look(ctx)
			return nil
		})
	}
	_ = asking.Wait() // who does not answer is not known
}

// tableStats sums up what the store holds of a table.
func (e *engine) tableStats(c *sql.Context, id string) (*store.TableStats, error) {
	snap, err := e.provider.rows.Snapshot(c)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	stats, err := snap.Stats(store.TableID(id))
	if errors.Is(err, store.ErrNoTable) {
		return new(store.TableStats), nil
	}
	return stats, err
}

// knownOrNull is a number as a value, NULL when it is not known.
func knownOrNull(n int64, known bool) any {
	if !known {
		return nil
	}
	return n
}

// showSchema is that of SHOW STREAMING TABLES.
var showSchema = sql.Schema{
	{Name: "Database", Type: types.LongText}, {Name: "Table", Type: types.LongText}, {Name: "State", Type: types.LongText}, {Name: "Reason", Type: types.LongText, Nullable: true},
	{Name: "Rows", Type: types.Int64}, {Name: "Lag", Type: types.Int64, Nullable: true}, {Name: "Last_commit", Type: types.DatetimeMaxPrecision, Nullable: true},
}

// shownDatabase is what FROM and LIKE choose: a database, and names in it.
func (x *session) shownDatabase(c *sql.Context, own dialect.ShowStreamingTables) (database string, matches func(string) bool, err error) {
	database = own.Database
	if database == "" {
		database = x.sql.GetCurrentDatabase()
	} else if !x.engine.provider.HasDatabase(c, database) {
		return "", nil, sqlerr.New(sqlerr.NoDatabase, "database '%s' does not exist", database)
	}
	if own.HasLike {
		matches, err = likeMatcher(c, own.Like)
		return database, matches, err
	}
	return database, func(string) bool { return true }, nil
}

func (x *session) showStreaming(c *sql.Context, own dialect.ShowStreamingTables, r results) error {
	database, matches, err := x.shownDatabase(c, own)
	if err != nil {
		return err
	}
	x.engine.lookAtIdle(c)
	var rows []sql.Row
	var failed error
	x.engine.streamingTables(c, func(n streaming.Name, t catalog.Table, table *executor.Table) {
		if isFlow(t) || !strings.EqualFold(n.Database, database) || !matches(n.Table) {
			return
		}
		stats, err := x.engine.tableStats(c, t.ID)
		if err != nil {
			failed = err
			return
		}
		s := table.Status()
		rows = append(rows, sql.Row{n.Database, n.Table, string(s.State), orNull(oneLine(s.Reason)), stats.Rows, knownOrNull(s.Lag()), timeOrNull(s.LastCommit)})
	})
	if failed != nil {
		return failed
	}
	return x.answerRows(c, showSchema, sql.RowsToRowIter(rows...), r)
}

// likeMatcher compares names with a pattern of LIKE, in any case.
func likeMatcher(c *sql.Context, pattern string) (func(string) bool, error) {
	like := expression.NewLike(expression.NewGetField(0, types.LongText, "name", false), expression.NewLiteral(strings.ToLower(pattern), types.LongText), nil)
	if _, err := like.Eval(c, sql.Row{""}); err != nil {
		return nil, err
	}
	return func(name string) bool {
		v, err := like.Eval(c, sql.Row{strings.ToLower(name)})
		return err == nil && v == true
	}, nil
}

// oneLine puts a text of several lines, as of an error with its hint, into one: clients draw rows as lines.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "; ")
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// describeStreaming adds what DESCRIBE EXTENDED says of a streaming table.
func (x *session) describeStreaming(c *sql.Context, n streaming.Name, t catalog.Table, add func(key, format string, args ...any)) error {
	table, ok := x.engine.streaming.Table(n)
	if !ok {
		return sqlerr.New(sqlerr.ServerGone, "the server is stopping")
	}
	lookAt(c, table)
	s := table.Status()
	if isFlow(t) {
		add("Type", "FLOW")
		add("Sink", "%s", redact(t.Streaming.Sink).text)
	} else {
		add("Type", "STREAMING_TABLE")
	}
	add("Owner", "'%s'@'%s'", t.Streaming.User, t.Streaming.Host)
	add("State", "%s", s.State)
	if s.Reason != "" {
		add("Reason", "%s", s.Reason)
	}
	if server, ok := x.engine.holder(s).(string); ok {
		add("Server", "%s", server)
	}
	describeRuns(t, table, add)
	if !s.LastCommit.IsZero() {
		add("Last Refresh", "%s", s.LastCommit.UTC().Format("2006-01-02 15:04:05.000"))
	}
	if lag, known := s.Lag(); known {
		add("Lag", "%d", lag)
	}
	if m := s.Mirrored; m.Group != "" {
		add("Consumer Group", "%s", m.Group)
		if m.Error != "" {
			add("Consumer Group Error", "%s", m.Error)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Streaming.Properties)) {
		add("Property "+name, "%s", t.Streaming.Properties[name])
	}
	eachExpectation(t, s.Expectations, func(x catalog.Expectation, tally executor.Tally) {
		add("Expectation "+x.Name, "(%s), %s: %d passed, %d failed", x.Condition, checkKinds[x.Action], tally.Passed, tally.Failed)
	})
	add("Query", "%s", redact(t.Streaming.Query).text)
	for i := range s.Partitions {
		p := &s.Partitions[i]
		if lag, known := p.Lag(); known {
			add("Partition "+p.Topic, "%d: next offset %d, end %d, lag %d", p.Partition.Partition, p.Offset, p.End, lag)
		} else {
			add("Partition "+p.Topic, "%d: next offset %d", p.Partition.Partition, p.Offset)
		}
	}
	return nil
}
