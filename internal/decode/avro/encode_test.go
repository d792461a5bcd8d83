package avro

import (
	"context"
	"strconv"
	"testing"

	"millrace/internal/decode"
)

func TestEncodedJSONIsReadBack(t *testing.T) {
	s, err := Parse(`{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"note","type":["null","string"],"default":null},{"name":"n","type":{"type":"array","items":"int"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"id":9007199254740993,"note":"a","n":[1,2]}`: "9007199254740993 a [1,2]",
		`{"id":1,"n":[]}`: "1  []",
	} {
		record, err := e.AppendJSON(nil, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		plan, err := s.Compile([]int{0, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		d, slots := plan.NewDecoder(context.Background()), make([]decode.Slot, 3)
		if err := d.Locate(record, slots); err != nil {
			t.Fatal(err)
		}
		note := record[slots[1].Beg:slots[1].End]
		list, scratch, err := d.Settle(record, 2, slots[2], nil)
		if got := strconv.FormatInt(slots[0].Int, 10) + " " + string(note) + " " + string(scratch[list.Beg:list.End]); err != nil || got != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{`{`, `{"id":"x","n":[]}`, `{"n":[]}`, `[]`, `{"id":1,"n":[]} x`} {
		if out, err := e.AppendJSON([]byte("before"), []byte(text)); err == nil || string(out) != "before" {
			t.Errorf("%s is encoded as %q", text, out)
		}
	}
}
