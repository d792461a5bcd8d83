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

// TestColumnsThatAreOnlyKeysAreByCodes: a column that an aggregate, a filter or another key is computed of needs its views.
func TestColumnsThatAreOnlyKeysAreByCodes(t *testing.T) {
	input := []column.Field{{Name: "a", Type: column.Type{Kind: column.Text}}, {Name: "b", Type: column.Type{Kind: column.Text}}, {Name: "c", Type: column.Type{Kind: column.Text}}}
	a, b, c := Column(0, input[0]), Column(1, input[1]), Column(2, input[2])
	p := Pipeline{Input: input, Filter: []Expr{IsNull(c)}, GroupBy: []Expr{a, b, c}, Aggregates: []Aggregate{{Func: Max, Arg: b}}, Limit: -1}
	plan, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	s := (&Rows{first: &stage{}}).newStage(plan).newAggregateSink()
	for i, want := range []bool{true, false, false} {
		if got := s.ByCodes(i); got != want {
			t.Errorf("column %d: %t, want %t", i, got, want)
		}
	}
}
