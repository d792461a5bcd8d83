package ops

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"
)

var ordersSchema = json.NewSchema([]json.Field{
	{Field: column.Field{Name: "id", Type: column.Type{Kind: column.Int64}}},
	{Field: column.Field{Name: "name", Type: column.Type{Kind: column.Text}}},
	{Field: column.Field{Name: "price", Type: column.Type{Kind: column.Decimal, Precision: 8, Scale: 2}}},
	{Field: column.Field{Name: "ratio", Type: column.Type{Kind: column.Float64}}},
	{Field: column.Field{Name: "paid", Type: column.Type{Kind: column.Bool}}},
	{Field: column.Field{Name: "items", Type: column.Type{Kind: column.JSON}}},
})

var valueField = column.Field{Name: "value", Type: column.Type{Kind: column.Bytes}, Nullable: true}

// randomRecord gives good, bad and missing records.
func randomRecord(r *rand.Rand) any {
	pick := func(s ...string) string { return s[r.Intn(len(s))] }
	switch r.Intn(10) {
	case 0:
		return nil
	case 1:
		return pick("", "{", `[1]`, `{"id":1}x`, "{\"name\":\"\xff\"}")
	}
	var parts []string
	add := func(name string, values ...string) {
		if r.Intn(5) > 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", name, pick(values...)))
		}
	}
	add("id", "1", "12345678901234", "1e3", `"7"`, `"x"`, "null", "1e30")
	add("name", `"plain"`, `"esc\u0061ped"`, `""`, "12.50", "null")
	add("price", "1.5", `"2.25"`, "123456789", "true")
	add("ratio", "0.5", "1e400", "-3")
	add("paid", "true", "false", "null", "1")
	add("items", `[1,{"a":2}]`, "null", `"x"`)
	return "{" + strings.Join(parts, ", ") + "}"
}

// expected decodes a record alone: its fields as text, NULL as "NULL", and what is wrong with it.
func expected(t *testing.T, record any) (values []string, fault string) {
	t.Helper()
	fields := ordersSchema.Fields()
	values = slices.Repeat([]string{"NULL"}, len(fields))
	text, ok := record.(string)
	if !ok {
		return values, ""
	}
	for i := range fields {
		plan, err := ordersSchema.Compile([]int{i})
		if err != nil {
			t.Fatal(err)
		}
		d, slots := plan.NewDecoder(context.Background()), make([]decode.Slot, 1)
		if err := d.Locate([]byte(text), slots); err != nil {
			return values, "value: " + err.Error()
		}
		s, scratch := slots[0], []byte(nil)
		if s.Kind == decode.Lazy {
			if s, scratch, err = d.Settle([]byte(text), 0, s, nil); err != nil {
				if fault == "" {
					fault = "value: " + err.Error()
				}
				continue
			}
		}
		var v column.Vector
		v.Reset(fields[i].Type)
		switch s.Kind {
		case decode.Null:
			continue
		case decode.View:
			v.AppendBytes([]byte(text)[s.Beg:s.End])
		case decode.Made:
			v.AppendBytes(scratch[s.Beg:s.End])
		case decode.Float:
			v.AppendFloat(floatOf(s))
		default:
			v.AppendInt(s.Int)
		}
		values[i] = shownValue(&v, 0)
	}
	return values, fault
}

func shownValue(v *column.Vector, i int) string {
	switch {
	case v.IsNull(i):
		return "NULL"
	case v.Type.Kind.IsView():
		return string(v.View(i))
	case v.Type.Kind == column.Float64:
		return fmt.Sprint(v.Float[i])
	default:
		return fmt.Sprint(v.Int[i])
	}
}

func recordBatch(records []any) *column.Batch {
	b := &column.Batch{}
	b.Reset([]column.Field{valueField})
	b.Cols[0].Data = append(b.Cols[0].Data, "before"...)
	for _, x := range records {
		if text, ok := x.(string); ok {
			b.Cols[0].AppendBytes([]byte(text))
		} else {
			b.Cols[0].AppendNull()
		}
	}
	b.N = len(records)
	return b
}

func TestDecodedFieldsAreThoseOfEachRecordAlone(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	how := NewDecoding(ordersSchema, decode.Permissive, "value", "json")
	x := Column(0, valueField)
	l := newLane(map[string]int{})
	var fields []evaluator
	for i := range how.Fields() {
		fields = append(fields, l.bind(must(Decoded(x, how, i))))
	}
	faulty := l.bind(must(DecodeError(x, how)))
	good := asPredicate(must(WellFormed(x, how)), l)
	for range 200 {
		var records []any
		for range 1 + r.Intn(150) {
			records = append(records, randomRecord(r))
		}
		b := recordBatch(records)
		l.batch++
		var sel []int32
		if r.Intn(2) == 0 {
			sel = []int32{}
			for i := range records {
				if r.Intn(3) > 0 {
					sel = append(sel, int32(i))
				}
			}
		}
		check := func(i int, name, got, want string) {
			t.Helper()
			if got != want {
				t.Fatalf("%s of %q: got %q, want %q", name, records[i], got, want)
			}
		}
		order := r.Perm(len(fields) + 2)
		for _, k := range order {
			switch {
			case k == len(fields):
				v, err := faulty.eval(b, sel)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range l.rows(b.N, sel) {
					want, text := "NULL", shownValue(v, int(i))
					if _, fault := expected(t, records[i]); fault != "" {
						want = fault
					}
					check(int(i), "_error", text, want)
				}
			case k > len(fields):
				rows, err := good.choose(b, sel, true, make([]int32, b.N))
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range l.rows(b.N, sel) {
					_, fault := expected(t, records[i])
					check(int(i), "goodness", fmt.Sprint(slices.Contains(rows, i)), fmt.Sprint(fault == ""))
				}
			default:
				v, err := fields[k].eval(b, sel)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range l.rows(b.N, sel) {
					want, _ := expected(t, records[i])
					check(int(i), how.Fields()[k].Name, shownValue(v, int(i)), want[k])
				}
			}
		}
	}
}

// A bad record counts once, whatever is asked of it and in how many steps.
func TestFaultsCountOnce(t *testing.T) {
	how := NewDecoding(ordersSchema, decode.DropMalformed, "value", "json")
	x := Column(0, valueField)
	l := newLane(map[string]int{})
	id, good := l.bind(must(Decoded(x, how, 0))), asPredicate(must(WellFormed(x, how)), l)
	b := recordBatch([]any{`{"id":1}`, `{"id":"x"}`, `{`, nil, `{"id":"y","price":"z"}`})
	l.batch++
	for _, sel := range [][]int32{{0, 1}, nil, {1, 2}} {
		if _, err := id.eval(b, sel); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := good.choose(b, nil, true, make([]int32, b.N))
	if err != nil || !slices.Equal(rows, []int32{0, 3}) {
		t.Errorf("%v, %v", rows, err)
	}
	if r, f, d := l.faults.records.Load(), l.faults.fields.Load(), l.faults.dropped.Load(); r != 1 || f != 3 || d != 3 {
		t.Errorf("%d records, %d fields, %d dropped", r, f, d)
	}
}

// A part of a value that is bad leaves the value, and counts once however often the value is made.
func TestPartsOfValuesCountOnce(t *testing.T) {
	element := json.Field{Field: column.Field{Type: column.Type{Kind: column.Int32}}, Path: json.Path{}}
	list := json.Field{Field: column.Field{Name: "l", Type: column.Type{Kind: column.JSON}}, Shape: &json.Shape{Kind: json.ArrayShape, Fields: []json.Field{element}}}
	how := NewDecoding(json.NewSchema([]json.Field{list}), decode.Permissive, "value", "json")
	x := Column(0, valueField)
	l := newLane(map[string]int{})
	field, faulty := l.bind(must(Decoded(x, how, 0))), l.bind(must(DecodeError(x, how)))
	b := recordBatch([]any{`{"l":[1,"x","y"]}`, `{"l":[2]}`, `{"l":3}`, nil})
	for range 2 { // of another batch nothing is left
		l.batch++
		for range 2 {
			v, err := field.eval(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := []string{shownValue(v, 0), shownValue(v, 1), shownValue(v, 2)}; !slices.Equal(got, []string{"[1,null,null]", "[2]", "NULL"}) {
				t.Fatal(got)
			}
			if v, err = faulty.eval(b, nil); err != nil || shownValue(v, 0) != "value: 'l[]': wrong type: INT is expected, found a string 'x'" || !v.IsNull(1) || v.IsNull(2) {
				t.Fatal(shownValue(v, 0), err)
			}
		}
	}
	if n := l.faults.fields.Load(); n != 4 {
		t.Errorf("%d fields", n)
	}
}

func TestFailFastNamesTheFirstBadRecord(t *testing.T) {
	how := NewDecoding(ordersSchema, decode.FailFast, "value", "json")
	l := newLane(map[string]int{})
	good := asPredicate(must(WellFormed(Column(0, valueField), how)), l)
	l.batch++
	_, err := good.choose(recordBatch([]any{`{"id":1}`, nil, `{"price":"z"}`, `{`}), nil, true, make([]int32, 4))
	e := asRowError(err)
	if e.row != 2 || !sqlerr.HasKind(err, sqlerr.BadRecord) || !strings.Contains(e.Error(), "value: 'price': wrong type") {
		t.Errorf("row %d: %v", e.row, err)
	}
}

func BenchmarkDecoded(b *testing.B) {
	var records []any
	for i := range 1024 {
		records = append(records, fmt.Sprintf(`{"id":%d,"name":"customer %d","price":%d.25,"ratio":0.5,"paid":true,"items":[1,2,3]}`, i, i, i))
	}
	in := recordBatch(records)
	how := NewDecoding(ordersSchema, decode.Permissive, "value", "json")
	l := newLane(map[string]int{})
	id, name := l.bind(must(Decoded(Column(0, valueField), how, 0))), l.bind(must(Decoded(Column(0, valueField), how, 1)))
	b.ReportAllocs()
	for b.Loop() {
		l.batch++
		for _, e := range []evaluator{id, name} {
			if _, err := e.eval(in, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/record")
}
