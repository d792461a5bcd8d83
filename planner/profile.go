package planner

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// profile is what EXPLAIN ANALYZE finds out about the operators of one plan while it runs. The set of operators is fixed; their figures are
// written by whoever runs them.
type profile struct {
	of    map[sql.Node]*figures
	total time.Duration
	rows  int64
}

// figures are those of one operator.
type figures struct {
	loops, rows, nanos atomic.Int64
	// reused counts how often the rows that a scan has kept were given again.
	reused atomic.Int64
	// scan is nil for an operator that has read no topic.
	mu   sync.Mutex
	scan *scanFigures
}

// scanFigures add up all reads of a scan.
type scanFigures struct {
	operators []ops.OperatorStats
	source    scan.Stats
	// splits are those of the first read.
	splits []scan.Split
	// partial says that a store computed partial results.
	partial bool
	held    heldBytes
	faults  ops.DecodeFaults
}

// heldBytes are the most that a read held at once: to read ahead, of groups or sorted rows, and of everything; and what it wrote to disk for want of
// memory.
type heldBytes struct{ readAhead, state, peak, spilled int64 }

// newProfile prepares figures for n, what is below it and the subqueries in it.
func newProfile(ctx *sql.Context, n sql.Node) *profile {
	p := &profile{of: map[sql.Node]*figures{}}
	p.add(ctx, n)
	return p
}

func (p *profile) add(ctx *sql.Context, n sql.Node) {
	if !reflect.TypeOf(n).Comparable() {
		return // it cannot be told from others
	}
	p.of[n] = new(figures)
	for _, child := range n.Children() {
		p.add(ctx, child)
	}
	for _, sq := range subqueries(ctx, n) {
		p.add(ctx, sq.Query)
	}
}

// figures are those of n, nil when n was not in the plan: the engine makes copies of operators that see rows of an outer query.
func (p *profile) figures(n sql.Node) *figures {
	if p == nil || !reflect.TypeOf(n).Comparable() {
		return nil
	}
	return p.of[n]
}

// subqueries are those in n's own expressions.
func subqueries(ctx *sql.Context, n sql.Node) (found []*plan.Subquery) {
	e, ok := n.(sql.Expressioner)
	if !ok {
		return nil
	}
	for _, x := range e.Expressions() {
		transform.InspectExpr(ctx, x, func(_ *sql.Context, x sql.Expression) bool {
			if sq, ok := x.(*plan.Subquery); ok {
				found = append(found, sq)
			}
			return false
		})
	}
	return found
}

// measured is what the context holds while a plan is analysed: the profile and the figures of the operator that is being built.
type measured struct {
	profile *profile
	figures *figures
}

type measuredKey struct{}

func withMeasured(ctx *sql.Context, m *measured) *sql.Context {
	return ctx.WithContext(context.WithValue(ctx.Context, measuredKey{}, m))
}

// measuredOf is nil when the statement is not analysed.
func measuredOf(ctx *sql.Context) *measured {
	m, _ := ctx.Value(measuredKey{}).(*measured)
	return m
}

// readingFigures are those of the operator that is being built, nil when the statement is not analysed.
func readingFigures(ctx *sql.Context) *figures {
	if m := measuredOf(ctx); m != nil {
		return m.figures
	}
	return nil
}

// addScan adds a read that has ended.
func (f *figures) addScan(operators []ops.OperatorStats, src scan.Source, held heldBytes, faults ops.DecodeFaults) {
	source := src.Stats()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scan == nil {
		f.scan = &scanFigures{splits: slices.Clone(src.Splits()), partial: store.Aggregated(src)}
	}
	s := f.scan
	for i, o := range operators {
		if i == len(s.operators) {
			s.operators = append(s.operators, ops.OperatorStats{Name: o.Name})
		}
		s.operators[i].RowsIn += o.RowsIn
		s.operators[i].RowsOut += o.RowsOut
		s.operators[i].Time += o.Time
	}
	s.source = s.source.Add(source)
	s.faults.Records += faults.Records
	s.faults.Fields += faults.Fields
	s.faults.Dropped += faults.Dropped
	h := &s.held
	*h = heldBytes{max(h.readAhead, held.readAhead), max(h.state, held.state), max(h.peak, held.peak), h.spilled + held.spilled}
}

// reads is the sum of what was read, nil for nothing.
func (f *figures) reads() *scanFigures {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.scan
}

// measuringIter counts what an operator gives and the time that it takes, with that of the operators below it.
type measuringIter struct {
	sql.RowIter
	figures *figures
}

// Next implements sql.RowIter.
func (it *measuringIter) Next(ctx *sql.Context) (sql.Row, error) {
	start := time.Now()
	row, err := it.RowIter.Next(ctx)
	it.figures.nanos.Add(int64(time.Since(start)))
	if err == nil {
		it.figures.rows.Add(1)
	}
	return row, err
}

// Close implements sql.RowIter.
func (it *measuringIter) Close(ctx *sql.Context) error {
	start := time.Now()
	err := it.RowIter.Close(ctx)
	it.figures.nanos.Add(int64(time.Since(start)))
	return err
}

// measuredBatches is a measuringIter over batches.
type measuredBatches struct {
	*measuringIter
	from *BatchRowIter
}

// NextBatch is BatchRowIter.NextBatch.
func (it measuredBatches) NextBatch(ctx *sql.Context) (*column.Batch, error) {
	start := time.Now()
	b, err := it.from.NextBatch(ctx)
	it.figures.nanos.Add(int64(time.Since(start)))
	if err == nil {
		it.figures.rows.Add(int64(b.Live()))
	}
	return b, err
}

// Fields is BatchRowIter.Fields.
func (it measuredBatches) Fields() []column.Field { return it.from.Fields() }

// given is the iterator as somebody takes the rows: with batches where there are some.
func (it *measuringIter) given() sql.RowIter {
	if from, ok := it.RowIter.(*BatchRowIter); ok {
		return measuredBatches{it, from}
	}
	return it
}

// drain takes all rows, as batches where a client would get them so.
func (it *measuringIter) drain(ctx *sql.Context) error {
	rows := it.given()
	batches, ok := rows.(measuredBatches)
	for {
		var err error
		if ok {
			_, err = batches.NextBatch(ctx)
		} else {
			_, err = rows.Next(ctx)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err() // not every iterator of the engine looks at the context
		}
		if err != nil {
			return err
		}
	}
}

// watchedSource notes the most memory that the source holds: afterwards it holds none.
type watchedSource struct {
	scan.Source
	most atomic.Int64
}

// Run implements scan.Source.
func (s *watchedSource) Run(ctx context.Context, newSink func(int) (scan.Sink, error)) error {
	return s.Source.Run(ctx, func(lane int) (scan.Sink, error) {
		sink, err := newSink(lane)
		if err != nil {
			return nil, err
		}
		if keeper, ok := sink.(scan.Keeper); ok {
			return watchedKeeper{watchedSink{keeper, s}, keeper}, nil
		}
		return watchedSink{sink, s}, nil
	})
}

// Aggregated says what the batches are, see store.Aggregated.
func (s *watchedSource) Aggregated() bool { return store.Aggregated(s.Source) }

func (s *watchedSource) note() {
	now := s.Source.Stats().MemoryBytes
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
}

type watchedSink struct {
	inner scan.Sink
	of    *watchedSource
}

// Push implements scan.Sink.
func (s watchedSink) Push(ctx context.Context, b *column.Batch) error {
	s.of.note()
	return s.inner.Push(ctx, b)
}

// Finish implements scan.Sink.
func (s watchedSink) Finish(ctx context.Context) error { return s.inner.Finish(ctx) }

// TakesCodes implements scan.Coder.
func (s watchedSink) TakesCodes() bool {
	c, ok := s.inner.(scan.Coder)
	return ok && c.TakesCodes()
}

// watchedKeeper is a watchedSink of a scan for the newest rows.
type watchedKeeper struct {
	watchedSink
	keeper scan.Keeper
}

// Kept implements scan.Keeper.
func (s watchedKeeper) Kept(values []int64) []int64 { return s.keeper.Kept(values) }
