package streaming

import (
	"context"
	"maps"
	"time"

	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// Load is what a statement waits for: that a table has read what its topics held when the statement began. Its methods may be called from any goroutine.
type Load struct {
	table         *executor.Table
	from          map[store.Partition]store.Position
	target        map[store.Partition]int64
	began         time.Time
	records, read int64
}

// Loading is how far a load has come.
type Loading struct {
	// Offsets is how many offsets it has to pass, Done how many of them it has.
	Offsets, Done int64
	// Records were read since it began, of so many bytes.
	Records, Bytes int64
	Elapsed        time.Duration
	// State is that of the table.
	State executor.State
}

type loadKey struct{}

// WithLoads has statements under the context tell begun what they begin to wait for.
func WithLoads(ctx context.Context, begun func(*Load)) context.Context {
	return context.WithValue(ctx, loadKey{}, begun)
}

// begins tells that a statement begins to wait.
func (a *awaited) begins(ctx context.Context) {
	begun, ok := ctx.Value(loadKey{}).(func(*Load))
	if !ok {
		return
	}
	s := a.table.Status()
	from := map[store.Partition]store.Position{}
	for _, p := range s.Partitions {
		from[p.Partition] = p.Position
	}
	begun(&Load{a.table, from, maps.Clone(a.target), time.Now(), s.Records, s.Bytes})
}

// Progress says how far the load has come.
func (l *Load) Progress() Loading {
	s := l.table.Status()
	p := Loading{Records: s.Records - l.records, Bytes: s.Bytes - l.read, Elapsed: time.Since(l.began), State: s.State}
	at := map[store.Partition]int64{}
	for _, x := range s.Partitions {
		at[x.Partition] = x.Offset
	}
	for part, end := range l.target {
		first, ok := l.from[part]
		if !ok {
			first.Offset = min(at[part], end) // its start was fixed after the load began
		}
		p.Offsets += max(end-first.Offset, 0)
		p.Done += max(min(at[part], end)-first.Offset, 0)
	}
	return p
}
