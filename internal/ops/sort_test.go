package ops

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"millrace/internal/column"
	"millrace/internal/memory"
	"millrace/internal/sqlerr"

	"pgregory.net/rapid"
)

func TestTopRowsOfManyLanes(t *testing.T) {
	src := &memorySource{}
	for lane := range int64(3) {
		var list []*column.Batch
		for i := range int64(20) {
			list = append(list, batchOf(numbers(lane*5000+i*200, lane*5000+i*200+200)))
		}
		src.lanes = append(src.lanes, list)
	}
	p := Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, OrderBy: []Order{{number, true}}, Limit: 3, Offset: 2}
	rows, err := run(t, src, p, RunOptions{MaxBatchRows: 2})
	if want := []string{"13997", "13996", "13995"}; err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got %v, %v, want %v", rows, err, want)
	}
	if rows, err = run(t, &memorySource{}, p, RunOptions{}); err != nil || len(rows) != 0 {
		t.Fatalf("of nothing: got %v, %v", rows, err)
	}
	p.Limit = 10000
	if _, err = run(t, src, p, RunOptions{Memory: memory.New(1000), SpillBytes: 1}); !sqlerr.HasKind(err, sqlerr.ScanMemory) {
		t.Fatalf("beyond the budget: got %v", err)
	}
}

func TestGroupsAreFilteredSortedAndLimited(t *testing.T) {
	src := &memorySource{}
	for lane := range int64(3) {
		src.lanes = append(src.lanes, []*column.Batch{batchOf(numbers(lane, lane+40)), batchOf(numbers(lane, lane+30))})
	}
	p := Pipeline{Input: []column.Field{int64Field}, GroupBy: []Expr{number}, Aggregates: []Aggregate{{Func: Count}}, Limit: -1}
	groups := must(p.Compile()).Fields()
	key, count := Column(0, groups[0]), Column(1, groups[1])
	p.Then = &Pipeline{
		Input: groups, Filter: []Expr{must(Compare(Lt, count, int64Const(6)))}, Project: []Expr{must(Arith(Mul, key, int64Const(10))), count},
		OrderBy: []Order{{count, true}, {key, true}}, Limit: 4, Offset: 1,
	}
	rows, err := run(t, src, p, RunOptions{MaxBatchRows: 3})
	type group struct{ key, n int }
	var all []group
	for k := range 45 {
		g := group{key: k}
		for lane := range 3 {
			for _, length := range []int{40, 30} {
				g.n += bit(k >= lane && k < lane+length)
			}
		}
		if g.n > 0 && g.n < 6 {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b group) int { return 2*cmp.Compare(b.n, a.n) + cmp.Compare(b.key, a.key) })
	var want []string
	for _, g := range all[1:5] {
		want = append(want, fmt.Sprintf("%d|%d", 10*g.key, g.n))
	}
	if err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got %v, %v, want %v", rows, err, want)
	}
	p.Then.OrderBy = nil
	if rows, err = run(t, src, p, RunOptions{MaxBatchRows: 3}); err != nil || len(rows) != 4 {
		t.Fatalf("without an order: got %v, %v", rows, err)
	}
	p.Then.Limit = 0
	if rows, err = run(t, src, p, RunOptions{}); err != nil || len(rows) != 0 {
		t.Fatalf("LIMIT 0: got %v, %v", rows, err)
	}
	p.Limit, p.Then.Limit = 3, -1
	if _, err = p.Compile(); err == nil {
		t.Fatal("groups with a limit of their own were handed on")
	}
}

// TestSortedRowsEqualSorting: keys of every kind, several of them, NULLs, ties, with a limit or without.
func TestSortedRowsEqualSorting(t *testing.T) {
	little, none := newTight(t, 20_000), newTight(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		p := Pipeline{Input: rowFields, Limit: int64(rapid.IntRange(1, 1500).Draw(t, "limit")), Offset: int64(rapid.IntRange(0, 5).Draw(t, "offset"))}
		if rapid.Bool().Draw(t, "all") {
			p.Limit = -1
		}
		var keys []int
		for range rapid.IntRange(1, 3).Draw(t, "keys") {
			c := rapid.IntRange(0, len(rowFields)-1).Draw(t, "key")
			keys = append(keys, c)
			p.OrderBy = append(p.OrderBy, Order{Column(c, rowFields[c]), rapid.Bool().Draw(t, "descending")})
			p.Project = append(p.Project, Column(c, rowFields[c]))
		}
		src := &memorySource{}
		var all [][]any
		for range rapid.IntRange(1, 3).Draw(t, "lanes") {
			var lane []*column.Batch
			for range rapid.IntRange(0, 4).Draw(t, "batches") {
				b, rows := batchOfRows(t, rapid.SampledFrom(batchSizes).Draw(t, "rows"))
				lane = append(lane, b)
				for _, i := range liveRows(b) {
					all = append(all, rows[i])
				}
			}
			src.lanes = append(src.lanes, lane)
		}
		slices.SortStableFunc(all, func(a, b []any) int {
			for k, c := range keys {
				order, ok := compareBoxed(a[c], b[c])
				if !ok {
					order = bit(b[c] == nil) - bit(a[c] == nil)
				}
				if p.OrderBy[k].Desc {
					order = -order
				}
				if order != 0 {
					return order
				}
			}
			return 0
		})
		all = all[min(len(all), int(p.Offset)):]
		if p.Limit >= 0 {
			all = all[:min(len(all), int(p.Limit))]
		}
		o := *drawTight(t, little, none)
		o.MaxBatchRows = 7
		r := Run(t.Context(), src, must(p.Compile()), o.RunOptions)
		defer r.Close()
		n := 0
		for {
			b, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.N {
				var got, want []string
				for k, c := range keys {
					got, want = append(got, cellKey(&b.Cols[k], i)), append(want, keyText(all[n][c]))
				}
				if !slices.Equal(got, want) {
					t.Fatalf("row %d is %v, want %v", n, strings.Join(got, "|"), strings.Join(want, "|"))
				}
				n++
			}
		}
		if n != len(all) {
			t.Fatalf("got %d rows, want %d", n, len(all))
		}
	})
}

func BenchmarkTop(b *testing.B) {
	batch, fields := benchBatch()
	offset, length := Column(0, fields[0]), Column(1, fields[1])
	for _, key := range []Expr{offset, length} {
		b.Run(fmt.Sprint(key), func(b *testing.B) {
			b.ReportAllocs()
			p := Pipeline{Input: fields, Project: []Expr{offset, Column(3, fields[3])}, OrderBy: []Order{{key, true}}, Limit: 10}
			r := Run(b.Context(), &nopSource{b: batch, n: b.N}, must(p.Compile()), RunOptions{})
			defer r.Close()
			for {
				if _, err := r.Next(b.Context()); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}

// TestTheFirstRowsAreInOrder: those that are wanted are found without sorting the others, with keys that are equal in their beginning or altogether.
func TestTheFirstRowsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "rows")
		want := rapid.IntRange(-1, 40).Draw(t, "want")
		floats := rapid.Bool().Draw(t, "doubles")
		key, id := &column.Vector{Type: column.Type{Kind: column.Text}}, &column.Vector{Type: column.Type{Kind: column.Int64}}
		if floats {
			key.Type.Kind = column.Float64
		}
		for range n {
			switch x := rapid.IntRange(0, 40).Draw(t, "key"); {
			case x == 0:
				key.AppendNull()
			case floats:
				key.AppendFloat(float64(x%7) - 3)
			default:
				key.AppendBytes(fmt.Append(nil, "the same beginning ", x%7))
			}
			id.AppendInt(int64(rapid.IntRange(0, 5).Draw(t, "id")))
		}
		o := ordering{{Column(0, column.Field{Type: key.Type}), rapid.Bool().Draw(t, "descending")}, {Column(1, column.Field{Type: id.Type}), false}}
		keys := []*column.Vector{key, id}
		all, first := o.sort(keys, n, -1), o.sort(keys, n, want)
		for i := range all {
			if i > 0 && o.compare(keys, int(all[i-1]), keys, int(all[i])) > 0 {
				t.Fatalf("row %d of %v is not in order", i, all)
			}
			if (want < 0 || i < want) && o.compare(keys, int(all[i]), keys, int(first[i])) != 0 {
				t.Fatalf("row %d of the first %d is %d, want %d", i, want, first[i], all[i])
			}
		}
		if slices.Sort(first); len(first) != n || first[0] != 0 || int(first[n-1]) != n-1 || len(slices.Compact(first)) != n {
			t.Fatalf("%d rows of %d: %v", len(first), n, first)
		}
	})
}
