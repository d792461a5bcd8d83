package ddl

import (
	"strings"
	"testing"
)

func TestInfer(t *testing.T) {
	for _, c := range []struct {
		want    string
		used    int
		records []string
	}{
		{"a BIGINT, b STRING", 1, []string{`{"a":1,"b":"x"}`}},
		{"b STRING, a DOUBLE, c BOOLEAN", 2, []string{`{"b":null,"a":1}`, `{"a":1.5,"c":true}`}},
		{"a DECIMAL(38,0)", 2, []string{`{"a":1}`, `{"a":18446744073709551616}`}},
		{"a STRING", 2, []string{`{"a":1}`, `{"a":"1"}`}},
		{"a ARRAY<STRUCT<x: BIGINT, y: STRING>>", 2, []string{`{"a":[{"x":1}]}`, `{"a":[{"y":null},{"x":2}]}`}},
		{"a STRUCT<>, `odd name` ARRAY<STRING>", 1, []string{`{"a":{},"odd name":[],"":1}`}},
		{"a BIGINT", 1, []string{`[1]`, `{`, ``, "{\"a\":\"\xff\"}", `{"a":1}`}},
		{"a BIGINT, A STRING, s STRUCT<b: BIGINT>", 1, []string{`{"a":1,"A":"x","s":{"b":1,"B":2}}`}},
		{"", 0, nil},
	} {
		var records [][]byte
		for _, r := range c.records {
			records = append(records, []byte(r))
		}
		columns, used := Infer(records)
		if got := Text(columns); got != c.want || used != c.used {
			t.Errorf("%q: got %s of %d, want %s of %d", c.records, got, used, c.want, c.used)
		}
	}
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	if typ, err := InferType([]byte(deep)); err != nil || !strings.Contains(typ.String(), "VARIANT") {
		t.Errorf("%v, %v", typ, err)
	}
	if _, err := InferType([]byte("{")); err == nil {
		t.Error("half an object has a type")
	}
}

// FuzzInferType: what is inferred is a type that can be written and read.
func FuzzInferType(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,{"b":null}],"c":"x","C":99999999999999999999}`))
	f.Add([]byte(`[[],[{}]]`))
	f.Fuzz(func(t *testing.T, value []byte) {
		typ, err := InferType(value)
		if err != nil {
			return
		}
		again, err := ParseType(typ.String())
		if err != nil || again.String() != typ.String() {
			t.Fatalf("%q: %s is read as %s, %v", value, typ, again, err)
		}
	})
}
