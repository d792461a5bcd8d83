package json

import (
	"context"
	"errors"
	"testing"

	"millrace/internal/decode"
	"millrace/internal/decode/ddl"
)

// shaped decodes the one column v of a type.
func shaped(t testing.TB, typ, record string) (string, *decode.Error) {
	t.Helper()
	columns, err := ddl.Parse("v " + typ)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewSchema(Declared(columns)).Compile([]int{0})
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(context.Background()), make([]decode.Slot, 1)
	var bad *decode.Error
	if err := d.Locate([]byte(record), slots); err != nil {
		errors.As(err, &bad)
		return "NULL", bad
	}
	s, scratch := slots[0], []byte("..")
	if s.Kind == decode.Lazy {
		if s, scratch, err = d.Settle([]byte(record), 0, s, scratch); err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
	}
	return string(AppendSlot(nil, columns[0].Field(), s, []byte(record), scratch)), bad
}

func TestValuesHaveTheirDeclaredShape(t *testing.T) {
	for _, c := range []struct{ typ, value, want, fault string }{
		{"STRUCT<a: INT, b: STRUCT<c: BOOLEAN>>", `{"b":{"c":"true","d":1},"x":[],"a":"5"}`, `{"a":5,"b":{"c":true}}`, ""},
		{"STRUCT<a: INT, b: STRUCT<c: BOOLEAN>>", `{"b":{"c":7}}`, `{"a":null,"b":{"c":null}}`, "'v.b.c': wrong type: BOOLEAN is expected, found a number '7'"},
		{"STRUCT<a: INT, b: STRUCT<c: BOOLEAN>>", `{"b":7,"a":1}`, `{"a":1,"b":null}`, "'v.b': wrong type: STRUCT is expected, found a number"},
		{"ARRAY<STRUCT<a: DECIMAL(5,2)>>", `[{"a":1},null,{"a":"99999"},[]]`, `[{"a":1.00},null,{"a":null},null]`, "'v[].a': out of range: '99999' does not fit DECIMAL(5,2)"},
		{"MAP<STRING, ARRAY<TINYINT>>", `{ "k\n": [1 , 300], "l":null }`, `{"k\n":[1,null],"l":null}`, "'v[][]': out of range: '300' does not fit TINYINT"},
		{"ARRAY<DATE>", `["2026-01-02","x"]`, `["2026-01-02",null]`, "'v[]': wrong type: DATE is expected, found a string 'x'"},
		{"ARRAY<STRING>", `[1,{"a":2},"t"]`, `["1","{\"a\":2}","t"]`, ""},
		{"ARRAY<INT>", `{}`, `null`, "'v': wrong type: ARRAY is expected, found an object at byte 5"},
		{"ARRAY<INT>", `null`, `null`, ""},
		{"ARRAY<BINARY>", `["/w==","!"]`, `["/w==",null]`, "'v[]': wrong type: a string that is not base64"},
	} {
		got, bad := shaped(t, c.typ, `{"v":`+c.value+`}`)
		fault := ""
		if bad != nil {
			fault = bad.Error()
		}
		if got != c.want || fault != c.fault {
			t.Errorf("%s of %s: got %s (%s)\nwant %s (%s)", c.value, c.typ, got, fault, c.want, c.fault)
		}
	}
}

func FuzzShape(f *testing.F) {
	f.Add(`{"a":1,"b":[{"c":"2026-01-02"}],"m":{"x":1.5}}`)
	f.Add(`{"a":"\ud800","b":[null,[1,2]],"m":{"\u0000":"NaN","":[]}}`)
	f.Fuzz(func(t *testing.T, value string) {
		const typ = "STRUCT<a: STRING, b: ARRAY<STRUCT<c: TIMESTAMP>>, m: MAP<STRING, DOUBLE>>"
		if got, _ := shaped(t, typ, `{"v":`+value+`}`); !Valid([]byte(got)) && got != "NULL" {
			t.Fatalf("%q became %q", value, got)
		}
	})
}
