package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// runSend is the baseline of sinks: a bare kgo producer with default options, but for the compression that Millrace uses, that sends the records of a topic to another. It
// has them in memory when the clock starts, as a statement has not: that reads them meanwhile.
func runSend(ctx context.Context, broker, from, to string) error {
	var records []*kgo.Record
	if err := poll(ctx, broker, from, func(r *kgo.Record) {
		records = append(records, &kgo.Record{Topic: to, Key: r.Key, Value: r.Value})
	}); err != nil {
		return err
	}
	start := time.Now()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return err
	}
	defer cl.Close()
	var (
		mu     sync.Mutex
		failed error
	)
	for _, r := range records {
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if failed != nil {
		return failed
	}
	return json.NewEncoder(os.Stdout).Encode(loopResult{time.Since(start).Seconds(), fmt.Sprint(len(records))})
}

// measureSink is of rows that are written to a topic.
func measureSink(ctx context.Context, c *config, r *report) error {
	if !c.wants("sink") {
		return nil
	}
	broker, stopBroker, err := c.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	fmt.Fprintf(os.Stderr, "producing %d events (lz4)\n", c.records)
	if err := fill(ctx, broker, "events", "lz4", c.records); err != nil {
		return err
	}
	s, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, v := range []struct{ variant, arguments string }{{"keys and values as they are", ""}, {"the same, exactlyOnce", ", exactlyOnce => true"}} {
		m := measurement{ID: "sink", Title: "INSERT INTO write_kafka(…) SELECT … FROM read_kafka(…)", Variant: v.variant, Against: "a kgo producer of the same records from memory", Bar: 0.8, Records: c.records}
		for i := range c.pairs + 1 {
			base, own := usage{}, usage{}
			for _, side := range []string{"base", "own"} {
				to := fmt.Sprintf("out-%s", side)
				if err := freshTopic(ctx, broker, to); err != nil {
					return err
				}
				if side == "base" {
					base, _, err = loopTo(ctx, broker, "events", to)
				} else {
					own, _, err = s.query(ctx, fmt.Sprintf("INSERT INTO write_kafka(bootstrapServers => '%s', topic => '%s'%s) SELECT key, value FROM read_kafka(bootstrapServers => '%s', subscribe => 'events')", broker, to, v.arguments, broker))
				}
				if err != nil {
					return fmt.Errorf("sink: %w", err)
				}
				_, n, err := s.query(ctx, fmt.Sprintf("SELECT COUNT(*) FROM read_kafka(bootstrapServers => '%s', subscribe => '%s')", broker, to))
				if err != nil {
					return err
				}
				if n != fmt.Sprint(c.records) {
					return fmt.Errorf("sink: topic %s holds %s records, not %d", to, n, c.records)
				}
			}
			if i > 0 {
				m.add(base, own)
			}
		}
		r.add(m)
	}
	return nil
}

// freshTopic makes an empty topic of four partitions.
func freshTopic(ctx context.Context, broker, topic string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if _, err := adm.DeleteTopics(ctx, topic); err != nil {
		return err
	}
	for { // a topic that is being deleted is there for a moment
		_, err := adm.CreateTopic(ctx, 4, 1, nil, topic)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
