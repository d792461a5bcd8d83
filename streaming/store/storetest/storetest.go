// Package storetest is the conformance suite of store.Store: what every store must do, whatever it is made of.
//
//	var backend = storetest.Backend{Open: …, Name: …}
//
//	func TestMain(m *testing.M)         { storetest.Main(m, backend) }
//	func TestConformance(t *testing.T)  { storetest.Run(t, backend) }
//	func TestCrashes(t *testing.T)      { storetest.Crash(t, backend, "commit.checked", …) }
//
// Crash kills child processes, which Main runs in the same test binary, and looks at what they leave behind.
package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// Backend is a store under test.
type Backend struct {
	// Open opens the store of that name, and creates it the first time. What was closed, or belonged to a process that died, opens again with the same
	// content. It may be called in another process than Name was.
	Open func(name string) (store.Store, error)
	// Name gives the name of a store that does not exist yet, and removes it when the test ends.
	Name func(t testing.TB) string
	// Faulty opens a store like Open and gives two functions. Between a call of fail and one of mend commits that are under way end with
	// ErrUnknownOutcome, and new ones fail. After mend the store recovers by itself. nil when there is no such fault.
	Faulty func(name string) (s store.Store, fail, mend func(), err error)
}

// Run runs the suite.
func Run(t *testing.T, b Backend) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, b Backend)
	}{
		{"tables come and go", testTables},
		{"every kind of value comes back", testKinds},
		{"a commit is all or nothing", testAtomic},
		{"commits are numbered and found again", testCheckpoint},
		{"a commit of unknown outcome is found or not, never twice", testUnknownOutcome},
		{"one writer at a time", testLeases},
		{"positions are compared and set", testPositions},
		{"tables without a writer take rows from anybody", testPlainTables},
		{"the schema changes in mid-stream", testSchema},
		{"truncating and dropping", testTruncate},
		{"events are kept in order", testEvents},
		{"rows expire", testExpire},
		{"snapshots stay as they are", testSnapshots},
		{"readers never see half a commit", testIsolation},
		{"scans keep the contract of sources", testScanContract},
		{"pruned scans miss nothing", testPruning},
		{"nor do they in large segments", testLargeSegments},
		{"operators run on stored rows", testOperators},
		{"groups that are computed by the store", testAggregation},
		{"the first rows of an order are all there", testTop},
		{"statistics", testStats},
		{"everything at once", testEverythingAtOnce},
		{"a closed store says so", testClosed},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
}

// open opens a new store, closed at the end of the test.
func open(t *testing.T, b Backend) store.Store {
	t.Helper()
	return reopen(t, b, b.Name(t))
}

func reopen(t *testing.T, b Backend, name string) store.Store {
	t.Helper()
	s, err := b.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func col(name string, k column.Kind) store.Column {
	return store.Column{Field: column.Field{Name: name, Type: column.Type{Kind: k}, Nullable: true}}
}

// row is a row as values.
type row []store.Value

func rowsOf(xs ...row) []row { return xs }

// batchOf makes a batch of rows with the types of columns.
func batchOf(columns []store.Column, rows []row) *column.Batch {
	b := &column.Batch{N: len(rows), Cols: make([]column.Vector, len(columns))}
	for i := range columns {
		b.Cols[i].Type = columns[i].Type
		for _, r := range rows {
			r[i].AppendTo(&b.Cols[i])
		}
	}
	return b
}

// ints makes rows of one number each.
func ints(from, n int) []row {
	out := make([]row, n)
	for i := range out {
		out[i] = row{store.Int(int64(from + i))}
	}
	return out
}

// write makes a Write of rows for the table's present schema.
func write(t testing.TB, s store.Store, id store.TableID, rows []row) store.Write {
	t.Helper()
	schema, err := s.Schema(t.Context(), id)
	must(t, err)
	return store.Write{Table: id, SchemaVersion: schema.Version, Rows: batchOf(schema.Columns, rows)}
}

// insert commits rows without a lease.
func insert(t testing.TB, s store.Store, id store.TableID, rows []row) {
	t.Helper()
	_, err := s.Commit(t.Context(), &store.Commit{Table: id, Writes: []store.Write{write(t, s, id, rows)}})
	must(t, err)
}

func acquire(t testing.TB, s store.Store, id store.TableID, owner string) store.Lease {
	t.Helper()
	l, err := s.AcquireWriter(t.Context(), id, owner, time.Minute)
	must(t, err)
	return l
}

// collector is a Sink that keeps all rows. One serves all lanes.
type collector struct {
	mu      sync.Mutex
	rows    []row
	batches int
	stopAt  int // says Stop when so many rows are there; 0 never
}

func (c *collector) sink(int) (scan.Sink, error) { return c, nil }

// Push implements scan.Sink.
func (c *collector) Push(_ context.Context, b *column.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches++
	for k := range b.Live() {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		r := make(row, len(b.Cols))
		for j := range b.Cols {
			r[j] = store.At(&b.Cols[j], i)
		}
		c.rows = append(c.rows, r)
	}
	if c.stopAt > 0 && len(c.rows) >= c.stopAt {
		return scan.Stop
	}
	return nil
}

// Finish implements scan.Sink.
func (c *collector) Finish(context.Context) error { return nil }

// read runs a scan and gives its rows.
func read(ctx context.Context, snap store.Snapshot, spec store.ScanSpec) ([]row, error) {
	src, err := snap.Scan(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var c collector
	err = src.Run(ctx, c.sink)
	return c.rows, err
}

// all gives the rows of a table in a new snapshot, in the order of commits.
func all(t testing.TB, s store.Store, id store.TableID) []row {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	must(t, err)
	defer snap.Close()
	return allOf(t, snap, id)
}

func allOf(t testing.TB, snap store.Snapshot, id store.TableID) []row {
	t.Helper()
	schema, err := snap.Schema(id)
	must(t, err)
	rows, err := read(t.Context(), snap, store.ScanSpec{Table: id, Columns: everyColumn(schema), Limit: -1, Lanes: 1})
	must(t, err)
	return rows
}

func everyColumn(s *store.Schema) []int {
	list := make([]int, len(s.Columns))
	for i := range list {
		list[i] = i
	}
	return list
}

// sameRows compares in order.
func sameRows(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want []row) {
	t.Helper()
	if slices.EqualFunc(got, want, func(a, b row) bool { return slices.Equal(a, b) }) {
		return
	}
	if len(got)+len(want) > 40 {
		for i := range min(len(got), len(want)) {
			if !slices.Equal(got[i], want[i]) {
				t.Fatalf("%s: row %d of %d is %v, want %v of %d", what, i, len(got), got[i], want[i], len(want))
			}
		}
		t.Fatalf("%s: %d rows, want %d", what, len(got), len(want))
	}
	t.Fatalf("%s: rows are %v, want %v", what, got, want)
}

// sorted sorts rows by their text, to compare them as multisets.
func sorted(rows []row) []row {
	out := slices.Clone(rows)
	text := make(map[*store.Value]string, len(rows))
	for _, r := range out {
		if len(r) > 0 {
			text[&r[0]] = fmt.Sprint(r)
		}
	}
	slices.SortFunc(out, func(a, b row) int {
		if len(a) == 0 || len(b) == 0 {
			return 0
		}
		return strings.Compare(text[&a[0]], text[&b[0]])
	})
	return out
}

// numbers gives the numbers in the first column, sorted.
func numbers(rows []row) []int64 {
	out := make([]int64, len(rows))
	for i, r := range rows {
		out[i] = r[0].Int64()
	}
	slices.Sort(out)
	return out
}
