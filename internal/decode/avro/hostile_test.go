package avro

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"millrace/internal/decode"
)

// Records that once hung, killed or fooled other decoders.
func TestHostileRecords(t *testing.T) {
	long := func(v int64) string { return hex.EncodeToString(appendLong(nil, v)) }
	array := func(items string) string { return `{"type":"array","items":` + items + `}` }
	tree := `{"type":"record","name":"T","fields":[{"name":"kids","type":{"type":"array","items":"T"}}]}`
	for _, c := range []struct {
		name, schema, record string
		want                 decode.Reason
	}{
		{"nothing", `"long"`, "", decode.Empty},
		{"2^40 ints", array(`"int"`), long(1<<40) + "02", decode.Malformed},
		{"2^62 longs", array(`"long"`), long(1<<62) + "02", decode.Malformed},
		{"2^28 nulls", array(`"null"`), long(1<<28) + "00", decode.Malformed},
		{"nulls in many blocks", array(`"null"`), strings.Repeat(long(4096), 2) + "00", decode.Malformed},
		{"2^63-1 nulls twice", array(`"null"`), strings.Repeat(long(math.MaxInt64), 2) + "00", decode.Malformed},
		{"the least count", array(`"int"`), long(math.MinInt64) + "00", decode.Malformed},
		{"a count of doubles that overflows", array(`"double"`), long(1<<61) + "00", decode.Malformed},
		{"a block longer than the record", array(`"int"`), long(-1) + long(100) + "02" + "00", decode.Malformed},
		{"a block of negative size", array(`"int"`), long(-1) + long(-1) + "02" + "00", decode.Malformed},
		{"a block shorter than its items", array(`"string"`), long(-2) + long(2) + "0261" + "0261" + "00", decode.Malformed},
		{"a block longer than its items", array(`"double"`), long(-1) + long(9) + "0000000000000000" + "0000", decode.Malformed},
		{"2^40 map entries", `{"type":"map","values":"null"}`, long(1<<40) + "00", decode.Malformed},
		{"a varint of eleven bytes", `"long"`, "ffffffffffffffffffff01", decode.Malformed},
		{"a varint of 65 bits", `"long"`, "ffffffffffffffffff02", decode.Malformed},
		{"an int of 34 bits", `"int"`, long(1 << 33), decode.Malformed},
		{"an unwanted int of 34 bits", `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":"int"}}]}`, "02" + long(1<<33) + "00", decode.Malformed},
		{"a length below zero", `"string"`, "01", decode.Malformed},
		{"a length beyond the record", `"string"`, "06" + "6162", decode.Truncated},
		{"a length of 2^63-1", `"bytes"`, long(math.MaxInt64), decode.Truncated},
		{"a symbol too many", `{"type":"enum","name":"E","symbols":["A"]}`, "02", decode.Malformed},
		{"a symbol below zero", `{"type":"enum","name":"E","symbols":["A"]}`, "01", decode.Malformed},
		{"a branch too many", `["null","int"]`, "04", decode.Malformed},
		{"a branch below zero", `["null","int"]`, "01", decode.Malformed},
		{"half a double", `"double"`, "00000000", decode.Truncated},
		{"half a fixed", `{"type":"fixed","name":"F","size":4}`, "0000", decode.Truncated},
		{"a byte too many", `"int"`, "0200", decode.TrailingBytes},
		{"arrays in arrays", tree, strings.Repeat("02", 2_000_000), decode.TooDeep},
		{"a record that is itself", `{"type":"record","name":"A","fields":[{"name":"a","type":"A"}]}`, "00", decode.TooDeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse(c.schema)
			if err != nil {
				t.Fatal(err)
			}
			record, err := hex.DecodeString(c.record)
			if err != nil {
				t.Fatal(err)
			}
			for _, wanted := range [][]int{nil, {0}} {
				p, err := s.Compile(wanted)
				if err != nil {
					t.Fatal(err)
				}
				d, slots := p.NewDecoder(context.Background()), make([]decode.Slot, len(wanted))
				var bad *decode.Error
				if err := d.Locate(record, slots); !errors.As(err, &bad) || bad.Reason != c.want || bad.Field != "" {
					t.Errorf("wanted %v: %v, want %v", wanted, err, c.want)
				}
			}
		})
	}
}

// A good record after a bad one is as good as ever: nothing of the bad one stays.
func TestABadRecordLeavesNoTrace(t *testing.T) {
	s, err := Parse(everySchema)
	if err != nil {
		t.Fatal(err)
	}
	deep, err := Parse(`{"type":"record","name":"T","fields":[{"name":"kids","type":{"type":"array","items":"T"}},{"name":"name","type":["null","string"]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := deep.Compile([]int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	d, slots := p.NewDecoder(context.Background()), make([]decode.Slot, 2)
	for range 3 {
		if err := d.Locate([]byte(strings.Repeat("\x02", 5000)), slots); err == nil {
			t.Fatal("a bad record is good")
		}
		if err := d.Locate([]byte("\x00\x00"), slots); err != nil || slots[0].Kind != decode.Lazy || slots[1].Kind != decode.Null {
			t.Fatalf("%v %v", err, slots)
		}
	}
	if s.root.least < 100 {
		t.Errorf("the least record of everything has %d bytes", s.root.least)
	}
}

func TestDeepButNotTooDeep(t *testing.T) {
	s, err := Parse(`{"type":"record","name":"T","fields":[{"name":"next","type":["null","T"]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Compile([]int{0})
	if err != nil {
		t.Fatal(err)
	}
	for n, good := range map[int]bool{1: true, decode.MaxDepth: true, decode.MaxDepth + 1: false, 1_000_000: false} {
		got, err := row(t, p, s.Fields(), []int{0}, []byte(strings.Repeat("\x02", n)+"\x00"))
		if (err == nil) != good {
			t.Errorf("%d records in each other: %v", n, err)
		}
		if good && strings.Count(got[0], "next") != n {
			t.Errorf("%d of %d records shown", strings.Count(got[0], "next"), n)
		}
	}
}
