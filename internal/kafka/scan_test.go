package kafka_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/kafka"
	"millrace/internal/memory"
	"millrace/internal/scan"
	"millrace/internal/testkit"
)

func TestScanReadsWhatWasProduced(t *testing.T) {
	for i, codec := range testkit.Codecs {
		t.Run(testkit.CodecNames[i], func(t *testing.T) {
			b := testkit.StartBroker(t)
			b.Topic(t, "t", 3, nil)
			cl := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(codec))
			want := map[string]bool{}
			var records []*kgo.Record
			for i := range 1000 {
				r := &kgo.Record{Partition: int32(i % 3), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "value %d", i)}
				records = append(records, r)
				want[string(r.Value)] = true
			}
			testkit.Produce(t, cl, records...)
			pool := kafka.NewPool(kafka.PoolOptions{})
			defer pool.Close()
			c, err := pool.Cluster(context.Background(), kafka.Config{Brokers: b.Addrs})
			if err != nil {
				t.Fatal(err)
			}
			spec := kafka.ReadSpec{Select: kafka.Selection{Topics: []string{"t"}}, End: kafka.Bound{Kind: kafka.AtLatest}, Isolation: kafka.ReadCommitted}
			src, err := c.Plan(context.Background(), spec, scan.Request{Fields: []scan.Field{scan.Value, scan.Topic, scan.Partition, scan.Offset}, Limit: -1})
			if err != nil {
				t.Fatal(err)
			}
			got := testkit.Collect(t, src)
			if len(got) != len(want) {
				t.Fatalf("%d rows, want %d", len(got), len(want))
			}
			for _, r := range got {
				v := r[0].(string)
				if !want[v] {
					t.Fatalf("%v was not produced, or came twice", r)
				}
				delete(want, v)
			}
		})
	}
}

// TestScansWithoutMemoryReadNothingAhead: a budget that grants nothing makes a scan slower; it still delivers everything, and gives everything back.
func TestScansWithoutMemoryReadNothingAhead(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 2, nil)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	for batch := range 20 {
		var records []*kgo.Record
		for i := range 10 {
			records = append(records, &kgo.Record{Partition: int32(i % 2), Value: fmt.Appendf(nil, "%d/%d %01000d", batch, i, 0)})
		}
		testkit.Produce(t, cl, records...)
	}
	pool := kafka.NewPool(kafka.PoolOptions{})
	defer pool.Close()
	c, err := pool.Cluster(t.Context(), kafka.Config{Brokers: b.Addrs, PartitionMaxBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{0, 1} {
		held := memory.New(limit)
		spec := kafka.ReadSpec{Select: kafka.Selection{Topics: []string{"t"}}, End: kafka.Bound{Kind: kafka.AtLatest}, Isolation: kafka.ReadCommitted}
		src, err := c.Plan(t.Context(), spec, scan.Request{Fields: []scan.Field{scan.Value}, Limit: -1, Memory: held})
		if err != nil {
			t.Fatal(err)
		}
		if got := testkit.Collect(t, src); len(got) != 200 {
			t.Errorf("limit %d: %d records", limit, len(got))
		}
		if held.Used() != 0 || held.Peak() < 4096 {
			t.Errorf("limit %d: %d bytes are still taken, at most it were %d", limit, held.Used(), held.Peak())
		}
	}
}
