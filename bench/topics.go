package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// measureTopics is P9: 5,000 topics of ten records against 50 topics with as many records in all.
func measureTopics(ctx context.Context, c *config, r *report) error {
	if !c.wants("P9") {
		return nil
	}
	broker, stopBroker, err := c.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	const records = 50_000
	for _, set := range []struct {
		prefix string
		topics int
	}{{"few", 50}, {"many", 5000}} {
		if err := fillTopics(ctx, broker, set.prefix, set.topics, records/set.topics); err != nil {
			return fmt.Errorf("P9: %w", err)
		}
	}
	s, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer s.stop()
	query := func(prefix string) string {
		return fmt.Sprintf("SELECT COUNT(value), SUM(length(value)) FROM read_kafka(bootstrapServers => '%s', subscribePattern => '%s-.*')", broker, prefix)
	}
	m := measurement{ID: "P9", Title: "5,000 topics of 10 records", Variant: "50,000 records", Against: "50 topics of 1,000", Bar: 0.2, MaxWall: 1, Either: true, MaxRSS: 300, Records: records}
	for i := range c.pairs + 1 {
		few, want, err := s.query(ctx, query("few"))
		if err != nil {
			return fmt.Errorf("P9: %w", err)
		}
		many, got, err := s.query(ctx, query("many"))
		if err != nil {
			return fmt.Errorf("P9: %w", err)
		}
		if got != want {
			return fmt.Errorf("P9: many topics gave %s, few %s", got, want)
		}
		if i > 0 {
			m.add(few, many)
		}
	}
	r.add(m)
	return nil
}

// fillTopics makes topics with one partition and each records of one size.
func fillTopics(ctx context.Context, broker, prefix string, topics, each int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return err
	}
	defer cl.Close()
	names := make([]string, topics)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	adm := kadm.NewClient(cl)
	for at := 0; at < topics; at += 500 {
		if _, err := adm.CreateTopics(ctx, 1, 1, nil, names[at:min(at+500, topics)]...); err != nil {
			return err
		}
	}
	var once sync.Once
	var failed error
	value := make([]byte, 200)
	for _, name := range names {
		for range each {
			cl.Produce(ctx, &kgo.Record{Topic: name, Value: value}, func(_ *kgo.Record, err error) {
				if err != nil {
					once.Do(func() { failed = err })
				}
			})
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return failed
}
