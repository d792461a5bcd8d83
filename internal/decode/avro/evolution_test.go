package avro

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/decode"
)

// A reader's columns over records of a writer's schema. Schemas are lists of fields; shown is the first column.
func TestEvolution(t *testing.T) {
	for _, c := range []struct{ name, reader, writer, value, shown string }{
		{"same", `{"name":"a","type":"int"}`, `{"name":"a","type":"int"}`, `{"a":1}`, "1"},
		{"reordered", `{"name":"a","type":"int"}`, `{"name":"b","type":"string"},{"name":"a","type":"int"}`, `{"b":"x","a":1}`, "1"},
		{"removed", `{"name":"a","type":"int"}`, `{"name":"b","type":"string"}`, `{"b":"x"}`, "NULL"},
		{"removed, with a default", `{"name":"a","type":"int","default":-5}`, `{"name":"b","type":"string"}`, `{"b":"x"}`, "-5"},
		{"default of text", `{"name":"a","type":"string","default":"žluť"}`, ``, `{}`, "žluť"},
		{"default null", `{"name":"a","type":["null","string"],"default":null}`, ``, `{}`, "NULL"},
		{"default of a decimal", `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":5,"scale":2},"default":"\u0004\u00d2"}`, ``, `{}`, "12.34"},
		{"default of an enum", `{"name":"a","type":{"type":"enum","name":"E","symbols":["A","B"]},"default":"B"}`, ``, `{}`, "B"},
		{"default of a record", `{"name":"a","type":{"type":"record","name":"Q","fields":[{"name":"x","type":"int"},{"name":"y","type":{"type":"array","items":"long"}}]},"default":{"x":1,"y":[2]}}`, ``, `{}`, `{"x":1,"y":[2]}`},
		{"default of a fixed uuid", `{"name":"a","type":{"type":"fixed","name":"U","size":16,"logicalType":"uuid"},"default":"aaaaaaaaaaaaaaaa"}`, ``, `{}`, "61616161-6161-6161-6161-616161616161"},
		{"default of the second branch", `{"name":"a","type":["null","int"],"default":5}`, ``, `{}`, "5"},
		{"default that does not fit", `{"name":"a","type":"int","default":"five"}`, ``, `{}`, "NULL"},
		{"null stays null in a field with a default", `{"name":"a","type":["int","null"],"default":5}`, `{"name":"a","type":["int","null"],"default":5}`, `{"a":null}`, "NULL"},
		{"alias", `{"name":"a","aliases":["x","old"],"type":"int"}`, `{"name":"old","type":"int"}`, `{"old":1}`, "1"},
		{"a name before an alias", `{"name":"a","aliases":["b"],"type":"int"},{"name":"b","type":"int"}`, `{"name":"b","type":"int"}`, `{"b":1}`, "NULL"},
		{"plain to nullable", `{"name":"a","type":["null","int"]}`, `{"name":"a","type":"int"}`, `{"a":1}`, "1"},
		{"nullable to plain", `{"name":"a","type":"int"}`, `{"name":"a","type":["null","int"]}`, `{"a":{"int":1}}`, "1"},
		{"nullable to plain, null", `{"name":"a","type":"int"}`, `{"name":"a","type":["null","int"]}`, `{"a":null}`, "NULL"},
		{"int to long", `{"name":"a","type":"long"}`, `{"name":"a","type":"int"}`, `{"a":1}`, "1"},
		{"long to int", `{"name":"a","type":"int"}`, `{"name":"a","type":"long"}`, `{"a":1}`, "1"},
		{"long to int, too large", `{"name":"a","type":"int"}`, `{"name":"a","type":"long"}`, `{"a":2147483648}`, fieldError},
		{"int to double", `{"name":"a","type":"double"}`, `{"name":"a","type":"int"}`, `{"a":-1}`, "bff0000000000000"},
		{"long to float", `{"name":"a","type":"float"}`, `{"name":"a","type":"long"}`, `{"a":1}`, "3ff0000000000000"},
		{"double to long, integral", `{"name":"a","type":"long"}`, `{"name":"a","type":"double"}`, `{"a":12.0}`, "12"},
		{"double to long, not integral", `{"name":"a","type":"long"}`, `{"name":"a","type":"double"}`, `{"a":12.5}`, fieldError},
		{"string to bytes", `{"name":"a","type":"bytes"}`, `{"name":"a","type":"string"}`, `{"a":"ab"}`, "[97 98]"},
		{"bytes to string", `{"name":"a","type":"string"}`, `{"name":"a","type":"bytes"}`, `{"a":"ab"}`, "ab"},
		{"bytes to string, not text", `{"name":"a","type":"string"}`, `{"name":"a","type":"bytes"}`, `{"a":"ÿ"}`, fieldError},
		{"long to string", `{"name":"a","type":"string"}`, `{"name":"a","type":"long"}`, `{"a":9007199254740993}`, "9007199254740993"},
		{"string to long", `{"name":"a","type":"long"}`, `{"name":"a","type":"string"}`, `{"a":" 7 "}`, "7"},
		{"string to long, no number", `{"name":"a","type":"long"}`, `{"name":"a","type":"string"}`, `{"a":"seven"}`, fieldError},
		{"boolean to string", `{"name":"a","type":"string"}`, `{"name":"a","type":"boolean"}`, `{"a":true}`, "true"},
		{"enum to string", `{"name":"a","type":"string"}`, `{"name":"a","type":{"type":"enum","name":"E","symbols":["A","B"]}}`, `{"a":"B"}`, "B"},
		{"enum, symbols reordered", `{"name":"a","type":{"type":"enum","name":"E","symbols":["B","A"]}}`, `{"name":"a","type":{"type":"enum","name":"E","symbols":["A","B"]}}`, `{"a":"B"}`, "B"},
		{"enum, a new symbol", `{"name":"a","type":{"type":"enum","name":"E","symbols":["A"]}}`, `{"name":"a","type":{"type":"enum","name":"E","symbols":["A","B"]}}`, `{"a":"B"}`, "B"},
		{"enum, a new symbol and a default", `{"name":"a","type":{"type":"enum","name":"E","symbols":["A","OTHER"],"default":"OTHER"}}`, `{"name":"a","type":{"type":"enum","name":"E","symbols":["A","B"]}}`, `{"a":"B"}`, "OTHER"},
		{"millis to micros", `{"name":"a","type":{"type":"long","logicalType":"timestamp-micros"}}`, `{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}}`, `{"a":3}`, "3000"},
		{"date to timestamp", `{"name":"a","type":{"type":"long","logicalType":"timestamp-micros"}}`, `{"name":"a","type":{"type":"int","logicalType":"date"}}`, `{"a":2}`, "172800000000"},
		{"timestamp to date", `{"name":"a","type":{"type":"int","logicalType":"date"}}`, `{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}}`, `{"a":-1}`, "-1"},
		{"the reader gives a number its meaning", `{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}}`, `{"name":"a","type":"long"}`, `{"a":3}`, "3000"},
		{"the reader takes the meaning away", `{"name":"a","type":"long"}`, `{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}}`, `{"a":3}`, "3"},
		{"timestamp to text", `{"name":"a","type":"string"}`, `{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}}`, `{"a":3}`, "1970-01-01T00:00:00.003Z"},
		{"text to timestamp", `{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}}`, `{"name":"a","type":"string"}`, `{"a":"1970-01-01 00:00:01"}`, "1000000"},
		{"text to time", `{"name":"a","type":{"type":"int","logicalType":"time-millis"}}`, `{"name":"a","type":"string"}`, `{"a":"00:00:01.5"}`, "1500000"},
		{"decimal, another scale", `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":4}}`, `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}`, `{"a":"\u0004\u00d2"}`, "12.3400"},
		{"decimal, less scale", `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":1}}`, `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}`, `{"a":"\u0004\u00d3"}`, "12.4"},
		{"decimal, another size", `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":1}}`, `{"name":"a","type":{"type":"fixed","name":"F","size":2,"logicalType":"decimal","precision":4,"scale":1}}`, `{"a":"\u0004\u00d2"}`, "123.4"},
		{"the reader says that bytes are a decimal", `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":1}}`, `{"name":"a","type":"bytes"}`, `{"a":"\u0004\u00d2"}`, "123.4"},
		{"decimal to text", `{"name":"a","type":"string"}`, `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}`, `{"a":"ÿ"}`, "-0.01"},
		{"int to decimal", `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}`, `{"name":"a","type":"int"}`, `{"a":-7}`, "-7.00"},
		{"text to decimal", `{"name":"a","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}`, `{"name":"a","type":"string"}`, `{"a":"1e3"}`, "1000.00"},
		{"record to a renamed record", `{"name":"a","type":{"type":"record","name":"New","fields":[{"name":"x","type":"long"}]}}`, `{"name":"a","type":{"type":"record","name":"Old","fields":[{"name":"x","type":"int"},{"name":"y","type":"int"}]}}`, `{"a":{"x":1,"y":2}}`, `{"x":1,"y":2}`},
		{"record to a number", `{"name":"a","type":"long"}`, `{"name":"a","type":{"type":"record","name":"Old","fields":[{"name":"x","type":"int"}]}}`, `{"a":{"x":1}}`, fieldError},
		{"union to number, the branch that fits", `{"name":"a","type":"long"}`, `{"name":"a","type":["null","string","long"]}`, `{"a":{"long":5}}`, "5"},
		{"union to number, text that is one", `{"name":"a","type":"long"}`, `{"name":"a","type":["null","string","long"]}`, `{"a":{"string":"5"}}`, "5"},
		{"number to union", `{"name":"a","type":["null","string","long"]}`, `{"name":"a","type":"long"}`, `{"a":5}`, "5"},
		{"text to union", `{"name":"a","type":["null","string","long"]}`, `{"name":"a","type":"string"}`, `{"a":"5"}`, `"5"`},
		{"uuid of bytes to uuid of text", `{"name":"a","type":{"type":"string","logicalType":"uuid"}}`, `{"name":"a","type":{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}}`, `{"a":"aaaaaaaaaaaaaaaa"}`, "61616161-6161-6161-6161-616161616161"},
		{"double to float", `{"name":"a","type":"float"}`, `{"name":"a","type":"double"}`, `{"a":0.1}`, "3fb99999a0000000"},
		{"double to float, too large", `{"name":"a","type":"float"}`, `{"name":"a","type":"double"}`, `{"a":1e300}`, fieldError},
		{"int to float", `{"name":"a","type":"float"}`, `{"name":"a","type":"int"}`, `{"a":16777217}`, "4170000000000000"},
		{"text to float", `{"name":"a","type":"float"}`, `{"name":"a","type":"string"}`, `{"a":"0.1"}`, "3fb99999a0000000"},
		{"fixed to a longer fixed", `{"name":"a","type":{"type":"fixed","name":"F","size":3}}`, `{"name":"a","type":{"type":"fixed","name":"F","size":2}}`, `{"a":"ab"}`, "[97 98]"},
		{"fixed to a shorter fixed", `{"name":"a","type":{"type":"fixed","name":"F","size":1}}`, `{"name":"a","type":{"type":"fixed","name":"F","size":2}}`, `{"a":"ab"}`, fieldError},
		{"bytes to a fixed, too long", `{"name":"a","type":{"type":"fixed","name":"F","size":1}}`, `{"name":"a","type":"bytes"}`, `{"a":"ab"}`, fieldError},
		{"an enum's new symbol that is too long", `{"name":"a","type":{"type":"enum","name":"E","symbols":["A"]}}`, `{"name":"a","type":{"type":"enum","name":"E","symbols":["A","LONGER"]}}`, `{"a":"LONGER"}`, fieldError},
		{"text to uuid, too long", `{"name":"a","type":{"type":"string","logicalType":"uuid"}}`, `{"name":"a","type":"string"}`, `{"a":"6ba7b810-9dad-11d1-80b4-00c04fd430c8!"}`, fieldError},
		{"text to uuid, more bytes than characters", `{"name":"a","type":{"type":"string","logicalType":"uuid"}}`, `{"name":"a","type":"string"}`, `{"a":"žžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžž"}`, "žžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžžž"},
		{"int to boolean", `{"name":"a","type":"boolean"}`, `{"name":"a","type":"int"}`, `{"a":1}`, "true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader, err := Parse(`{"type":"record","name":"Reader","fields":[` + c.reader + `]}`)
			if err != nil {
				t.Fatal(err)
			}
			text := `{"type":"record","name":"Writer","fields":[` + c.writer + `]}`
			writer, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			wanted := []int{0}
			if len(reader.Fields()) > 1 {
				wanted = []int{0, 1}
			}
			p, err := reader.CompileFrom(writer, wanted)
			if err != nil {
				t.Fatal(err)
			}
			got, err := row(t, p, reader.Fields(), wanted, encodeJSON(t, text, c.value))
			if err != nil || got[0] != c.shown {
				t.Errorf("%q, %v; want %q", got, err, c.shown)
			}
		})
	}
}

func TestWriterWithoutFields(t *testing.T) {
	reader, err := Parse(`{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := Parse(`"string"`)
	if err != nil {
		t.Fatal(err)
	}
	var bad *decode.Error
	if _, err := reader.CompileFrom(writer, []int{0}); !errors.As(err, &bad) || bad.Reason != decode.WrongType {
		t.Errorf("%v", err)
	}
	// The other way round a record is the one value, as JSON or as what the column takes.
	union, err := Parse(`["string",{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]},{"type":"record","name":"B","fields":[{"name":"y","type":"int"}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := union.CompileFrom(reader, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	got, err := row(t, p, union.Fields(), []int{0}, []byte{14})
	if d := cmp.Diff([]string{`{"a":7}`}, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestSingleObjectEncoding(t *testing.T) {
	text := `{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}`
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	body := encodeJSON(t, text, `{"a":"tea"}`)
	framed := newOracle(t, text).schema
	record, err := framed.AppendSingleObject(nil, map[string]any{"a": "tea"})
	if err != nil {
		t.Fatal(err)
	}
	fingerprint, rest, ok := SingleObject(record)
	if !ok || fingerprint != s.Fingerprint() || string(rest) != string(body) {
		t.Errorf("%x %x %v", fingerprint, rest, ok)
	}
	if _, _, ok := SingleObject(record[:9]); ok {
		t.Error("nine bytes have no fingerprint")
	}
	p, err := s.Compile([]int{0})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][]byte{record, body} {
		got, err := row(t, p, s.Fields(), []int{0}, r)
		if err != nil || got[0] != "tea" {
			t.Errorf("%x: %v %v", r, got, err)
		}
	}
}

func TestWholeRecordsAsJSON(t *testing.T) {
	text := `{"type":"record","name":"R","fields":[{"name":"a","type":["null","string"]},{"name":"b","type":{"type":"long","logicalType":"timestamp-millis"}}]}`
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w := s.NewRecordJSON()
	for range 2 {
		got, err := w.Append([]byte("> "), encodeJSON(t, text, `{"a":{"string":"tea"},"b":1}`))
		if string(got) != `> {"a":"tea","b":"1970-01-01T00:00:00.001Z"}` || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		for bad, reason := range map[string]decode.Reason{"": decode.Empty, "\x02": decode.Truncated, "\x02\x02\xff\x00": decode.InvalidUTF8, "\x00\x00\x00": decode.TrailingBytes} {
			var e *decode.Error
			if got, err := w.Append([]byte("> "), []byte(bad)); string(got) != "> " || !errors.As(err, &e) || e.Reason != reason {
				t.Errorf("%x: %s, %v", bad, got, err)
			}
		}
	}
}
