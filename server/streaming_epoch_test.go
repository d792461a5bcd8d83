package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
	"millrace/streaming/store"
)

// upTo is a store that, while last is not negative, takes no commit that begins at that offset or later.
type upTo struct {
	store.Store
	last atomic.Int64
}

// Commit implements store.Store.
func (s *upTo) Commit(ctx context.Context, c *store.Commit) (int64, error) {
	last := s.last.Load()
	for _, m := range c.Moves {
		if last >= 0 && m.From != nil && m.From.Offset >= last {
			return 0, errors.New("no commit from here on")
		}
	}
	return s.Store.Commit(ctx, c)
}

// The leader moves between the fetch of records and their commit, and the commit has only the first records of what the new leader gave: how far all of them go, and
// of which epoch they are, is told after the last. A commit that said the epoch of the old leader was taken for a loss later, as that epoch ends before these records.
func TestALeaderThatMovesBetweenFetchAndCommitLosesNothing(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(2))
	b.Topic(t, "orders", 1, nil)
	cl := b.Client(t)
	produce := func(from, to int) {
		t.Helper()
		var list []*kgo.Record
		for i := from; i < to; i++ {
			list = append(list, &kgo.Record{Topic: "orders", Value: fmt.Appendf(nil, `{"id":%d}`, i)})
		}
		testkit.Produce(t, cl, list...)
	}
	moves := func() {
		t.Helper()
		if err := b.MoveTopicPartition("orders", 0, 1-b.LeaderFor("orders", 0)); err != nil {
			t.Fatal(err)
		}
	}
	var rows *upTo
	r := start(t, func(c *Config) {
		c.kept = func(ctx context.Context, cfg Config) (*kept, error) {
			k, err := openKept(ctx, cfg)
			if err == nil {
				rows = &upTo{Store: k.rows}
				rows.last.Store(-1)
				k.rows = rows
			}
			return k, err
		}
	})
	do(t, r.root(t), fmt.Sprintf(`CREATE STREAMING TABLE t TBLPROPERTIES ('max_batch_rows' = '2', 'partition_discovery_interval' = '20 milliseconds') AS SELECT value:id::bigint AS id
		FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')`, b.Addrs[0]))
	const (
		position = "SELECT next_offset BETWEEN %d AND %d FROM information_schema.streaming_table_partitions"
		all      = "SELECT count(*), count(DISTINCT id) FROM t"
	)
	n := 0
	for range 3 {
		produce(n, n+10)
		n += 10
		comes(t, r, all, fmt.Sprintf("%d|%d", n, n))
		rows.last.Store(int64(n + 2)) // the first two of the new leader's records are committed, the others are in memory
		moves()
		produce(n, n+10)
		comes(t, r, fmt.Sprintf(position, n+2, n+3), "1") // the last commit may have begun one before
		comes(t, r, "SELECT state FROM information_schema.streaming_tables", "stalled")
		moves()
		n += 10
		produce(n, n+10)
		n += 10
		rows.last.Store(-1)
		comes(t, r, all, fmt.Sprintf("%d|%d", n, n))
		comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	}
	gives(t, r.root(t), "SELECT count(*) FROM information_schema.streaming_event_log WHERE event_type IN ('data_loss', 'failed')", "0")
}
