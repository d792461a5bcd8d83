package debezium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"millrace/internal/column"
	"millrace/internal/decode"
	fields "millrace/internal/decode/json"
)

var rowFields = []fields.Field{
	{Field: column.Field{Name: "id", Type: column.Type{Kind: column.Int64}}},
	{Field: column.Field{Name: "name", Type: column.Type{Kind: column.Text}}},
}

func decoded(t testing.TB, s *Schema, wanted []int, record string) string {
	t.Helper()
	plan, err := s.Compile(wanted)
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(context.Background()), make([]decode.Slot, len(wanted))
	if err := d.Locate([]byte(record), slots); err != nil {
		return err.Error()
	}
	var parts []string
	for i, s := range slots {
		var scratch []byte
		if s.Kind == decode.Lazy {
			if s, scratch, err = d.Settle([]byte(record), i, s, nil); err != nil {
				parts = append(parts, err.Error())
				continue
			}
		}
		switch s.Kind {
		case decode.Int:
			parts = append(parts, fmt.Sprint(s.Int))
		case decode.View:
			parts = append(parts, record[s.Beg:s.End])
		case decode.Made:
			parts = append(parts, string(scratch[s.Beg:s.End]))
		default:
			parts = append(parts, "NULL")
		}
	}
	return strings.Join(parts, "|")
}

func TestEnvelopes(t *testing.T) {
	s := NewSchema(rowFields)
	all := []int{0, 1, 2, 3, 4}
	for record, want := range map[string]string{
		`{"before":null,"after":{"id":1,"name":"a\u00e4"},"source":{"ts_ms":1700000000000},"op":"c","ts_ms":1}`: `1|aä|c|1700000000000000|NULL`,
		`{"before":{"id":1},"after":{"id":2,"name":null},"source":{"ts_ms":1,"ts_us":1500},"op":"u"}`:           `2|NULL|u|1500|{"id":1}`,
		`{"before":{"id":3,"name":"x"},"after":null,"op":"d"}`:                                                  `3|x|d|NULL|{"id":3,"name":"x"}`,
		`{"before":null,"op":"d"}`: `NULL|NULL|d|NULL|NULL`,
		`{"schema":{"type":"struct"},"payload":{"before":null,"after":{"id":"7"},"op":"r"}}`: `7|NULL|r|NULL|NULL`,
		`{"schema":null,"payload":null}`: `NULL|NULL|NULL|NULL|NULL`,
		`{"after":{"id":"x"},"op":"c"}`:  `'id': wrong type: BIGINT is expected, found a string 'x' at byte 15|NULL|c|NULL|NULL`,
		`{"after":[1],"op":"c"}`:         `wrong type: an object is expected, found an array at byte 9`,
		`{"id":1}`:                       `wrong type: the record is no Debezium envelope: it has no 'op' at byte 0`,
		`[]`:                             `wrong type: the record is no Debezium envelope: it has no 'op' at byte 0`,
		`{"op":"c"`:                      `truncated at byte 9`,
		``:                               `empty`,
	} {
		if got := decoded(t, s, all, record); got != want {
			t.Errorf("%s: got %s, want %s", record, got, want)
		}
	}
	if got := decoded(t, s, []int{1, 3}, `{"after":{"id":1,"name":"a"},"source":{"ts_ms":5},"op":"c"}`); got != "a|5000" {
		t.Error(got)
	}
	if got := decoded(t, s, nil, `{"after":{"id":1},"op":"c"}`); got != "" {
		t.Error(got)
	}
}

func TestFieldsFromTheSchemaOfARecord(t *testing.T) {
	const record = `{"schema":{"type":"struct","fields":[{"field":"before","type":"struct","fields":[]},{"field":"after","type":"struct","fields":[
		{"field":"id","type":"int64"},{"field":"flag","type":"boolean"},{"field":"small","type":"int16"},{"field":"day","type":"int32","name":"io.debezium.time.Date"},
		{"field":"at","type":"int64","name":"io.debezium.time.MicroTimestamp"},{"field":"zoned","type":"string","name":"io.debezium.time.ZonedTimestamp"},
		{"field":"price","type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2","connect.decimal.precision":"10"}},
		{"field":"raw","type":"bytes"},{"field":"list","type":"array"}]}]},
		"payload":{"op":"c","after":{"id":9007199254740993,"flag":true,"small":-3,"day":1,"at":1500,"zoned":"1970-01-01T00:00:01Z","price":"/nI=","raw":"AAE=","list":[1]}}}`
	found, _, exact := Sample([][]byte{[]byte("x"), []byte(record)})
	if !exact {
		t.Fatal("the schema is not found")
	}
	s := NewSchema(found)
	var types []string
	wanted := make([]int, len(found))
	for i, f := range found {
		types, wanted[i] = append(types, f.Type.String()), i
	}
	if got := strings.Join(types, " "); got != "int64 bool int32 date timestamp(6) timestamp(6) decimal(10,2) bytes json" {
		t.Error(got)
	}
	if got, want := decoded(t, s, wanted, record), "9007199254740993|1|-3|1|1500|1000000|-3.98|\x00\x01|[1]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, rows, exact := Sample([][]byte{[]byte(`{"op":"c","after":{"a":1},"before":null}`), []byte(`{"payload":{"op":"d","before":{"b":2}}}`), []byte(`{`)})
	if exact || len(rows) != 2 || string(rows[1]) != `{"b":2}` {
		t.Errorf("%s, %v", rows, exact)
	}
}

func FuzzEnvelopes(f *testing.F) {
	f.Add([]byte(`{"before":{"id":1},"after":{"id":2,"name":"\u00e4"},"source":{"ts_ms":1},"op":"u"}`))
	f.Add([]byte(`{"schema":{},"payload":{"op":"d","before":{"name":"x"}}}`))
	s := NewSchema(rowFields)
	f.Fuzz(func(t *testing.T, record []byte) {
		plan, err := s.Compile([]int{0, 1, 2, 3, 4})
		if err != nil {
			t.Fatal(err)
		}
		err = plan.NewDecoder(context.Background()).Locate(record, make([]decode.Slot, 5))
		var bad *decode.Error
		if err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		if err == nil && !json.Valid(record) {
			t.Fatalf("%q is accepted", record)
		}
		decoded(t, s, []int{0, 1, 2, 3, 4}, string(record))
		Sample([][]byte{record})
	})
}
