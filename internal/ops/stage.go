package ops

import (
	"errors"
	"sync/atomic"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// stage is a pipeline of a run: that of the source's rows, or the one that continues with the groups of the stage before it.
type stage struct {
	rows *Rows
	plan *Plan
	// next takes the result; nil when it is the consumer who does.
	next *stage

	claimed            atomic.Int64 // rows that passed the filter, as far as the limit counts them
	filtered, finished meter        // finished is of the operator behind the filter
}

// newStage makes the stage of p and those that follow it.
func (r *Rows) newStage(p *Plan) *stage {
	s := &stage{rows: r, plan: p}
	if p.then != nil {
		s.next = r.newStage(p.then)
	}
	return s
}

// last is the stage whose rows are the result of the run.
func (s *stage) last() *stage {
	for s.next != nil {
		s = s.next
	}
	return s
}

// partial is a sink that keeps its result until all lanes have ended.
type partial interface {
	scan.Sink
	// emit hands the result of this lane and of others, which have all ended, to out. It may return scan.Stop when no more rows are wanted.
	emit(others []partial, out output) error
}

// newPartial makes the sink of a lane for a stage that does not stream.
func (s *stage) newPartial() partial {
	if s.plan.aggregated() {
		return s.newAggregateSink()
	}
	return s.newSortSink()
}

// output takes the result of a stage in batches, from one goroutine.
type output interface {
	// take gives the batch to append rows to. It may hold some already.
	take() *column.Batch
	// give takes the batch back; full says that no further row is to be put into it. It may wait. scan.Stop says that no more rows are wanted.
	give(b *column.Batch, full bool) error
}

// queueOutput fills batches for the consumer, under a number of its own in the queue. It waits for space until the run ends, not the lane: rows
// that were claimed count against the limit, so they must arrive even when another lane has met it and ended the scan.
type queueOutput struct {
	rows   *Rows
	number int
}

func (r *Rows) newQueueOutput() *queueOutput { return &queueOutput{r, r.queue.addLane()} }

func (o *queueOutput) take() *column.Batch { return o.rows.queue.take(o.number) }

func (o *queueOutput) give(b *column.Batch, full bool) error {
	return o.rows.queue.give(o.rows.ctx, o.number, b, full)
}

// stageOutput pushes batches into the sink of a stage.
type stageOutput struct {
	rows   *Rows
	fields []column.Field
	sink   scan.Sink
	batch  column.Batch
}

func (o *stageOutput) take() *column.Batch { return &o.batch }

func (o *stageOutput) give(b *column.Batch, full bool) error {
	if !full || b.N == 0 {
		return nil
	}
	err := o.sink.Push(o.rows.ctx, b)
	b.Reset(o.fields)
	return err
}

// finish combines what the lanes of a stage have kept and hands it on, through all stages that follow.
func (s *stage) finish(lanes []partial) error {
	if len(lanes) == 0 {
		lanes = append(lanes, s.newPartial()) // a source without splits may start no lane
	}
	if s.next == nil {
		err := lanes[0].emit(lanes[1:], s.rows.newQueueOutput())
		if errors.Is(err, scan.Stop) {
			return nil
		}
		return err
	}
	var sink scan.Sink
	var kept partial
	if s.next.plan.streams() {
		sink = s.next.newProjectSink()
	} else {
		kept = s.next.newPartial()
		sink = kept
	}
	out := &stageOutput{rows: s.rows, fields: s.plan.fields, sink: sink}
	out.batch.Reset(out.fields)
	err := lanes[0].emit(lanes[1:], out)
	if err == nil {
		err = out.give(&out.batch, true)
	}
	if err == nil {
		err = sink.Finish(s.rows.ctx)
	}
	switch {
	case errors.Is(err, scan.Stop):
		return nil
	case err != nil || kept == nil:
		return err
	}
	return s.next.finish([]partial{kept})
}

// claim counts n more rows against the limit: rows [first, last) of them are to be handed out, and enough says that no further
// row is wanted.
func (s *stage) claim(n int) (first, last int, enough bool) {
	p := s.plan
	if p.limit < 0 && p.offset == 0 {
		return 0, n, false
	}
	end := s.claimed.Add(int64(n))
	beg := end - int64(n)
	clip := func(x int64) int { return int(min(max(x-beg, 0), int64(n))) }
	first, last = clip(p.offset), n
	if p.limit >= 0 {
		last, enough = clip(p.limit), end >= p.limit
	}
	return first, max(first, last), enough
}

// stats tells what the operators of s have done.
func (s *stage) stats() []OperatorStats {
	var list []OperatorStats
	if len(s.plan.filter) > 0 {
		list = append(list, s.filtered.stats("filter"))
	}
	name := "project"
	switch {
	case s.plan.aggregated():
		name = "aggregate"
	case len(s.plan.order) > 0 && s.plan.limit >= 0:
		name = "top"
	case len(s.plan.order) > 0:
		name = "sort"
	}
	return append(list, s.finished.stats(name))
}

// took adds the time since start to what the operator behind the filter took.
func (s *stage) took(start time.Time) { s.finished.nanos.Add(int64(time.Since(start))) }
