package store

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
)

func TestCompareDecimals(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"0", "-0.00", 0}, {"1.50", "1.5", 0}, {"-1", "1", -1}, {"-2", "-10", 1}, {"10", "9", 1}, {"0.09", "0.1", -1}, {"-0.09", "-0.1", 1},
		{"99999999999999999999999999999999999999999999999999999999999999999", "100000000000000000000000000000000000000000000000000000000000000000", -1},
	} {
		if got := CompareDecimals(c.a, c.b); got != c.want {
			t.Errorf("%s <=> %s is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestCompareDecimalsAsRationals(t *testing.T) {
	text := rapid.StringMatching(`-?[0-9]{1,8}(\.[0-9]{1,4})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got := CompareDecimals(a, b); got != x.Cmp(y) {
			t.Errorf("%s <=> %s is %d", a, b, got)
		}
	})
}

func TestConditionsNeverLeaveOutWhatHolds(t *testing.T) {
	nan := Float(math.NaN())
	for _, c := range []struct {
		name  string
		cond  Condition
		kind  column.Kind
		stats ColumnStats
		rows  int64
		want  bool
	}{
		{"a value between", Condition{Ranges: []Range{Point(Int(5))}}, column.Int64, ColumnStats{Min: Int(1), Max: Int(9), Bounded: true}, 3, true},
		{"a value above", Condition{Ranges: []Range{Point(Int(10))}}, column.Int64, ColumnStats{Min: Int(1), Max: Int(9), Bounded: true}, 3, false},
		{"an open bound", Condition{Ranges: []Range{{Min: Int(9), MinOpen: true}}}, column.Int64, ColumnStats{Min: Int(1), Max: Int(9), Bounded: true}, 3, false},
		{"unsigned", Condition{Ranges: []Range{{Min: Int(-1)}}}, column.Uint64, ColumnStats{Min: Int(1), Max: Int(9), Bounded: true}, 3, false},
		{"NULL among values", Condition{Null: true}, column.Text, ColumnStats{Nulls: 1, Min: Text("a"), Max: Text("b"), Bounded: true}, 3, true},
		{"NULL where there is none", Condition{Null: true}, column.Text, ColumnStats{Min: Text("a"), Max: Text("b"), Bounded: true}, 3, false},
		{"a value where all are NULL", Condition{Ranges: []Range{{}}}, column.Text, ColumnStats{Nulls: 3}, 3, false},
		{"NaN lies in no bounds", Condition{Ranges: []Range{Point(nan)}}, column.Float64, ColumnStats{Min: Float(1), Max: Float(2), Bounded: true, NaN: true}, 3, true},
		{"nothing known", Condition{Ranges: []Range{Point(Text("{}"))}}, column.JSON, ColumnStats{}, 3, true},
		{"no range and no NULL", Condition{}, column.Int64, ColumnStats{Nulls: 1, Min: Int(1), Max: Int(9), Bounded: true}, 3, false},
	} {
		if got := c.cond.May(c.kind, &c.stats, c.rows); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestValuesSurviveTheirEncoding(t *testing.T) {
	for _, v := range []Value{{}, Int(-1), Float(math.Inf(-1)), Text(""), Text("a\x00\xffb")} {
		b := append(v.AppendBinary(nil), "rest"...)
		got, rest, ok := DecodeValue(b)
		if !ok || got != v || string(rest) != "rest" {
			t.Errorf("%v came back as %v, %q, %v", v, got, rest, ok)
		}
		for n := range len(b) - 4 {
			if _, _, ok := DecodeValue(b[:n]); ok && v.form != formNull {
				t.Errorf("%v was read from %d of %d bytes", v, n, len(b)-4)
			}
		}
	}
}

func TestSchemaChanges(t *testing.T) {
	field := func(name string, k column.Kind) column.Field {
		return column.Field{Name: name, Type: column.Type{Kind: k}, Nullable: true}
	}
	s := &Schema{Version: 1, Columns: []Column{{Field: field("a", column.Int32), ID: 1}, {Field: field("b", column.Text), ID: 2}}, Cluster: []string{"b"}}
	n, err := s.Apply(AddColumn{Column{Field: field("c", column.Text), ID: 3, Default: Text("x")}}, RenameColumn{"b", "d"}, WidenColumn{"a", column.Type{Kind: column.Int64}, 0, true})
	if err != nil {
		t.Fatal(err)
	}
	if n.Version != 2 || n.Index("c") != 2 || n.Index("d") != 1 || n.Cluster[0] != "d" || n.Columns[0].Type.Kind != column.Int64 {
		t.Errorf("changed to %+v", n)
	}
	if s.Version != 1 || s.Columns[1].Name != "b" || s.Columns[0].Type.Kind != column.Int32 {
		t.Errorf("the old schema was changed: %+v", s)
	}
	for name, c := range map[string]SchemaChange{
		"a name twice":                AddColumn{Column{Field: field("a", column.Text)}},
		"NOT NULL without a default":  AddColumn{Column{Field: column.Field{Name: "c", Type: column.Type{Kind: column.Text}}}},
		"a default of another kind":   AddColumn{Column{Field: field("c", column.Int64), Default: Text("1")}},
		"no such column":              DropColumn{"x"},
		"a cluster column is dropped": DropColumn{"b"},
		"narrower":                    WidenColumn{"b", column.Type{Kind: column.Int64}, 0, true},
		"NULLs are there":             WidenColumn{"a", column.Type{Kind: column.Int64}, 0, false},
		"clustered twice":             SetCluster{[]string{"a", "a"}},
	} {
		if _, err := s.Apply(c); err == nil {
			t.Errorf("%s is allowed", name)
		}
	}
}
