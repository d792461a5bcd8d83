package serde

import (
	"fmt"
	"math"
	"testing"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// shown is the column of a record as text, or the error.
func shown(t *testing.T, format, record string) string {
	t.Helper()
	s, err := New(format, "key")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Compile([]int{0})
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, 1)
	bad := d.Locate([]byte(record), nil) // only checked
	if err := d.Locate([]byte(record), slots); err != nil || bad != nil {
		if err == nil || bad == nil || err.Error() != bad.Error() {
			t.Errorf("%v, but %v when nothing is wanted", err, bad)
		}
		return err.Error()
	}
	v := slots[0]
	if v.Kind == decode.Lazy {
		if v, _, err = d.Settle([]byte(record), 0, v, nil); err != nil {
			return err.Error()
		}
	}
	switch v.Kind {
	case decode.Int:
		return fmt.Sprint(v.Int)
	case decode.Float:
		return fmt.Sprint(math.Float64frombits(uint64(v.Int)))
	default:
		return record[v.Beg:v.End]
	}
}

func TestWhatKafkaSerializersWrite(t *testing.T) {
	for _, c := range []struct{ format, record, want string }{
		{"short", "\x7f\xff", "32767"},
		{"SHORT", "\x80\x00", "-32768"},
		{"int", "\xff\xff\xff\xff", "-1"},
		{"int", "\x7f\xff\xff\xff", "2147483647"},
		{"long", "\x00\x20\x00\x00\x00\x00\x00\x01", "9007199254740993"},
		{"long", "\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808"},
		{"float", "\x3d\xcc\xcc\xcd", "0.10000000149011612"},
		{"float", "\x7f\xc0\x00\x00", "'key': out of range: a number that is not finite at byte 0"},
		{"double", "\x3f\xb9\x99\x99\x99\x99\x99\x9a", "0.1"},
		{"double", "\xff\xf0\x00\x00\x00\x00\x00\x00", "'key': out of range: a number that is not finite at byte 0"},
		{"uuid", "123e4567-e89b-12D3-a456-426614174000", "123e4567-e89b-12D3-a456-426614174000"},
		{"uuid", "123e4567-e89b-12d3-a456-42661417400g", "malformed: no UUID"},
		{"uuid", "123e4567ae89b-12d3-a456-426614174000", "malformed: no UUID"},
		{"uuid", "0123456789abcdef", "truncated: 16 bytes, uuid has 36"},
		{"string", "", ""},
		{"string", "čaj", "čaj"},
		{"string", "a\xff", "invalid UTF-8"},
		{"long", "", "truncated: 0 bytes, long has 8"},
		{"long", "1234567", "truncated: 7 bytes, long has 8"},
		{"int", "12345", "trailing bytes: 5 bytes, int has 4"},
	} {
		if got := shown(t, c.format, c.record); got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.format, c.record, got, c.want)
		}
	}
}

func TestColumns(t *testing.T) {
	want := map[string]column.Field{
		"short": {Type: column.Type{Kind: column.Int32}, Width: 16}, "int": {Type: column.Type{Kind: column.Int32}}, "long": {Type: column.Type{Kind: column.Int64}},
		"float": {Type: column.Type{Kind: column.Float64}, Width: 32}, "double": {Type: column.Type{Kind: column.Float64}},
		"uuid": {Type: column.Type{Kind: column.Text}, Width: 36, Fixed: true}, "string": {Type: column.Type{Kind: column.Text}},
	}
	for _, name := range Names() {
		s, err := New(name, "value")
		if err != nil {
			t.Fatal(err)
		}
		f := want[name]
		f.Name, f.Nullable = "value", true
		if got := s.Fields(); len(got) != 1 || got[0] != f {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := New("bytes", "value"); err == nil {
		t.Error("bytes is a format")
	}
}

func FuzzLocate(f *testing.F) {
	var decoders []decode.Decoder
	for i, name := range Names() {
		s, err := New(name, "key")
		if err != nil {
			f.Fatal(err)
		}
		decoders = append(decoders, s.NewDecoder(f.Context()))
		f.Add(uint8(i), []byte("123e4567-e89b-12d3-a456-426614174000")[:max(0, kinds[i].size)])
	}
	f.Fuzz(func(t *testing.T, i uint8, record []byte) {
		d, slots := decoders[int(i)%len(decoders)], make([]decode.Slot, 1)
		if d.Locate(record, slots) == nil && int(slots[0].End) > len(record) {
			t.Fatalf("%q gives %+v", record, slots[0])
		}
	})
}
