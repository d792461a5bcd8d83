package script

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/testkit"
)

// firstRecord is the timestamp of the first record of a script that names none.
const firstRecord = 1_700_000_000_000

// topic makes a topic and its first records.
func (s *script) topic(t testing.TB, d *datadriven.TestData, input string) string {
	var name, cleanup string
	partitions := int32(1)
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "partitions", &partitions)
	configs := map[string]string{}
	if d.MaybeScanArgs(t, "cleanup", &cleanup) {
		configs = map[string]string{
			"cleanup.policy": cleanup, "segment.bytes": "2000", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "0",
			"retention.ms": "-1", // the records of scripts are old
		}
	}
	s.broker.Topic(t, name, partitions, configs)
	return s.produce(t, d, input)
}

// produce appends the records of input.
func (s *script) produce(t testing.TB, d *datadriven.TestData, input string) string {
	var name, codec, transaction, id string
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "codec", &codec)
	d.MaybeScanArgs(t, "transaction", &transaction)
	d.MaybeScanArgs(t, "id", &id)
	cl := s.producer(t, codec, id, transaction)
	if transaction != "" && !s.open[cl] {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		s.open[cl] = true
	}
	n := 0
	for line := range strings.Lines(input) {
		batch, err := s.batch(strings.TrimSuffix(line, "\n"), name)
		if err != nil {
			d.Fatalf(t, "record %q: %v", line, err)
		}
		if time.Unix(0, batch[0].Timestamp.UnixNano()) != batch[0].Timestamp {
			s.produceRaw(t, batch)
		} else {
			testkit.Produce(t, cl, batch...)
		}
		n += len(batch)
	}
	if transaction != "" && transaction != "open" {
		s.end(t, cl, transaction)
	}
	return fmt.Sprintf("%d records", n)
}

// producer is the client for records that are compressed and in a transaction as told.
func (s *script) producer(t testing.TB, codec, id, transaction string) *kgo.Client {
	name := codec + " " + id
	if transaction != "" {
		name += " transactional"
	}
	if cl := s.producers[name]; cl != nil {
		return cl
	}
	opts := []kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression())}
	for i, n := range testkit.CodecNames {
		if n == codec {
			opts[0] = kgo.ProducerBatchCompression(testkit.Codecs[i])
		}
	}
	if transaction != "" {
		opts = append(opts, kgo.TransactionalID("script-"+name))
	}
	s.producers[name] = s.broker.Client(t, opts...)
	return s.producers[name]
}

func (s *script) end(t testing.TB, cl *kgo.Client, how string) {
	if err := cl.EndTransaction(t.Context(), kgo.TransactionEndTry(how == "commit")); err != nil {
		t.Fatal(err)
	}
	delete(s.open, cl)
}

// produceRaw sends a batch whose timestamp is one that franz-go's producer, which counts nanoseconds, cannot say.
func (s *script) produceRaw(t testing.TB, batch []*kgo.Record) {
	ms := batch[0].Timestamp.UnixMilli()
	raw := testkit.Batch{Producer: -1, BaseTime: ms, MaxTime: ms}
	for i, r := range batch {
		raw.Records = append(raw.Records, kmsg.Record{OffsetDelta: int32(i), Key: r.Key, Value: r.Value})
	}
	topic, partition := batch[0].Topic, batch[0].Partition
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = topic, s.broker.TopicInfo(topic).TopicID
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, raw.Encode(t)
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(t.Context(), s.producer(t, "", "", "").Broker(int(s.broker.LeaderFor(topic, partition))))
	if err != nil {
		t.Fatal(err)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
}

// batch reads a line of records.
func (s *script) batch(line, topic string) ([]*kgo.Record, error) {
	s.clock += 1000
	proto, n := kgo.Record{Topic: topic, Timestamp: time.UnixMilli(s.clock)}, 1
	for {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(word, "@"):
			ms, err := strconv.ParseInt(word[1:], 10, 64)
			if err != nil {
				return nil, err
			}
			proto.Timestamp = time.UnixMilli(ms)
		case strings.HasPrefix(word, "h:"):
			key, value, given := strings.Cut(word[2:], "=")
			h := kgo.RecordHeader{Key: key}
			if given {
				var err error
				if h.Value, err = field(value); err != nil {
					return nil, err
				}
			}
			proto.Headers = append(proto.Headers, h)
		case strings.HasSuffix(word, "*"):
			var err error
			if n, err = strconv.Atoi(strings.TrimSuffix(word, "*")); err != nil {
				return nil, err
			}
		default:
			return records(proto, n, line)
		}
		line = rest
	}
}

func records(proto kgo.Record, n int, line string) ([]*kgo.Record, error) {
	fields := strings.SplitN(line, " ", 3)
	if len(fields) != 3 {
		return nil, fmt.Errorf("partition, key and value are wanted in %q", line)
	}
	p, err := strconv.ParseInt(fields[0], 10, 32)
	if err != nil {
		return nil, err
	}
	out := make([]*kgo.Record, n)
	for i := range out {
		r := proto
		r.Partition = int32(p)
		number := strconv.Itoa(i)
		if r.Key, err = field(strings.ReplaceAll(fields[1], "$i", number)); err != nil {
			return nil, err
		}
		if r.Value, err = field(strings.ReplaceAll(fields[2], "$i", number)); err != nil {
			return nil, err
		}
		out[i] = &r
	}
	return out, nil
}

// field reads a key or value.
func field(text string) ([]byte, error) {
	switch {
	case text == "-":
		return nil, nil
	case text == "''":
		return []byte{}, nil
	case strings.HasPrefix(text, "x'") && strings.HasSuffix(text, "'"):
		return hex.DecodeString(text[2 : len(text)-1])
	}
	return []byte(text), nil
}
