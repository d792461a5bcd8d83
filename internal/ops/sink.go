package ops

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// filterEval applies the conjuncts of a plan for one lane.
type filterEval struct {
	list []predicate
	rows []int32
}

func (p *Plan) bindFilter(l *lane) filterEval {
	f := filterEval{}
	for _, e := range p.filter {
		f.list = append(f.list, asFilter(e, l))
	}
	return f
}

// pass gives the live rows that pass. When a row fails, pass gives those before it that pass, and the error: a LIMIT that they
// meet wins over it.
func (f *filterEval) pass(b *column.Batch) (sel []int32, failed *rowError) {
	sel = b.Sel
	if len(f.list) == 0 {
		return sel, nil
	}
	f.rows = room(f.rows, b.N)
	for {
		got, err := f.once(b, sel)
		if err == nil {
			return got, failed
		}
		// The rows before the failing one again: a later conjunct may fail at one of them.
		failed = asRowError(err)
		sel = before(sel, failed.row)
	}
}

func (f *filterEval) once(b *column.Batch, sel []int32) ([]int32, error) {
	for _, p := range f.list {
		if sel != nil && len(sel) == 0 {
			break
		}
		var err error
		if sel, err = p.choose(b, sel, true, f.rows); err != nil {
			return nil, err
		}
	}
	return sel, nil
}

// before gives the rows of sel (all when nil) below row, in memory of its own: sel may be that of a filter.
func before(sel []int32, row int) []int32 {
	if sel == nil {
		return fillIdentity(make([]int32, row))
	}
	n := 0
	for n < len(sel) && int(sel[n]) < row {
		n++
	}
	return append(make([]int32, 0, n), sel[:n]...)
}

// live is the number of rows in a selection of n.
func live(n int, sel []int32) int {
	if sel == nil {
		return n
	}
	return len(sel)
}

// place adds the position of a record to an error of its row.
func (p *Plan) place(b *column.Batch, e *rowError) error {
	if p.position == nil || e.row >= b.N {
		return e.err
	}
	topic, part, off := &b.Cols[p.position.Topic], &b.Cols[p.position.Partition], &b.Cols[p.position.Offset]
	at := e.err.Detail
	if at != "" {
		at += "; "
	}
	return e.err.WithDetail("%stopic '%s', partition %d, offset %d", at, topic.View(e.row), part.Int[e.row], off.Int[e.row])
}

// asRowError is the error of an evaluator. One that names no row would be a fault of ours; it ends the batch at its first row.
func asRowError(err error) *rowError {
	var r *rowError
	if !errors.As(err, &r) {
		r = &rowError{0, sqlerr.New(sqlerr.Unexpected, "%w", err)}
	}
	return r
}

// recovered makes an error of a panic, so that a fault of ours ends one statement and not the process.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = sqlerr.New(sqlerr.Unexpected, "fault in an operator: %v", p).WithCause(fmt.Errorf("%v\n%s", p, debug.Stack()))
	}
}

// projectSink filters, computes the output columns and hands them to the queue.
type projectSink struct {
	stage   *stage
	out     outlet
	lane    *lane
	filter  filterEval
	project projection
}

// newProjectSink makes the sink of a lane for a stage that hands rows on as they come, which is the last one of its run.
func (st *stage) newProjectSink() *projectSink { return st.newSink(st.rows.newQueueOutput()) }

// newSink is newProjectSink for rows that go to an output of their own.
func (st *stage) newSink(to output) *projectSink {
	s := &projectSink{stage: st, out: outlet{to: to, options: &st.rows.options}, lane: st.newLane()}
	s.filter = st.plan.bindFilter(s.lane)
	s.project = s.lane.bindAll(st.plan.project)
	return s
}

// Push implements scan.Sink.
func (s *projectSink) Push(_ context.Context, b *column.Batch) (err error) {
	defer recovered(&err)
	start := time.Now()
	s.lane.batch++
	sel, failed := s.filter.pass(b)
	passed := live(b.N, sel)
	start = s.stage.filtered.count(b.Live(), passed, start)

	first, last, enough := s.stage.claim(passed)
	if first > 0 || last < passed {
		sel = s.lane.rows(b.N, sel)[first:last]
	}
	sel, f := s.project.upTo(b, sel)
	if f != nil {
		failed, enough = f, false
	}
	err = s.out.deliver(s.project.vectors, s.lane.rows(b.N, sel), sel == nil)
	s.stage.finished.count(last-first, live(b.N, sel), start)
	switch {
	case err != nil:
		return err
	case enough:
		return scan.Stop
	case failed != nil:
		return s.stage.plan.place(b, failed)
	}
	return nil
}

// Finish implements scan.Sink. What is in the lane's slot stays there for the consumer.
func (s *projectSink) Finish(context.Context) error { return nil }
