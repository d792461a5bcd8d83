package demo

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/proto"
	"millrace/internal/registry"
)

// Page views are read by what the server uses for it: the client of the registry, which fetches the imported schema too, and the decoder.
func TestPageViewsAreReadWithTheSchemasOfTheRegistry(t *testing.T) {
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
	at := time.UnixMicro(1_700_000_000_123_456)
	seen := map[string]bool{}
	for i := range 300 {
		record, err := s.pageView(at)
		if err != nil {
			t.Fatal(err)
		}
		written, err := c.SchemaByID(ctx, int(binary.BigEndian.Uint32(record.Value[1:])))
		if err != nil {
			t.Fatal(err)
		}
		index, body, err := proto.MessageIndex(record.Value[5:])
		if err != nil {
			t.Fatal(err)
		}
		references := map[string]string{}
		for _, ref := range written.References {
			references[ref.Name] = ref.Text
		}
		files, err := proto.ParseText(written.Text, references)
		if err != nil {
			t.Fatal(err)
		}
		message, err := files.MessageByIndex(index)
		if err != nil {
			t.Fatal(err)
		}
		got := showView(t, message, body)
		if !strings.HasPrefix(got, fmt.Sprintf("id=%d user=c", i+1)) || !strings.Contains(got, " viewed_at=1700000000123456 ") {
			t.Fatalf("view %d: %s", i, got)
		}
		for _, part := range strings.Fields(got) {
			seen[part] = true
		}
	}
	for _, want := range []string{"url=/tea", "action=VIEW", "action=BUY", "campaign=spring", "campaign=NULL", "search=NULL", "search=honey", "device=NULL", `device={"browser":"Firefox","languages":["cs","en"]}`} {
		if !seen[want] {
			t.Errorf("no page view has %s", want)
		}
	}
}

func showView(t *testing.T, message *proto.Message, body []byte) string {
	t.Helper()
	var wanted []int
	for i := range message.Fields() {
		wanted = append(wanted, i)
	}
	plan, err := message.Compile(wanted)
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, len(wanted))
	if err := d.Locate(body, slots); err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, f := range message.Fields() {
		s := slots[i]
		var scratch []byte
		if s.Kind == decode.Lazy {
			if s, scratch, err = d.Settle(body, i, s, nil); err != nil {
				t.Fatal(err)
			}
		}
		text := "NULL"
		switch {
		case s.Kind == decode.Int && f.Type.Kind == column.Uint64:
			text = fmt.Sprint(uint64(s.Int))
		case s.Kind == decode.Int:
			text = fmt.Sprint(s.Int)
		case s.Kind == decode.View:
			text = string(body[s.Beg:s.End])
		case s.Kind == decode.Made:
			text = string(scratch[s.Beg:s.End])
		}
		out = append(out, f.Name+"="+text)
	}
	return strings.Join(out, " ")
}
