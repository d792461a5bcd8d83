package server

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
	"millrace/streaming/store"
)

// faultyCommits is a store that does not make some of the commits of rows of which there are others under the same lease, or makes them and does not say so. It notes
// when two commits are under way at once.
type faultyCommits struct {
	unclosed
	commits, under atomic.Int64
	together       atomic.Bool
}

// Commit implements store.Store.
func (s *faultyCommits) Commit(ctx context.Context, c *store.Commit) (int64, error) {
	if s.under.Add(1) > 1 {
		s.together.Store(true)
	}
	defer s.under.Add(-1)
	if len(c.Writes) == 0 {
		return s.Store.Commit(ctx, c)
	}
	switch s.commits.Add(1) % 5 {
	case 2:
		return 0, sqlerr.New(sqlerr.StoreAway, "the store of this test does not answer")
	case 4:
		if _, err := s.Store.Commit(ctx, c); err != nil {
			return 0, err
		}
		return 0, store.ErrUnknownOutcome
	}
	return s.Store.Commit(ctx, c)
}

// A backlog is read ahead of its commits. One that fails takes with it what was computed meanwhile: rows are there once, also when the record amidst them is bad.
func TestABacklogIsReadOnceWhenCommitsFail(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 3, nil)
	const sent = 60_000
	records := make([]*kgo.Record, sent)
	for i := range records {
		records[i] = &kgo.Record{Topic: "orders", Partition: int32(i % 3), Value: fmt.Appendf(nil, `{"id":%d}`, i)}
	}
	records[31_000].Value = []byte(`{"id":"no number"}`)
	testkit.Produce(t, b.Client(t), records...)
	rows, err := openStore(Config{memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	})
	faulty := &faultyCommits{unclosed: unclosed{rows}}
	r := start(t, func(c *Config) {
		c.kept = func(context.Context, Config) (*kept, error) {
			return &kept{rows: faulty, catalog: catalog.OpenMemory(), owner: "me"}, nil
		}
	})
	db := r.root(t)
	do(t, db, fmt.Sprintf(`CREATE STREAMING TABLE t TBLPROPERTIES ('max_batch_rows' = '1500') AS SELECT CAST(value:id AS SIGNED) + 0 AS id, value:id::bigint AS n
		FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')`, strings.Join(b.Addrs, ",")))
	gives(t, db, "SELECT count(*), count(DISTINCT n), (SELECT count(*) FROM `t$errors`) FROM t", "59999|59999|1")
	gives(t, db, "SELECT sum(next_offset) FROM information_schema.streaming_table_partitions", fmt.Sprint(sent))
	if faulty.together.Load() {
		t.Error("two commits were under way at once")
	}
	if n := faulty.commits.Load(); n < 30 {
		t.Errorf("%d commits: this was no backlog", n)
	}
}
