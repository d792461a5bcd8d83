package testkit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// History is a topic that several producers wrote to as a seed decided: plain and transactional batches of all codecs, transactions committed, aborted
// and left open, then perhaps compaction and the removal of records.
type History struct {
	Topic      string
	Partitions int32
	Compacted  bool

	broker *Broker
	client *kgo.Client
	rnd    *rand.Rand
}

// NewHistory writes the history of seed to a new topic of b.
func NewHistory(t testing.TB, b *Broker, seed uint64) *History {
	t.Helper()
	h := &History{Topic: fmt.Sprintf("history-%d", seed), Partitions: 3, broker: b, rnd: rand.New(rand.NewPCG(seed, 1))}
	h.Compacted = h.rnd.IntN(3) == 0
	configs := map[string]string{}
	if h.Compacted {
		configs = map[string]string{"cleanup.policy": "compact", "segment.bytes": "4000", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "0",
			"retention.ms": "-1"} // the records are of 2023
	}
	if h.rnd.IntN(4) == 0 {
		configs["message.timestamp.type"] = "LogAppendTime"
	}
	b.Topic(t, h.Topic, h.Partitions, configs)
	h.write(t)
	if h.Compacted {
		b.Compact()
	}
	if h.rnd.IntN(3) == 0 {
		for p := range h.Partitions {
			info := b.PartitionInfo(h.Topic, p)
			if n := info.LastStableOffset - info.LogStartOffset; n > 0 && h.rnd.IntN(2) == 0 {
				if err := b.DeleteRecords(h.Topic, p, info.LogStartOffset+h.rnd.Int64N(n+1)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return h
}

func (h *History) write(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	codec := func() kgo.Opt { return kgo.ProducerBatchCompression(Codecs[h.rnd.IntN(len(Codecs))]) }
	topic := kgo.DefaultProduceTopic(h.Topic)
	h.client = h.broker.Client(t, topic, codec())
	plain := []*kgo.Client{h.client, h.broker.Client(t, topic, codec())}
	type producer struct {
		*kgo.Client
		open bool
	}
	var transactional []*producer
	for i := range 3 {
		id := kgo.TransactionalID(fmt.Sprintf("%s-%d", h.Topic, i))
		transactional = append(transactional, &producer{Client: h.broker.Client(t, topic, codec(), id)})
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	end := func(p *producer) {
		must(p.EndTransaction(ctx, kgo.TransactionEndTry(h.rnd.IntN(2) == 0)))
		p.open = false
	}
	for range 30 + h.rnd.IntN(60) {
		if h.rnd.IntN(4) == 0 {
			Produce(t, plain[h.rnd.IntN(len(plain))], h.records(1+h.rnd.IntN(40))...)
			continue
		}
		p := transactional[h.rnd.IntN(len(transactional))]
		if !p.open {
			must(p.BeginTransaction())
			p.open = true
		}
		Produce(t, p.Client, h.records(1+h.rnd.IntN(12))...)
		if h.rnd.IntN(3) > 0 {
			end(p)
		}
	}
	leaveOpen := h.rnd.IntN(2) == 0
	for _, p := range transactional {
		if p.open && !leaveOpen {
			end(p)
		}
	}
}

func (h *History) records(n int) []*kgo.Record {
	out := make([]*kgo.Record, n)
	partition := int32(h.rnd.IntN(int(h.Partitions)))
	for i := range out {
		r := &kgo.Record{Partition: partition, Key: fmt.Appendf(nil, "key-%d", h.rnd.IntN(40))}
		if h.rnd.IntN(3) == 0 {
			partition = int32(h.rnd.IntN(int(h.Partitions)))
		}
		r.Timestamp = time.UnixMilli(1_700_000_000_000 + h.rnd.Int64N(100_000))
		switch h.rnd.IntN(10) {
		case 0: // a null value
		case 1:
			r.Value = []byte{}
		case 2:
			r.Value = bytes.Repeat([]byte{byte(h.rnd.Uint32())}, h.rnd.IntN(3000))
		default:
			r.Value = fmt.Appendf(nil, "value %d %s", h.rnd.Uint64(), strings.Repeat("again and ", h.rnd.IntN(20)))
		}
		if !h.Compacted {
			switch h.rnd.IntN(8) {
			case 0:
				r.Key = nil
			case 1:
				r.Key = []byte{}
			}
		}
		for range max(0, h.rnd.IntN(6)-3) {
			v := [][]byte{nil, {}, []byte("text \"quoted\"\n"), []byte("größer"), {0xff, 0xfe, 0}}[h.rnd.IntN(5)]
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: []string{"trace", "größe", "a\"b", "__value_schema_id", "__key_schema_id"}[h.rnd.IntN(5)], Value: v})
		}
		out[i] = r
	}
	return out
}

// ShuffleLeaders gives a random partition another leader.
func (h *History) ShuffleLeaders(t testing.TB, rnd *rand.Rand) {
	nodes := int32(len(h.broker.Addrs))
	if err := h.broker.MoveTopicPartition(h.Topic, rnd.Int32N(h.Partitions), rnd.Int32N(nodes)); err != nil {
		t.Error(err)
	}
}

// Read reads every record that a reader of isolation level (0 read_uncommitted, 1 read_committed) may see, by partition and offset. It is slow and has
// nothing in common with the code under test but the requests: franz-go parses, and one partition is read after the other.
func (h *History) Read(t testing.TB, isolation int8) []*kgo.Record {
	t.Helper()
	return ReadTopic(t, h.broker, h.client, h.Topic, isolation)
}

// ReadTopic is History.Read for any topic of b. The topic must not be written to meanwhile.
func ReadTopic(t testing.TB, b *Broker, cl *kgo.Client, topic string, isolation int8) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	level := kgo.ReadUncommitted()
	if isolation == 1 {
		level = kgo.ReadCommitted()
	}
	var out []*kgo.Record
	for _, info := range b.PartitionInfos(topic) {
		end := info.HighWatermark
		if isolation == 1 {
			end = info.LastStableOffset
		}
		for next := info.LogStartOffset; next < end; {
			req := kmsg.NewPtrFetchRequest()
			req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch, req.IsolationLevel = 0, 0, 1<<20, -1, isolation
			rt := kmsg.NewFetchRequestTopic()
			rt.Topic, rt.TopicID = topic, b.TopicInfo(topic).TopicID
			rp := kmsg.NewFetchRequestTopicPartition()
			rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = info.Partition, next, 1<<20, -1
			rt.Partitions = append(rt.Partitions, rp)
			req.Topics = append(req.Topics, rt)
			if _, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, cl); err != nil {
				t.Fatal(err)
			}
			resp, err := req.RequestWith(ctx, cl.Broker(int(b.LeaderFor(topic, info.Partition))))
			if err != nil {
				t.Fatal(err)
			}
			p := &resp.Topics[0].Partitions[0]
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				t.Fatal(err)
			}
			if len(p.RecordBatches) == 0 {
				break // a gap up to the end
			}
			opts := kgo.ProcessFetchPartitionOpts{Offset: next, Topic: topic, Partition: info.Partition, IsolationLevel: level}
			got, to := kgo.ProcessFetchPartition(opts, p, kgo.DefaultDecompressor(), nil)
			if got.Err != nil || to <= next {
				t.Fatalf("%s/%d: at offset %d to %d: %v", topic, info.Partition, next, to, got.Err)
			}
			for _, r := range got.Records {
				if r.Offset < end {
					out = append(out, r)
				}
			}
			next = to
		}
	}
	return out
}

// HeadersJSON is what the column headers shows for r: nil when it has none.
func HeadersJSON(r *kgo.Record) any {
	if len(r.Headers) == 0 {
		return nil
	}
	var out []any
	type header struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
	for _, h := range r.Headers {
		var v any
		switch {
		case h.Value == nil:
		case utf8.Valid(h.Value):
			v = string(h.Value)
		default:
			v = map[string]string{"base64": base64.StdEncoding.EncodeToString(h.Value)}
		}
		out = append(out, header{h.Key, v})
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}
