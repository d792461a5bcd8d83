package planner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/dolthub/vitess/go/vt/sqlparser"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/planner/agg"
	"millrace/planner/expr"
)

func TestMain(m *testing.M) {
	logrus.SetLevel(logrus.ErrorLevel)
	goleak.VerifyTestMain(m)
}

// record is a record of the tests' topics. nil is NULL.
type record struct {
	key, value []byte
	topic      string
	partition  int32
	offset     int64
	at         *int64 // milliseconds
	kind       int32
	headers    []byte
}

// records is a table function over records in memory: what read_kafka is to a broker. Its source honours bounds exactly, but for the
// timestamp, where it only leaves out some of the records that a source may leave out.
type records struct {
	db   sql.Database
	args []sql.Expression
	log  *recordLog
}

// recordLog is what the sources of a test share.
type recordLog struct {
	all []record

	mu       sync.Mutex
	requests []scan.Request
	// delivered counts the records that were pushed.
	delivered atomic.Int64
	warnings  []string
	// lanes and batch are how a source reads; fail, when not nil, is returned after the first batch.
	lanes, batch int
	// trusted is what TimeOrdered says.
	trusted bool
	fail    error
	open    atomic.Int64
}

var recordFields = []scan.Field{scan.Key, scan.Value, scan.Topic, scan.Partition, scan.Offset, scan.Timestamp, scan.TimestampType, scan.Headers}

func (r *records) Schema(*sql.Context) sql.Schema {
	db := ""
	if r.db != nil {
		db = r.db.Name()
	}
	col := func(name string, t sql.Type, null bool) *sql.Column {
		return &sql.Column{Name: name, Type: t, Nullable: null, Source: "records", DatabaseSource: db}
	}
	return sql.Schema{
		col("key", types.LongBlob, true), col("value", types.LongBlob, true),
		col("topic", types.MustCreateStringWithDefaults(sqltypes.VarChar, 249), false),
		col("partition", types.Int32, false), col("offset", types.Int64, false),
		col("timestamp", types.MustCreateDatetimeType(sqltypes.Datetime, 3), true), col("timestampType", types.Int32, false),
		col("headers", types.JSON, true),
	}
}

func (r *records) NewInstance(_ *sql.Context, db sql.Database, args []sql.Expression) (sql.Node, error) {
	return &records{db, args, r.log}, nil
}
func (r *records) Resolved() bool                                           { return true }
func (r *records) IsReadOnly() bool                                         { return true }
func (r *records) String() string                                           { return "records" }
func (r *records) Children() []sql.Node                                     { return nil }
func (r *records) WithChildren(*sql.Context, ...sql.Node) (sql.Node, error) { return r, nil }
func (r *records) Expressions() []sql.Expression                            { return r.args }
func (r *records) Name() string                                             { return "records" }
func (r *records) Database() sql.Database                                   { return r.db }
func (r *records) WithDatabase(db sql.Database) (sql.Node, error) {
	return &records{db, r.args, r.log}, nil
}
func (r *records) Layout() Layout                 { return PlainLayout(recordFields...) }
func (r *records) Describe(*sql.Context) []string { return []string{"subscribe: 'a', 'b'"} }
func (r *records) TimeOrdered(*sql.Context) bool  { return r.log.trusted }
func (r *records) RowIter(ctx *sql.Context, row sql.Row) (sql.RowIter, error) {
	return FullScan(ctx, r)
}
func (r *records) WithExpressions(_ *sql.Context, e ...sql.Expression) (sql.Node, error) {
	return &records{r.db, e, r.log}, nil
}

func (r *records) Open(_ *sql.Context, req scan.Request) (scan.Source, error) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.log.requests = append(r.log.requests, req)
	r.log.open.Add(1)
	return &recordSource{log: r.log, req: req}, nil
}

type recordSource struct {
	log    *recordLog
	req    scan.Request
	closed sync.Once
}

func (s *recordSource) Splits() []scan.Split {
	return []scan.Split{{Topic: "a", Range: scan.Range{From: 0, To: 10}}}
}
func (s *recordSource) Stats() scan.Stats {
	return scan.Stats{
		Splits: 1, SplitsDone: 1, Offsets: 10, OffsetsDone: 10, Records: 10, Batches: 2, BatchesSkipped: 3, BatchesCounted: 4,
		BytesFetched: 500, BytesDecoded: 600, Requests: 7, Retries: 8, MemoryBytes: 900,
	}
}
func (s *recordSource) Warnings() []string { return s.log.warnings }
func (s *recordSource) Close()             { s.closed.Do(func() { s.log.open.Add(-1) }) }

func inRanges(rs []scan.Range, x int64) bool {
	return rs == nil || slices.ContainsFunc(rs, func(r scan.Range) bool { return r.From <= x && x < r.To })
}

func (s *recordSource) qualifies(r *record) bool {
	b := s.req.Bounds
	if !b.HoldsTopic(r.topic) {
		return false
	}
	if !inRanges(b.Partitions, int64(r.partition)) || !inRanges(b.Offsets, r.offset) {
		return false
	}
	if len(b.Boxes) > 0 && r.offset%4 > 0 && !slices.ContainsFunc(b.Boxes, func(x scan.Box) bool {
		return slices.ContainsFunc(x.Topics, func(t scan.TextRange) bool { return t.Contains(r.topic) }) && inRanges(x.Partitions, int64(r.partition)) && inRanges(x.Offsets, r.offset)
	}) {
		return false
	}
	if b.HasMaxTimestamp && (r.at == nil && r.offset%3 == 1 || r.at != nil && *r.at >= b.MaxTimestamp && r.offset%5 > 0) {
		return false
	}
	return !b.HasMinTimestamp || r.at == nil && r.offset%2 == 0 || r.at != nil && (*r.at >= b.MinTimestamp || r.offset%3 == 0)
}

// Run delivers what qualifies: in windows from the newest on when that is asked for, else in one.
func (s *recordSource) Run(ctx context.Context, newSink func(int) (scan.Sink, error)) error {
	sinks := make([]scan.Sink, max(s.log.lanes, 1))
	for lane := range sinks {
		var err error
		if sinks[lane], err = newSink(lane); err != nil {
			return err
		}
	}
	for _, window := range s.windows() {
		if len(window) > 0 && s.enough(sinks, window) {
			break
		}
		if err := s.each(ctx, sinks, func(ctx context.Context, lane int) error { return s.lane(ctx, lane, window, sinks) }); err != nil {
			if errors.Is(err, scan.Stop) {
				return nil
			}
			return err
		}
	}
	return s.each(ctx, sinks, func(ctx context.Context, lane int) error { return sinks[lane].Finish(ctx) })
}

// each runs the lanes at once; the first error cancels the others.
func (s *recordSource) each(ctx context.Context, sinks []scan.Sink, run func(ctx context.Context, lane int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for lane := range sinks {
		wg.Go(func() {
			if err := run(ctx, lane); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// value is what a Keeper says of r.
func (s *recordSource) value(r *record) int64 {
	switch {
	case s.req.Newest.By == scan.Offset:
		return r.offset
	case r.at == nil:
		return math.MinInt64
	default:
		return *r.at
	}
}

// windows cuts the records that qualify, the newest first when that is asked for.
func (s *recordSource) windows() [][]record {
	var all []record
	for i := range s.log.all {
		if s.qualifies(&s.log.all[i]) {
			all = append(all, s.log.all[i])
		}
	}
	if s.req.Extremes {
		all = blurred(all)
	}
	if s.req.Newest == nil {
		return [][]record{all}
	}
	slices.SortStableFunc(all, func(a, b record) int { return cmp.Compare(s.value(&b), s.value(&a)) })
	var out [][]record
	for size := 3; len(all) > 0; size *= 2 {
		n := min(size, len(all))
		out = append(out, all[:n])
		all = all[n:]
	}
	return out
}

// enough reports whether no record of next can be among the rows that are wanted, ties with the last one included.
func (s *recordSource) enough(sinks []scan.Sink, next []record) bool {
	if s.req.Newest == nil {
		return false
	}
	var kept []int64
	for _, sink := range sinks {
		kept = sink.(scan.Keeper).Kept(kept)
	}
	slices.Sort(kept)
	slices.Reverse(kept)
	n := int(s.req.Newest.Rows)
	return len(kept) >= n && kept[n-1] > s.value(&next[0])
}

// blurred gives each few records that a batch could hold the same extremes and else other values.
func blurred(all []record) []record {
	batches := map[string][]*record{}
	out := slices.Clone(all)
	for i := range out {
		r := &out[i]
		k := fmt.Sprint(r.topic, r.partition, r.kind)
		if batches[k] = append(batches[k], r); len(batches[k]) < 4 {
			continue
		}
		var newest *int64
		last := int64(0)
		for _, r := range batches[k] {
			if last = max(last, r.offset); r.at != nil && (newest == nil || *r.at > *newest) {
				newest = r.at
			}
		}
		for i, r := range batches[k] {
			if r.at = newest; i > 0 {
				r.offset = last
			}
		}
		batches[k] = nil
	}
	return out
}

func (s *recordSource) lane(ctx context.Context, lane int, window []record, sinks []scan.Sink) error {
	var fields []column.Field
	for _, f := range s.req.Fields {
		fields = append(fields, f.Column())
	}
	var b column.Batch
	b.Reset(fields)
	push := func() error {
		if b.N == 0 {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.log.delivered.Add(int64(b.N))
		err := sinks[lane].Push(ctx, &b)
		for i := range b.Cols {
			// Memory is reused: a consumer that keeps a view reads this.
			for k := range b.Cols[i].Data {
				b.Cols[i].Data[k] = '!'
			}
		}
		b.Reset(fields)
		if err == nil {
			err = s.log.fail
		}
		return err
	}
	for i := range window {
		if i%len(sinks) != lane {
			continue
		}
		for c, f := range s.req.Fields {
			window[i].fill(&b.Cols[c], f)
		}
		if b.N++; b.N >= max(s.log.batch, 1) {
			if err := push(); err != nil {
				return err
			}
		}
	}
	return push()
}

func (r *record) fill(v *column.Vector, f scan.Field) {
	bytes := func(b []byte) {
		if b == nil {
			v.AppendNull()
		} else {
			v.AppendBytes(b)
		}
	}
	length := func(b []byte) {
		if b == nil {
			v.AppendNull()
		} else {
			v.AppendInt(int64(len(b)))
		}
	}
	switch f {
	case scan.Key:
		bytes(r.key)
	case scan.Value:
		bytes(r.value)
	case scan.Topic:
		v.AppendBytes([]byte(r.topic))
	case scan.Partition:
		v.AppendInt(int64(r.partition))
	case scan.Offset:
		v.AppendInt(r.offset)
	case scan.Timestamp:
		if r.at == nil {
			v.AppendNull()
		} else {
			v.AppendInt(*r.at * 1000)
		}
	case scan.TimestampType:
		v.AppendInt(int64(r.kind))
	case scan.Headers:
		bytes(r.headers)
	case scan.KeyLength:
		length(r.key)
	case scan.ValueLength:
		length(r.value)
	}
}

// epoch is the timestamp of the first record of generate.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli()

// generate makes records of two topics, with gaps in the offsets and NULLs of every kind.
func generate(seed uint64, n int) []record {
	rnd := rand.New(rand.NewPCG(seed, 0))
	next := map[string]int64{}
	var out []record
	for i := range n {
		r := record{topic: []string{"a", "b"}[rnd.IntN(2)], partition: int32(rnd.IntN(3)), kind: int32(rnd.IntN(2))}
		p := fmt.Sprint(r.topic, r.partition)
		r.offset = next[p] + int64(rnd.IntN(3)/2)
		next[p] = r.offset + 1
		if rnd.IntN(5) > 0 {
			r.key = []byte([]string{"", "k1", "k2", "K1", "\xff\x00"}[rnd.IntN(5)])
		}
		switch rnd.IntN(8) {
		case 0:
		case 1, 2, 3:
			r.value = []byte(strings.Repeat("v", rnd.IntN(9)) + fmt.Sprint(i%17))
		case 4:
			r.value = []byte([]string{`{"n":"7x","s":null}`, `{"n":1.5,"s":"\u00e9"}`, `[1]`, `{"n":9223372036854775807}`, `{"n":"2026-01-02 03:04:05","s":{"t":[1]}}`, `{"n":true}`}[rnd.IntN(6)])
		default:
			r.value = fmt.Appendf(nil, `{"n":%d,"s":"s%d","o":{"p":[%d,2.50]}}`, rnd.IntN(9), i%4, i%3)
		}
		if rnd.IntN(6) > 0 {
			at := epoch + int64(rnd.IntN(60_000))
			if at%3 == 0 { // duplicates
				at -= at % 10_000
			}
			r.at = &at
		} else {
			r.kind = -1
		}
		if rnd.IntN(3) == 0 {
			r.headers = []byte(`[{"key":"h","value":"x"}]`)
		}
		out = append(out, r)
	}
	return out
}

// testEngine runs SQL over records.
type testEngine struct {
	t      testing.TB
	engine *sqle.Engine
	pro    *provider
	log    *recordLog
	ctx    *sql.Context
}

type provider struct {
	*memory.DbProvider
	log *recordLog
}

func (p *provider) TableFunction(ctx *sql.Context, name string) (sql.TableFunction, bool) {
	if strings.EqualFold(name, "records") {
		return &records{log: p.log}, true
	}
	return p.DbProvider.TableFunction(ctx, name)
}

// dialectFunctions are the forms into which the dialect rewrites x::type, x ?:: type and x:path.
var dialectFunctions = []sql.Function{
	sql.Function2{Name: "millrace_cast", Fn: func(ctx *sql.Context, x, t sql.Expression) sql.Expression { return castTo(ctx, x, t, false) }},
	sql.Function2{Name: "millrace_try_cast", Fn: func(ctx *sql.Context, x, t sql.Expression) sql.Expression { return castTo(ctx, x, t, true) }},
	sql.Function2{Name: "to_timestamp", Fn: newTimeByFormat(false)}, sql.Function2{Name: "try_to_timestamp", Fn: newTimeByFormat(true)},
	sql.Function2{Name: "millrace_path", Fn: func(ctx *sql.Context, x, p sql.Expression) sql.Expression {
		path, err := expr.NewPath(ctx, x, literal(p))
		if err != nil {
			panic(err)
		}
		return path
	}},
}

// aggregates are those that the server registers beside Functions.
var aggregates = []sql.Function{
	aggregateFunction("count_if", agg.NewCountIf), aggregateFunction("approx_count_distinct", agg.NewApproxCountDistinct), aggregateFunction("min_by", agg.NewMinBy),
	aggregateFunction("max_by", agg.NewMaxBy), aggregateFunction("collect_list", agg.NewCollectList), aggregateFunction("percentile_approx", agg.NewPercentileApprox),
}

func aggregateFunction(name string, build func(*sql.Context, []sql.Expression) (sql.Expression, error)) sql.Function {
	return sql.FunctionN{Name: name, Fn: func(ctx *sql.Context, args ...sql.Expression) (sql.Expression, error) { return build(ctx, args) }}
}

func literal(e sql.Expression) string { return e.(*expression.Literal).Value().(string) }

func castTo(ctx *sql.Context, x, t sql.Expression, try bool) sql.Expression {
	to, err := expr.ParseType(literal(t))
	if err != nil {
		panic(err)
	}
	cast, err := expr.NewCast(ctx, x, to, try)
	if err != nil {
		panic(err)
	}
	return cast
}

func (p *provider) Function(_ *sql.Context, _, name string) (sql.Function, bool) {
	for _, f := range slices.Concat(Functions(), dialectFunctions, aggregates) {
		if f.FunctionName() == name {
			return f, true
		}
	}
	return nil, false
}

// parser is the engine's with the operators of ours, as the server's is.
type parser struct{ sql.Parser }

func (p parser) ParseSimple(query string) (sqlparser.Statement, error) {
	ast, err := p.Parser.ParseSimple(query)
	if err == nil {
		err = Operators(query, ast)
	}
	return ast, err
}

func (p parser) Parse(ctx *sql.Context, query string, multi bool) (sqlparser.Statement, string, string, error) {
	ast, parsed, rest, err := p.Parser.Parse(ctx, query, multi)
	if err == nil {
		err = Operators(query, ast)
	}
	return ast, parsed, rest, err
}

func (p parser) ParseWithOptions(ctx context.Context, query string, delimiter rune, multi bool, o sqlparser.ParserOptions) (sqlparser.Statement, string, string, error) {
	ast, parsed, rest, err := p.Parser.ParseWithOptions(ctx, query, delimiter, multi, o)
	if err == nil {
		err = Operators(query, ast)
	}
	return ast, parsed, rest, err
}

func (p parser) ParseOneWithOptions(ctx context.Context, query string, o sqlparser.ParserOptions) (sqlparser.Statement, int, error) {
	ast, end, err := p.Parser.ParseOneWithOptions(ctx, query, o)
	if err == nil {
		err = Operators(query, ast)
	}
	return ast, end, err
}

func newTestEngine(t testing.TB, all []record) *testEngine {
	return newTestEngineWith(t, all, Options{})
}

func newTestEngineWith(t testing.TB, all []record, o Options) *testEngine {
	db := memory.NewDatabase("db")
	log := &recordLog{all: all, lanes: 3, batch: 7}
	pro := &provider{memory.NewDBProvider(db), log}
	a := analyzer.NewBuilder(pro).AddOverrides(sql.EngineOverrides{Builder: sql.BuilderOverrides{Parser: parser{sql.NewMysqlParser()}}}).Build()
	InstallWith(a, o)
	e := &testEngine{t: t, engine: sqle.New(a, &sqle.Config{}), pro: pro, log: log}
	session := memory.NewSession(sql.NewBaseSession(), pro)
	session.SetCurrentDatabase("db")
	e.ctx = sql.NewContext(context.Background(), sql.WithSession(session))
	t.Cleanup(func() {
		if err := e.engine.Close(); err != nil {
			t.Error(err)
		}
		if n := log.open.Load(); n != 0 {
			t.Errorf("%d sources were left open", n)
		}
	})
	e.mustQuery("CREATE TABLE numbers (n BIGINT PRIMARY KEY, s VARCHAR(20))")
	e.mustQuery("INSERT INTO numbers VALUES (0, 'a'), (1, 'b'), (2, 'a'), (7, NULL)")
	e.mustQuery("CREATE VIEW v AS SELECT `key`, `value`, topic, `partition`, `offset`, `timestamp`, length(`value`) AS len FROM records()")
	return e
}

// pushdown turns the rule on or off.
func (e *testEngine) pushdown(on string) { e.mustQuery("SET SESSION pushdown = '" + on + "'") }

// dialect replaces {x:path::TYPE} and {x?::TYPE} by the functions that the dialect makes of them.
func dialect(query string) string {
	for {
		at := strings.LastIndex(query, "{")
		if at < 0 {
			return query
		}
		inner, after, _ := strings.Cut(query[at+1:], "}")
		inner, to, cast := strings.Cut(inner, "::")
		inner, try := strings.CutSuffix(inner, "?")
		x, path, ok := strings.Cut(inner, ":")
		if ok {
			x = fmt.Sprintf("millrace_path(%s, '%s')", x, path)
		}
		switch {
		case try:
			x = fmt.Sprintf("millrace_try_cast(%s, '%s')", x, to)
		case cast:
			x = fmt.Sprintf("millrace_cast(%s, '%s')", x, to)
		}
		query = query[:at] + x + after
	}
}

func (e *testEngine) open(query string) (sql.Schema, sql.RowIter, error) {
	query = dialect(query)
	schema, iter, _, err := e.engine.Query(e.ctx, query)
	return schema, iter, err
}

// query runs a statement and shows its rows as text.
func (e *testEngine) query(query string) ([]string, error) {
	_, iter, err := e.open(query)
	if err != nil {
		return nil, err
	}
	var out []string
	for {
		row, err := iter.Next(e.ctx)
		if errors.Is(err, io.EOF) {
			return out, iter.Close(e.ctx)
		}
		if err != nil {
			return out, errors.Join(err, iter.Close(e.ctx))
		}
		out = append(out, showRow(e.ctx, row))
	}
}

func (e *testEngine) mustQuery(query string) []string {
	e.t.Helper()
	rows, err := e.query(query)
	if err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
	return rows
}

func showRow(ctx *sql.Context, row sql.Row) string {
	var parts []string
	for _, v := range row {
		v, err := sql.UnwrapAny(ctx, v)
		switch x := v.(type) {
		case nil:
			parts = append(parts, "NULL")
		case []byte:
			parts = append(parts, fmt.Sprintf("%q", x))
		case string:
			parts = append(parts, fmt.Sprintf("'%s'", x))
		case bool:
			parts = append(parts, map[bool]string{true: "1", false: "0"}[x])
		case time.Time:
			parts = append(parts, x.Format("2006-01-02 15:04:05.000000"))
		case sql.JSONWrapper:
			i, err := x.ToInterface(ctx)
			if err != nil {
				parts = append(parts, err.Error())
				continue
			}
			b, err := json.Marshal(i)
			parts = append(parts, string(b))
			if err != nil {
				parts = append(parts, err.Error())
			}
		default:
			parts = append(parts, fmt.Sprint(x))
		}
		if err != nil {
			parts = append(parts, err.Error())
		}
	}
	return strings.Join(parts, " | ")
}

// plan explains a query.
func (e *testEngine) plan(query string) string {
	e.t.Helper()
	_, iter, err := e.open("EXPLAIN FORMAT=TREE " + query)
	if err != nil {
		e.t.Fatal(err)
	}
	rows, err := sql.RowIterToRows(e.ctx, iter)
	if err != nil {
		e.t.Fatal(err)
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, fmt.Sprint(r[0]))
	}
	return strings.Join(lines, "\n")
}

// both runs a query with and without pushdown and wants the same rows, in any order.
func (e *testEngine) both(query string) []string {
	e.t.Helper()
	e.pushdown("off")
	want := e.mustQuery(query)
	e.pushdown("on")
	got := e.mustQuery(query)
	sort.Strings(want)
	sort.Strings(got)
	if !slices.Equal(got, want) {
		e.t.Errorf("%s\npushed down %d rows\n%s\nby the engine %d rows\n%s\nplan\n%s", query, len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"), e.plan(query))
	}
	return got
}
