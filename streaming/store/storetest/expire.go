package storetest

import (
	"math"
	"testing"

	"millrace/internal/column"
	"millrace/streaming/store"
)

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
