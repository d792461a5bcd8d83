package pebblestore

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// TestTopOfManyWindows: whichever windows a lane leaves out, the first rows are those of a sort of everything; and of numbers without an order few windows are read.
func TestTopOfManyWindows(t *testing.T) {
	const rows, limit = 20*windowRows + 100, 10
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []column.Kind{column.Int64, column.Timestamp, column.Float64} {
		for _, nulls := range []bool{false, true} {
			key := &column.Vector{Type: column.Type{Kind: kind}}
			for i := range rows {
				switch x := r.Int64N(1_000_000) - 500_000; {
				case nulls && r.IntN(30_000) == 0:
					key.AppendNull()
				case kind == column.Float64 && i == 5*windowRows:
					key.AppendFloat(math.NaN())
				case kind == column.Float64:
					key.AppendFloat(float64(x) / 100)
				case kind == column.Timestamp: // sinks tell milliseconds
					key.AppendInt(x*1000 + r.Int64N(1000))
				default:
					key.AppendInt(x)
				}
			}
			s := openTest(t, t.TempDir(), Options{})
			id := &column.Vector{Type: column.Type{Kind: column.Int64}}
			for i := range rows {
				id.AppendInt(int64(i))
			}
			columns := []store.Column{{Field: column.Field{Name: "key", Type: key.Type, Nullable: true}}, {Field: column.Field{Name: "id", Type: id.Type}}}
			if err := s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: columns}); err != nil {
				t.Fatal(err)
			}
			b := &column.Batch{N: rows, Cols: []column.Vector{*key, *id}}
			if _, err := s.Commit(t.Context(), &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: b}}}); err != nil {
				t.Fatal(err)
			}
			for _, top := range []store.Top{{Rows: limit}, {Rows: limit, Ascending: true}, {Rows: limit, Ties: true}, {Rows: limit, Ties: true, Ascending: true}, {Rows: 2 * soonRaised}} {
				t.Run(fmt.Sprintf("%v/nulls=%t/%+v", kind, nulls, top), func(t *testing.T) {
					want := make([]int64, rows)
					for i := range want {
						switch {
						case key.IsNull(i):
							want[i] = math.MinInt64
						case kind == column.Float64:
							want[i] = scan.FloatOrder(key.Float[i])
						default:
							want[i] = key.Int[i]
						}
					}
					slices.Sort(want)
					if !top.Ascending {
						slices.Reverse(want)
					}
					got, stats := firstRows(t, s, columns, top)
					if !slices.Equal(got, want[:top.Rows]) {
						t.Errorf("the first rows are %v, want %v", got, want[:top.Rows])
					}
					if most := int64(rows * 3 / 4); top.Rows == limit && !nulls && stats.Records > most {
						t.Errorf("%d of %d rows were read, want at most %d", stats.Records, rows, most)
					}
					if stats.OffsetsDone != rows {
						t.Errorf("%d of %d rows are done with", stats.OffsetsDone, rows)
					}
				})
			}
		}
	}
}

// firstRows gives the keys of the first rows of an order, as numbers.
func firstRows(t *testing.T, s *Store, columns []store.Column, top store.Top) ([]int64, scan.Stats) {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	src, err := snap.Scan(t.Context(), store.ScanSpec{Table: "t", Columns: []int{0, 1}, Limit: -1, Lanes: 2, Top: &top})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	fields := []column.Field{columns[0].Field, columns[1].Field}
	key, id := ops.Column(0, fields[0]), ops.Column(1, fields[1])
	p := ops.Pipeline{Input: fields, Project: []ops.Expr{key, id}, OrderBy: []ops.Order{{Expr: key, Desc: !top.Ascending}}, Limit: top.Rows}
	if !top.Ties {
		p.OrderBy = append(p.OrderBy, ops.Order{Expr: id})
	}
	plan, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := ops.Run(t.Context(), src, plan, ops.RunOptions{})
	defer run.Close()
	var got []int64
	for {
		b, err := run.Next(t.Context())
		if err == io.EOF {
			return got, src.Stats()
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			switch v := &b.Cols[0]; {
			case v.IsNull(i):
				got = append(got, math.MinInt64)
			case v.Type.Kind == column.Float64:
				got = append(got, scan.FloatOrder(v.Float[i]))
			default:
				got = append(got, v.Int[i])
			}
		}
	}
}
