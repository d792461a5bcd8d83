package pgstore

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// TestNumericsAreThoseOfPostgreSQL compares with the bytes that PostgreSQL's numeric_send makes.
func TestNumericsAreThoseOfPostgreSQL(t *testing.T) {
	for text, want := range map[string]string{
		"0":                    "0000000000000000",
		"0.00":                 "0000000000000002",
		"1":                    "00010000000000000001",
		"10000":                "00010001000000000001",
		"-0.10":                "0001ffff4000000203e8",
		"12345.678":            "0003000100000003000109291a7c",
		"0.00001":              "0001fffe0000000503e8",
		"18446744073709551615": "000500040000000007341a5802e103bb064f",
	} {
		got, ok := appendNumeric(nil, []byte(text))
		if !ok {
			t.Errorf("%s: refused", text)
			continue
		}
		if hex.EncodeToString(got) != want {
			t.Errorf("%s is %x, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "-", ".", "1.", ".1", "1e5", "--1", "1.2.3", " 1", "NaN"} {
		if got, ok := appendNumeric(nil, []byte(text)); ok {
			t.Errorf("%q is %x", text, got)
		}
	}
}

func TestDecimalsComeBackDigitByDigit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,70})(\.[0-9]{1,40})?`).Draw(t, "decimal")
		if rapid.Bool().Draw(t, "zeros") {
			text = strings.Map(func(r rune) rune {
				if r >= '2' && r <= '8' {
					return '0'
				}
				return r
			}, text)
			if text = strings.TrimPrefix(text, "-"); len(text) > 1 && text[1] != '.' && text[0] == '0' {
				text = "1" + text
			}
		}
		b, ok := appendNumeric([]byte("x"), []byte(text))
		if !ok {
			t.Fatalf("%s: refused", text)
		}
		got, err := appendDecimal([]byte("y"), b[1:])
		want := text
		if strings.Trim(text, "-0.") == "" {
			want = strings.TrimPrefix(text, "-") // there is no −0
		}
		if err != nil || string(got) != "y"+want {
			t.Fatalf("%s became %s, %v", text, got, err)
		}
	})
}

func FuzzNumericOfAServer(f *testing.F) {
	for _, text := range []string{"0", "-12345.678", "0.00001", "99999999999999999999"} {
		b, _ := appendNumeric(nil, []byte(text))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := appendDecimal(nil, b)
		if err != nil {
			return
		}
		if len(b) > 100 && len(text) > 1<<17 {
			return
		}
		// Whatever the digits are: it is text of the form that decimals have.
		if text = bytes.TrimPrefix(text, []byte("-")); len(text) == 0 || bytes.Count(text, []byte(".")) > 1 {
			t.Fatalf("%x is %q", b, text)
		}
	})
}

func TestEscapingKeepsTheOrderOfTexts(t *testing.T) {
	texts := rapid.StringOf(rapid.SampledFrom([]rune{0, 1, 2, 'a', 'é', 0x10ffff}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		x, y := appendEscaped(nil, []byte(a)), appendEscaped(nil, []byte(b))
		if bytes.IndexByte(x, 0) >= 0 {
			t.Fatalf("%q is stored as %q", a, x)
		}
		if bytes.Compare(x, y) != strings.Compare(a, b) {
			t.Fatalf("%q and %q are stored as %q and %q", a, b, x, y)
		}
		if got := appendUnescaped(nil, x); string(got) != a {
			t.Fatalf("%q came back as %q", a, got)
		}
	})
}

// someStats draws statistics as commits make them.
func someStats(t *rapid.T) []columnStats {
	var list []columnStats
	for i := range rapid.IntRange(0, 4).Draw(t, "columns") {
		v := &column.Vector{Type: column.Type{Kind: rapid.SampledFrom([]column.Kind{column.Int64, column.Text, column.Float64, column.JSON}).Draw(t, "kind")}}
		n := rapid.IntRange(0, 5).Draw(t, "rows")
		for range n {
			switch k := v.Type.Kind; {
			case rapid.IntRange(0, 3).Draw(t, "null") == 0:
				v.AppendNull()
			case k.IsView():
				v.AppendBytes([]byte(rapid.StringN(0, 200, 200).Draw(t, "text")))
			case k == column.Float64:
				v.AppendFloat(rapid.SampledFrom([]float64{math.NaN(), 1, -5, math.Inf(1)}).Draw(t, "float"))
			default:
				v.AppendInt(rapid.Int64().Draw(t, "int"))
			}
		}
		list = append(list, gatherColumn(uint32(i), &column.Batch{N: n, Cols: []column.Vector{*v}}, v))
	}
	return list
}

func TestStatisticsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := someStats(t)
		got, err := decodeStats(encodeStats(list))
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("%+v came back as %+v, %v", list, got, err)
		}
	})
}

func FuzzStatistics(f *testing.F) {
	f.Add(encodeStats([]columnStats{{id: 1, rows: 5, ColumnStats: store.ColumnStats{Nulls: 1, Bytes: 7, Bounded: true, Min: store.Text("a"), Max: store.Text("b")}}, {id: 2, unbounded: true}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeStats(b)
		if err != nil {
			return
		}
		again, err := decodeStats(encodeStats(list))
		if err != nil || !slices.Equal(again, list) {
			t.Fatalf("%x is %+v, and that %+v, %v", b, list, again, err)
		}
	})
}

func TestBoundsOfLongTextsAreShortAndHold(t *testing.T) {
	for _, c := range []struct{ text, low, high string }{
		{"a", "a", "a"},
		{strings.Repeat("z", 100), strings.Repeat("z", 64), strings.Repeat("z", 63) + "{"},
		{strings.Repeat("\xff", 100), strings.Repeat("\xff", 64), strings.Repeat("\xff", 100)},
		{strings.Repeat("a", 63) + strings.Repeat("\xff", 30), strings.Repeat("a", 63) + "\xff", strings.Repeat("a", 62) + "b"},
	} {
		low, high := shortened(store.Text(c.text), store.Text(c.text))
		if low.Bytes() != c.low || high.Bytes() != c.high || low.Bytes() > c.text || high.Bytes() < c.text {
			t.Errorf("%q is from %q to %q", c.text, low.Bytes(), high.Bytes())
		}
	}
}

func FuzzPositions(f *testing.F) {
	f.Add(positions{{Topic: "a", Partition: 3}: {Offset: 7, LeaderEpoch: -1}, {Source: "s", Topic: "b"}: {TopicID: [16]byte{1}}}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePositions(b)
		if err != nil {
			return
		}
		again, err := decodePositions(p.encode())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(p) {
			t.Fatalf("%x is %v, and that %v, %v", b, p, again, err)
		}
	})
}

// TestConditionsInSQL shows what is asked of the database: whatever a column cannot be asked for exactly is asked for with more.
func TestConditionsInSQL(t *testing.T) {
	kinds := []column.Kind{column.Bool, column.Int64, column.Uint64, column.Float64, column.Decimal, column.Text, column.Bytes, column.JSON, column.Timestamp}
	x := &table{schema: &store.Schema{}}
	p := &part{Number: 1}
	for i, k := range kinds {
		x.schema.Columns = append(x.schema.Columns, store.Column{ID: uint32(i + 1), Field: column.Field{Name: k.String(), Type: column.Type{Kind: k}}})
		p.Columns = append(p.Columns, partColumn{uint32(i + 1), k})
	}
	x.schema.Columns = append(x.schema.Columns, store.Column{ID: 99, Default: store.Int(5), Field: column.Field{Name: "later", Type: column.Type{Kind: column.Int64}}})
	at := func(k column.Kind) int { return slices.Index(kinds, k) }
	from := func(v store.Value) []store.Range { return []store.Range{{Min: v}} }
	for _, c := range []struct {
		name  string
		where store.Condition
		want  string
		none  bool
	}{
		{"a number", store.Condition{Column: at(column.Int64), Ranges: []store.Range{store.Point(store.Int(-7))}}, " and (c2 = (-7)::bigint)", false},
		{"a range and NULL", store.Condition{Column: at(column.Int64), Null: true, Ranges: []store.Range{{Min: store.Int(1), Max: store.Int(9), MaxOpen: true}}},
			" and (c2 is null or (c2 >= (1)::bigint and c2 < (9)::bigint))", false},
		{"the least number", store.Condition{Column: at(column.Int64), Ranges: from(store.Int(math.MinInt64))}, " and (c2 >= (-9223372036854775807-1))", false},
		{"anything but NULL", store.Condition{Column: at(column.Int64), Ranges: []store.Range{{}}}, " and (c2 is not null)", false},
		{"nothing", store.Condition{Column: at(column.Int64)}, "", true},
		{"a boolean above 0", store.Condition{Column: at(column.Bool), Ranges: []store.Range{{Min: store.Int(0), MinOpen: true}}}, " and (c1 = true)", false},
		{"a boolean above 1", store.Condition{Column: at(column.Bool), Ranges: []store.Range{{Min: store.Int(1), MinOpen: true}}}, "", true},
		{"the greatest unsigned number", store.Condition{Column: at(column.Uint64), Ranges: from(store.Int(-1))}, " and (c3 >= 18446744073709551615::numeric)", false},
		{"a double", store.Condition{Column: at(column.Float64), Ranges: from(store.Float(1))}, " and (c4 >= $1 or c4 = 'NaN')", false},
		{"a decimal", store.Condition{Column: at(column.Decimal), Ranges: from(store.Text("1.50"))}, " and (c5 >= $1)", false},
		{"no decimal", store.Condition{Column: at(column.Decimal), Ranges: from(store.Text("x"))}, " and (c5 is not null)", false},
		{"a text", store.Condition{Column: at(column.Text), Ranges: []store.Range{store.Point(store.Text("'; drop table"))}}, " and (c6 = $1)", false},
		{"an empty text", store.Condition{Column: at(column.Text), Ranges: from(store.Text(""))}, " and (c6 >= $1)", false},
		{"a bound that is no UTF-8", store.Condition{Column: at(column.Text), Ranges: []store.Range{{Min: store.Text("a"), Max: store.Text("\xff"), MaxOpen: true}}}, " and (c6 >= $1)", false},
		{"bytes", store.Condition{Column: at(column.Bytes), Ranges: from(store.Text("\xff"))}, " and (c7 >= $1)", false},
		{"JSON", store.Condition{Column: at(column.JSON), Ranges: from(store.Text("1"))}, "", false},
		{"a time", store.Condition{Column: at(column.Timestamp), Ranges: from(store.Int(5))}, " and (c9 >= (5)::bigint)", false},
		{"a column that is not there, and its default is wanted", store.Condition{Column: len(kinds), Ranges: from(store.Int(5))}, "", false},
		{"a column that is not there, and its default is not wanted", store.Condition{Column: len(kinds), Ranges: from(store.Int(6))}, "", true},
	} {
		q := new(condition)
		q.where(x, p, []store.Condition{c.where})
		if q.sql.String() != c.want || q.none != c.none {
			t.Errorf("%s: %q (%v), want %q (%v)", c.name, q.sql.String(), q.none, c.want, c.none)
		}
		// As a NULL, a parameter would make its term hold for no row at all.
		if slices.ContainsFunc(q.values, func(b []byte) bool { return b == nil }) {
			t.Errorf("%s: a parameter is NULL", c.name)
		}
	}
}

func TestManyRangesBecomeOne(t *testing.T) {
	var ranges []store.Range
	for i := range int64(mostRanges + 1) {
		ranges = append(ranges, store.Range{Min: store.Int(i * 10), Max: store.Int(i*10 + 5), MinOpen: true})
	}
	q := new(condition)
	q.set("c", column.Int64, &store.Condition{Ranges: ranges})
	if got, want := q.sql.String(), fmt.Sprintf(" and ((c >= (0)::bigint and c <= (%d)::bigint))", mostRanges*10+5); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	open := append(slices.Clone(ranges), store.Range{})
	if r := enclosing(column.Int64, open); !r.Min.IsNull() || !r.Max.IsNull() {
		t.Errorf("with a range of everything: %+v", r)
	}
}

func TestWhatHasBRIN(t *testing.T) {
	for version, want := range map[string]bool{
		"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu":     true,
		"PostgreSQL 11.2-YB-2024.2.0.0-b0 on x86_64-pc-linux-gnu":              false,
		"CockroachDB CCL v24.3.0 (x86_64-pc-linux-gnu, built 2024/11/18, go1)": false,
	} {
		if hasBRIN(version) != want {
			t.Errorf("%s: %v", version, !want)
		}
	}
}
