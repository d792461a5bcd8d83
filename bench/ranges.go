package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/data"
)

// measureRanges is P6: one hundredth of a topic by time, in three ways, against all of it.
func measureRanges(ctx context.Context, c *config, r *report, s *server, broker, topic string) error {
	batch, err := largestBatch(ctx, broker, topic)
	if err != nil {
		return err
	}
	const partitions = 8
	n := c.records / 100
	at := data.At
	text := func(i int) string { return at(i).Format("2006-01-02 15:04:05.000") }
	query := func(args, where string) string {
		return fmt.Sprintf("SELECT COUNT(*), SUM(length(value)) + SUM(length(key)) FROM read_kafka(bootstrapServers => '%s', subscribe => '%s'%s)%s", broker, topic, args, where)
	}
	from, last := c.records/2, c.records/2+n-1
	for _, part := range []struct{ title, query string }{
		{"startingTimestamp, endingTimestamp", query(fmt.Sprintf(", startingTimestamp => %d, endingTimestamp => %d", at(from).UnixMilli(), at(last+1).UnixMilli()), "")},
		{"timestamp BETWEEN, timestampSkew '0s'", query(", timestampSkew => '0s'", fmt.Sprintf(" WHERE timestamp BETWEEN '%s' AND '%s'", text(from), text(last)))},
		{"timestamp >= T at 99 %", query("", fmt.Sprintf(" WHERE timestamp >= '%s'", text(c.records-n)))},
	} {
		m := measurement{ID: "P6", Title: part.title, Variant: "1 % of the topic", Against: "all of it", Records: c.records, Bar: 1 / 0.03, MaxWall: 0.05, Either: true}
		for i := range c.pairs + 1 {
			base, _, err := s.query(ctx, query("", ""))
			if err != nil {
				return fmt.Errorf("P6: %w", err)
			}
			all, err := s.scanned(ctx)
			if err != nil {
				return err
			}
			own, got, err := s.query(ctx, part.query)
			if err != nil {
				return fmt.Errorf("P6 %s: %w", part.title, err)
			}
			if count, _, _ := strings.Cut(got, " "); count != strconv.Itoa(n) {
				return fmt.Errorf("P6 %s: %s rows, want %d", part.title, count, n)
			}
			if i == 0 {
				continue
			}
			m.add(base, own)
			if m.Bytes, err = s.scanned(ctx); err != nil {
				return err
			}
			m.MaxBytes = all*15/1000 + partitions*batch
		}
		r.add(m)
	}
	return nil
}

// scanned is how many bytes of record batches the last statement fetched.
func (s *server) scanned(ctx context.Context) (n int64, err error) {
	return n, s.db.QueryRowContext(ctx, "SELECT @@last_scan_bytes").Scan(&n)
}

// batchSizes notes the largest batch of those that a client reads.
type batchSizes struct{ largest, batches atomic.Int64 }

// OnFetchBatchRead implements kgo.HookFetchBatchRead.
func (b *batchSizes) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	b.batches.Add(1)
	if n := int64(m.CompressedBytes); n > b.largest.Load() {
		b.largest.Store(n)
	}
}

// largestBatch looks at the first batches of a topic.
func largestBatch(ctx context.Context, broker, topic string) (int64, error) {
	var sizes batchSizes
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.WithHooks(&sizes))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	for sizes.batches.Load() < 8 {
		if err := cl.PollFetches(ctx).Err(); err != nil {
			return 0, err
		}
	}
	return sizes.largest.Load(), nil
}
