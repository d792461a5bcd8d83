package avro

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/avro"

	"millrace/internal/decode"
)

// BenchmarkDecode finds 0, 1, 3 and all fields in records of three shapes, and settles what is lazy; beside it a loop over the bytes of the same
// records, and the library into a struct that is reused.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"flat", "order", "envelope"} {
		s := newSubject(b, testSchemas[name])
		w := writer{rng: rand.New(rand.NewPCG(3, 3))}
		records, size := make([][]byte, 1024), 0
		for i := range records {
			records[i] = w.value(nil, s.schema.root)
			size += len(records[i])
		}
		for _, n := range []int{0, 1, 3, len(s.all)} {
			p, err := s.schema.Compile(s.all[:n])
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%d/own", name, n), func(b *testing.B) {
				d, slots := p.NewDecoder(context.Background()), make([]decode.Slot, n)
				var scratch []byte
				b.ReportAllocs()
				b.SetBytes(int64(size / len(records)))
				for i := 0; b.Loop(); i++ {
					record := records[i&1023]
					if err := d.Locate(record, slots); err != nil {
						b.Fatal(err)
					}
					scratch = scratch[:0]
					for k, slot := range slots {
						if slot.Kind == decode.Lazy {
							_, scratch, _ = d.Settle(record, k, slot, scratch) // some values are no values of their type
						}
					}
				}
			})
		}
		b.Run(name+"/bytes", func(b *testing.B) {
			b.SetBytes(int64(size / len(records)))
			sum := byte(0)
			for i := 0; b.Loop(); i++ {
				for _, c := range records[i&1023] {
					sum ^= c
				}
			}
			sink = sum
		})
		b.Run(name+"/library", func(b *testing.B) {
			into := reflect.New(structOf(s.oracle, s.oracle.root)).Interface()
			library, err := avro.Parse(testSchemas[name])
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(size / len(records)))
			for i := 0; b.Loop(); i++ {
				if _, err := library.Decode(records[i&1023], into, avro.AliasInput()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var sink byte

// structOf makes a type of Go for a schema.
func structOf(o *oracle, n *avro.SchemaNode) reflect.Type {
	switch n = o.resolve(n); n.Type {
	case "boolean":
		return reflect.TypeFor[bool]()
	case "int", "long":
		return reflect.TypeFor[int64]()
	case "double":
		return reflect.TypeFor[float64]()
	case "array":
		return reflect.SliceOf(structOf(o, n.Items))
	case "map":
		return reflect.MapOf(reflect.TypeFor[string](), structOf(o, n.Values))
	case "union":
		return reflect.PointerTo(structOf(o, &n.Branches[1]))
	case "record":
		var fields []reflect.StructField
		for i, f := range n.Fields {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: structOf(o, &f.Type), Tag: reflect.StructTag(`avro:"` + f.Name + `"`)})
		}
		return reflect.StructOf(fields)
	default:
		return reflect.TypeFor[string]()
	}
}

// Decoding must not allocate, whatever the record: a scan does it millions of times.
func TestDecodingDoesNotAllocate(t *testing.T) {
	s := newSubject(t, everySchema)
	w := writer{rng: rand.New(rand.NewPCG(9, 9))}
	records := make([][]byte, 64)
	for i := range records {
		records[i] = w.value(nil, s.schema.root)
	}
	d, slots, scratch := s.plan.NewDecoder(context.Background()), make([]decode.Slot, len(s.all)), make([]byte, 0, 1<<20)
	settled := 0
	for _, record := range records {
		if err := d.Locate(record, slots); err != nil {
			t.Fatal(err)
		}
		var lazy []int // those with a value; a fault has a text
		for k, slot := range slots {
			long := s.schema.fields[k].Name == "dec38" || s.schema.fields[k].Name == "huge" // may have more than 128 bits
			if slot.Kind == decode.Lazy && !long {
				if _, _, err := d.Settle(record, k, slot, scratch); err == nil {
					lazy = append(lazy, k)
				}
			}
		}
		settled += len(lazy)
		if allocs := testing.AllocsPerRun(2, func() {
			if err := d.Locate(record, slots); err != nil {
				t.Fatal(err)
			}
			for _, k := range lazy {
				if _, _, err := d.Settle(record, k, slots[k], scratch); err != nil {
					t.Fatal(err)
				}
			}
		}); allocs > 0 {
			t.Fatalf("%v allocations for a record", allocs)
		}
	}
	if settled == 0 {
		t.Error("nothing was settled")
	}
}
