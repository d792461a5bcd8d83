package column

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plain is a column as a slice: nil, int64, float64 or string.
type plain []any

var kinds = []Type{{Kind: Int64}, {Kind: Float64}, {Kind: Bytes}, {Kind: Bool}, {Kind: Decimal, Precision: 5, Scale: 2}}

func draw(t *rapid.T, typ Type, n int) plain {
	p := make(plain, n)
	nulls := rapid.SampledFrom([]int{0, 1, 9}).Draw(t, "nulls")
	for i := range p {
		switch {
		case rapid.IntRange(0, 9).Draw(t, "null") < nulls:
		case typ.Kind.IsView():
			p[i] = rapid.StringN(0, 3, 9).Draw(t, "text")
		case typ.Kind == Float64:
			p[i] = float64(rapid.IntRange(0, 9).Draw(t, "float"))
		default:
			p[i] = int64(rapid.IntRange(0, 9).Draw(t, "int"))
		}
	}
	return p
}

func (p plain) appendTo(v *Vector) {
	for _, x := range p {
		switch x := x.(type) {
		case nil:
			v.AppendNull()
		case int64:
			v.AppendInt(x)
		case float64:
			v.AppendFloat(x)
		case string:
			v.AppendBytes([]byte(x))
		}
	}
}

func (p plain) check(t *rapid.T, v *Vector) {
	if v.Len() != len(p) {
		t.Fatalf("%d values, want %d", v.Len(), len(p))
	}
	nulls := 0
	for i, want := range p {
		var got any
		switch {
		case v.IsNull(i):
			nulls++
			if v.Type.Kind.IsView() && int(v.End[i]) > len(v.Data) {
				t.Fatalf("the view of NULL row %d lies outside of Data", i)
			}
		case v.Type.Kind.IsView():
			got = string(v.View(i))
		case v.Type.Kind == Float64:
			got = v.Float[i]
		default:
			got = v.Int[i]
		}
		if got != want {
			t.Fatalf("row %d is %v, want %v", i, got, want)
		}
	}
	if v.NullCount(len(p)) != nulls {
		t.Fatalf("NullCount is %d, want %d", v.NullCount(len(p)), nulls)
	}
}

// TestAppendRowsEqualsAppendingEachRow: selections, limits, NULLs and memory that is used again.
func TestAppendRowsEqualsAppendingEachRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fields []Field
		for _, k := range kinds {
			fields = append(fields, Field{Type: k, Nullable: true})
		}
		var to Batch
		for range 3 {
			to.Reset(fields)
			want := make([]plain, len(kinds))
			for range rapid.IntRange(1, 4).Draw(t, "batches") {
				var from Batch
				from.Reset(fields)
				n := rapid.IntRange(0, 130).Draw(t, "rows")
				from.N = n
				cols := make([]plain, len(kinds))
				for c, k := range kinds {
					cols[c] = draw(t, k, n)
					cols[c].appendTo(&from.Cols[c])
				}
				live := n
				if rapid.Bool().Draw(t, "selection") {
					from.Sel = []int32{}
					for i := range n {
						if rapid.Bool().Draw(t, "selected") {
							from.Sel = append(from.Sel, int32(i))
						}
					}
					live = len(from.Sel)
				}
				if from.Live() != live {
					t.Fatalf("Live is %d, want %d", from.Live(), live)
				}
				limit := rapid.IntRange(-1, 140).Draw(t, "limit")
				if limit >= 0 {
					live = min(live, limit)
				}
				if got := to.AppendRows(&from, limit); got != live {
					t.Fatalf("copied %d rows, want %d", got, live)
				}
				for k := range live {
					i := k
					if from.Sel != nil {
						i = int(from.Sel[k])
					}
					for c := range want {
						want[c] = append(want[c], cols[c][i])
					}
				}
			}
			for c := range want {
				want[c].check(t, &to.Cols[c])
			}
			if to.N != len(want[0]) {
				t.Fatalf("N is %d, want %d", to.N, len(want[0]))
			}
		}
	})
}

func TestAppendRowEqualsAppendFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		p := draw(t, k, rapid.IntRange(0, 100).Draw(t, "rows"))
		from, to := Vector{Type: k}, Vector{Type: k}
		p.appendTo(&from)
		for i := range p {
			to.AppendRow(&from, i)
		}
		p.check(t, &to)
	})
}

func TestCopiesDoNotAliasTheSource(t *testing.T) {
	from, to := Vector{Type: Type{Kind: Bytes}}, Vector{Type: Type{Kind: Bytes}}
	from.AppendBytes([]byte("before"))
	to.AppendFrom(&from, nil, 1)
	copy(from.Data, "after!")
	if string(to.View(0)) != "before" {
		t.Fatalf("the copy became %q", to.View(0))
	}
}

func TestViewsCannotGrowIntoTheirNeighbours(t *testing.T) {
	v := Vector{Type: Type{Kind: Bytes}}
	v.AppendBytes([]byte("a"))
	v.AppendBytes([]byte("b"))
	_ = append(v.View(0), 'x')
	if !bytes.Equal(v.View(1), []byte("b")) {
		t.Fatalf("the next value became %q", v.View(1))
	}
}

func TestSetNullMayComeBeforeTheValues(t *testing.T) {
	v := Vector{Type: Type{Kind: Int64}}
	v.SetNull(70, 100)
	for i := range int64(100) {
		v.Int = append(v.Int, i)
	}
	for i := range 100 {
		if v.IsNull(i) != (i == 70) {
			t.Fatalf("IsNull(%d) is %v", i, v.IsNull(i))
		}
	}
	if v.NullCount(70) != 0 || v.NullCount(71) != 1 || v.NullCount(100) != 1 {
		t.Fatal("NullCount is wrong")
	}
}

func TestReuseAllocatesNothing(t *testing.T) {
	fields := []Field{{Type: Type{Kind: Int64}}, {Type: Type{Kind: Bytes}}, {Type: Type{Kind: Float64}}}
	var from, to Batch
	from.Reset(fields)
	for i := range 200 {
		if i%3 == 0 {
			from.Cols[0].AppendNull()
			from.Cols[1].AppendNull()
		} else {
			from.Cols[0].AppendInt(int64(i))
			from.Cols[1].AppendBytes([]byte("value"))
		}
		from.Cols[2].AppendFloat(1)
	}
	from.N = 200
	fill := func() {
		to.Reset(fields)
		to.AppendRows(&from, -1)
		to.AppendRows(&from, 100)
	}
	fill()
	if n := testing.AllocsPerRun(20, fill); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestNames(t *testing.T) {
	var got []string
	for _, typ := range []Type{{Kind: Bool}, {Kind: Decimal, Precision: 10, Scale: 2}, {Kind: Timestamp, Scale: 3}, {Kind: 200}} {
		got = append(got, typ.String())
	}
	if want := []string{"bool", "decimal(10,2)", "timestamp(3)", "kind(200)"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for k := Bool; k <= Timestamp; k++ {
		if n := bit(k.IsView()) + bit(k.IsInt()) + bit(k == Float64); n != 1 {
			t.Errorf("values of %v lie in %d places", k, n)
		}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func BenchmarkAppendRows(b *testing.B) {
	const n = 1024
	typed := func(k Kind) *Batch {
		batch := &Batch{}
		batch.Reset([]Field{{Type: Type{Kind: k}}})
		for i := range n {
			if k == Bytes {
				batch.Cols[0].AppendBytes([]byte("a value of some thirty-two bytes"))
			} else {
				batch.Cols[0].AppendInt(int64(i))
			}
		}
		batch.N = n
		return batch
	}
	half := make([]int32, 0, n/2)
	for i := int32(0); i < n; i += 2 {
		half = append(half, i)
	}
	nullable := typed(Int64)
	for i := 0; i < n; i += 5 {
		nullable.Cols[0].SetNull(i, n)
	}
	for _, c := range []struct {
		name string
		from *Batch
		sel  []int32
	}{
		{"int", typed(Int64), nil}, {"int half", typed(Int64), half}, {"int with NULLs", nullable, nil}, {"bytes", typed(Bytes), nil}, {"bytes half", typed(Bytes), half},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			from := *c.from
			from.Sel = c.sel
			fields := []Field{{Type: from.Cols[0].Type}}
			var to Batch
			for b.Loop() {
				to.Reset(fields)
				to.AppendRows(&from, -1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(from.Live()), "ns/row")
		})
	}
}

func TestTruncateGivesBackRowsAndBytes(t *testing.T) {
	fields := []Field{{Name: "s", Type: Type{Kind: Text}, Nullable: true}, {Name: "f", Type: Type{Kind: Float64}}, {Name: "i", Type: Type{Kind: Int64}, Nullable: true}}
	var b Batch
	b.Reset(fields)
	add := func(s string, f float64, null bool) {
		b.Cols[0].AppendBytes([]byte(s))
		b.Cols[1].AppendFloat(f)
		if null {
			b.Cols[2].AppendNull()
		} else {
			b.Cols[2].AppendInt(int64(f))
		}
		b.N++
	}
	add("one", 1, false)
	add("two", 2, true)
	add("three", 3, true)
	b.Truncate(1)
	if b.N != 1 || string(b.Cols[0].Data) != "one" || b.Cols[1].Len() != 1 {
		t.Errorf("truncated to %+v", b)
	}
	add("four", 4, false) // where a NULL was
	if string(b.Cols[0].View(1)) != "four" || b.Cols[2].IsNull(1) || b.Cols[2].Int[1] != 4 {
		t.Errorf("then %+v", b)
	}
	b.Truncate(0)
	if b.N != 0 || len(b.Cols[0].Data) != 0 {
		t.Errorf("truncated to %+v", b)
	}
}
