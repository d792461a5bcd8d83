package ops

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

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
	options RunOptions
	queue   *queue

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the goroutine of Run has ended

	first   *stage
	memory  atomic.Int64
	faults  faults
	current *column.Batch // with the consumer; owned by Next

	mu    sync.Mutex
	lanes []partial // of first
}

// Run starts src and returns at once. The caller must Close the Rows, and may close src only after that.
//
// The run ends when src has delivered everything, the limit is met, something fails, ctx is done or Close is called. The first
// error wins; it stops all lanes.
func Run(ctx context.Context, src scan.Source, p *Plan, o RunOptions) *Rows {
	r := &Rows{options: o.withDefaults(), done: make(chan struct{})}
	r.first = r.newStage(p)
	r.queue = newQueue(p.Fields(), r.options.QueueBytes, 4*r.options.MaxBatchBytes)
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
	if p := r.first.last().plan; p.limit >= 0 && p.limit == p.offset {
		return nil // LIMIT 0 reads nothing
	}
	if r.first.plan.streams() {
		return src.Run(r.ctx, func(int) (scan.Sink, error) { return r.first.newProjectSink(), nil })
	}
	err = src.Run(r.ctx, func(int) (scan.Sink, error) {
		s := r.first.newPartial()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lanes = append(r.lanes, s)
		return s, nil
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	lanes := r.lanes
	r.lanes = nil
	r.mu.Unlock()
	return r.first.finish(lanes)
}

// checkMemory refuses what is held when it is more than the budget.
func (r *Rows) checkMemory(total int64, what string) error {
	if limit := r.options.MemoryBytes; limit > 0 && total > limit {
		return sqlerr.New(sqlerr.ScanMemory, "%s of the statement need more than its %d bytes of memory", what, limit).
			WithHint("filter more, ask for fewer rows or groups, or raise the memory limit")
	}
	return nil
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
	for s := r.first; s != nil; s = s.next {
		list = append(list, s.stats()...)
	}
	return list
}

// MemoryBytes is about what groups, or the rows of a sort, take now.
func (r *Rows) MemoryBytes() int64 { return r.memory.Load() }
