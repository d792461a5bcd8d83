package framed

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// jsonWriters are schemas 1 to 9 of JSON records; the field n is id-specific: schema 2 calls it m. Schema 66 cannot be asked for, all others are unknown.
type jsonWriters struct {
	asked   atomic.Int64
	indexed bool
}

var errDown = errors.New("the registry is down")

var fields = []column.Field{{Name: "n", Type: column.Type{Kind: column.Int64}}, {Name: "s", Type: column.Type{Kind: column.Text}}}

func (w *jsonWriters) Fields() []column.Field { return fields }

func (w *jsonWriters) SplitIndex(body []byte) (index, rest []byte, err error) {
	if !w.indexed {
		return nil, body, nil
	}
	if len(body) == 0 {
		return nil, nil, &decode.Error{Reason: decode.Truncated, Offset: 0}
	}
	return body[:1], body[1:], nil
}

func (w *jsonWriters) Compile(_ context.Context, named ID, index []byte, wanted []int) (decode.Plan, error) {
	w.asked.Add(1)
	id := named.Number
	name := "n"
	if named.Global {
		id = 1
	}
	switch {
	case id == 66:
		return nil, errDown
	case id == 2 || string(index) == "\x02":
		name = "m"
	case id > 9:
		return nil, &decode.Error{Reason: decode.UnknownSchemaID, Offset: -1, Detail: fmt.Sprintf("there is no schema %d", id)}
	}
	return json.NewSchema([]json.Field{{Field: fields[0], Path: json.Path{{Name: name}}}, {Field: fields[1]}}).Compile(wanted)
}

func record(id uint32, rest string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, id), rest...)
}

// decoded shows what a decoder makes of a record.
func decoded(d decode.Decoder, rec []byte) string {
	slots := make([]decode.Slot, 2)
	if err := d.Locate(rec, slots); err != nil {
		return err.Error()
	}
	var parts []string
	for i, s := range slots {
		scratch := []byte("..")
		if s.Kind == decode.Lazy {
			var err error
			if s, scratch, err = d.Settle(rec, i, s, scratch); err != nil {
				parts = append(parts, err.Error())
				continue
			}
		}
		switch s.Kind {
		case decode.Int:
			parts = append(parts, fmt.Sprint(s.Int))
		case decode.View:
			parts = append(parts, string(rec[s.Beg:s.End]))
		case decode.Made:
			parts = append(parts, string(scratch[s.Beg:s.End]))
		default:
			parts = append(parts, "NULL")
		}
	}
	return strings.Join(parts, " ")
}

func newDecoder(t testing.TB, w Writers) decode.Decoder {
	t.Helper()
	plan, err := New(w).Compile([]int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	return plan.NewDecoder(context.Background())
}

func TestEachRecordIsReadWithItsWritersSchema(t *testing.T) {
	w := &jsonWriters{}
	d := newDecoder(t, w)
	for _, c := range []struct {
		record []byte
		want   string
	}{
		{record(1, `{"n":1,"s":"a"}`), "1 a"},
		{record(1, `{"n":2,"s":"b\u00e4"}`), "2 bä"},
		{record(2, `{"m":3,"n":4}`), "3 NULL"},
		{record(1, `{"n":5}`), "5 NULL"},
		{record(1, `{"n":"x"}`), "'n': wrong type: BIGINT is expected, found a string 'x' at byte 10 NULL"},
		{record(1, `{`), "truncated at byte 6"},
		{record(1, ``), "empty"},
		{record(7000, `{}`), "unknown schema id: there is no schema 7000"},
		{record(66, `{}`), "the registry is down"},
		{[]byte(`{"n":1}`), "no schema id: the first byte is 0x7b, that of a record with a schema id is 0; it begins like JSON, which format => 'json' reads without 'schemaRegistryUrl' at byte 0"},
		{[]byte{0, 0, 0, 1}, "no schema id: the record ends within the id at byte 4"},
		{nil, "empty"},
		{record(2, `{"m":6}`), "6 NULL"},
	} {
		if got := decoded(d, c.record); got != c.want {
			t.Errorf("%q: got %s, want %s", c.record, got, c.want)
		}
	}
	if n := w.asked.Load(); n != 4 {
		t.Errorf("schemas were asked for %d times", n)
	}
}

func TestSettleFindsTheDecoderOfItsRecord(t *testing.T) {
	d := newDecoder(t, &jsonWriters{})
	first, second := record(1, `{"n":"1"}`), record(2, `{"m":"2"}`) // strings, which Locate leaves to Settle
	slots, others := make([]decode.Slot, 2), make([]decode.Slot, 2)
	if err := errors.Join(d.Locate(first, slots), d.Locate(second, others)); err != nil {
		t.Fatal(err)
	}
	for want, rec := range [][]byte{first, second} {
		s := [][]decode.Slot{slots, others}[want][0]
		if s, _, err := d.Settle(rec, 0, s, nil); err != nil || s.Int != int64(want+1) {
			t.Errorf("%v, %v", s, err)
		}
	}
}

func TestMessagesOfOneSchemaAreToldApart(t *testing.T) {
	d := newDecoder(t, &jsonWriters{indexed: true})
	for rec, want := range map[string]string{
		"\x00" + `{"n":1,"m":2}`: "1 NULL", "\x02" + `{"n":1,"m":2}`: "2 NULL", "": "truncated at byte 5", "\x00" + `{"n":`: "truncated at byte 11",
	} {
		if got := decoded(d, record(1, rec)); got != want {
			t.Errorf("%q: got %s, want %s", rec, got, want)
		}
	}
}

// headed shows what a decoder makes of a record with a header.
func headed(d decode.Decoder, header, rec string) string {
	h := d.(decode.Headed)
	defer h.SetHeader(nil)
	h.SetHeader([]byte(header))
	return decoded(d, []byte(rec))
}

func TestHeadersNameSchemas(t *testing.T) {
	w := &jsonWriters{indexed: true}
	d := newDecoder(t, w)
	guid := "\x01\x89\x79\x17\x62\x23\x36\x41\x86\x96\x74\x29\x9b\x90\xa8\x02\xe2"
	for _, c := range []struct{ header, record, want string }{
		{"\x00\x00\x00\x00\x01\x00", `{"n":1,"m":9,"s":"a"}`, "1 a"},
		{"\x00\x00\x00\x00\x01\x02", `{"m":2}`, "2 NULL"},
		{"\x00\x00\x00\x00\x01\x00", `{"n":`, "truncated at byte 5"},
		{guid + "\x00", `{"n":3,"m":4}`, "3 NULL"},
		{guid + "\x02", `{"n":3,"m":4}`, "4 NULL"},
		{guid, `{"n":3}`, "truncated"},
		{guid[:16], `{"n":3}`, "no schema id: the header for it ends within the id"},
		{"", `{"n":3}`, "no schema id: the header for it is empty"},
		{"\x07", `{"n":3}`, "no schema id: the header for it begins with 0x07, known are 0 and 1"},
		{"\x00\x00\x00\x1b\x58\x00", `{}`, "unknown schema id: there is no schema 7000"},
		{"\x00\x00\x00\x00\x42\x00", `{}`, "the registry is down"},
	} {
		if got := headed(d, c.header, c.record); got != c.want {
			t.Errorf("%q, %q: got %s, want %s", c.header, c.record, got, c.want)
		}
		// A record without a header is read as before.
		if got := decoded(d, record(1, "\x00{\"n\":5}")); got != "5 NULL" {
			t.Errorf("without a header: %s", got)
		}
	}
	if got := (ID{Global: true, GUID: [16]byte([]byte(guid[1:]))}).String(); got != "89791762-2336-4186-9674-299b90a802e2" {
		t.Error(got)
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x01\x00"), []byte(`{"n":1}`))
	f.Add([]byte("\x01\x89\x79\x17\x62\x23\x36\x41\x86\x96\x74\x29\x9b\x90\xa8\x02\xe2\x02"), []byte(`{"m":1}`))
	f.Fuzz(func(t *testing.T, header, rec []byte) {
		d := newDecoder(t, &jsonWriters{indexed: true})
		if once, again := headed(d, string(header), string(rec)), headed(d, string(header), string(rec)); once != again {
			t.Fatalf("%q, %q: %s, then %s", header, rec, once, again)
		}
	})
}

// However many ids a topic holds, a decoder keeps few.
func TestManyIDs(t *testing.T) {
	d := newDecoder(t, &jsonWriters{indexed: true})
	for i := range 3 * maxDecoders {
		if got := decoded(d, record(uint32(i%9+1), string([]byte{byte(i), '{', '}'}))); got != "NULL NULL" {
			t.Fatal(got)
		}
	}
	if n := len(d.(*decoder).byPrefix); n > maxDecoders {
		t.Errorf("%d decoders are kept", n)
	}
}

func FuzzFramed(f *testing.F) {
	f.Add(record(1, `{"n":1}`), false)
	f.Add(record(1, "\x02{}"), true)
	f.Add([]byte{0, 0}, true)
	f.Fuzz(func(t *testing.T, rec []byte, indexed bool) {
		w := &jsonWriters{indexed: indexed}
		d := newDecoder(t, w)
		got := decoded(d, rec)
		if again := decoded(newDecoder(t, w), bytes.Clone(rec)); again != got {
			t.Fatalf("%q: %s, then %s", rec, got, again)
		}
		if again := decoded(d, rec); again != got {
			t.Fatalf("%q: %s, then %s", rec, got, again)
		}
	})
}

func BenchmarkRunsOfOneSchema(b *testing.B) {
	d, slots := newDecoder(b, &jsonWriters{}), make([]decode.Slot, 2)
	rec := record(1, `{"n":1,"s":"text"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Locate(rec, slots); err != nil {
			b.Fatal(err)
		}
	}
}
