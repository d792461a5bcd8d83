package proto

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/encoding/protojson"
	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// TestEncoding runs testdata/encode/*: a schema, whose first message is meant, and what becomes of JSON: the record, shown as JSON again, or the error.
func TestEncoding(t *testing.T) {
	datadriven.Walk(t, "testdata/encode", func(t *testing.T, path string) {
		var m *Message
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "schema" {
				files, err := ParseText(d.Input, nil)
				if err != nil {
					t.Fatal(err)
				}
				if m, err = files.MessageByIndex([]int{0}); err != nil {
					t.Fatal(err)
				}
				return ""
			}
			record, err := m.NewEncoder().AppendJSON(nil, []byte(strings.TrimSpace(d.Input)))
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			text, err := m.NewRecordJSON().Append(nil, record)
			if err != nil {
				t.Fatal(err)
			}
			return string(text) + "\n"
		})
	})
}

// encoding compares an Encoder with protojson and with itself.
type encoding struct {
	*checker
	encoder *Encoder
	writer  *RecordJSON
}

func newEncoding(t testing.TB, m *Message) *encoding {
	return &encoding{checker: newChecker(t, m), encoder: m.NewEncoder(), writer: m.NewRecordJSON()}
}

// check takes a record to JSON and back. compared reports whether protojson, which has no JSON for some values, could take part.
func (e *encoding) check(t tester, record []byte) (compared bool) {
	t.Helper()
	text, err := e.writer.Append([]byte("before"), record)
	if err != nil {
		t.Fatalf("%v, record %x", err, record)
	}
	text = text[len("before"):]
	again, err := e.encoder.AppendJSON([]byte("before"), text)
	if tooWide(err) {
		return false
	}
	if err != nil {
		t.Fatalf("%v, JSON %s", err, text)
	}
	again = again[len("before"):]
	back, err := e.writer.Append(nil, again)
	if err != nil {
		t.Fatalf("%v, JSON %s", err, text)
	}
	if canonical(text) != canonical(back) {
		t.Fatalf("JSON\n%s\ncomes back as\n%s", text, back)
	}
	got, ok := oracle(e.md, again)
	if !ok {
		t.Fatalf("not a record: %x of %s", again, text)
	}
	want := dynamicpb.NewMessage(e.md)
	types := dynamicpb.NewTypes(e.message.files.all)
	if err := (protojson.UnmarshalOptions{AllowPartial: true, Resolver: types}).Unmarshal(text, want); err != nil {
		return false
	}
	if !googleproto.Equal(got.Interface(), want) {
		t.Fatalf("JSON %s is\n%v, want\n%v", text, got, want)
	}
	return true
}

// tooWide reports whether an encoder refused a decimal with more digits than SQL has, as random ones are.
func tooWide(err error) bool {
	bad, ok := err.(*decode.Error)
	return ok && bad.Reason == decode.OutOfRange
}

func TestRecordsComeBackFromJSON(t *testing.T) {
	// protojson knows nothing of decimals as numbers.
	comparable := mustMessage(t, regexp.MustCompile(`confluent\.type\.Decimal [^;]*;`).ReplaceAllString(proto3Text, ""), "test.All")
	for i, m := range append(schemas(t), comparable) {
		e := newEncoding(t, m)
		r := random{rand.New(rand.NewPCG(11, uint64(i)))}
		compared := 0
		for range 500 {
			if e.check(t, r.record(t, e.md)) {
				compared++
			}
		}
		t.Logf("%s: %d of 500 compared with protojson", m.Name(), compared)
	}
}

func TestRecordsOfGeneratedSchemasComeBackFromJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := newEncoding(t, mustMessage(t, schemaText(rt), "gen.M0"))
		r := random{rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
		for range 10 {
			e.check(rt, r.record(t, e.md))
		}
	})
}

func TestRowsComeBackAsTheyWere(t *testing.T) {
	for i, m := range schemas(t) {
		c := newChecker(t, m)
		encoder := m.NewEncoder()
		r := random{rand.New(rand.NewPCG(13, uint64(i)))}
		first, second := make([]decode.Slot, len(m.fields)), make([]decode.Slot, len(m.fields))
		for range 300 {
			record := r.record(t, c.md)
			if err := c.all.Locate(record, first); err != nil {
				t.Fatal(err)
			}
			cols := vectors(t, c.all, record, first, m.fields)
			again, err := encoder.AppendRow(nil, cols, 1)
			if tooWide(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.all.Locate(again, second); err != nil {
				t.Fatal(err)
			}
			for k, f := range m.fields {
				if err := c.all.Locate(record, first); err != nil {
					t.Fatal(err)
				}
				want, err := settled(c.all, record, k, first[k], f)
				if err != nil {
					t.Fatal(err)
				}
				got, err := settled(c.all, again, k, second[k], f)
				if err != nil {
					t.Fatal(err)
				}
				if want == any(fault{}) {
					continue // NULL in the row
				}
				if got != want {
					t.Fatalf("%s: got %v, want %v, record %x", f.Name, got, want, record)
				}
			}
		}
	}
}

// vectors has the columns of a record in row 1, behind a row of NULLs.
func vectors(t *testing.T, d decode.Decoder, record []byte, slots []decode.Slot, fields []column.Field) []column.Vector {
	t.Helper()
	cols := make([]column.Vector, len(fields))
	for i, f := range fields {
		v := &cols[i]
		v.Reset(f.Type)
		v.AppendNull()
		s, scratch := slots[i], []byte(nil)
		if s.Kind == decode.Lazy {
			var err error
			if s, scratch, err = d.Settle(record, i, s, nil); err != nil {
				s = decode.Slot{}
			}
		}
		switch s.Kind {
		case decode.Null:
			v.AppendNull()
		case decode.Int:
			v.AppendInt(s.Int)
		case decode.Float:
			v.AppendFloat(math.Float64frombits(uint64(s.Int)))
		case decode.View:
			v.AppendBytes(record[s.Beg:s.End])
		case decode.Made:
			v.AppendBytes(scratch[s.Beg:s.End])
		}
	}
	return cols
}

func FuzzEncode(f *testing.F) {
	var encodings []*encoding
	for i, m := range schemas(f) {
		e := newEncoding(f, m)
		encodings = append(encodings, e)
		r := random{rand.New(rand.NewPCG(17, uint64(i)))}
		for range 2 {
			text, err := e.writer.Append(nil, r.record(f, e.md))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), text)
		}
	}
	f.Add(uint8(0), []byte(`{"any":{"@type":"x/test.Inner","id":1},"st":{"a":[null,1]},"at":"2026-01-01T00:00:00+01:00","took":"-1.5s","i64":"7","raw":"_-8"}`))
	f.Fuzz(func(t *testing.T, i uint8, text []byte) {
		e := encodings[int(i)%len(encodings)]
		record, err := e.encoder.AppendJSON(nil, text)
		if err != nil {
			return
		}
		if _, ok := oracle(e.md, record); !ok {
			t.Fatalf("not a record: %x", record)
		}
		if _, err := e.writer.Append(nil, record); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEncodingRowsDoesNotAllocate(t *testing.T) {
	m, _, records := orders(t, 1)
	plan, err := m.Compile([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, len(m.fields))
	if err := d.Locate(records[0], slots); err != nil {
		t.Fatal(err)
	}
	cols := vectors(t, d, records[0], slots, m.fields)
	e, dst := m.NewEncoder(), make([]byte, 0, 4096)
	var protoErr error
	if n := testing.AllocsPerRun(100, func() { _, protoErr = e.AppendRow(dst, cols, 1) }); n != 0 || protoErr != nil {
		t.Errorf("%v allocations, %v", n, protoErr)
	}
}
