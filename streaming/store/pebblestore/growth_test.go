package pebblestore

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// entries lists the segments of a table.
func entries(t testing.TB, s *Store, id store.TableID) (list []*entry) {
	t.Helper()
	table, err := s.lookup(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := segments(s.db, table, 0, func(e *entry) (bool, error) { list = append(list, e); return true, nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSmallSegmentsAreMergedIntoFullOnes(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{}, "t")
	l := acquire(t, s, "t")
	const commits, each = 800, 200
	for i := range commits {
		if err := insert(t, s, l, i*each, each); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, s)
	list := entries(t, s, "t")
	full := 0
	for _, e := range list {
		if e.fill() >= 0.5 {
			full++
			if !e.cols[1].filter {
				t.Error("a full segment has no filter of its texts")
			}
		}
	}
	if len(list) > 40 || full < 1 {
		t.Errorf("%d commits left %d segments, %d of them full", commits, len(list), full)
	}
	wantCount(t, s, "t", commits*each)
	m := s.Metrics()
	if ratio := float64(m.MergedRows) / (commits * each); ratio > 5 {
		t.Errorf("each row was rewritten %.1f times", ratio)
	}
	if m.Commits != commits || m.MergesFailed > 0 {
		t.Errorf("metrics are %+v", m)
	}
}

func TestChoose(t *testing.T) {
	run := func(rows ...int64) (list []*entry) {
		for _, n := range rows {
			list = append(list, &entry{rows: n})
		}
		return list
	}
	some := func(n int, rows int64) (list []int64) { return slices.Repeat([]int64{rows}, n) }
	for _, c := range []struct {
		name        string
		run         []int64
		first, last int // of what is merged, last excluded
	}{
		{"too few", some(7, 100), 0, 0},
		{"enough of one size", some(8, 100), 0, 8},
		{"small ones behind a larger", append([]int64{5000}, some(8, 100)...), 1, 9},
		{"larger and small ones are not of one size", append(some(7, 5000), some(7, 100)...), 0, 0},
		{"enough for a full segment", append(some(3, 30000), 100), 0, 3},
		{"a pair that is enough", []int64{60000, 60000}, 0, 2},
		{"the beginning first", append([]int64{60000, 60000}, some(9, 100)...), 0, 2},
	} {
		list := run(c.run...)
		got := choose(list)
		if !slices.Equal(got, list[c.first:c.last]) {
			t.Errorf("%s: %d segments are merged, want %d to %d", c.name, len(got), c.first, c.last)
		}
	}
}

func TestMergedSegmentsAreSortedByTheClusterColumns(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	spec := numbersTable("t")
	spec.Cluster = []string{"text", "id"}
	if err := s.CreateTable(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	l := acquire(t, s, "t")
	for i := range 14 {
		if err := insert(t, s, l, i*5000, 5000); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, s)
	list := entries(t, s, "t")
	if list[0].rows < 40000 {
		t.Fatalf("the first segment has %d rows", list[0].rows)
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	src, err := snap.Scan(t.Context(), store.ScanSpec{Table: "t", Columns: []int{1}, Limit: -1, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	if err := src.Run(t.Context(), func(int) (scan.Sink, error) { return &textSink{texts: &texts}, nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(texts[:list[0].rows]) {
		t.Error("the rows of a merged segment are not sorted")
	}
}

type textSink struct {
	nopSink
	texts *[]string
}

func (s *textSink) Push(_ context.Context, b *column.Batch) error {
	for i := range b.N {
		*s.texts = append(*s.texts, string(b.Cols[0].View(i)))
	}
	return nil
}

// A table that is truncated while its segments are merged stays empty.
func TestMergeOfWhatIsGoneIsAbandoned(t *testing.T) {
	var s *Store
	truncated := false
	o := Options{Failpoint: func(name string) {
		if name == "merge.encoded" && !truncated {
			truncated = true
			if err := s.TruncateTable(t.Context(), "t"); err != nil {
				t.Error(err)
			}
		}
	}}
	s = openTest(t, t.TempDir(), o, "t")
	l := acquire(t, s, "t")
	for i := range fanIn - 1 {
		if err := insert(t, s, l, i*10, 10); err != nil {
			t.Fatal(err)
		}
	}
	// The eighth makes the store look; whoever merges first truncates.
	if err := insert(t, s, l, (fanIn-1)*10, 10); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	if !truncated || s.Metrics().MergesAbandoned != 1 {
		t.Errorf("truncated %v, metrics %+v", truncated, s.Metrics())
	}
	wantCount(t, s, "t", 0)
}

func TestLookUpsReadOneSegment(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{}, "t")
	l := acquire(t, s, "t")
	const each = 40000
	for i := range 8 {
		if err := insert(t, s, l, i*each, each); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	delivered := int64(0)
	read := func(c store.Condition) int64 {
		src, err := snap.Scan(t.Context(), store.ScanSpec{Table: "t", Columns: []int{0}, Where: []store.Condition{c}, Limit: -1})
		if err == nil {
			err = src.Run(t.Context(), func(int) (scan.Sink, error) { return nopSink{}, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		if stats := src.Stats(); stats.Offsets != stats.OffsetsDone {
			t.Errorf("at the end, stats are %+v", stats)
		}
		delivered = src.Stats().Records
		return src.Stats().Batches
	}
	r := rand.New(rand.NewPCG(1, 1))
	segments := int64(0)
	for range 50 {
		n := r.IntN(8 * each)
		if got := read(store.Condition{Column: 0, Ranges: []store.Range{store.Point(store.Int(int64(n)))}}); got != 1 || delivered == 0 || delivered > windowRows {
			t.Errorf("looking up number %d reads %d segments and delivers %d rows", n, got, delivered)
		}
		segments += read(store.Condition{Column: 1, Ranges: []store.Range{store.Point(store.Text(textOf(n)))}})
	}
	if segments > 60 {
		t.Errorf("50 look-ups of texts read %d segments", segments)
	}
}

func TestCacheKeepsToItsBudget(t *testing.T) {
	const budget = 1 << 20
	s := openTest(t, t.TempDir(), Options{CacheBytes: budget}, "t", "u")
	for _, id := range []store.TableID{"t", "u"} {
		l := acquire(t, s, id)
		for i := range 10 {
			if err := insert(t, s, l, i*3000, 3000); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		for _, id := range []store.TableID{"t", "u"} {
			if n, err := count(t, s, id, 0); err != nil || n != 30000 {
				t.Fatal(n, err)
			}
			wantCount(t, s, id, 30000) // more than there is room for
			used, _, _ := s.cache.stats()
			if used > budget {
				t.Errorf("the cache takes %d bytes", used)
			}
		}
	}
	if _, hits, _ := s.cache.stats(); hits == 0 {
		t.Error("nothing was ever found in the cache")
	}
}

func TestLargeCommitsAreSeveralSegments(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{}, "t")
	b := &column.Batch{N: 300000, Cols: make([]column.Vector, 2)}
	b.Cols[0].Type.Kind, b.Cols[1].Type.Kind = column.Int64, column.Text
	for i := range b.N {
		b.Cols[0].AppendInt(int64(i))
		b.Cols[1].AppendBytes(fmt.Appendf(nil, "%0100d", i))
	}
	if _, err := s.Commit(t.Context(), &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: b}}}); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries(t, s, "t") {
		if e.rows > fullRows || e.memory() > fullBytes+fullBytes/4 {
			t.Errorf("a segment has %d rows and %d bytes", e.rows, e.memory())
		}
	}
	wantCount(t, s, "t", 300000)
}

func FuzzDecodeEntry(f *testing.F) {
	e := &entry{order: 3, blob: 9, rows: 100, cols: []entryColumn{
		{id: 1, kind: column.Int64, chunks: 1, stats: store.ColumnStats{Min: store.Int(-5), Max: store.Int(7), Bounded: true, Bytes: 10}, memory: 800},
		{id: 2, kind: column.Text, filter: true, chunks: 2, stats: store.ColumnStats{Nulls: 3, Min: store.Text(""), Max: store.Text("x\x00"), Bounded: true}},
		{id: 7, kind: column.Float64, stats: store.ColumnStats{NaN: true}},
	}}
	f.Add(e.encode(nil))
	f.Add([]byte{entryVersion, 1, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntry(1, b)
		if err != nil {
			return
		}
		again, err := decodeEntry(1, e.encode(nil))
		if err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", e) {
			t.Errorf("%+v came back as %+v, %v", e, again, err)
		}
	})
}

func TestNewestRowsAreReadFromTheLastSegmentsOnly(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{}, "t")
	l := acquire(t, s, "t")
	for i := range 10 {
		if err := insert(t, s, l, i*70000, 70000); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	fields := numbersTable("t").Columns
	for _, ascending := range []bool{false, true} {
		src, err := snap.Scan(t.Context(), store.ScanSpec{Table: "t", Columns: []int{0}, Limit: -1, Lanes: 2, Top: &store.Top{Ascending: ascending, Rows: 10}})
		if err != nil {
			t.Fatal(err)
		}
		id := ops.Column(0, fields[0].Field)
		p := ops.Pipeline{Input: []column.Field{fields[0].Field}, Project: []ops.Expr{id}, OrderBy: []ops.Order{{Expr: id, Desc: !ascending}}, Limit: 10}
		plan, err := p.Compile()
		if err != nil {
			t.Fatal(err)
		}
		run := ops.Run(t.Context(), src, plan, ops.RunOptions{})
		first := int64(-1)
		for {
			b, err := run.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if first < 0 {
				first = b.Cols[0].Int[0]
			}
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int64{false: 699999, true: 0}[ascending]; first != want {
			t.Errorf("the first row is %d, want %d", first, want)
		}
		if stats := src.Stats(); stats.Batches > 2 || stats.OffsetsDone != stats.Offsets {
			t.Errorf("stats are %+v", stats)
		}
	}
}
