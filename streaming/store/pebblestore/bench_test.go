package pebblestore

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// The table of the benchmarks: what a table of events looks like.
func benchColumns() []store.Column {
	field := func(name string, k column.Kind) store.Column {
		return store.Column{Field: column.Field{Name: name, Type: column.Type{Kind: k}, Nullable: true}}
	}
	return []store.Column{
		field("id", column.Int64), field("type", column.Text), field("user", column.Text), field("amount", column.Float64), field("ts", column.Timestamp),
		field("part", column.Int32),
	}
}

// benchBatch has rows from one on. Times ascend with some disorder.
func benchBatch(r *rand.Rand, from, n int) *column.Batch {
	b := &column.Batch{N: n, Cols: make([]column.Vector, 6)}
	for i, c := range benchColumns() {
		b.Cols[i].Type = c.Type
	}
	for i := from; i < from+n; i++ {
		b.Cols[0].AppendInt(int64(i) * 7)
		b.Cols[1].AppendBytes(fmt.Appendf(nil, "type-%d", r.IntN(8)))
		b.Cols[2].AppendBytes(fmt.Appendf(nil, "user-%06d", r.IntN(200000)))
		b.Cols[3].AppendFloat(float64(r.IntN(100000)) / 100)
		b.Cols[4].AppendInt(1.7e15 + int64(i)*1000 + r.Int64N(5000))
		b.Cols[5].AppendInt(int64(i % 8))
	}
	return b
}

func benchStore(b *testing.B, o Options) *Store {
	b.Helper()
	s, err := Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := s.CreateTable(b.Context(), store.TableSpec{ID: "t", Columns: benchColumns()}); err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{100, 10_000, 64_000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			s := benchStore(b, Options{})
			batch := benchBatch(rand.New(rand.NewPCG(1, 1)), 0, n)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, err := s.Commit(b.Context(), &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: batch}}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}

const (
	benchRows    = 1_000_000
	benchCommits = 20
)

// filled is one store for all benchmarks that read, with the rows beside it as a program would hold them.
var filled = sync.OnceValues(func() (*rows, error) {
	r := rand.New(rand.NewPCG(1, 1))
	out := &rows{}
	for i := range benchCommits {
		b := benchBatch(r, i*benchRows/benchCommits, benchRows/benchCommits)
		out.batches = append(out.batches, b)
		for k := range b.N {
			out.types = append(out.types, string(b.Cols[1].View(k)))
			out.amounts = append(out.amounts, b.Cols[3].Float[k])
		}
	}
	return out, nil
})

type rows struct {
	batches []*column.Batch
	types   []string
	amounts []float64
}

func filledStore(b *testing.B, o Options) (*Store, *rows) {
	data, err := filled()
	if err != nil {
		b.Fatal(err)
	}
	s := benchStore(b, o)
	for _, x := range data.batches {
		if _, err := s.Commit(b.Context(), &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: x}}}); err != nil {
			b.Fatal(err)
		}
	}
	settle(b, s)
	return s, data
}

// settle waits until nothing is left to merge.
func settle(t testing.TB, s *Store) {
	for {
		table, err := s.lookup("t")
		if err != nil {
			t.Fatal(err)
		}
		merged, err := s.growOnce(table)
		if err != nil {
			t.Fatal(err)
		}
		if !merged {
			return
		}
	}
}

type agg struct {
	n   int64
	sum float64
}

// run runs a pipeline over columns of t and gives the number of rows it hands out.
func run(b *testing.B, s *Store, spec store.ScanSpec, p ops.Pipeline) int {
	snap, err := s.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer snap.Close()
	spec.Table, spec.Limit = "t", -1
	src, err := snap.Scan(b.Context(), spec)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	for _, c := range spec.Columns {
		p.Input = append(p.Input, benchColumns()[c].Field)
	}
	plan, err := p.Compile()
	if err != nil {
		b.Fatal(err)
	}
	r := ops.Run(b.Context(), src, plan, ops.RunOptions{})
	defer r.Close()
	n := 0
	for {
		out, err := r.Next(b.Context())
		if err == io.EOF {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
		n += out.Live()
	}
}

func col(i, at int) ops.Expr { return ops.Column(at, benchColumns()[i].Field) }

func must[T any](b *testing.B) func(T, error) T {
	return func(x T, err error) T {
		if err != nil {
			b.Fatal(err)
		}
		return x
	}
}

func BenchmarkGroupBy(b *testing.B) {
	p := ops.Pipeline{GroupBy: []ops.Expr{col(1, 0)}, Aggregates: []ops.Aggregate{{Func: ops.Count}, {Func: ops.Sum, Arg: col(3, 1)}}, Limit: -1}
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
	}
	b.Run("loop", func(b *testing.B) {
		data, _ := filled()
		b.ResetTimer()
		for range b.N {
			groups := map[string]agg{}
			for i, t := range data.types {
				g := groups[t]
				g.n++
				g.sum += data.amounts[i]
				groups[t] = g
			}
			if len(groups) != 8 {
				b.Fatal(len(groups))
			}
		}
		perRow(b)
	})
	for name, o := range map[string]Options{"warm": {}, "cold": {CacheBytes: 1}} {
		b.Run(name, func(b *testing.B) {
			s, _ := filledStore(b, o)
			run(b, s, store.ScanSpec{Columns: []int{1, 3}}, p)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if n := run(b, s, store.ScanSpec{Columns: []int{1, 3}}, p); n != 8 {
					b.Fatal(n)
				}
			}
			perRow(b)
		})
	}
}

func BenchmarkTop10(b *testing.B) {
	p := ops.Pipeline{Project: []ops.Expr{col(0, 0), col(3, 1)}, OrderBy: []ops.Order{{Expr: col(3, 1), Desc: true}}, Limit: 10}
	s, _ := filledStore(b, Options{})
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if n := run(b, s, store.ScanSpec{Columns: []int{0, 3}}, p); n != 10 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkTimeRange(b *testing.B) {
	s, _ := filledStore(b, Options{})
	from, to := int64(1.7e15+500_000*1000), int64(1.7e15+510_000*1000)
	ts := column.Type{Kind: column.Timestamp}
	p := ops.Pipeline{Aggregates: []ops.Aggregate{{Func: ops.Count}, {Func: ops.Sum, Arg: col(3, 1)}}, Limit: -1}
	p.Filter = []ops.Expr{must[ops.Expr](b)(ops.Between(col(4, 0), ops.Const(ts, from), ops.Const(ts, to)))}
	spec := store.ScanSpec{Columns: []int{4, 3}, Where: []store.Condition{{Column: 4, Ranges: []store.Range{{Min: store.Int(from), Max: store.Int(to)}}}}}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		run(b, s, spec, p)
	}
}

func BenchmarkLookUp(b *testing.B) {
	text := column.Type{Kind: column.Text}
	for name, o := range map[string]Options{"warm": {}, "cold": {CacheBytes: 1}} {
		b.Run(name, func(b *testing.B) {
			s, data := filledStore(b, o)
			r := rand.New(rand.NewPCG(3, 3))
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				x := data.batches[r.IntN(len(data.batches))]
				i := r.IntN(x.N)
				user := string(x.Cols[2].View(i))
				p := ops.Pipeline{Project: []ops.Expr{col(0, 0), col(2, 1)}, Limit: -1}
				p.Filter = []ops.Expr{must[ops.Expr](b)(ops.Compare(ops.Eq, col(0, 0), ops.Const(column.Type{Kind: column.Int64}, x.Cols[0].Int[i]))),
					must[ops.Expr](b)(ops.Compare(ops.Eq, col(2, 1), ops.Const(text, user)))}
				spec := store.ScanSpec{Columns: []int{0, 2}, Where: []store.Condition{
					{Column: 0, Ranges: []store.Range{store.Point(store.Int(x.Cols[0].Int[i]))}}, {Column: 2, Ranges: []store.Range{store.Point(store.Text(user))}}}}
				if n := run(b, s, spec, p); n != 1 {
					b.Fatal(n)
				}
			}
		})
	}
}

type nopSink struct{}

func (nopSink) Push(context.Context, *column.Batch) error { return nil }
func (nopSink) Finish(context.Context) error              { return nil }

func BenchmarkScan(b *testing.B) {
	s, _ := filledStore(b, Options{CacheBytes: 1})
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		snap, err := s.Snapshot(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		src, err := snap.Scan(b.Context(), store.ScanSpec{Table: "t", Columns: []int{0, 1, 2, 3, 4, 5}, Limit: -1})
		if err == nil {
			err = src.Run(b.Context(), func(int) (scan.Sink, error) { return nopSink{}, nil })
		}
		if err != nil {
			b.Fatal(err)
		}
		snap.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkManyTables(b *testing.B) {
	s := benchStore(b, Options{})
	const tables = 200
	batch := benchBatch(rand.New(rand.NewPCG(1, 1)), 0, 100)
	for i := range tables {
		if err := s.CreateTable(b.Context(), store.TableSpec{ID: store.TableID(fmt.Sprint("t", i)), Columns: benchColumns()}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	var slowest time.Duration
	var mu sync.Mutex
	for range b.N {
		var all sync.WaitGroup
		for i := range tables {
			all.Go(func() {
				id := store.TableID(fmt.Sprint("t", i))
				start := time.Now()
				_, err := s.Commit(context.Background(), &store.Commit{Table: id, Writes: []store.Write{{Table: id, SchemaVersion: 1, Rows: batch}}})
				mu.Lock()
				defer mu.Unlock()
				if slowest = max(slowest, time.Since(start)); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse>>20), "MiB-heap")
}

// BenchmarkIngest commits 5 M rows in batches of 50,000, as a backlog is read, and reports the most memory that the process has had.
func BenchmarkIngest(b *testing.B) {
	var batches []*column.Batch
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 10 {
		batches = append(batches, benchBatch(r, i*50_000, 50_000))
	}
	const commits = 100
	b.ReportAllocs()
	for range b.N {
		s := benchStore(b, Options{})
		start := time.Now()
		for i := range commits {
			if _, err := s.Commit(b.Context(), &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: batches[i%len(batches)]}}}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(commits*50_000/time.Since(start).Seconds(), "rows/s")
		m := s.Metrics()
		b.ReportMetric(float64(m.DiskBytes>>20), "MiB-disk")
		b.ReportMetric(float64((m.FlushedBytes+m.CompactedBytes)>>20), "MiB-rewritten")
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var kib float64
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				b.ReportMetric(kib/1024, "MiB-most")
			}
		}
	}
}

// BenchmarkOpen opens a store of 200 tables with a commit each.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	batch := benchBatch(rand.New(rand.NewPCG(1, 1)), 0, 100)
	for i := range 200 {
		id := store.TableID(fmt.Sprint("t", i))
		err := s.CreateTable(b.Context(), store.TableSpec{ID: id, Columns: benchColumns()})
		for range 20 {
			if err == nil {
				_, err = s.Commit(b.Context(), &store.Commit{Table: id, Writes: []store.Write{{Table: id, SchemaVersion: 1, Rows: batch}}})
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for range b.N {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if s, err = Open(dir, Options{}); err != nil {
			b.Fatal(err)
		}
		for i := range 200 {
			id := store.TableID(fmt.Sprint("t", i))
			if _, err := s.AcquireWriter(b.Context(), id, "me", time.Minute); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Checkpoint(b.Context(), id); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-open")
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
