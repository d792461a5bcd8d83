package proto

import (
	"fmt"
	"math/rand/v2"
	"testing"

	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"millrace/internal/decode"
)

// orderText is a record as shops have them: flat fields, a nested message, a list of them.
const orderText = `
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1; string kind = 2; string total = 3; google.protobuf.Timestamp at = 4; double weight = 5; uint32 count = 6; bool paid = 7;
  Customer customer = 8; repeated Item items = 9; State state = 10; sint64 delta = 11; string note = 12;
  message Customer { string id = 1; string city = 2; string street = 3; int32 number = 4; }
  message Item { string sku = 1; int32 quantity = 2; double price = 3; repeated string tags = 4; }
  enum State { NEW = 0; SENT = 1; DONE = 2; }
}
`

func orders(t testing.TB, n int) (*Message, protoreflect.MessageDescriptor, [][]byte) {
	m := mustMessage(t, orderText, "Order")
	d, err := m.files.all.FindDescriptorByName("Order")
	if err != nil {
		t.Fatal(err)
	}
	md := d.(protoreflect.MessageDescriptor)
	r := rand.New(rand.NewPCG(3, 4))
	records := make([][]byte, n)
	for i := range records {
		text := fmt.Sprintf(`id: %d kind: "web" total: "%d.%02d" at { seconds: %d nanos: 5000 } weight: %d.5 count: %d paid: true state: SENT delta: -%d note: "please ring twice"
			customer { id: "c%04d" city: "Prague" street: "Dlouhá" number: %d }`, r.Uint32(), r.IntN(1000), r.IntN(100), 1767225600+i, r.IntN(20), r.IntN(9), r.IntN(500), r.IntN(1000), r.IntN(300))
		for range 1 + r.IntN(5) {
			text += fmt.Sprintf(` items { sku: "tea-green-%d" quantity: %d price: %d.99 tags: "new" tags: "sale" }`, r.IntN(100), 1+r.IntN(4), r.IntN(40))
		}
		records[i] = recordOf(t, m, text)
	}
	return m, md, records
}

func BenchmarkDecode(b *testing.B) {
	m, md, records := orders(b, 1024)
	bytes := 0
	for _, r := range records {
		bytes += len(r)
	}
	run := func(name string, each func(record []byte)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(bytes / len(records)))
			for i := 0; b.Loop(); i++ {
				each(records[i%len(records)])
			}
		})
	}
	for _, wanted := range [][]int{{}, {0}, {0, 2, 5}, {0, 1, 2, 3, 4, 5, 6, 9, 10, 11}, {7, 8}} {
		plan, err := m.Compile(wanted)
		if err != nil {
			b.Fatal(err)
		}
		d, slots := plan.NewDecoder(b.Context()), make([]decode.Slot, len(wanted))
		var scratch []byte
		run(fmt.Sprintf("columns %v", wanted), func(record []byte) {
			if err := d.Locate(record, slots); err != nil {
				b.Fatal(err)
			}
			scratch = scratch[:0]
			for i, s := range slots {
				if s.Kind == decode.Lazy {
					if _, scratch, err = d.Settle(record, i, s, scratch); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	run("dynamicpb", func(record []byte) {
		if err := googleproto.Unmarshal(record, dynamicpb.NewMessage(md)); err != nil {
			b.Fatal(err)
		}
	})
	var sum byte
	run("byte loop", func(record []byte) {
		local := sum
		for _, c := range record {
			local += c
		}
		sum = local
	})
	_ = sum
}

func TestDecodingDoesNotAllocate(t *testing.T) {
	m, _, records := orders(t, 64)
	wanted := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	plan, err := m.Compile(wanted)
	if err != nil {
		t.Fatal(err)
	}
	d, slots, scratch := plan.NewDecoder(t.Context()), make([]decode.Slot, len(wanted)), make([]byte, 0, 1<<16)
	each := func() {
		for _, record := range records {
			if err := d.Locate(record, slots); err != nil {
				t.Fatal(err)
			}
			scratch = scratch[:0]
			for i, s := range slots {
				if s.Kind == decode.Lazy {
					if _, scratch, err = d.Settle(record, i, s, scratch); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if n := testing.AllocsPerRun(10, each); n != 0 {
		t.Errorf("%v allocations for %d records", n, len(records))
	}
}
