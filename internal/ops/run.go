package ops

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// RunOptions bound a run. A zero field takes its default.
type RunOptions struct {
	// MaxBatchRows and MaxBatchBytes bound an output batch (1,024 rows, 1 MiB of values). A batch holds at least one row.
	MaxBatchRows, MaxBatchBytes int
	// QueueBytes is how much may wait for the consumer (8 MiB), besides one batch that each lane is filling.
	QueueBytes int
	// MemoryBytes bounds the groups, or the rows of a sort, over all lanes; 0 is no bound.
	MemoryBytes int64
}

func (o RunOptions) withDefaults() RunOptions {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&o.MaxBatchRows, 1024)
	set(&o.MaxBatchBytes, 1<<20)
	set(&o.QueueBytes, 8<<20)
	return o
}

// errClosed is what Next returns after Close.
var errClosed = errors.New("ops: rows are closed")

// Rows is a run in progress. Next is for one goroutine; Close and Stats are for any.
type Rows struct {
	plan    *Plan
	options RunOptions
	queue   *queue

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the goroutine of Run has ended

	claimed atomic.Int64 // rows that passed the filter, as far as the limit counts them
	memory  atomic.Int64
	faults  faults
	current *column.Batch // with the consumer; owned by Next

	filtered, finished meter // finished is of the operator behind the filter

	mu    sync.Mutex
	lanes []partial
}

// Run starts src and returns at once. The caller must Close the Rows, and may close src only after that.
//
// The run ends when src has delivered everything, the limit is met, something fails, ctx is done or Close is called. The first
// error wins; it stops all lanes.
func Run(ctx context.Context, src scan.Source, p *Plan, o RunOptions) *Rows {
	r := &Rows{plan: p, options: o.withDefaults(), done: make(chan struct{})}
	r.queue = newQueue(p.fields, r.options.QueueBytes, 4*r.options.MaxBatchBytes)
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	context.AfterFunc(r.ctx, r.queue.wake)
	go func() {
		defer close(r.done)
		r.queue.end(r.run(src))
	}()
	return r
}

func (r *Rows) run(src scan.Source) (err error) {
	defer recovered(&err)
	if r.plan.limit >= 0 && r.plan.limit == r.plan.offset {
		return nil // LIMIT 0 reads nothing
	}
	if !r.plan.aggregated() && len(r.plan.order) == 0 {
		return src.Run(r.ctx, func(int) (scan.Sink, error) { return r.newProjectSink(), nil })
	}
	err = src.Run(r.ctx, func(int) (scan.Sink, error) {
		s := r.newPartial()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lanes = append(r.lanes, s)
		return s, nil
	})
	if err != nil {
		return err
	}
	return r.mergeLanes()
}

// partial is a sink that keeps its result until all lanes have ended.
type partial interface {
	scan.Sink
	// merge adds the result of another lane of the same run, which is then of no more use.
	merge(other partial)
	// emit hands out the result under the number of a lane of the queue.
	emit(lane int) error
}

func (r *Rows) newPartial() partial {
	if r.plan.aggregated() {
		return r.newAggregateSink()
	}
	return r.newTopSink()
}

func (r *Rows) mergeLanes() error {
	r.mu.Lock()
	lanes := r.lanes
	r.lanes = nil
	r.mu.Unlock()
	if len(lanes) == 0 {
		lanes = append(lanes, r.newPartial()) // a source without splits may start no lane
	}
	start := time.Now()
	for _, s := range lanes[1:] {
		if err := context.Cause(r.ctx); err != nil {
			return err
		}
		lanes[0].merge(s)
	}
	r.finished.nanos.Add(int64(time.Since(start)))
	return lanes[0].emit(r.queue.addLane())
}

// checkMemory refuses what is held when it is more than the budget.
func (r *Rows) checkMemory(total int64, what string) error {
	if limit := r.options.MemoryBytes; limit > 0 && total > limit {
		return sqlerr.New(sqlerr.ScanMemory, "%s of the statement need more than its %d bytes of memory", what, limit).
			WithHint("filter more, ask for fewer rows or groups, or raise the memory limit")
	}
	return nil
}

// claim counts n more rows against the limit: rows [first, last) of them are to be handed out, and enough says that no further
// row is wanted.
func (r *Rows) claim(n int) (first, last int, enough bool) {
	if r.plan.limit < 0 && r.plan.offset == 0 {
		return 0, n, false
	}
	end := r.claimed.Add(int64(n))
	beg := end - int64(n)
	clip := func(x int64) int { return int(min(max(x-beg, 0), int64(n))) }
	first, last = clip(r.plan.offset), n
	if r.plan.limit >= 0 {
		last, enough = clip(r.plan.limit), end >= r.plan.limit
	}
	return first, max(first, last), enough
}

// Next returns the next batch, which is valid until the following Next or Close, and belongs to the run. At the end it returns
// io.EOF, now and for ever after; so it does an error. A run that is cancelled or closed returns the cause without handing out
// what is queued.
func (r *Rows) Next(ctx context.Context) (*column.Batch, error) {
	r.queue.recycle(r.current)
	r.current = nil
	b, err := r.queue.next(ctx, r.ctx)
	if b == nil && err == nil {
		err = io.EOF
	}
	r.current = b
	return b, err
}

// Close stops the run and waits until its lanes have ended. It may be called any number of times, also while Next waits.
func (r *Rows) Close() error {
	r.cancel(errClosed)
	<-r.done
	return nil
}

// Stats tells what each operator has done so far, in the order of the data.
func (r *Rows) Stats() []OperatorStats {
	var list []OperatorStats
	if len(r.plan.filter) > 0 {
		list = append(list, r.filtered.stats("filter"))
	}
	name := "project"
	switch {
	case r.plan.aggregated():
		name = "aggregate"
	case len(r.plan.order) > 0:
		name = "top"
	}
	return append(list, r.finished.stats(name))
}

// MemoryBytes is about what groups, or the rows of a sort, take now.
func (r *Rows) MemoryBytes() int64 { return r.memory.Load() }
