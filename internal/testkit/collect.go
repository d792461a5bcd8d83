package testkit

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// Row is a row with NULL as nil, views as string and integers as int64.
type Row []any

// Rows copies the live rows of b.
func Rows(b *column.Batch) []Row {
	out := make([]Row, 0, b.Live())
	for i := range b.N {
		row := make(Row, len(b.Cols))
		for c := range b.Cols {
			v := &b.Cols[c]
			switch {
			case v.IsNull(i):
			case v.Type.Kind.IsView():
				row[c] = string(v.View(i))
			case v.Type.Kind == column.Float64:
				row[c] = v.Float[i]
			default:
				row[c] = v.Int[i]
			}
		}
		out = append(out, row)
	}
	return out
}

// Collector is a scan's sinks that keep every row. Lanes[i] are the rows of lane i in their order.
type Collector struct {
	mu       sync.Mutex
	Lanes    [][]Row
	Pushes   int
	Finished int
	// OnPush, when not nil, is called with every batch before its rows are kept.
	OnPush func(ctx context.Context, lane int, b *column.Batch) error
}

// Sink is the newSink of scan.Source.Run.
func (c *Collector) Sink(lane int) (scan.Sink, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lane != len(c.Lanes) {
		return nil, fmt.Errorf("lane %d after %d", lane, len(c.Lanes))
	}
	c.Lanes = append(c.Lanes, nil)
	return &collectorLane{c, lane}, nil
}

// All are the rows of all lanes.
func (c *Collector) All() []Row {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Row
	for _, l := range c.Lanes {
		out = append(out, l...)
	}
	return out
}

type collectorLane struct {
	*Collector
	lane int
}

func (l *collectorLane) Push(ctx context.Context, b *column.Batch) error {
	if b.N == 0 {
		return fmt.Errorf("an empty batch was pushed")
	}
	if l.OnPush != nil {
		if err := l.OnPush(ctx, l.lane, b); err != nil {
			return err
		}
	}
	rows := Rows(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Pushes++
	l.Lanes[l.lane] = append(l.Lanes[l.lane], rows...)
	return nil
}

func (l *collectorLane) Finish(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Finished++
	return nil
}

// Collect runs src to its end and returns its rows.
func Collect(t testing.TB, src scan.Source) []Row {
	t.Helper()
	defer src.Close()
	var c Collector
	if err := src.Run(context.Background(), c.Sink); err != nil {
		t.Fatal(err)
	}
	if c.Finished != len(c.Lanes) {
		t.Fatalf("%d of %d lanes were finished", c.Finished, len(c.Lanes))
	}
	return c.All()
}
