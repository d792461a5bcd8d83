package main

import (
	"context"
	"flag"
	"fmt"
	"slices"

	"millrace/bench/data"
)

const seed = data.Seed

// runFill is `bench fill`: a data set into a topic of its own.
func runFill(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("fill", flag.ExitOnError)
	broker := fs.String("broker", "", "address")
	set := fs.String("set", "events", "data set: events, orders, debezium, avro or proto")
	t := data.Topic{}
	fs.StringVar(&t.Name, "topic", "events", "topic, which must not exist")
	fs.StringVar(&t.Codec, "codec", "lz4", "lz4, zstd or none")
	fs.IntVar(&t.Records, "records", 1_000_000, "records")
	partitions := fs.Int("partitions", 8, "partitions")
	fs.BoolVar(&t.Transactions, "transactions", false, "in transactions, some of them aborted")
	fs.BoolVar(&t.Compact, "compact", false, "a compacted topic")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var ok bool
	if t.Set, ok = data.Sets[*set]; !ok {
		var names []string
		for name := range data.Sets {
			names = append(names, name)
		}
		slices.Sort(names)
		return fmt.Errorf("fill: no data set '%s', one of %v", *set, names)
	}
	t.Partitions = int32(*partitions)
	return data.Produce(ctx, *broker, t)
}

// fill produces n events into 8 partitions of a new topic.
func fill(ctx context.Context, broker, topic, compression string, n int) error {
	return data.Produce(ctx, broker, data.Topic{Name: topic, Set: data.Events, Records: n, Partitions: 8, Codec: compression})
}
