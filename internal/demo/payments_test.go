package demo

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/decode"
	"millrace/internal/decode/avro"
	"millrace/internal/registry"
)

// Payments of both versions are read as the newest one by what the server uses for it: the client of the registry and the decoder.
func TestPaymentsAreReadAsTheNewestVersion(t *testing.T) {
	b := broker(t)
	r, err := StartRegistry("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := OpenShop(ctx, b.Addr(), r.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := registry.New(registry.Config{URLs: []string{r.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	newest, err := c.SchemaOf(ctx, Payments+"-value", registry.Latest)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := avro.Parse(newest.Text)
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	wanted := make([]int, len(reader.Fields()))
	for i, f := range reader.Fields() {
		wanted[i] = i
		names += f.Name + " " + f.Type.String() + ", "
	}
	if want := "order_id int64, method text, amount decimal(12,2), currency text, paid_at timestamp(3), provider json, note text, "; names != want {
		t.Errorf("columns %s, want %s", names, want)
	}
	at := time.UnixMilli(1_700_000_000_123)
	show := func(record *kgo.Record) (out []string) {
		writer, err := c.SchemaByID(ctx, int(binary.BigEndian.Uint32(record.Value[1:])))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := avro.Parse(writer.Text)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := reader.CompileFrom(schema, wanted)
		if err != nil {
			t.Fatal(err)
		}
		d, slots, body := plan.NewDecoder(ctx), make([]decode.Slot, len(wanted)), record.Value[5:]
		if err := d.Locate(body, slots); err != nil {
			t.Fatal(err)
		}
		var scratch []byte
		for i, slot := range slots {
			if slot.Kind == decode.Lazy {
				if slot, scratch, err = d.Settle(body, i, slot, scratch); err != nil {
					t.Fatal(err)
				}
			}
			switch slot.Kind {
			case decode.Null:
				out = append(out, "NULL")
			case decode.Int:
				out = append(out, time.UnixMicro(slot.Int).UTC().Format("05.000000"))
			case decode.View:
				out = append(out, string(body[slot.Beg:slot.End]))
			case decode.Made:
				out = append(out, string(scratch[slot.Beg:slot.End]))
			}
		}
		return out
	}
	seen := map[string]bool{}
	for i := range int64(200) {
		record, err := s.paymentFor(currencyFrom-100+i, []byte("k"), "12.30", at)
		if err != nil {
			t.Fatal(err)
		}
		got := show(record)
		if got[2] != "12.30" || got[4] != "20.123000" || i < 100 && (got[3] != "EUR" || got[5] != "NULL") {
			t.Fatalf("payment %d: %q", i, got)
		}
		seen[got[1]], seen[got[3]], seen[got[5]] = true, true, true
	}
	for _, want := range []string{"CARD", "INVOICE", "PAYPAL", "CZK", "USD", `{"name":"PayPal","fee":0.0249}`} {
		if !seen[want] {
			t.Errorf("no payment has %s: %v", want, seen)
		}
	}
}
