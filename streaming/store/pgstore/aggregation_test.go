package pgstore

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// summing adds up counts and sums.
type summing struct {
	groups, most     int
	rows, total, odd int64
}

func (s *summing) Push(_ context.Context, b *column.Batch) error {
	for i := range b.N {
		key, n := b.Cols[0].Int[i], b.Cols[1].Int[i]
		s.rows += n
		s.most = max(s.most, int(key))
		sum, err := strconv.ParseInt(string(b.Cols[3].View(i)), 10, 64)
		if err != nil {
			return err
		}
		s.total += sum
		if b.Cols[2].Int[i] != n || b.Cols[4].Int[i] != key || sum != key*n {
			s.odd++
		}
	}
	s.groups += b.N
	return nil
}

func (s *summing) Finish(context.Context) error { return nil }

// A page is as long as it may be, also where rows that have few groups come before others that have many.
func TestGroupsThatAreTooManyForAPageAreReadInMore(t *testing.T) {
	s, err := openNamed(newName(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	field := store.Column{Field: column.Field{Name: "n", Type: column.Type{Kind: column.Int64}}}
	if err := s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: []store.Column{field}}); err != nil {
		t.Fatal(err)
	}
	const rows, equal = 6 * splitRows, 40_000
	total := int64(0)
	b := &column.Batch{N: rows, Cols: []column.Vector{{Type: field.Type}}}
	for i := range rows {
		b.Cols[0].AppendInt(int64(max(i, equal)))
		total += int64(max(i, equal))
	}
	if _, err := s.Commit(t.Context(), &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: b}}}); err != nil {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	src, err := snap.Scan(t.Context(), store.ScanSpec{Table: "t", Columns: []int{0}, Limit: -1, Lanes: 1, Aggregation: &store.Aggregation{
		Groups: []int{0}, Partials: []store.Partial{
			{Func: store.CountRows, Type: field.Type}, {Func: store.CountValues, Type: field.Type}, {Func: store.SumValues, Type: column.Type{Kind: column.Decimal, Precision: 41}}, {Func: store.MaxValue, Type: field.Type},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if !store.Aggregated(src) {
		t.Fatal("rows are delivered")
	}
	var sum summing
	if err := src.Run(t.Context(), func(int) (scan.Sink, error) { return &sum, nil }); err != nil {
		t.Fatal(err)
	}
	if sum.rows != rows || sum.total != total || sum.odd > 0 || sum.most != rows-1 || sum.groups < rows-equal || sum.groups > rows-equal+2 {
		t.Errorf("%+v", sum)
	}
	if pieces := src.(*source).pieces; !pieces[len(pieces)-1].single {
		t.Error("the database looks for groups where there are none")
	}
	if stats := src.Stats(); stats.OffsetsDone != rows || stats.Requests < rows/pageRows {
		t.Errorf("stats are %+v", stats)
	}
}

// BenchmarkGroupBy is SELECT type, count(*), sum(id), max(ts) … GROUP BY type over a million rows: by operators over rows, and by operators that merge what the
// database computes.
func BenchmarkGroupBy(b *testing.B) {
	const rows = 1_000_000
	s := benchStore(b)
	fillBench(b, s, rows)
	fields := make([]column.Field, 0, 6)
	for _, c := range benchColumns() {
		fields = append(fields, c.Field)
	}
	read := []int{1, 0, 4}
	var in []column.Field
	for _, i := range read {
		in = append(in, fields[i])
	}
	aggregates := []ops.Aggregate{{Func: ops.Count}, {Func: ops.Sum, Arg: ops.Column(1, in[1])}, {Func: ops.Max, Arg: ops.Column(2, in[2])}}
	byRows := ops.Pipeline{Input: in, GroupBy: []ops.Expr{ops.Column(0, in[0])}, Aggregates: aggregates, Limit: -1}
	merging := ops.Pipeline{Input: []column.Field{in[0]}, GroupBy: byRows.GroupBy, Limit: -1}
	asked := &store.Aggregation{Groups: []int{1}, Partials: []store.Partial{{Func: store.CountRows}, {Func: store.SumValues, Column: 0}, {Func: store.MaxValue, Column: 4}}}
	for i, a := range aggregates {
		f, err := a.Result()
		if err != nil {
			b.Fatal(err)
		}
		asked.Partials[i].Type = f.Type
		merging.Input = append(merging.Input, f)
		merging.Aggregates = append(merging.Aggregates, ops.Aggregate{Func: a.Func, Arg: ops.Column(1+i, f), Merge: true})
	}
	var first []string
	for _, c := range []struct {
		name string
		p    ops.Pipeline
		a    *store.Aggregation
	}{{"rows", byRows, nil}, {"groups", merging, asked}} {
		plan, err := c.p.Compile()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got := results(b, s, plan, store.ScanSpec{Table: "t", Columns: read, Limit: -1, Aggregation: c.a})
				if first == nil {
					first = got
				}
				if !slices.Equal(first, got) {
					b.Fatalf("%v, want %v", got, first)
				}
			}
			perRow(b, rows)
		})
	}
}

// results runs a plan and gives its rows, sorted.
func results(b *testing.B, s *Store, plan *ops.Plan, spec store.ScanSpec) (list []string) {
	b.Helper()
	snap, err := s.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer snap.Close()
	src, err := snap.Scan(b.Context(), spec)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	if store.Aggregated(src) != (spec.Aggregation != nil) {
		b.Fatal("rows are delivered")
	}
	run := ops.Run(b.Context(), src, plan, ops.RunOptions{})
	defer func() {
		if err := run.Close(); err != nil {
			b.Error(err)
		}
	}()
	for {
		out, err := run.Next(b.Context())
		if err == io.EOF {
			slices.Sort(list)
			return list
		}
		if err != nil {
			b.Fatal(err)
		}
		for i := range out.N {
			var line string
			for c := range out.Cols {
				line += fmt.Sprint(store.At(&out.Cols[c], i), " ")
			}
			list = append(list, line)
		}
	}
}
