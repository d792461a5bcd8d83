package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
)

func newProducer(t *testing.T, b *testkit.Broker, o kafka.ProducerOptions) *kafka.Producer {
	t.Helper()
	p, err := cluster(t, b).NewProducer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// written reads every committed record of a topic with a plain client, in order within partitions.
func written(t *testing.T, b *testkit.Broker, topic string, n int) []*kgo.Record {
	t.Helper()
	cl := b.Client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		fetched := cl.PollFetches(ctx)
		if err := fetched.Err0(); err != nil {
			t.Fatalf("%d of %d records: %v", len(out), n, err)
		}
		out = append(out, fetched.Records()...)
	}
	return out
}

func TestProducerWritesWhatItIsGiven(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 3, nil)
	b.Topic(t, "b", 1, nil)
	p := newProducer(t, b, kafka.ProducerOptions{})
	value := []byte("first")
	sent := []kafka.Outgoing{
		{Topic: "a", Key: []byte("k"), Value: value, Partition: 2, Timestamp: 1_700_000_000_123, Headers: []kafka.Header{{Key: "h", Value: []byte{0xff}}, {Key: "none"}}},
		{Topic: "a", Value: []byte{}, Partition: 2, Timestamp: -1},
		{Topic: "b", Key: []byte{}, Partition: kafka.AnyPartition, Timestamp: 0},
	}
	before := time.Now().Add(-time.Second)
	for i := range sent {
		if err := p.Send(t.Context(), &sent[i]); err != nil {
			t.Fatal(err)
		}
	}
	copy(value, "XXXXX") // Send has copied it
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := p.Delivered(); n != 3 {
		t.Errorf("%d delivered", n)
	}
	a := written(t, b, "a", 2)
	if r := a[0]; r.Partition != 2 || string(r.Key) != "k" || string(r.Value) != "first" || r.Timestamp.UnixMilli() != 1_700_000_000_123 || len(r.Headers) != 2 || r.Headers[0].Value[0] != 0xff || r.Headers[1].Value != nil {
		t.Errorf("first record: %+v", r)
	}
	if r := a[1]; r.Key != nil || r.Value == nil || r.Timestamp.Before(before) {
		t.Errorf("second record: %+v", r)
	}
	if r := written(t, b, "b", 1)[0]; r.Key == nil || r.Value != nil || r.Timestamp.UnixMilli() != 0 {
		t.Errorf("record of b: %+v", r)
	}
}

// Keys go where Java's clients put them, which other writers of the topic and joins by partition rely on.
func TestKeysGoWhereJavaPutsThem(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 7, nil)
	p := newProducer(t, b, kafka.ProducerOptions{})
	// murmur2 as the tests of org.apache.kafka.common.utils.Utils have it.
	for key, hash := range map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "": 275646681} {
		want := (hash & 0x7fffffff) % 7
		if err := p.Send(t.Context(), &kafka.Outgoing{Topic: "a", Key: []byte(key), Value: fmt.Append(nil, want), Partition: kafka.AnyPartition, Timestamp: -1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range written(t, b, "a", 4) {
		if fmt.Sprint(r.Partition) != string(r.Value) {
			t.Errorf("key '%s' is in partition %d, want %s", r.Key, r.Partition, r.Value)
		}
	}
}

func TestRoundRobinTakesPartitionsInTurn(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 4, nil)
	p := newProducer(t, b, kafka.ProducerOptions{Partitioner: kafka.PartitionRoundRobin})
	for range 40 {
		if err := p.Send(t.Context(), &kafka.Outgoing{Topic: "a", Key: []byte("same"), Partition: kafka.AnyPartition, Timestamp: -1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	counts := map[int32]int{}
	for _, r := range written(t, b, "a", 40) {
		counts[r.Partition]++
	}
	for i := range int32(4) {
		if counts[i] != 10 {
			t.Errorf("records by partition: %v", counts)
			break
		}
	}
}

func TestErrorsOfRecordsNameTheirRow(t *testing.T) {
	for name, test := range map[string]struct {
		code   int16
		record kafka.Outgoing
		kind   *sqlerr.Kind
		want   string
	}{
		"too large for the broker": {code: kerr.MessageTooLarge.Code, kind: sqlerr.SinkRow, want: "row 8 cannot be written: its record of 2 bytes is too large for topic 'a'"},
		"too large for a batch":    {record: kafka.Outgoing{Value: make([]byte, 5000)}, kind: sqlerr.SinkRow, want: "row 8 cannot be written: its record of 5000 bytes is too large"},
		"refused":                  {code: kerr.InvalidRecord.Code, kind: sqlerr.SinkRow, want: "row 8 cannot be written: the broker of topic 'a' refuses its record"},
		"not allowed":              {code: kerr.TopicAuthorizationFailed.Code, kind: sqlerr.KafkaNotAuthorized, want: "lacks WRITE"},
	} {
		t.Run(name, func(t *testing.T) {
			b := testkit.StartBroker(t)
			b.Topic(t, "a", 1, nil)
			p := newProducer(t, b, kafka.ProducerOptions{BatchBytes: 4096})
			if test.code != 0 {
				answerProduce(b, test.code)
			}
			m := test.record
			m.Topic, m.Row = "a", 8
			if m.Value == nil {
				m.Value = []byte("xy")
			}
			err := p.Send(t.Context(), &m)
			if err == nil {
				err = p.Flush(t.Context())
			}
			if !sqlerr.HasKind(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if again := p.Send(t.Context(), &m); again == nil {
				t.Error("the error does not stay")
			}
		})
	}
}

// answerProduce lets the next produce request fail.
func answerProduce(b *testkit.Broker, code int16) {
	b.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.ProduceRequest)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}

func TestSendWaitsWhileTooMuchIsOnItsWay(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 1, nil)
	p := newProducer(t, b, kafka.ProducerOptions{BufferBytes: 1 << 20, BatchBytes: 64 << 10})
	hold := make(chan struct{})
	b.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		b.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	m := kafka.Outgoing{Topic: "a", Value: bytes.Repeat([]byte("v"), 1000)}
	sent := 0
	var err error
	for sent = 0; err == nil && sent < 10_000; sent++ {
		err = p.Send(ctx, &m)
	}
	close(hold)
	if !errors.Is(err, context.DeadlineExceeded) || sent > 1100 {
		t.Errorf("%d records of 1000 bytes were taken, %v", sent, err)
	}
}

func TestSilentBrokersEndAWrite(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 1, nil)
	p := newProducer(t, b, kafka.ProducerOptions{DeliveryTimeout: 200 * time.Millisecond})
	hold := make(chan struct{})
	defer close(hold)
	b.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	// Its timestamp is long ago, which must not count.
	if err := p.Send(t.Context(), &kafka.Outgoing{Topic: "a", Timestamp: 1}); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); !sqlerr.HasKind(err, sqlerr.KafkaWriteFailed) || !strings.Contains(err.Error(), "nothing was acknowledged for 200ms, and 1 records wait") {
		t.Errorf("got %v", err)
	}
}

func TestPartitionsOfATopic(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(1))
	b.Topic(t, "orders", 3, nil)
	c := cluster(t, b)
	if n, err := c.Partitions(t.Context(), "orders"); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	_, err := c.Partitions(t.Context(), "order")
	if !sqlerr.HasKind(err, sqlerr.KafkaTopicNotFound) || !strings.Contains(err.Error(), "did you mean 'orders'?") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkProducer(bm *testing.B) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "a"))
	if err != nil {
		bm.Fatal(err)
	}
	defer c.Close()
	pool := kafka.NewPool(kafka.PoolOptions{})
	defer pool.Close()
	cl, err := pool.Cluster(bm.Context(), kafka.Config{Brokers: c.ListenAddrs()})
	if err != nil {
		bm.Fatal(err)
	}
	p, err := cl.NewProducer(bm.Context(), kafka.ProducerOptions{})
	if err != nil {
		bm.Fatal(err)
	}
	defer p.Close()
	m := kafka.Outgoing{Topic: "a", Key: []byte("key-0"), Value: bytes.Repeat([]byte("value "), 20), Partition: kafka.AnyPartition, Timestamp: -1}
	bm.ReportAllocs()
	for bm.Loop() {
		if err := p.Send(bm.Context(), &m); err != nil {
			bm.Fatal(err)
		}
	}
	if err := p.Flush(bm.Context()); err != nil {
		bm.Fatal(err)
	}
}
