package planner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// batches is what the wire looks for below the engine's own iterators.
type batches interface {
	NextBatch(ctx *sql.Context) (*column.Batch, error)
	Fields() []column.Field
}

// scanIter runs a query whose whole plan is a Scan and gives the scan's own iterator.
func (e *testEngine) scanIter(query string) (*Scan, sql.RowIter) {
	e.t.Helper()
	parsed, err := e.engine.AnalyzeQuery(e.ctx, dialect(query))
	if err != nil {
		e.t.Fatal(err)
	}
	s, ok := parsed.(*Scan)
	if !ok {
		e.t.Fatalf("%s is not one scan:\n%s", query, parsed)
	}
	iter, err := s.RowIter(e.ctx, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return s, iter
}

func TestBatchesHoldWhatRowsHold(t *testing.T) {
	e := newTestEngine(t, generate(5, 300))
	e.log.batch = 64
	for _, q := range []string{
		"SELECT `key`, `value`, topic, `partition`, `offset`, `timestamp`, timestampType, headers FROM records()",
		"SELECT length(`value`), `offset`, `offset` > 3, {{`value`:n}?::DOUBLE}, {{`value`:n}?::DATE} FROM records() WHERE `partition` = 1",
		"SELECT topic, `partition`, topic FROM records() WHERE length(`key`) = 2",
		"SELECT COUNT(*), MAX(`offset`), MIN(topic) FROM records()",
		"SELECT COUNT(*), topic FROM records() GROUP BY topic",
	} {
		want := e.mustQuery(q)
		s, iter := e.scanIter(q)
		b, ok := iter.(batches)
		if !ok {
			t.Fatalf("%s: no batches", q)
		}
		out := newRowBuilder(&Scan{outputs: s.outputs, plan: s.plan, from: identity(len(s.outputs))})
		out.cols = nil
		for i, f := range b.Fields() {
			out.cols = append(out.cols, rowColumn{from: i, to: i, as: goTypeOf(s.outputs[i].typ, f.Type)})
		}
		var got []string
		for {
			batch, err := b.NextBatch(e.ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range b.Fields() {
				if batch.Cols[i].Type != f.Type {
					t.Errorf("%s: column %d is %v, not %v", q, i, batch.Cols[i].Type, f.Type)
				}
			}
			out.fill(batch)
			for row, ok := out.take(); ok; row, ok = out.take() {
				got = append(got, showRow(e.ctx, row))
			}
		}
		if err := iter.Close(e.ctx); err != nil {
			t.Error(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: batches\n%s\nrows\n%s", q, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func identity(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestRowsOwnTheirMemory(t *testing.T) {
	e := newTestEngine(t, generate(6, 300))
	_, iter := e.scanIter("SELECT `key`, `value`, topic, headers FROM records()")
	var rows []sql.Row
	var shown []string
	for {
		row, err := iter.Next(e.ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
		shown = append(shown, showRow(e.ctx, row))
	}
	if len(rows) != 300 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, row := range rows {
		if now := showRow(e.ctx, row); now != shown[i] {
			t.Errorf("row %d was %s, is %s", i, shown[i], now)
		}
		if cap(row) != len(row) {
			t.Errorf("appending to row %d would overwrite its neighbour", i)
		}
	}
}

func TestCloseIsRepeatable(t *testing.T) {
	e := newTestEngine(t, generate(7, 300))
	_, iter := e.scanIter("SELECT `value` FROM records()")
	if _, err := iter.Next(e.ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := iter.Close(e.ctx); err != nil {
			t.Error(err)
		}
	}
	for {
		if _, err := iter.Next(e.ctx); err != nil {
			if errors.Is(err, io.EOF) {
				t.Error("a closed scan pretends to have read everything")
			}
			break
		}
	}
}

func TestEndOfTheContextReleasesTheScan(t *testing.T) {
	e := newTestEngine(t, generate(8, 300))
	ctx, cancel := context.WithCancel(context.Background())
	e.ctx = e.ctx.WithContext(ctx)
	_, iter := e.scanIter("SELECT `value` FROM records()")
	if _, err := iter.Next(e.ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	var err error
	for err == nil {
		_, err = iter.Next(e.ctx)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// newTestEngine's cleanup checks that the source is closed, goleak that the lanes have ended. Close waits for both.
	if err := iter.Close(e.ctx); err != nil {
		t.Error(err)
	}
}

func TestWarningsReachTheSession(t *testing.T) {
	e := newTestEngine(t, generate(9, 30))
	e.log.warnings = []string{"3 offsets are held back"}
	for _, on := range []string{"on", "off"} {
		e.pushdown(on)
		e.ctx.ClearWarnings()
		e.mustQuery("SELECT COUNT(*) FROM records()")
		if w := e.ctx.Warnings(); len(w) != 1 || w[0].Message != "3 offsets are held back" || w[0].Code != WarningCode {
			t.Errorf("pushdown %s: %+v", on, w)
		}
	}
}

func TestErrorOfTheSourceIsTheStatements(t *testing.T) {
	e := newTestEngine(t, generate(10, 300))
	e.log.fail = errors.New("the broker is gone")
	for _, q := range []string{"SELECT `value` FROM records()", "SELECT COUNT(*) FROM records()", "SELECT topic, COUNT(*) FROM records() GROUP BY topic", "SELECT upper(topic) FROM records()"} {
		if _, err := e.query(q); err == nil || !strings.Contains(err.Error(), "the broker is gone") {
			t.Errorf("%s: %v", q, err)
		}
	}
}

func TestErrorOfACastNamesTheRecord(t *testing.T) {
	at := epoch
	e := newTestEngine(t, []record{
		{topic: "a", partition: 2, offset: 40, at: &at, value: []byte(`{"n":1}`)},
		{topic: "a", partition: 2, offset: 41, at: &at, value: []byte(`{"n":"none"}`)},
	})
	e.log.lanes = 1
	_, err := e.query("SELECT {{`value`:n}::INT} FROM records()")
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"none", "'a'", "2", "41"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}

func TestLimitStopsTheScan(t *testing.T) {
	e := newTestEngine(t, generate(11, 5000))
	e.log.lanes, e.log.batch = 1, 10
	e.mustQuery("SELECT upper(topic), `value` FROM records() WHERE `partition` = 0 LIMIT 3 OFFSET 2")
	if n := e.log.delivered.Load(); n > 1000 {
		t.Errorf("%d records were read", n)
	}
	if r := e.log.requests[len(e.log.requests)-1]; r.Limit != 5 {
		t.Errorf("the source was told of %d rows", r.Limit)
	}
}

func TestCountReadsNoField(t *testing.T) {
	e := newTestEngine(t, generate(12, 100))
	e.mustQuery("SELECT COUNT(*) FROM records() WHERE `partition` = 0")
	if r := e.log.requests[len(e.log.requests)-1]; len(r.Fields) != 0 || len(r.Bounds.Partitions) != 1 {
		t.Errorf("asked for %+v", r)
	}
	e.mustQuery("SELECT SUM(length(`value`)) FROM records()")
	if r := e.log.requests[len(e.log.requests)-1]; !slices.Equal(r.Fields, []scan.Field{scan.ValueLength}) {
		t.Errorf("asked for %+v", r)
	}
}

// TestSumIsExact: the engine's own SUM adds integers up as doubles, and takes sums for never NULL.
func TestSumIsExact(t *testing.T) {
	e := newTestEngine(t, nil)
	e.mustQuery("CREATE TABLE big (id INT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED, d DECIMAL(20,5), t TINYINT)")
	e.mustQuery("INSERT INTO big VALUES (1, 9223372036854775807, 18446744073709551615, 123456789012345.12345, 100), (2, 9223372036854775807, 18446744073709551615, 0.00001, 100), (3, 1, 1, -0.1, -128), (4, NULL, NULL, NULL, NULL)")
	for _, c := range []struct{ query, want string }{
		{"SELECT SUM(i), SUM(u), SUM(d), SUM(t) FROM big", "18446744073709551615 | 36893488147419103231 | 123456789012345.02346 | 72"},
		{"SELECT SUM(i) FROM big WHERE id > 9", "NULL"},
		{"SELECT SUM(DISTINCT t) FROM big", "-28"},
		{"SELECT SUM(-i) FROM big WHERE id < 3", "-18446744073709551614"},
		{"SELECT SUM(i) / 3 FROM big WHERE id < 3", "6148914691236517204.6667"},
	} {
		if got := e.mustQuery(c.query); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: got %v, want %s", c.query, got, c.want)
		}
	}
	got := e.mustQuery("SELECT id, SUM(i) OVER (ORDER BY id), SUM(d) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM big ORDER BY id")
	want := []string{
		"1 | 9223372036854775807 | 123456789012345.12345", "2 | 18446744073709551614 | 123456789012345.12346",
		"3 | 18446744073709551615 | -0.09999", "4 | 18446744073709551615 | -0.10000",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("windows: got\n%s", strings.Join(got, "\n"))
	}
}

// TestNullableColumnsAreSaidToBe: the engine takes every column of a table function for NOT NULL.
func TestNullableColumnsAreSaidToBe(t *testing.T) {
	e := newTestEngine(t, generate(13, 20))
	for _, on := range []string{"on", "off"} {
		e.pushdown(on)
		for _, c := range []struct{ query, want string }{
			{"SELECT `key`, topic, `timestamp`, `offset`, length(`value`) FROM records()", "NULL, NOT NULL, NULL, NOT NULL, NULL"},
			{"SELECT `key`, `offset` FROM v", "NULL, NOT NULL"},
			{"SELECT MAX(`value`), SUM(`offset`), COUNT(*) FROM records()", "NULL, NULL, NOT NULL"},
			{"SELECT `key` AS k, COUNT(*) FROM records() GROUP BY `key`", "NULL, NOT NULL"},
			{"SELECT concat(`key`, 'x'), `value` FROM (SELECT * FROM records()) d", "NULL, NULL"},
		} {
			schema, iter, err := e.open(c.query)
			if err != nil {
				t.Fatal(err)
			}
			if err := iter.Close(e.ctx); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, col := range schema {
				got = append(got, map[bool]string{true: "NULL", false: "NOT NULL"}[col.Nullable])
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("pushdown %s: %s: got %v", on, c.query, got)
			}
		}
	}
}
