package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

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
					v = store.Float(float64(x) / 7)
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
		ties := rapid.Bool().Draw(t, "ties")
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
			Table: id, Columns: []int{1, 0}, Limit: -1, Lanes: rapid.IntRange(1, 3).Draw(t, "lanes"), Top: &store.Top{Column: 1, Ascending: ascending, Rows: limit, Ties: ties},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		fields := []column.Field{columns[1].Field, columns[0].Field}
		key := ops.Column(0, fields[0])
		p := ops.Pipeline{Input: fields, Project: []ops.Expr{key}, OrderBy: []ops.Order{{Expr: key, Desc: !ascending}}, Limit: limit}
		if !ties {
			p.OrderBy = append(p.OrderBy, ops.Order{Expr: ops.Column(1, fields[1])})
		}
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
