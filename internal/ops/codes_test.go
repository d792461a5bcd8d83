package ops

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
)

// dictionaryOf is a dictionary of n texts, some of which other dictionaries have under other codes.
func dictionaryOf(t *rapid.T, n int) (*column.Dictionary, []byte) {
	d, data := new(column.Dictionary), []byte(nil)
	first := rapid.IntRange(0, 3).Draw(t, "first")
	for i := range n {
		d.Beg = append(d.Beg, uint32(len(data)))
		data = fmt.Append(data, "value-", first+i)
		d.End = append(d.End, uint32(len(data)))
	}
	return d, data
}

// TestGroupsByCodesAreThoseByValues: dictionaries change between batches, and keys come without views, with NULLs, from columns without a dictionary, and in more
// combinations than a table of them has room for.
func TestGroupsByCodesAreThoseByValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := slices.Repeat([]column.Type{{Kind: column.Text}}, rapid.IntRange(1, 3).Draw(t, "keys"))
		coded, plain := newKeys(types), newKeys(types)
		var dicts []*column.Dictionary
		var data [][]byte
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			if dicts == nil || rapid.Bool().Draw(t, "another segment") {
				dicts, data = nil, nil
				for range types {
					d, b := dictionaryOf(t, rapid.SampledFrom([]int{1, 2, 5, 300}).Draw(t, "values"))
					dicts, data = append(dicts, d), append(data, b)
				}
			}
			n := rapid.IntRange(1, 70).Draw(t, "rows")
			var given, viewed []*column.Vector
			for c, d := range dicts {
				v := &column.Vector{Type: types[c], Data: data[c], Dict: d}
				for range n {
					v.Codes = append(v.Codes, uint16(rapid.IntRange(0, d.Len()-1).Draw(t, "code")))
				}
				if rapid.Bool().Draw(t, "NULLs") {
					for i := range n {
						if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
							v.SetNull(i, n)
						}
					}
				}
				views := *v
				views.Expand()
				switch rapid.IntRange(0, 4).Draw(t, "given as") {
				case 0: // no dictionary
					given = append(given, &column.Vector{Type: v.Type, Valid: views.Valid, Data: views.Data, Beg: views.Beg, End: views.End})
				case 1: // both
					given = append(given, &views)
				default:
					given = append(given, v)
				}
				viewed = append(viewed, &column.Vector{Type: v.Type, Valid: views.Valid, Data: views.Data, Beg: views.Beg, End: views.End})
			}
			var sel []int32
			if rapid.Bool().Draw(t, "selection") {
				sel = []int32{}
				for i := range n {
					if rapid.Bool().Draw(t, "selected") {
						sel = append(sel, int32(i))
					}
				}
			}
			got, want := coded.assign(given, n, sel, nil), plain.assign(viewed, n, sel, nil)
			if !slices.Equal(got, want) {
				t.Fatalf("groups %v, want %v", got, want)
			}
		}
		if coded.len() != plain.len() {
			t.Fatalf("%d groups, want %d", coded.len(), plain.len())
		}
		for g := range int32(coded.len()) {
			if got, want := coded.encode(nil, g), plain.encode(nil, g); !slices.Equal(got, want) {
				t.Fatalf("group %d is %q, want %q", g, got, want)
			}
		}
	})
}

// textCondition draws a condition on a text column, some of which fail for some texts or are of more than the text.
func textCondition(t *rapid.T, x, other Expr, depth int) Expr {
	text := func() Expr {
		return Const(column.Type{Kind: column.Text}, fmt.Append(nil, "value-", rapid.IntRange(0, 6).Draw(t, "constant")))
	}
	must := func(e Expr, err error) Expr {
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	switch n := rapid.IntRange(0, 8).Draw(t, "condition"); {
	case n == 0:
		return must(Like(x, "%"+fmt.Sprint(rapid.IntRange(0, 6).Draw(t, "ending")), '\\'))
	case n == 1:
		return IsNull(x)
	case n == 2:
		return must(In(x, []Expr{text(), text()}))
	case n == 3 && depth > 0:
		return must(Not(textCondition(t, x, other, depth-1)))
	case n == 4 && depth > 0:
		return must(And(textCondition(t, x, other, depth-1), textCondition(t, x, other, depth-1)))
	case n == 5 && depth > 0:
		return must(Or(textCondition(t, x, other, depth-1), textCondition(t, x, other, depth-1)))
	case n == 6:
		return must(Compare(Eq, x, other))
	case n == 7:
		return must(Compare(Gt, must(Length(x)), Const(column.Type{Kind: column.Int64}, int64(7))))
	default:
		return must(Compare(rapid.SampledFrom([]CompareOp{Eq, NullSafeEq, Ne, Lt, Ge}).Draw(t, "comparison"), x, text()))
	}
}

// TestRowsChosenByCodesAreThoseByValues: conditions that are decided for a dictionary choose what they choose row by row.
func TestRowsChosenByCodesAreThoseByValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := column.Field{Name: "t", Type: column.Type{Kind: column.Text}, Nullable: true}
		input := []column.Field{{Name: "n", Type: column.Type{Kind: column.Int64}}, f, f}
		filter := []Expr{textCondition(t, Column(1, f), Column(2, f), 2), textCondition(t, Column(1, f), Column(2, f), 2)}
		plan, err := (&Pipeline{Input: input, Filter: filter, Project: []Expr{Column(0, input[0])}, Limit: -1}).Compile()
		if err != nil {
			t.Fatal(err)
		}
		lanes := []*lane{newLane(plan.uses), newLane(plan.uses)}
		byCodes, byRows := plan.bindFilter(lanes[0]), plan.bindFilter(lanes[1])
		var d *column.Dictionary
		var data []byte
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			if d == nil || rapid.Bool().Draw(t, "another segment") {
				d, data = dictionaryOf(t, rapid.SampledFrom([]int{1, 5, 2000}).Draw(t, "values"))
			}
			n := rapid.IntRange(1, 70).Draw(t, "rows")
			v := column.Vector{Type: f.Type, Data: data, Dict: d}
			other := column.Vector{Type: f.Type}
			for range n {
				v.Codes = append(v.Codes, uint16(rapid.IntRange(0, d.Len()-1).Draw(t, "code")))
				other.AppendBytes(fmt.Append(nil, "value-", rapid.IntRange(0, 3).Draw(t, "other")))
			}
			for i := range n {
				if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
					v.SetNull(i, n)
				}
			}
			numbers := column.Vector{Type: input[0].Type, Int: make([]int64, n)}
			coded := &column.Batch{N: n, Cols: []column.Vector{numbers, v, other}}
			v.Expand()
			if rapid.Bool().Draw(t, "views too") {
				coded.Cols[1] = v
			}
			v.Codes, v.Dict = nil, nil
			plain := &column.Batch{N: n, Cols: []column.Vector{numbers, v, other}}
			for _, l := range lanes {
				l.batch++
			}
			got, failed := byCodes.pass(coded)
			if failed != nil {
				t.Fatal(failed)
			}
			want, failed := byRows.pass(plain)
			if failed != nil {
				t.Fatal(failed)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v chooses %v, want %v", filter, got, want)
			}
			if rapid.Bool().Draw(t, "all rows") {
				got = nil
			}
			out, err := lanes[0].bind(Column(1, f)).eval(coded, got)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range lanes[0].rows(n, got) {
				if i := int(i); out.IsNull(i) != plain.Cols[1].IsNull(i) || !out.IsNull(i) && string(out.View(i)) != string(plain.Cols[1].View(i)) {
					t.Fatalf("row %d is %q, want %q", i, out.View(i), plain.Cols[1].View(i))
				}
			}
		}
	})
}
