package proto

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/encoding/prototext"
	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
)

// TestValues runs testdata/values/*: schemas, and what their columns show of records.
//
//	schema       the reader's schema; its first message is meant
//	writer       the writer's, where it is another one
//	record       a record in Protobuf's text format, of the writer's schema
//	bytes        a record in hexadecimal digits
func TestValues(t *testing.T) {
	datadriven.Walk(t, "testdata/values", func(t *testing.T, path string) {
		var reader, writer *Message
		parse := func(text string) *Message {
			files, err := ParseText(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			m, err := files.MessageByIndex([]int{0})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "schema":
				reader = parse(d.Input)
				writer = reader
				return ""
			case "writer":
				writer = parse(d.Input)
				return ""
			case "bytes":
				record, err := hex.DecodeString(strings.Join(strings.Fields(d.Input), ""))
				if err != nil {
					t.Fatal(err)
				}
				return show(t, reader, writer, record)
			default:
				return show(t, reader, writer, recordOf(t, writer, d.Input))
			}
		})
	})
}

// recordOf encodes a message in text format.
func recordOf(t testing.TB, m *Message, text string) []byte {
	t.Helper()
	d, err := m.files.all.FindDescriptorByName(protoreflect.FullName(m.name))
	if err != nil {
		t.Fatal(err)
	}
	message := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
	types := dynamicpb.NewTypes(m.files.all)
	if err := (prototext.UnmarshalOptions{AllowPartial: true, Resolver: types}).Unmarshal([]byte(text), message); err != nil {
		t.Fatal(err)
	}
	b, err := googleproto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// show lists the columns that are not NULL.
func show(t *testing.T, reader, writer *Message, record []byte) string {
	t.Helper()
	every := make([]int, len(reader.fields))
	for i := range every {
		every[i] = i
	}
	plan, err := reader.CompileFrom(writer, every)
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, len(every))
	if err := d.Locate(record, slots); err != nil {
		return "record error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for i, f := range reader.fields {
		s := slots[i]
		var scratch []byte
		if s.Kind == decode.Lazy {
			if s, scratch, err = d.Settle(record, i, s, nil); err != nil {
				fmt.Fprintf(&b, "error: %v\n", err)
				continue
			}
		}
		switch s.Kind {
		case decode.Null:
		case decode.Int:
			if f.Type.Kind == column.Uint64 {
				fmt.Fprintf(&b, "%s = %d\n", f.Name, uint64(s.Int))
			} else {
				fmt.Fprintf(&b, "%s = %d\n", f.Name, s.Int)
			}
		case decode.Float:
			fmt.Fprintf(&b, "%s = %s\n", f.Name, appendFloat(nil, s.Int, 64))
		case decode.View:
			fmt.Fprintf(&b, "%s = %s\n", f.Name, convert.Quote(record[s.Beg:s.End]))
		case decode.Made:
			fmt.Fprintf(&b, "%s = %s\n", f.Name, scratch[s.Beg:s.End])
		}
	}
	return b.String()
}

func TestCompileTakesNoFieldAtAll(t *testing.T) {
	m := mustMessage(t, proto3Text, "test.Inner")
	plan, err := m.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := plan.NewDecoder(t.Context())
	if err := d.Locate([]byte{0x08, 0x01}, nil); err != nil {
		t.Error(err)
	}
	if err := d.Locate([]byte{0x08}, nil); err == nil {
		t.Error("a cut record is good")
	}
}

// nest wraps content in n messages of field number 3, or in groups of an unknown number.
func nest(content []byte, n int, group bool) []byte {
	for range n {
		if group {
			content = append(append([]byte{0xa3, 0x06}, content...), 0xa4, 0x06)
			continue
		}
		length := []byte{}
		for l := len(content); ; l >>= 7 {
			if l < 0x80 {
				length = append(length, byte(l))
				break
			}
			length = append(length, byte(l)|0x80)
		}
		content = append(append([]byte{0x1a}, length...), content...)
	}
	return content
}

func TestDepthIsLimited(t *testing.T) {
	m := mustMessage(t, proto3Text, "test.Inner")
	plan, err := m.Compile([]int{2})
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, 1)
	for _, group := range []bool{false, true} {
		if err := d.Locate(nest(nil, decode.MaxDepth-1, group), slots); err != nil {
			t.Errorf("groups %v: at the limit: %v", group, err)
		}
		for _, n := range []int{decode.MaxDepth, 100_000} {
			record := nest(nil, min(n, 20_000), group)
			bad, ok := d.Locate(record, slots), false
			if e, is := bad.(*decode.Error); is {
				ok = e.Reason == decode.TooDeep
			}
			if !ok {
				t.Errorf("groups %v, %d deep: %v", group, n, bad)
			}
		}
	}
	// What is as deep as allowed can be shown.
	record := nest(nil, decode.MaxDepth-1, false)
	if err := d.Locate(record, slots); err != nil {
		t.Fatal(err)
	}
	_, text, err := d.Settle(record, 0, slots[0], nil)
	if err != nil || !strings.HasPrefix(string(text), `{"id":0,"name":"","next":{`) {
		t.Errorf("%.40s, %v", text, err)
	}
}

func TestJSONTextIsBounded(t *testing.T) {
	m := mustMessage(t, proto3Text, "test.All")
	i := slices.IndexFunc(m.fields, func(f column.Field) bool { return f.Name == "inners" })
	plan, err := m.Compile([]int{i})
	if err != nil {
		t.Fatal(err)
	}
	// Two bytes each, a hundred of defaults each.
	record := []byte(strings.Repeat("\x8a\x02\x00", 1_200_000))
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, 1)
	if err := d.Locate(record, slots); err != nil {
		t.Fatal(err)
	}
	if _, text, err := d.Settle(record, 0, slots[0], nil); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestABadRecordLeavesNoTrace(t *testing.T) {
	m := mustMessage(t, proto3Text, "test.All")
	c := newChecker(t, m)
	good := recordOf(t, m, `s: "a" inner { name: "b" } ints: 1 ints: 2 one: 3 by_text { key: "k" value: 4 }`)
	bad := recordOf(t, m, `s: "x" inner { name: "y" } ints: 9 two: "z" by_text { key: "k" value: 5 }`)
	for cut := range bad {
		c.check(t, good)
		c.check(t, bad[:cut])
		if !c.check(t, good) {
			t.Fatal("a good record is bad after a bad one")
		}
	}
}
