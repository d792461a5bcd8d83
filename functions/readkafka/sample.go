package readkafka

import (
	"bytes"
	"context"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
)

// The size of a sample.
const (
	sampleRecords = 1000
	sampleBytes   = 4 << 20
)

// sample reads a few records of what the call will read: keys or values that are not NULL, at most most. For a STREAM it takes what is there already.
func (n *Node) sample(ctx *sql.Context, of part, most int) ([][]byte, error) {
	args, err := n.bind(ctx)
	if err != nil {
		return nil, err
	}
	cluster, err := n.env.Pool.Cluster(ctx, args.Cluster)
	if err != nil {
		return nil, err
	}
	snapshot, err := cluster.SnapshotFor(ctx, args.Spec.Select)
	if err != nil {
		return nil, err
	}
	spec := args.Spec
	if args.Stream {
		spec.Start, spec.End = kafka.Bound{Kind: kafka.AtEarliest}, kafka.Bound{Kind: kafka.AtLatest}
		spec.FailOnDataLoss = false
	}
	field := scan.Value
	if of == partKey {
		field = scan.Key
	}
	src, err := snapshot.Plan(ctx, spec, scan.Request{Fields: []scan.Field{field}, Limit: int64(most)})
	if err != nil {
		return nil, err
	}
	if n.env.Observe != nil {
		src = n.env.Observe(ctx, src, scan.Request{})
	}
	defer src.Close()
	s := &sampler{most: most}
	if err := src.Run(ctx, func(int) (scan.Sink, error) { return s, nil }); err != nil {
		return nil, err
	}
	return s.records, nil
}

// sampler keeps the first records that lanes push.
type sampler struct {
	mu      sync.Mutex
	records [][]byte
	most    int
	bytes   int
}

// Push implements scan.Sink.
func (s *sampler) Push(_ context.Context, b *column.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &b.Cols[0]
	for i := range b.N {
		if v.IsNull(i) {
			continue
		}
		if len(s.records) >= s.most || s.bytes > sampleBytes {
			return scan.Stop
		}
		s.records = append(s.records, bytes.Clone(v.View(i)))
		s.bytes += len(v.View(i))
	}
	if len(s.records) >= s.most {
		return scan.Stop
	}
	return nil
}

// Finish implements scan.Sink.
func (s *sampler) Finish(context.Context) error { return nil }
