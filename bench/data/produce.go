// Package data makes the records that benchmarks read: the same for every run, since they come from a seed, in sizes and shapes of what topics
// hold: flat events, nested orders, change events of a database.
package data

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Seed is that of every data set.
const Seed = 20260101

const timeFormat = "2006-01-02T15:04:05.000Z"

var first = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// At is the timestamp of record i: one millisecond after the one before.
func At(i int) time.Time { return first.Add(time.Duration(i) * time.Millisecond) }

// Set is a data set without end: record i is the same whenever it is made in its turn.
type Set struct {
	Name   string
	append func(rng *rand.Rand, i int, key, value []byte) ([]byte, []byte)
}

// Sets by name.
var Sets = map[string]Set{Events.Name: Events, Orders.Name: Orders, Debezium.Name: Debezium, Avro.Name: Avro, Proto.Name: Proto}

// Each hands the first n records to do. Key and value belong to do.
func (s Set) Each(n int, do func(i int, key, value []byte) error) error {
	rng := rand.New(rand.NewPCG(Seed, 1))
	for i := range n {
		k, v := s.append(rng, i, nil, nil)
		if err := do(i, k, v); err != nil {
			return err
		}
	}
	return nil
}

// Topic says what to produce.
type Topic struct {
	Name       string
	Set        Set
	Records    int
	Partitions int32
	// Codec is lz4, zstd or none.
	Codec string
	// Transactions puts records into transactions of a thousand, every tenth of which is aborted.
	Transactions bool
	// Compact makes the topic one that keeps the last record of each key.
	Compact bool
}

// TransactionSize is the number of records of a transaction, and AbortEvery says which transactions are aborted: the last of so many.
const (
	TransactionSize = 1000
	AbortEvery      = 10
)

func codec(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	case "none":
		return kgo.NoCompression(), nil
	}
	return kgo.NoCompression(), fmt.Errorf("codec '%s': lz4, zstd or none", name)
}

// Produce makes a topic, which must not exist, and fills it, record after record into one partition after the other.
func Produce(ctx context.Context, broker string, t Topic) error {
	compression, err := codec(t.Codec)
	if err != nil {
		return err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(broker), kgo.ProducerBatchCompression(compression), kgo.ProducerLinger(5 * time.Millisecond),
		kgo.ProducerBatchMaxBytes(1_000_000), kgo.MaxBufferedRecords(200_000), kgo.DefaultProduceTopic(t.Name), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
	}
	if t.Transactions {
		opts = append(opts, kgo.TransactionalID("bench-"+t.Name))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	forever := "-1" // the timestamps are in the past: the broker would remove the records as it likes
	configs := map[string]*string{"retention.ms": &forever}
	if t.Compact {
		policy := "compact"
		configs["cleanup.policy"] = &policy
	}
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, t.Partitions, 1, configs, t.Name); err != nil {
		return fmt.Errorf("create %s: %w", t.Name, err)
	}
	var once sync.Once
	var failed error
	produced := func(_ *kgo.Record, err error) {
		if err != nil {
			once.Do(func() { failed = err })
		}
	}
	err = t.Set.Each(t.Records, func(i int, key, value []byte) error {
		if t.Transactions && i%TransactionSize == 0 {
			if err := t.turn(ctx, cl, i); err != nil {
				return err
			}
		}
		cl.Produce(ctx, &kgo.Record{Key: key, Value: value, Timestamp: At(i)}, produced)
		return ctx.Err()
	})
	if err == nil {
		err = cl.Flush(ctx)
	}
	if err == nil && t.Transactions && t.Records > 0 {
		err = t.end(ctx, cl, t.Records-1)
	}
	return errors.Join(err, failed)
}

// turn ends the transaction before record i and begins the next.
func (t Topic) turn(ctx context.Context, cl *kgo.Client, i int) error {
	if i > 0 {
		if err := t.end(ctx, cl, i-1); err != nil {
			return err
		}
	}
	return cl.BeginTransaction()
}

// end ends the transaction of record i.
func (t Topic) end(ctx context.Context, cl *kgo.Client, i int) error {
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return cl.EndTransaction(ctx, kgo.TransactionEndTry(i/TransactionSize%AbortEvery != AbortEvery-1))
}
