package json

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"millrace/internal/column"
	"millrace/internal/decode"
)

func field(name string, t column.Type, width uint32) Field {
	return Field{Field: column.Field{Name: name, Type: t, Nullable: true, Width: width}}
}

// decodeAll decodes one record and shows each field: a value, NULL, or the error.
func decodeAll(t testing.TB, s *Schema, record string) ([]string, error) {
	t.Helper()
	wanted := make([]int, len(s.Fields()))
	for i := range wanted {
		wanted[i] = i
	}
	plan, err := s.Compile(wanted)
	if err != nil {
		t.Fatal(err)
	}
	return decodeWith(plan.NewDecoder(context.Background()), s.Fields(), record)
}

func decodeWith(d decode.Decoder, fields []column.Field, record string) ([]string, error) {
	slots := make([]decode.Slot, len(fields))
	if err := d.Locate([]byte(record), slots); err != nil {
		return nil, err
	}
	shown := make([]string, len(slots))
	scratch := []byte("before")
	for i, s := range slots {
		var err error
		if s.Kind == decode.Lazy {
			if s, scratch, err = d.Settle([]byte(record), i, s, scratch); err != nil {
				shown[i] = err.Error()
				continue
			}
		}
		switch s.Kind {
		case decode.Null:
			shown[i] = "NULL"
		case decode.Int:
			shown[i] = strconv.FormatInt(s.Int, 10)
			if fields[i].Type.Kind == column.Uint64 {
				shown[i] = strconv.FormatUint(uint64(s.Int), 10)
			}
		case decode.Float:
			shown[i] = fmt.Sprint(math.Float64frombits(uint64(s.Int)))
		case decode.View:
			shown[i] = record[s.Beg:s.End]
		case decode.Made:
			shown[i] = string(scratch[s.Beg:s.End])
		}
	}
	return shown, nil
}

func TestValuesByType(t *testing.T) {
	types := map[string]Field{
		"BOOLEAN": field("x", column.Type{Kind: column.Bool}, 0), "TINYINT": field("x", column.Type{Kind: column.Int32}, 8), "SMALLINT": field("x", column.Type{Kind: column.Int32}, 16),
		"INT": field("x", column.Type{Kind: column.Int32}, 0), "BIGINT": field("x", column.Type{Kind: column.Int64}, 0), "UNSIGNED": field("x", column.Type{Kind: column.Uint64}, 0),
		"FLOAT": field("x", column.Type{Kind: column.Float64}, 32), "DOUBLE": field("x", column.Type{Kind: column.Float64}, 0),
		"DECIMAL": field("x", column.Type{Kind: column.Decimal, Precision: 38, Scale: 2}, 0), "STRING": field("x", column.Type{Kind: column.Text}, 0), "VARCHAR(3)": field("x", column.Type{Kind: column.Text}, 3),
		"BINARY": field("x", column.Type{Kind: column.Bytes}, 0), "DATE": field("x", column.Type{Kind: column.Date}, 0), "TIME": field("x", column.Type{Kind: column.Time, Scale: 6}, 0),
		"TIMESTAMP": field("x", column.Type{Kind: column.Timestamp, Scale: 6}, 0), "JSON": field("x", column.Type{Kind: column.JSON}, 0),
	}
	ntz := types["TIMESTAMP"]
	ntz.WallClock = true
	types["TIMESTAMP_NTZ"] = ntz
	variant := types["JSON"]
	variant.KeepNull = true
	types["VARIANT"] = variant
	for _, c := range []struct{ typ, json, want string }{
		{"BOOLEAN", `true`, "1"}, {"BOOLEAN", `false`, "0"}, {"BOOLEAN", `"True"`, "1"}, {"BOOLEAN", `1`, "'x': wrong type: BOOLEAN is expected, found a number '1' at byte 5"},
		{"TINYINT", `-128`, "-128"}, {"TINYINT", `128`, "'x': out of range: '128' does not fit TINYINT at byte 5"}, {"SMALLINT", `32768`, "'x': out of range: '32768' does not fit SMALLINT at byte 5"},
		{"INT", `2147483647`, "2147483647"}, {"INT", `2147483648`, "'x': out of range: '2147483648' does not fit INT at byte 5"}, {"INT", `"7"`, "7"}, {"INT", `1.5`, "'x': wrong type: INT is expected, found a number '1.5' at byte 5"},
		{"BIGINT", `9007199254740993`, "9007199254740993"}, {"BIGINT", `-9223372036854775808`, "-9223372036854775808"}, {"BIGINT", `1e3`, "1000"}, {"BIGINT", `1.0`, "1"},
		{"BIGINT", `9223372036854775808`, "'x': out of range: '9223372036854775808' does not fit BIGINT at byte 5"}, {"BIGINT", `"a"`, "'x': wrong type: BIGINT is expected, found a string 'a' at byte 5"},
		{"BIGINT", `true`, "'x': wrong type: BIGINT is expected, found a boolean at byte 5"}, {"BIGINT", `[1]`, "'x': wrong type: BIGINT is expected, found an array at byte 5"}, {"BIGINT", `null`, "NULL"},
		{"BIGINT", `1669859068457630240`, "1669859068457630240"}, {"BIGINT", `-7210194211959421178`, "-7210194211959421178"},
		{"UNSIGNED", `18446744073709551615`, "18446744073709551615"}, {"UNSIGNED", `-1`, "'x': out of range: '-1' does not fit BIGINT UNSIGNED at byte 5"},
		{"FLOAT", `1.1`, fmt.Sprint(float64(float32(1.1)))}, {"FLOAT", `1e39`, "'x': out of range: '1e39' does not fit FLOAT at byte 5"},
		{"DOUBLE", `1e400`, "'x': out of range: '1e400' does not fit DOUBLE at byte 5"}, {"DOUBLE", `0.1`, "0.1"}, {"DOUBLE", `"NaN"`, "'x': wrong type: DOUBLE is expected, found a string 'NaN' at byte 5"},
		{"DECIMAL", `1234567891234567891234567891234567.89`, "1234567891234567891234567891234567.89"}, {"DECIMAL", `"0.005"`, "0.01"}, {"DECIMAL", `1.2E36`, "'x': out of range: '1.2E36' does not fit DECIMAL(38,2) at byte 5"},
		{"DECIMAL", `23958446825181076828`, "23958446825181076828.00"}, {"DECIMAL", `{}`, "'x': wrong type: DECIMAL(38,2) is expected, found an object at byte 5"},
		{"STRING", `"a\u00e4\n"`, "aä\n"}, {"STRING", `""`, ""}, {"STRING", `"null"`, "null"}, {"STRING", `1.50`, "1.50"}, {"STRING", `{"a": [1]}`, `{"a": [1]}`}, {"STRING", `true`, "true"}, {"STRING", `"\ud83d"`, "\uFFFD"},
		{"VARCHAR(3)", `"äöü"`, "äöü"}, {"VARCHAR(3)", `"\u00e4bc"`, "äbc"}, {"VARCHAR(3)", `"abcd"`, "'x': out of range: 'abcd' does not fit STRING at byte 5"}, {"VARCHAR(3)", `1`, "1"},
		{"BINARY", `"AAEC/w=="`, "\x00\x01\x02\xff"}, {"BINARY", `"AAEC/w"`, "\x00\x01\x02\xff"}, {"BINARY", `"?"`, "'x': wrong type: a string that is not base64 at byte 5"}, {"BINARY", `1`, "'x': wrong type: BINARY is expected, found a number '1' at byte 5"},
		{"DATE", `"1970-01-02"`, "1"}, {"DATE", `"2026-02-30"`, "'x': wrong type: DATE is expected, found a string '2026-02-30' at byte 5"},
		{"TIME", `"01:00:00.5"`, "3600500000"}, {"TIME", `"25:00"`, "'x': wrong type: TIME(6) is expected, found a string '25:00' at byte 5"}, {"TIME", `"1970-01-01"`, "'x': wrong type: TIME(6) is expected, found a string '1970-01-01' at byte 5"},
		{"TIMESTAMP", `"1970-01-01T01:00:00+01:00"`, "0"}, {"TIMESTAMP", `1.5`, "1500000"}, {"TIMESTAMP", `-1`, "-1000000"}, {"TIMESTAMP", `1700000000000000`, "'x': out of range: '1700000000000000' does not fit TIMESTAMP(6) at byte 5"},
		{"TIMESTAMP_NTZ", `"1970-01-01T01:00:00+01:00"`, "3600000000"},
		{"JSON", `{"b":1.50,"a":"\u0061"}`, `{"b":1.50,"a":"\u0061"}`}, {"JSON", `null`, "NULL"}, {"VARIANT", `null`, "null"}, {"JSON", `"s"`, `"s"`},
	} {
		got, err := decodeAll(t, NewSchema([]Field{types[c.typ]}), `{"x":`+c.json+`}`)
		if err != nil || got[0] != c.want {
			t.Errorf("%s %s: got %q, %v; want %q", c.typ, c.json, got, err, c.want)
		}
	}
}

func TestFieldsOfARecord(t *testing.T) {
	s := NewSchema([]Field{field("id", column.Type{Kind: column.Int64}, 0), field("name", column.Type{Kind: column.Text}, 0),
		{Field: column.Field{Name: "city", Type: column.Type{Kind: column.Text}}, Path: Path{{Name: "place"}, {Name: "city"}}}})
	for record, want := range map[string]string{
		`{"id":1,"name":"a","place":{"city":"Ulm"}}`: `[1 a Ulm] <nil>`,
		`{}`:                      `[NULL NULL NULL] <nil>`,
		`{"ID":1,"id":2,"id":3}`:  `[3 NULL NULL] <nil>`,
		` {"place":[]} `:          `[NULL NULL NULL] <nil>`,
		`[{"id":1}]`:              `[] wrong type: an object is expected, found an array at byte 0`,
		`null`:                    `[] wrong type: an object is expected, found null at byte 0`,
		``:                        `[] empty`,
		` `:                       `[] truncated at byte 1`,
		`{"id":1`:                 `[] truncated at byte 7`,
		`{"id":1}x`:               `[] malformed at byte 8`,
		`{"id":1,"other":tru}`:    `[] malformed at byte 16`,
		"{\"other\":\"\xff\"}":    `[] invalid UTF-8 at byte 10`,
		"\x00{}":                  `[] malformed at byte 0`,
		"\xef\xbb\xbf{}":          `[] malformed at byte 0`,
		strings.Repeat("[", 2000): `[] nested too deep at byte 1000`,
	} {
		got, err := decodeAll(t, s, record)
		if shown := fmt.Sprint(got, err); shown != want {
			t.Errorf("%.40q: got %s, want %s", record, shown, want)
		}
	}
	if got, err := decodeAll(t, Whole("value"), " [1, null]"); err != nil || got[0] != "[1, null]" {
		t.Error(got, err)
	}
	if got, err := decodeAll(t, Whole("value"), "null"); err != nil || got[0] != "null" {
		t.Error(got, err)
	}
}

// A decoder that has seen a bad record decodes the next as if it had not.
func TestBadRecordsLeaveNoTrace(t *testing.T) {
	s := NewSchema([]Field{field("id", column.Type{Kind: column.Int64}, 0)})
	plan, err := s.Compile([]int{0})
	if err != nil {
		t.Fatal(err)
	}
	d := plan.NewDecoder(context.Background())
	for _, record := range []string{`{"id":1}`, `{"id":`, `{"id":1}`, ``, `{"id":"x"}`, `{"id":1}`} {
		got, err := decodeWith(d, s.Fields(), record)
		if record == `{"id":1}` && (err != nil || got[0] != "1") {
			t.Error(got, err)
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":"x","c":{"d":[1,2]},"t":"2026-01-02T03:04:05Z"}`, `{"a":1e400,"b":"\u00e4","n":"12.5"}`, `[1]`, `{"a":"9223372036854775808"}`} {
		f.Add([]byte(s))
	}
	s := NewSchema([]Field{field("a", column.Type{Kind: column.Int64}, 0), field("b", column.Type{Kind: column.Text}, 0), field("c", column.Type{Kind: column.JSON}, 0),
		field("t", column.Type{Kind: column.Timestamp, Scale: 6}, 0), field("n", column.Type{Kind: column.Decimal, Precision: 20, Scale: 3}, 0), field("b", column.Type{Kind: column.Bytes}, 0)})
	f.Fuzz(func(t *testing.T, record []byte) {
		got, err := decodeAll(t, s, string(record))
		good := utf8.Valid(record) && stdjson.Valid(record) && bytes.HasPrefix(bytes.TrimLeft(record, " \t\r\n"), []byte("{"))
		var tree map[string]any
		if numbers := stdjson.NewDecoder(bytes.NewReader(record)); good {
			numbers.UseNumber()
			if err := numbers.Decode(&tree); err != nil {
				t.Fatal(err)
			}
		}
		var bad *decode.Error
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("%q: %v", record, err)
		}
		if good != (err == nil) && (bad == nil || bad.Reason != decode.TooDeep) {
			t.Fatalf("%q: %v, but the standard library says %v", record, err, good)
		}
		if text, ok := tree["b"].(string); err == nil && ok && got[1] != text {
			t.Fatalf("%q: b is %q, want %q", record, got[1], text)
		}
		if c, ok := tree["c"]; err == nil && ok && c != nil && !stdjson.Valid([]byte(got[2])) {
			t.Fatalf("%q: c is %q", record, got[2])
		}
	})
}

func BenchmarkFields(b *testing.B) {
	record := []byte(`{"order_id":123456,"customer_id":1234,"status":"paid","amount":123.45,"placed":"2026-01-02T03:04:05.678Z","note":"a short note","items":[{"sku":"a-1","n":2},{"sku":"b-2","n":1}]}`)
	s := NewSchema([]Field{field("order_id", column.Type{Kind: column.Int64}, 0), field("status", column.Type{Kind: column.Text}, 0), field("amount", column.Type{Kind: column.Decimal, Precision: 10, Scale: 2}, 0),
		field("placed", column.Type{Kind: column.Timestamp, Scale: 6}, 0)})
	plan, err := s.Compile([]int{0, 1, 2, 3})
	if err != nil {
		b.Fatal(err)
	}
	d, slots := plan.NewDecoder(context.Background()), make([]decode.Slot, 4)
	var scratch []byte
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Locate(record, slots); err != nil {
			b.Fatal(err)
		}
		scratch = scratch[:0]
		for i, s := range slots {
			if s.Kind == decode.Lazy {
				if _, scratch, err = d.Settle(record, i, s, scratch); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
