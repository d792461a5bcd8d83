package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The events data set: JSON of about 200 bytes with keys, one millisecond apart, the same for every run (seeded).
const seed = 20260101

var (
	eventTypes = []string{"view", "click", "search", "cart", "purchase", "refund", "login", "logout", "share", "rate"}
	countries  = []string{"DE", "FR", "US", "NZ", "JP", "BR", "IN", "ZA", "CZ", "CA"}
	firstEvent = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// event appends record i of the data set to key and value.
func event(rng *rand.Rand, i int, key, value []byte) ([]byte, []byte) {
	user := rng.IntN(100_000)
	key = fmt.Appendf(key, "user-%06d", user)
	ts := firstEvent.Add(time.Duration(i) * time.Millisecond)
	value = fmt.Appendf(value, `{"id":%d,"user":"user-%06d","type":"%s","country":"%s","amount":%d.%02d,"qty":%d,"ts":"%s","session":"%016x","url":"/items/%d/view","ok":true}`,
		i, user, eventTypes[rng.IntN(len(eventTypes))], countries[rng.IntN(len(countries))], rng.IntN(100), rng.IntN(100), rng.IntN(10), ts.Format("2006-01-02T15:04:05.000Z"), rng.Uint64(), rng.IntN(1_000_000))
	return key, value
}

func codec(name string) kgo.CompressionCodec {
	switch name {
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	default:
		return kgo.NoCompression()
	}
}

// runFill is `bench fill`: the events data set into a topic of its own.
func runFill(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("fill", flag.ExitOnError)
	broker := fs.String("broker", "", "address")
	topic := fs.String("topic", "events", "topic, which must not exist")
	compression := fs.String("codec", "lz4", "lz4, zstd or none")
	n := fs.Int("records", 1_000_000, "records")
	if err := fs.Parse(args); err != nil {
		return err
	}
	return fill(ctx, *broker, *topic, *compression, *n)
}

// fill produces n events into 8 partitions of a new topic.
func fill(ctx context.Context, broker, topic, compression string, n int) error {
	return fillPartitions(ctx, broker, topic, compression, n, 8)
}

func fillPartitions(ctx context.Context, broker, topic, compression string, n int, partitions int32) error {
	return fillWith(ctx, broker, topic, compression, n, partitions, func(rng *rand.Rand, i int) (key, value []byte) {
		return event(rng, i, make([]byte, 0, 12), make([]byte, 0, 224))
	})
}

// fillWith produces n records, one millisecond apart, into a new topic. The memory that record returns must be new.
func fillWith(ctx context.Context, broker, topic, compression string, n int, partitions int32, record func(rng *rand.Rand, i int) (key, value []byte)) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ProducerBatchCompression(codec(compression)), kgo.ProducerLinger(5*time.Millisecond),
		kgo.ProducerBatchMaxBytes(1_000_000), kgo.MaxBufferedRecords(200_000), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
		return fmt.Errorf("create %s: %w", topic, err)
	}
	var once sync.Once
	var failed error
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		k, v := record(rng, i)
		cl.Produce(ctx, &kgo.Record{Key: k, Value: v, Timestamp: firstEvent.Add(time.Duration(i) * time.Millisecond)}, func(_ *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { failed = err })
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return failed
}
