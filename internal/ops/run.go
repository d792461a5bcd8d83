package ops

import (
	"context"
	"errors"
	"io"
	"sync"

	"millrace/internal/column"
	"millrace/internal/memory"
	"millrace/internal/scan"
	"millrace/internal/spill"
	"millrace/internal/sqlerr"
)

// RunOptions bound a run. A zero field takes its default.
type RunOptions struct {
	// MaxBatchRows and MaxBatchBytes bound an output batch (1,024 rows, 1 MiB of values). A batch holds at least one row.
	MaxBatchRows, MaxBatchBytes int
	// QueueBytes is how much may wait for the consumer (8 MiB), besides one batch that each lane is filling.
	QueueBytes int
	// Memory is what groups, rows of a sort and the queue are taken from; nil is no bound. Temp is where what it has no room for goes; without it a
	// statement fails that needs more.
	Memory *memory.Budget
	Temp   *spill.Space
	// SpillBytes is the least that a lane writes out at once, and so may always hold (1 MiB).
	SpillBytes int
	// Faults, when not nil, counts bad data as well.
	Faults *scan.Faults
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
	set(&o.SpillBytes, 1<<20)
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
	state   *memory.Budget // of groups and sorted rows
	temp    temp
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
	r.state = o.Memory.Child(0)
	r.temp.space, r.temp.budget = o.Temp, r.state
	r.first = r.newStage(p)
	r.queue = newQueue(p.Fields(), r.options.QueueBytes, 4*r.options.MaxBatchBytes)
	r.queue.memory = o.Memory.Account()
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	context.AfterFunc(r.ctx, r.queue.wake)
	go func() {
		defer close(r.done)
		err := r.run(src)
		if e := r.temp.close(); err == nil {
			err = e
		}
		r.state.Close()
		r.queue.end(err)
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

// outOfMemory is the error of a statement that needs more memory and cannot do with files.
func (r *Rows) outOfMemory(what string) *sqlerr.Error {
	return sqlerr.New(sqlerr.ScanMemory, "%s of the statement need more than its %d bytes of memory", what, r.options.Memory.Limit()).
		WithHint("filter more, ask for fewer rows or groups, or raise the memory limit")
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
	r.queue.close()
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

// MemoryBytes is about the most that groups and the rows of a sort have taken at once.
func (r *Rows) MemoryBytes() int64 { return r.state.Peak() }

// SpilledBytes is what was written to temporary files.
func (r *Rows) SpilledBytes() int64 { return r.state.Spilled() }
