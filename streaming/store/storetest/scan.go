package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

func testSnapshots(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	family(t, s)
	var snaps []store.Snapshot
	const commits = 40
	for i := range commits {
		snap, err := s.Snapshot(ctx)
		must(t, err)
		snaps = append(snaps, snap)
		insert(t, s, "other", ints(i*3, 3))
	}
	sameRows(t, "rows", all(t, s, "other"), ints(0, 3*commits))
	for i, snap := range snaps {
		sameRows(t, fmt.Sprintf("rows of snapshot %d", i), allOf(t, snap, "other"), ints(0, 3*i))
		snap.Close()
		snap.Close()
	}
	snap, err := s.Snapshot(ctx)
	must(t, err)
	defer snap.Close()
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "later", Columns: []store.Column{col("id", column.Int64)}}))
	if _, err := snap.Schema("later"); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("a table created after the snapshot: %v", err)
	}
	if _, err := snap.Scan(ctx, store.ScanSpec{Table: "later", Limit: -1}); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("a scan of a table created after the snapshot: %v", err)
	}
}

// testIsolation has a writer commit numbered rows to two tables with their position while readers look: the rows of both tables, and the position, must always be of the
// same commit.
func testIsolation(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	family(t, s)
	lease := acquire(t, s, "t", "me")
	columns := []store.Column{col("id", column.Int64)}
	p := store.Partition{Topic: "topic"}
	const commits = 150
	var written atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		defer written.Store(true)
		var from *store.Position
		next := 0
		for i := range commits {
			n := i%7 + 1
			rows := batchOf(columns, ints(next, n))
			to := at(int64(next + n))
			_, err := s.Commit(ctx, &store.Commit{
				Table: "t", Lease: lease, Moves: []store.Move{{Partition: p, From: from, To: to}},
				Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: rows}, {Table: "t$errors", SchemaVersion: 1, Rows: rows}},
			})
			if err != nil {
				t.Error(err)
				return
			}
			from, next = to, next+n
		}
	})
	for range 2 {
		group.Go(func() {
			for last := false; !last; {
				last = written.Load()
				snap, err := s.Snapshot(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				c, err1 := snap.Checkpoint("t")
				main, err2 := read(ctx, snap, store.ScanSpec{Table: "t", Columns: []int{0}, Limit: -1})
				side, err3 := read(ctx, snap, store.ScanSpec{Table: "t$errors", Columns: []int{0}, Limit: -1})
				snap.Close()
				if err := errors.Join(err1, err2, err3); err != nil {
					t.Error(err)
					return
				}
				want := int(c.Positions[p].Offset)
				for _, rows := range [][]row{main, side} {
					ns := numbers(rows)
					if len(ns) != want || want > 0 && ns[want-1] != int64(want-1) {
						t.Errorf("%d rows at position %d", len(ns), want)
						return
					}
				}
			}
		})
	}
	group.Wait()
}

func testScanContract(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	family(t, s)
	const rows = 30000
	for i := range 3 {
		insert(t, s, "other", ints(i*rows, rows))
	}
	snap, err := s.Snapshot(ctx)
	must(t, err)
	defer snap.Close()
	source := func(spec store.ScanSpec) scan.Source {
		spec.Table = "other"
		src, err := snap.Scan(ctx, spec)
		must(t, err)
		t.Cleanup(src.Close)
		return src
	}
	t.Run("all lanes together deliver every row once", func(t *testing.T) {
		src := source(store.ScanSpec{Columns: []int{0}, Limit: -1, Lanes: 4})
		var c collector
		must(t, src.Run(ctx, c.sink))
		if ns := numbers(c.rows); len(ns) != 3*rows || ns[3*rows-1] != 3*rows-1 || len(slices.Compact(ns)) != 3*rows {
			t.Errorf("%d rows", len(ns))
		}
		stats := src.Stats()
		if stats.Records != 3*rows || stats.SplitsDone != stats.Splits || stats.Splits != int64(len(src.Splits())) {
			t.Errorf("stats are %+v", stats)
		}
		sum := int64(0)
		for i, sp := range src.Splits() {
			if sp.Topic != "other" || sp.Partition != int32(i) || sp.Range.From != sum {
				t.Errorf("split %d is %v", i, sp)
			}
			sum = sp.Range.To
		}
		if sum != 3*rows {
			t.Errorf("splits have %d rows", sum)
		}
	})
	t.Run("without columns it counts", func(t *testing.T) {
		var c collector
		must(t, source(store.ScanSpec{Limit: -1}).Run(ctx, c.sink))
		if len(c.rows) != 3*rows {
			t.Errorf("%d rows", len(c.rows))
		}
	})
	t.Run("one lane keeps the order", func(t *testing.T) {
		var c collector
		must(t, source(store.ScanSpec{Columns: []int{0}, Limit: -1, Lanes: 1}).Run(ctx, c.sink))
		sameRows(t, "rows", c.rows, ints(0, 3*rows))
	})
	t.Run("Stop is no error", func(t *testing.T) {
		c := collector{stopAt: 10}
		must(t, source(store.ScanSpec{Columns: []int{0}, Limit: 10}).Run(ctx, c.sink))
		if len(c.rows) < 10 || len(c.rows) == 3*rows {
			t.Errorf("%d rows", len(c.rows))
		}
	})
	t.Run("an error of a Sink ends the scan with it", func(t *testing.T) {
		fault := errors.New("fault")
		err := source(store.ScanSpec{Columns: []int{0}, Limit: -1}).Run(ctx, func(int) (scan.Sink, error) { return failing{fault}, nil })
		if !errors.Is(err, fault) {
			t.Error(err)
		}
		if err := source(store.ScanSpec{Limit: -1}).Run(ctx, func(int) (scan.Sink, error) { return nil, fault }); !errors.Is(err, fault) {
			t.Error(err)
		}
	})
	t.Run("a cancelled scan gives the cause", func(t *testing.T) {
		cause := errors.New("cause")
		cancelled, cancel := context.WithCancelCause(ctx)
		err := source(store.ScanSpec{Columns: []int{0}, Limit: -1}).Run(cancelled, func(int) (scan.Sink, error) { return cancelling{cancel, cause}, nil })
		if !errors.Is(err, cause) {
			t.Error(err)
		}
	})
	t.Run("columns that do not exist", func(t *testing.T) {
		if _, err := snap.Scan(ctx, store.ScanSpec{Table: "other", Columns: []int{1}}); err == nil {
			t.Error("no error")
		}
		if _, err := snap.Scan(ctx, store.ScanSpec{Table: "other", Where: []store.Condition{{Column: -1}}}); err == nil {
			t.Error("no error")
		}
	})
}

type failing struct{ err error }

func (f failing) Push(context.Context, *column.Batch) error { return f.err }
func (f failing) Finish(context.Context) error              { return nil }

type cancelling struct {
	cancel context.CancelCauseFunc
	cause  error
}

func (c cancelling) Push(context.Context, *column.Batch) error { c.cancel(c.cause); return nil }
func (c cancelling) Finish(context.Context) error              { return nil }

// testPruning compares scans with conditions to scans of everything, over generated tables that are merged and sorted meanwhile.
func testPruning(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	table := 0
	rapid.Check(t, func(t *rapid.T) {
		table++
		id := store.TableID(fmt.Sprint("t", table))
		columns, samples := kindColumns()
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 0))
		spec := store.TableSpec{ID: id, Columns: columns, Durability: store.Async}
		if k := rapid.IntRange(-1, len(columns)-1).Draw(t, "cluster"); k >= 0 {
			spec.Cluster = []string{columns[k].Name}
		}
		if err := s.CreateTable(ctx, spec); err != nil {
			t.Fatal(err)
		}
		var want []row
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			var rows []row
			base := r.Int64N(1000)
			for range 1 + r.IntN(rapid.SampledFrom([]int{1, 10, 300}).Draw(t, "rows")) {
				rows = append(rows, randomRow(r, columns, samples, base))
			}
			if _, err := s.Commit(ctx, &store.Commit{Table: id, Writes: []store.Write{{Table: id, SchemaVersion: 1, Rows: batchOf(columns, rows)}}}); err != nil {
				t.Fatal(err)
			}
			want = append(want, rows...)
		}
		snap, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		for range 4 {
			var where []store.Condition
			for range rapid.IntRange(0, 2).Draw(t, "conditions") {
				where = append(where, randomCondition(t, r, columns, want))
			}
			got, err := read(ctx, snap, store.ScanSpec{Table: id, Columns: everyColumn(&store.Schema{Columns: columns}), Where: where, Limit: -1})
			if err != nil {
				t.Fatal(err)
			}
			hold := func(r row) bool {
				for i := range where {
					if c := &where[i]; !c.Holds(columns[c.Column].Type.Kind, r[c.Column]) {
						return false
					}
				}
				return true
			}
			keep := func(rows []row) []row {
				return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !hold(r) })
			}
			sameRows(t, fmt.Sprintf("rows where %+v", where), sorted(keep(got)), sorted(keep(want)))
		}
	})
}

func randomRow(r *rand.Rand, columns []store.Column, samples []row, base int64) row {
	out := make(row, len(columns))
	for i, c := range columns {
		switch k := c.Type.Kind; {
		case r.IntN(8) == 0:
			out[i] = samples[r.IntN(len(samples))][i]
		case k == column.Bool:
			out[i] = store.Int(r.Int64N(2))
		case k == column.Decimal:
			out[i] = store.Text(fmt.Sprintf("%d.%02d", base+r.Int64N(50)-500, r.IntN(100)))
		case k == column.JSON:
			out[i] = store.Text(fmt.Sprint(r.IntN(10)))
		case k.IsView():
			out[i] = store.Text(fmt.Sprint("v", base+r.Int64N(50)))
		case k == column.Float64:
			out[i] = store.Float(float64(base) + r.NormFloat64())
		default:
			out[i] = store.Int(base + r.Int64N(50) - 500)
		}
	}
	return out
}

func randomCondition(t *rapid.T, r *rand.Rand, columns []store.Column, rows []row) store.Condition {
	i := rapid.IntRange(0, len(columns)-1).Draw(t, "column")
	for columns[i].Type.Kind == column.JSON {
		i = (i + 1) % len(columns)
	}
	c := store.Condition{Column: i, Null: r.IntN(4) == 0}
	value := func() store.Value {
		for range 20 {
			v := rows[r.IntN(len(rows))][i]
			if !v.IsNull() && !(columns[i].Type.Kind == column.Float64 && math.IsNaN(v.Float64())) {
				return v
			}
		}
		return store.Value{}
	}
	for range r.IntN(3) {
		var g store.Range
		switch v := value(); r.IntN(4) {
		case 0:
			g = store.Point(v)
		case 1:
			g = store.Range{Min: v, MinOpen: r.IntN(2) == 0}
		case 2:
			g = store.Range{Max: v, MaxOpen: r.IntN(2) == 0}
		default:
			g = store.Range{Min: v, Max: value(), MinOpen: r.IntN(2) == 0, MaxOpen: r.IntN(2) == 0}
		}
		c.Ranges = append(c.Ranges, g)
	}
	return c
}

// testOperators runs the operators of the scan engine on a stored table and compares with a loop.
func testOperators(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	columns := []store.Column{col("id", column.Int64), col("type", column.Text), col("amount", column.Int64)}
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: columns}))
	want := map[string]int64{}
	const rows, commits = 5000, 12
	for i := range commits {
		var list []row
		for k := range rows {
			n := int64(i*rows + k)
			typ, amount := fmt.Sprint("type-", n%7), n*7919%1000
			list = append(list, row{store.Int(n), store.Text(typ), store.Int(amount)})
			if n >= 10000 {
				want[typ] += amount
			}
		}
		insert(t, s, "t", list)
	}
	snap, err := s.Snapshot(ctx)
	must(t, err)
	defer snap.Close()
	src, err := snap.Scan(ctx, store.ScanSpec{
		Table: "t", Columns: []int{1, 2, 0}, Limit: -1, Where: []store.Condition{{Column: 0, Ranges: []store.Range{{Min: store.Int(10000)}}}},
	})
	must(t, err)
	defer src.Close()
	fields := []column.Field{columns[1].Field, columns[2].Field, columns[0].Field}
	filter, err := ops.Compare(ops.Ge, ops.Column(2, fields[2]), ops.Const(column.Type{Kind: column.Int64}, int64(10000)))
	must(t, err)
	p := ops.Pipeline{
		Input: fields, Filter: []ops.Expr{filter}, GroupBy: []ops.Expr{ops.Column(0, fields[0])},
		Aggregates: []ops.Aggregate{{Func: ops.Sum, Arg: ops.Column(1, fields[1])}}, Limit: -1,
	}
	plan, err := p.Compile()
	must(t, err)
	run := ops.Run(ctx, src, plan, ops.RunOptions{})
	defer run.Close()
	got := map[string]int64{}
	for {
		out, err := run.Next(ctx)
		if err == io.EOF {
			break
		}
		must(t, err)
		for k := range out.Live() {
			var sum int64
			if _, err := fmt.Sscan(store.At(&out.Cols[1], k).Bytes(), &sum); err != nil {
				sum = store.At(&out.Cols[1], k).Int64()
			}
			got[store.At(&out.Cols[0], k).Bytes()] = sum
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sums are %v, want %v", got, want)
	}
}

func notNull(v store.Value) int {
	if v.IsNull() {
		return 0
	}
	return 1
}

// testTop compares the first rows of an order, for which the store may leave out what it likes, with those of a sort of everything.
func testTop(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	table := 0
	rapid.Check(t, func(t *rapid.T) {
		table++
		id := store.TableID(fmt.Sprint("t", table))
		kind := rapid.SampledFrom([]column.Kind{column.Int64, column.Timestamp, column.Date, column.Float64, column.Uint64}).Draw(t, "kind")
		columns := []store.Column{col("id", column.Int64), col("key", kind)}
		if err := s.CreateTable(ctx, store.TableSpec{ID: id, Columns: columns, Durability: store.Async}); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var keys []store.Value
		nulls := rapid.SampledFrom([]int{1, 5, 1000000}).Draw(t, "nulls")
		spread := rapid.SampledFrom([]int64{3, 1000, 1 << 40}).Draw(t, "spread")
		for c := range int64(rapid.IntRange(1, 30).Draw(t, "commits")) {
			var rows []row
			for range 1 + r.IntN(20) {
				var v store.Value
				switch x := (c-10)*1000 + r.Int64N(spread); {
				case r.IntN(nulls) == 0 && nulls < 100:
				case kind == column.Float64:
					v = store.Float(float64(x))
				case kind == column.Date:
					v = store.Int(x % 100000)
				default:
					v = store.Int(x)
				}
				rows = append(rows, row{store.Int(int64(len(keys))), v})
				keys = append(keys, v)
			}
			if _, err := s.Commit(ctx, &store.Commit{Table: id, Writes: []store.Write{{Table: id, SchemaVersion: 1, Rows: batchOf(columns, rows)}}}); err != nil {
				t.Fatal(err)
			}
		}
		ascending := rapid.Bool().Draw(t, "ascending")
		limit := rapid.Int64Range(1, 30).Draw(t, "limit")
		slices.SortFunc(keys, func(a, b store.Value) int {
			c := 0
			switch {
			case a.IsNull() || b.IsNull():
				c = notNull(a) - notNull(b)
			default:
				c = store.Compare(kind, a, b)
			}
			if ascending {
				return c
			}
			return -c
		})
		snap, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		src, err := snap.Scan(ctx, store.ScanSpec{
			Table: id, Columns: []int{1, 0}, Limit: -1, Lanes: rapid.IntRange(1, 3).Draw(t, "lanes"), Top: &store.Top{Column: 1, Ascending: ascending, Rows: limit},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		fields := []column.Field{columns[1].Field, columns[0].Field}
		key := ops.Column(0, fields[0])
		p := ops.Pipeline{Input: fields, Project: []ops.Expr{key}, OrderBy: []ops.Order{{Expr: key, Desc: !ascending}, {Expr: ops.Column(1, fields[1])}}, Limit: limit}
		plan, err := p.Compile()
		if err != nil {
			t.Fatal(err)
		}
		run := ops.Run(ctx, src, plan, ops.RunOptions{})
		defer run.Close()
		var got []row
		for {
			out, err := run.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range out.N {
				got = append(got, row{store.At(&out.Cols[0], i)})
			}
		}
		var want []row
		for _, k := range keys[:min(int(limit), len(keys))] {
			want = append(want, row{k})
		}
		sameRows(t, "first rows", got, want)
	})
}

func testExpire(t *testing.T, b Backend) {
	name := b.Name(t)
	s, err := b.Open(name)
	must(t, err)
	ctx := t.Context()
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: []store.Column{col("id", column.Int64), col("ts", column.Timestamp), col("name", column.Text)}}))
	var want []row
	removed := int64(0)
	for i := range 30 {
		var rows []row
		for k := range 20 {
			r := row{store.Int(int64(i*20 + k)), store.Int(int64(i*10 + k)), store.Text("n")}
			if k == 7 {
				r[1] = store.Value{}
			}
			rows = append(rows, r)
			if r[1].IsNull() || r[1].Int64() >= 155 {
				want = append(want, r)
			} else {
				removed++
			}
		}
		insert(t, s, "t", rows)
	}
	before, err := s.Snapshot(ctx)
	must(t, err)
	n, err := s.Expire(ctx, "t", "ts", 155)
	must(t, err)
	if n != removed {
		t.Errorf("%d rows expired, want %d", n, removed)
	}
	sameRows(t, "rows that stay", all(t, s, "t"), want)
	if got := allOf(t, before, "t"); len(got) != 600 {
		t.Errorf("a snapshot before has %d rows", len(got))
	}
	before.Close()
	if n, err := s.Expire(ctx, "t", "ts", 155); n != 0 || err != nil {
		t.Errorf("expiring again removes %d, %v", n, err)
	}
	if _, err := s.Expire(ctx, "t", "name", 0); err == nil {
		t.Error("rows expire by a text")
	}
	must(t, s.Close())
	sameRows(t, "rows after reopening", all(t, reopen(t, b, name), "t"), want)
}

func testStats(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	columns, rows := kindColumns()
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: columns}))
	stats := func() *store.TableStats {
		snap, err := s.Snapshot(ctx)
		must(t, err)
		defer snap.Close()
		got, err := snap.Stats("t")
		must(t, err)
		return got
	}
	if got := stats(); got.Rows != 0 || len(got.Columns) != len(columns) {
		t.Errorf("an empty table has %+v", got)
	}
	for _, r := range rows {
		insert(t, s, "t", rowsOf(r))
	}
	got := stats()
	if got.Rows != 5 || got.Bytes == 0 || got.Segments == 0 {
		t.Errorf("the table has %+v", got)
	}
	for i, c := range got.Columns {
		nulls := int64(0)
		for _, r := range rows {
			v := r[i]
			switch k := columns[i].Type.Kind; {
			case v.IsNull():
				nulls++
			case k == column.JSON || k == column.Float64 && math.IsNaN(v.Float64()):
			case !c.Bounded || store.Compare(k, v, c.Min) < 0 || store.Compare(k, v, c.Max) > 0:
				t.Errorf("column '%s': %v is not between %v and %v", columns[i].Name, v, c.Min, c.Max)
			}
		}
		if nulls != c.Nulls {
			t.Errorf("column '%s' has %d NULLs, want %d", columns[i].Name, c.Nulls, nulls)
		}
	}
}
