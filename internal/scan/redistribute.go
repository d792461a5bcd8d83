package scan

import (
	"context"
	"errors"
	"sync"

	"millrace/internal/column"
	"millrace/internal/memory"
)

// Redistribute is src with its computing spread over n lanes, however many read: a lane that reads copies each batch and hands the copy on to whichever
// lane is free, and reads on.
//
//	lane 0 of src ─┐            ┌─▶ sink 0
//	               ├─▶ copies ──┼─▶ sink 1
//	lane 1 of src ─┘            └─▶ sink 2
//
// Rows reach the sinks in no order, so it is not for a Request that is Ordered, has a Limit or asks for the Newest rows. Each lane of either side
// holds a copy at most; held, which may be nil, counts them.
func Redistribute(src Source, n int, held *memory.Budget) Source {
	return &redistributed{Source: src, lanes: n, held: held}
}

type redistributed struct {
	Source
	lanes int
	held  *memory.Budget
}

// Stats implements Source.
func (r *redistributed) Stats() Stats {
	s := r.Source.Stats()
	s.RedistributeLanes = int64(r.lanes)
	return s
}

// Run implements Source.
func (r *redistributed) Run(ctx context.Context, newSink func(lane int) (Sink, error)) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sinks := make([]Sink, r.lanes)
	for i := range sinks {
		var err error
		if sinks[i], err = newSink(i); err != nil {
			return err
		}
	}
	x := &exchange{full: make(chan *column.Batch), spare: make(chan *column.Batch, r.lanes), held: r.held.Account()}
	defer x.close()
	var lanes sync.WaitGroup
	for _, sink := range sinks {
		lanes.Go(func() {
			if err := x.serve(run, sink); err != nil {
				cancel(err)
			}
		})
	}
	err := r.Source.Run(run, func(int) (Sink, error) { return (*feeder)(x), nil })
	if err != nil {
		cancel(err)
	}
	close(x.full) // every lane of the source has ended
	lanes.Wait()
	switch cause := context.Cause(run); {
	case cause == nil, errors.Is(cause, Stop):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return cause
	}
}

// exchange is where copies pass from those who read to those who compute.
type exchange struct {
	full  chan *column.Batch // closed when there will be no more
	spare chan *column.Batch // to be filled again

	mu    sync.Mutex
	held  memory.Account
	bytes int64
}

// serve pushes copies into sink until there are no more; then, if the run goes on, it finishes it.
func (x *exchange) serve(ctx context.Context, sink Sink) error {
	for b := range x.full {
		if ctx.Err() != nil {
			return nil // the others must not wait for this lane, which is what reading on is for
		}
		err := sink.Push(ctx, b)
		b.Sel = nil
		select {
		case x.spare <- b:
		default:
			x.count(-int64(b.Bytes()))
		}
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return sink.Finish(ctx)
}

// count notes that the copies take n bytes more.
func (x *exchange) count(n int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.bytes += n
	x.held.Force(x.bytes)
}

func (x *exchange) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held.Close()
}

// feeder is the sink of every lane of the source.
type feeder exchange

// Push implements Sink.
func (f *feeder) Push(ctx context.Context, b *column.Batch) error {
	var c *column.Batch
	select {
	case c = <-f.spare:
	default:
		c = new(column.Batch)
	}
	before := int64(c.Bytes())
	c.N, c.Sel = 0, nil
	if len(c.Cols) != len(b.Cols) {
		c.Cols = make([]column.Vector, len(b.Cols))
	}
	for i := range b.Cols {
		c.Cols[i].Reset(b.Cols[i].Type)
	}
	c.AppendRows(b, -1)
	(*exchange)(f).count(int64(c.Bytes()) - before)
	select {
	case f.full <- c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Finish implements Sink: the sinks of the computing lanes are finished when all who read have ended.
func (f *feeder) Finish(context.Context) error { return nil }
