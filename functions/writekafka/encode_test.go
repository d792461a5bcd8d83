package writekafka

import (
	"strings"
	"testing"

	"millrace/functions/readkafka"
	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/csv"
	"millrace/internal/decode/proto"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Texts of csv come back from the reader with the same dialect, and NULL is told from the empty text.
func FuzzCSVComesBack(f *testing.F) {
	for _, s := range []string{"", "a", "a,b", `a"b`, `a\b`, `\`, `\"`, "a\nb", " a ", `""`, "ä"} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{a, b} {
			if strings.ToValidUTF8(s, "") != s {
				t.Skip()
			}
		}
		fields := []column.Field{{Name: "a", Type: column.Type{Kind: column.Text}}, {Name: "b", Type: column.Type{Kind: column.Text}}, {Name: "c", Type: column.Type{Kind: column.Text}}}
		var batch column.Batch
		batch.Reset(fields)
		batch.Cols[0].AppendBytes([]byte(a))
		batch.Cols[1].AppendBytes([]byte(b))
		batch.Cols[2].AppendNull()
		batch.N = 1
		e := &csvEncoder{columns: []int{0, 1, 2}, kinds: []column.Kind{column.Text, column.Text, column.Text}, delimiter: ",", quote: `"`, escape: `\`}
		record, _, err := e.append(nil, &batch, 0)
		if err != nil {
			t.Fatal(err)
		}
		var read []csv.Field
		for _, f := range fields {
			read = append(read, csv.Field{Field: f})
		}
		got, nulls := decodeCSV(t, read, record)
		if got[0] != a || got[1] != b || !nulls[2] || nulls[0] || nulls[1] {
			t.Errorf("%q and %q became %q, which is read as %q, NULL %v", a, b, record, got, nulls)
		}
	})
}

// decodeCSV reads a record as read_kafka would.
func decodeCSV(t *testing.T, fields []csv.Field, record []byte) (values []string, nulls []bool) {
	t.Helper()
	schema, err := csv.NewSchema(fields, csv.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := schema.Compile([]int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, len(fields))
	if err := d.Locate(record, slots); err != nil {
		t.Fatalf("%q: %v", record, err)
	}
	for i, s := range slots {
		made := record
		if s.Kind == decode.Lazy {
			if s, made, err = d.Settle(record, i, s, nil); err != nil {
				t.Fatalf("%q: %v", record, err)
			}
			if s.Kind == decode.View {
				made = record
			}
		}
		text := ""
		if s.Kind != decode.Null {
			text = string(made[s.Beg:s.End])
		}
		values, nulls = append(values, text), append(nulls, s.Kind == decode.Null)
	}
	return values, nulls
}

// fuzzEnv is an environment without anything that could be reached.
var fuzzEnv = readkafka.ArgsEnv{MaxBatchBytes: 64 << 20}

func TestMessageIndexes(t *testing.T) {
	files, err := proto.ParseText(`syntax = "proto3"; message A { message B { message C { int32 x = 1; } } message D { int32 x = 1; } } message E { int32 x = 1; }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"A": "\x00", "E": "\x02\x02", "A.B": "\x04\x00\x00", "A.D": "\x04\x00\x02", "A.B.C": "\x06\x00\x00\x00"} {
		m, err := files.Message(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.AppendIndex(nil)); got != want {
			t.Errorf("%s has index %q, want %q", name, got, want)
		}
		path, rest, err := proto.MessageIndex(append(m.AppendIndex(nil), "rest"...))
		if err != nil || string(rest) != "rest" {
			t.Errorf("%s: %v, %q, %v", name, path, rest, err)
		}
		if again, err := files.MessageByIndex(path); err != nil || again.Name() != m.Name() {
			t.Errorf("%s comes back as %v, %v", name, again, err)
		}
	}
}

func TestTimesAsText(t *testing.T) {
	for _, test := range []struct {
		kind  column.Kind
		value int64
		want  string
	}{
		{column.Date, 0, "1970-01-01"}, {column.Date, -1, "1969-12-31"}, {column.Timestamp, 1_500, "1970-01-01 00:00:00.001500"}, {column.Timestamp, -1000, "1969-12-31 23:59:59.999"},
		{column.Time, 0, "00:00:00"}, {column.Time, -3_661_000_001, "-01:01:01.000001"}, {column.Time, 838*3600e6 + 59*60e6 + 59e6, "838:59:59"}, {column.Uint64, -1, "18446744073709551615"},
	} {
		v := column.Vector{Type: column.Type{Kind: test.kind}, Int: []int64{test.value}}
		if got := string(appendText(nil, test.kind, &v, 0)); got != test.want {
			t.Errorf("%v %d is '%s', want '%s'", test.kind, test.value, got, test.want)
		}
	}
}

func TestRecordNames(t *testing.T) {
	for topic, want := range map[string]string{"orders": "Orders", "shop.orders-eu_v2": "ShopOrdersEuV2", "2024-sales": "Sales", "": "Row", "_1": "Row"} {
		if got := recordName(topic); got != want {
			t.Errorf("topic '%s' gives %s, want %s", topic, got, want)
		}
	}
}

// Nothing that a user may give brings the binder down, and its errors are the user's.
func FuzzBind(f *testing.F) {
	f.Add("topic", "out", "acks", "1")
	f.Add("format", "avro", "schema", "{")
	f.Add("metadataColumns", "key,", "format", "json")
	f.Add("producerConfigUpdates", `{"schema.registry.url":"http://x","linger.ms":5}`, "format", "json")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		pairs := []option.Pair{{Name: "bootstrapServers", Value: "b:1"}, {Name: name1, Value: value1}, {Name: name2, Value: value2}}
		a, err := Bind(pairs, fuzzEnv)
		if err != nil {
			if _, ok := sqlerr.As(err); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		_, _ = a.Plan([]column.Field{{Name: "value", Type: column.Type{Kind: column.Text}}, {Name: "key", Type: column.Type{Kind: column.Int64}}}) // any error is fine
	})
}

// Whatever stands in the column headers, it is headers or an error of the row.
func FuzzHeaders(f *testing.F) {
	for _, s := range []string{`[{"key":"a","value":"text"},{"key":"a","value":null},{"key":"b","value":{"base64":"AP8="}}]`, `[]`, `null`, `[{"value":"x"}]`, `[{"key":"a","value":1}]`, `{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w := &Writer{}
		err := w.headers(text)
		if err != nil && !sqlerr.HasKind(err, sqlerr.SinkRow) {
			t.Errorf("%T: %v", err, err)
		}
	})
}
