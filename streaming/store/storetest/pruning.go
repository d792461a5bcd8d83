package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
	"millrace/streaming/store"
)

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

// testLargeSegments does the same with commits of many thousand rows, of which stores may leave out parts.
func testLargeSegments(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	columns := []store.Column{col("id", column.Int64), col("n", column.Int32), col("u", column.Uint64)}
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: columns}))
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	var want []row
	for part := range 4 {
		var rows []row
		for i := range 13000 {
			n := int64(part*13000 + i)
			x := row{store.Int(n), store.Int(n/10 + r.Int64N(50)), store.Int(n - 20000)}
			if n%9001 < 4500 && r.IntN(3) > 0 { // stretches with many NULLs
				x[1] = store.Value{}
			}
			rows = append(rows, x)
		}
		want = append(want, rows...)
		insert(t, s, "t", rows)
	}
	added := col("added", column.Int64)
	added.Default = store.Int(5)
	_, err := s.AlterTable(ctx, "t", 1, store.AddColumn{Column: added})
	must(t, err)
	columns = append(columns, added)
	for i := range want {
		want[i] = append(want[i], store.Int(5))
	}
	snap, err := s.Snapshot(ctx)
	must(t, err)
	defer snap.Close()
	for range 60 {
		c := store.Condition{Column: r.IntN(4), Null: r.IntN(3) == 0}
		lo := want[r.IntN(len(want))][c.Column]
		switch {
		case lo.IsNull():
			c.Null = true
		case r.IntN(2) == 0:
			c.Ranges = []store.Range{store.Point(lo)}
		default:
			c.Ranges = []store.Range{{Min: lo, Max: store.Int(lo.Int64() + r.Int64N(3000))}}
		}
		where := []store.Condition{c, {Column: 0, Ranges: []store.Range{{Min: store.Int(r.Int64N(40000))}}}}
		hold := func(x row) bool {
			return where[0].Holds(columns[c.Column].Type.Kind, x[c.Column]) && where[1].Holds(column.Int64, x[0])
		}
		rows, err := read(ctx, snap, store.ScanSpec{Table: "t", Columns: []int{0, 1, 2, 3}, Where: where, Limit: -1, Lanes: 1 + r.IntN(2)})
		must(t, err)
		got := slices.DeleteFunc(rows, func(x row) bool { return !hold(x) })
		slices.SortFunc(got, func(a, b row) int { return int(a[0].Int64() - b[0].Int64()) })
		var all []row
		for _, x := range want {
			if hold(x) {
				all = append(all, x)
			}
		}
		sameRows(t, fmt.Sprintf("rows where %+v", where), got, all)
	}
}
