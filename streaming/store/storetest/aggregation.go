package storetest

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// testAggregation compares the groups that a store computes, merged, with those of its rows. The table has had other columns, and rows have expired. A store that
// gives rows in place of groups need do no more.
func testAggregation(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	columns, samples := kindColumns()
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: columns}, store.TableSpec{ID: "none", Columns: columns}))
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	fill := func() {
		var list []row
		for range 150 {
			x := make(row, len(columns))
			for i := range x {
				if at := r.IntN(5); at == 4 {
					continue
				} else if j := indexOf(kindNames(), columns[i].Name); j >= 0 {
					x[i] = samples[r.IntN(len(samples))][j]
				} else {
					x[i] = store.Int(int64(at))
				}
			}
			list = append(list, x)
		}
		insert(t, s, "t", list)
	}
	fill()
	fill()
	plain, filled := col("plain", column.Int32), col("filled", column.Int64)
	filled.Default = store.Int(2)
	schema, err := s.AlterTable(ctx, "t", 1, store.AddColumn{Column: plain}, store.AddColumn{Column: filled},
		store.WidenColumn{Name: "int32", Type: column.Type{Kind: column.Int64}, Nullable: true})
	must(t, err)
	columns = schema.Columns
	fill()
	note := col("text 2", column.Text)
	note.Default = store.Text("a\x00")
	schema, err = s.AlterTable(ctx, "t", 2, store.DropColumn{Name: "id"}, store.WidenColumn{Name: "text", Type: column.Type{Kind: column.Bytes}, Nullable: true})
	must(t, err)
	columns = schema.Columns
	fill()
	_, err = s.AlterTable(ctx, "t", 3, store.AddColumn{Column: note})
	must(t, err)
	_, err = s.Expire(ctx, "t", "date", -1)
	must(t, err)
	snap, err := s.Snapshot(ctx)
	must(t, err)
	defer snap.Close()
	const queries = 400
	groups, stored := 0, map[store.TableID][]row{}
	for _, table := range []store.TableID{"t", "none"} {
		schema, err := snap.Schema(table)
		must(t, err)
		stored[table], err = read(ctx, snap, store.ScanSpec{Table: table, Columns: everyColumn(schema), Limit: -1})
		must(t, err)
	}
	for range queries {
		table := store.TableID("t")
		if r.IntN(12) == 0 {
			table = "none"
		}
		schema, err := snap.Schema(table)
		must(t, err)
		rows := stored[table]
		spec := store.ScanSpec{Table: table, Columns: everyColumn(schema), Limit: -1, Aggregation: randomGroups(r, schema)}
		if len(rows) > 0 && r.IntN(3) > 0 {
			i := r.IntN(len(schema.Columns))
			c := store.Condition{Column: i, Null: r.IntN(3) == 0}
			if v := rows[r.IntN(len(rows))][i]; !v.IsNull() && schema.Columns[i].Type.Kind != column.JSON {
				c.Ranges = []store.Range{{Min: v, MinOpen: r.IntN(2) == 0}, store.Point(v)}[r.IntN(2):]
			}
			spec.Where = []store.Condition{c}
		}
		src, err := snap.Scan(ctx, spec)
		must(t, err)
		aggregated := store.Aggregated(src)
		var c collector
		must(t, src.Run(ctx, c.sink))
		src.Close()
		if !aggregated {
			continue
		}
		groups++
		want, got := map[string][]folded{}, map[string][]folded{}
		for _, x := range rows {
			if len(spec.Where) == 0 || spec.Where[0].Holds(schema.Columns[spec.Where[0].Column].Type.Kind, x[spec.Where[0].Column]) {
				fold(want, spec.Aggregation, schema, x, false)
			}
		}
		for _, x := range c.rows {
			fold(got, spec.Aggregation, schema, x, true)
		}
		if len(spec.Aggregation.Groups) == 0 { // the one group is there in any case
			for _, m := range []map[string][]folded{want, got} {
				m["[]"] = append(m["[]"], make([]folded, len(spec.Aggregation.Partials)-len(m["[]"]))...)
			}
		}
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			t.Fatalf("groups of %+v where %+v are\n%.2000s\nwant\n%.2000s", *spec.Aggregation, spec.Where, g, w)
		}
	}
	t.Logf("the store computed %d of %d", groups, queries)
}

func kindNames() (names []string) {
	columns, _ := kindColumns()
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

func indexOf(names []string, name string) int {
	for i, x := range names {
		if x == name {
			return i
		}
	}
	return -1
}

func randomGroups(r *rand.Rand, s *store.Schema) *store.Aggregation {
	a := new(store.Aggregation)
	for range r.IntN(3) {
		a.Groups = append(a.Groups, r.IntN(len(s.Columns)))
	}
	for range 1 + r.IntN(4) {
		p := store.Partial{Func: store.PartialFunc(r.IntN(int(store.MaxValue) + 1)), Column: r.IntN(len(s.Columns))}
		switch p.Type = s.Columns[p.Column].Type; p.Func {
		case store.CountRows, store.CountValues:
			p.Type = column.Type{Kind: column.Int64}
		case store.SumValues:
			p.Type = column.Type{Kind: column.Decimal, Precision: 65, Scale: p.Type.Scale}
		}
		a.Partials = append(a.Partials, p)
	}
	return a
}

// folded is a function over the rows of a group so far.
type folded struct {
	count int64
	sum   *big.Rat
	best  store.Value
}

func (f folded) String() string { return fmt.Sprint(f.count, " ", f.sum, " ", f.best) }

// fold adds a row to its group: one of the table, or partial results.
func fold(groups map[string][]folded, a *store.Aggregation, s *store.Schema, x row, partial bool) {
	key := row{}
	for i, c := range a.Groups {
		if partial {
			c = i
		}
		key = append(key, x[c])
	}
	list := groups[fmt.Sprint(key)]
	if list == nil {
		list = make([]folded, len(a.Partials))
		groups[fmt.Sprint(key)] = list
	}
	for i, p := range a.Partials {
		f, at, kind := &list[i], p.Column, s.Columns[p.Column].Type.Kind
		if partial {
			at = len(a.Groups) + i
		}
		v := x[at]
		switch {
		case partial && p.Func <= store.CountValues:
			f.count += v.Int64()
		case p.Func == store.CountRows:
			f.count++
		case v.IsNull():
		case p.Func == store.CountValues:
			f.count++
		case p.Func == store.SumValues:
			if f.sum == nil {
				f.sum = new(big.Rat)
			}
			if partial {
				kind = column.Decimal
			}
			f.sum.Add(f.sum, exactly(kind, v))
		case f.best.IsNull(), cmp.Compare(store.Compare(kind, v, f.best), 0) == map[store.PartialFunc]int{store.MinValue: -1, store.MaxValue: 1}[p.Func]:
			f.best = v
		}
	}
}

// exactly is a number as it is.
func exactly(k column.Kind, v store.Value) *big.Rat {
	switch k {
	case column.Decimal:
		x, _ := new(big.Rat).SetString(v.Bytes())
		return x
	case column.Uint64:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(v.Int64())))
	default:
		return new(big.Rat).SetInt64(v.Int64())
	}
}
