package avro

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// A record that becomes JSON, or a row, and a record again shows the same.
func TestRecordsComeBack(t *testing.T) {
	for name, text := range testSchemas {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, text)
			rng := rand.New(rand.NewPCG(11, 11))
			w, e, shown := writer{rng: rng}, s.schema.NewEncoder(), s.schema.NewRecordJSON()
			back, rows := 0, 0
			for range 300 {
				record := w.value(nil, s.schema.root)
				before, err := shown.Append(nil, record)
				if err != nil {
					continue // text that is not UTF-8, a decimal that is too long
				}
				again, err := e.AppendJSON([]byte("x"), before)
				if err != nil {
					// DECIMAL holds less than Avro's decimals.
					var bad *decode.Error
					if errors.As(err, &bad) && (bad.Field == "huge" || bad.Field == "dec" || bad.Field == "dec38") {
						continue
					}
					t.Fatalf("%v: %s", err, before)
				}
				if again[0] != 'x' || !s.check(t, again[1:]) {
					t.Fatalf("not a record: %x of %s", again, before)
				}
				after, err := shown.Append(nil, again[1:])
				if err != nil || canonical(t, string(after)) != canonical(t, string(before)) {
					t.Fatalf("%v: before %s\nafter %s", err, before, after)
				}
				back++
				if encodesRow(t, s, e, record) {
					rows++
				}
			}
			if back < 10 || rows < 10 && name != "every" {
				t.Errorf("%d records by JSON and %d by rows say too little", back, rows)
			}
		})
	}
}

// encodesRow makes vectors of a record and a record of them. It reports false where a column has no value for what is in the record.
func encodesRow(t *testing.T, s *subject, e *Encoder, record []byte) bool {
	t.Helper()
	fields := s.schema.Fields()
	d, slots := s.plan.NewDecoder(context.Background()), make([]decode.Slot, len(fields))
	if err := d.Locate(record, slots); err != nil {
		t.Fatal(err)
	}
	cols := make([]column.Vector, len(fields))
	for i, slot := range slots {
		v := &cols[i]
		v.Reset(fields[i].Type)
		data := record
		if slot.Kind == decode.Lazy {
			var err error
			if slot, data, err = d.Settle(record, i, slot, nil); err != nil {
				return false
			}
			if slot.Kind == decode.View {
				data = record
			}
		}
		switch slot.Kind {
		case decode.Null:
			v.AppendNull()
		case decode.Int:
			v.AppendInt(slot.Int)
		case decode.Float:
			v.AppendFloat(math.Float64frombits(uint64(slot.Int)))
		default:
			v.AppendBytes(data[slot.Beg:slot.End])
		}
	}
	if s.schema.IsRecord() && s.schema.root.wire == union && len(record) == 1 {
		return true // a null in place of the record; as a row it is a record of NULLs
	}
	again, err := e.AppendRow(nil, cols, 0)
	if err != nil {
		t.Fatalf("%v: %x", err, record)
	}
	want, err := row(t, s.plan, fields, s.all, record)
	if err != nil {
		t.Fatal(err)
	}
	got, err := row(t, s.plan, fields, s.all, again)
	if err != nil {
		t.Fatalf("%v: %x", err, again)
	}
	for i := range want {
		cut := fields[i].Type.Kind == column.JSON
		if cut && want[i] != "NULL" {
			want[i], got[i] = canonical(t, want[i]), canonical(t, got[i])
		}
		if got[i] != want[i] {
			t.Fatalf("column %s: %s became %s", fields[i].Name, want[i], got[i])
		}
	}
	return true
}

func TestWhatCannotBeEncoded(t *testing.T) {
	s, err := Parse(`{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":7},{"name":"b","type":["null","string"]},{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}},
	 {"name":"f","type":{"type":"fixed","name":"F","size":2}},{"name":"r","type":["null",{"type":"record","name":"N","fields":[{"name":"x","type":"boolean"},{"name":"l","type":{"type":"array","items":"long"}}]}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	e, shown := s.NewEncoder(), s.NewRecordJSON()
	record, err := e.AppendJSON(nil, []byte(`{"f":"YWI=", "e":"A"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := shown.Append(nil, record); string(got) != `{"a":7,"b":null,"e":"A","f":"YWI=","r":null}` || err != nil {
		t.Errorf("%s %v", got, err)
	}
	for text, want := range map[string]string{
		`{`:                    "malformed: not valid JSON at byte 1",
		`[]`:                   "wrong type: an object is expected, found '[]'",
		`{"e":"A"}`:            "'f': wrong type: NULL, which the schema does not allow",
		`{"e":"B","f":"YWI="}`: "'e': wrong type: a symbol of the enum is expected, found 'B'",
		`{"e":"A","f":"YQ=="}`: "'f': out of range: bytes of another length than the fixed",
		`{"e":"A","f":"*"}`:    `'f': wrong type: base64 is expected, found '"*"'`,
		`{"a":2147483648}`:     "'a': out of range: a number that does not fit int",
		`{"a":1.5}`:            "'a': wrong type: an integer is expected, found '1.5'",
		`{"zz":1}`:             "'zz': wrong type: the record has no such field",
		`{"e":"A","f":"YWI=","r":{"x":1,"l":[]}}`:           "'r.x': wrong type: true or false is expected, found '1'",
		`{"e":"A","f":"YWI=","r":{"x":true,"l":[1,"two"]}}`: `'r.l': wrong type: an integer is expected, found '"two"'`,
	} {
		if got, err := e.AppendJSON([]byte("x"), []byte(text)); err == nil || err.Error() != want || string(got) != "x" {
			t.Errorf("%s: %v, %q; want %s", text, err, got, want)
		}
	}
}

// A value that fits no branch is found out without trying every combination.
func TestUnionsInUnions(t *testing.T) {
	s, err := Parse(`{"type":"record","name":"A","fields":[{"name":"n","type":["null","A",{"type":"record","name":"B","fields":[{"name":"n","type":["null","A","B"]}]}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat(`{"n":`, 500) + "1" + strings.Repeat("}", 500)
	if _, err := s.NewEncoder().AppendJSON(nil, []byte(text)); err == nil {
		t.Error("a number is no record")
	}
}

// FuzzEncode wants a record of all that is taken.
func FuzzEncode(f *testing.F) {
	s := newSubject(f, everySchema)
	w, shown := writer{rng: rand.New(rand.NewPCG(2, 2))}, s.schema.NewRecordJSON()
	for range 100 { // most have text that is not UTF-8
		if text, err := shown.Append(nil, w.value(nil, s.schema.root)); err == nil {
			f.Add(text)
		}
	}
	f.Add([]byte(`{"tree":{"label":"","left":{"children":[]}}}`))
	e := s.schema.NewEncoder()
	f.Fuzz(func(t *testing.T, text []byte) {
		if record, err := e.AppendJSON(nil, text); err == nil {
			s.check(t, record)
		}
	})
}
