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
		f.list = append(f.list, asPredicate(e, l))
	}
	return f
}

// pass gives the live rows that pass. When a row fails, pass gives those before it that pass, and the error: a LIMIT that they meet wins over it.
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

// recovered makes an error of a panic, so that a fault of ours ends one statement and not the process.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = sqlerr.New(sqlerr.Unexpected, "fault in an operator: %v", p).WithCause(fmt.Errorf("%v\n%s", p, debug.Stack()))
	}
}

// projectSink filters, computes the output columns and hands them to the queue.
type projectSink struct {
	rows    *Rows
	number  int // of the lane
	lane    *lane
	filter  filterEval
	project []evaluator
	vectors []*column.Vector
	views   []*column.Vector // those of vectors that hold bytes
}

func (r *Rows) newProjectSink() *projectSink {
	s := &projectSink{rows: r, number: r.queue.addLane(), lane: newLane(r.plan.uses)}
	s.filter = r.plan.bindFilter(s.lane)
	for _, e := range r.plan.project {
		s.project = append(s.project, s.lane.bind(e))
	}
	s.vectors = make([]*column.Vector, len(s.project))
	return s
}

// Push implements scan.Sink.
func (s *projectSink) Push(_ context.Context, b *column.Batch) (err error) {
	defer recovered(&err)
	start := time.Now()
	s.lane.batch++
	sel, failed := s.filter.pass(b)
	passed := live(b.N, sel)
	start = s.rows.filtered.count(b.Live(), passed, start)

	first, last, enough := s.rows.claim(passed)
	if first > 0 || last < passed {
		sel = s.lane.rows(b.N, sel)[first:last]
	}
	if f := s.compute(b, &sel); f != nil {
		failed, enough = f, false
	}
	err = s.deliver(b.N, sel)
	s.rows.projected.count(last-first, live(b.N, sel), start)
	switch {
	case err != nil:
		return err
	case enough:
		return scan.Stop
	case failed != nil:
		return s.rows.plan.place(b, failed)
	}
	return nil
}

// compute evaluates the output columns at sel. When a row fails, sel is cut before it.
func (s *projectSink) compute(b *column.Batch, sel *[]int32) (failed *rowError) {
	for i := 0; i < len(s.project); i++ {
		v, err := s.project[i].eval(b, *sel)
		if err == nil {
			s.vectors[i] = v
			continue
		}
		failed = asRowError(err)
		*sel = before(*sel, failed.row)
		i = -1 // again: shared vectors may have been left half computed
	}
	return failed
}

// deliver copies the rows of sel into output batches of bounded size. It waits for space until the run ends, not the lane: rows that were claimed count
// against the limit, so they must arrive even when another lane has met it and ended the scan.
func (s *projectSink) deliver(n int, sel []int32) error {
	left := live(n, sel)
	if left == 0 {
		return nil
	}
	s.views = s.views[:0]
	for _, v := range s.vectors {
		if v.Type.Kind.IsView() {
			s.views = append(s.views, v)
		}
	}
	o := &s.rows.options
	for left > 0 {
		out := s.rows.queue.take(s.number)
		take := min(left, o.MaxBatchRows-out.N)
		full := out.N+take == o.MaxBatchRows
		if take < left || len(s.views) > 0 {
			sel = s.lane.rows(n, sel) // nil, for a plain copy, only when all rows go at once
		}
		if len(s.views) > 0 {
			var heavy bool
			take, heavy = s.fit(sel[:take], o.MaxBatchBytes-viewBytes(out))
			full = full || heavy
		}
		for c, v := range s.vectors {
			out.Cols[c].AppendFrom(v, sel, take)
		}
		out.N += take
		if left -= take; sel != nil {
			sel = sel[take:]
		}
		if err := s.rows.queue.give(s.rows.ctx, s.number, out, full); err != nil {
			return err
		}
	}
	return nil
}

// viewBytes is how many bytes the values of a batch have.
func viewBytes(b *column.Batch) int {
	n := 0
	for i := range b.Cols {
		n += len(b.Cols[i].Data)
	}
	return n
}

// fit gives how many of the rows, at least one, bring no more than space bytes, and whether that space is used up.
func (s *projectSink) fit(sel []int32, space int) (rows int, full bool) {
	for k, i := range sel {
		for _, v := range s.views {
			if !v.IsNull(int(i)) {
				space -= int(v.End[i] - v.Beg[i])
			}
		}
		if space <= 0 {
			return k + 1, true
		}
	}
	return len(sel), false
}

// Finish implements scan.Sink. What is in the lane's slot stays there for the consumer.
func (s *projectSink) Finish(context.Context) error { return nil }

// aggregateSink filters and keeps the partial aggregates of a lane.
type aggregateSink struct {
	rows   *Rows
	lane   *lane
	filter filterEval
	by     []evaluator
	args   []evaluator // nil for COUNT(*)
	keys   *keys       // nil without GROUP BY
	accs   []accumulator
	cols   []*column.Vector
	groups []int32
	held   int // bytes accounted
}

func (r *Rows) newAggregateSink() *aggregateSink {
	p := r.plan
	s := &aggregateSink{rows: r, lane: newLane(p.uses)}
	s.filter = p.bindFilter(s.lane)
	var types []column.Type
	for _, e := range p.groupBy {
		s.by = append(s.by, s.lane.bind(e))
		types = append(types, e.Type())
	}
	s.cols = make([]*column.Vector, len(s.by))
	if len(s.by) > 0 {
		s.keys = newKeys(types)
	}
	for _, a := range p.aggregates {
		var arg evaluator
		if a.Arg != nil {
			arg = s.lane.bind(a.Arg)
		}
		s.args = append(s.args, arg)
		acc := a.accumulator()
		if s.keys == nil {
			acc.grow(1)
		}
		s.accs = append(s.accs, acc)
	}
	return s
}

// Push implements scan.Sink.
func (s *aggregateSink) Push(_ context.Context, b *column.Batch) (err error) {
	defer recovered(&err)
	start := time.Now()
	s.lane.batch++
	sel, failed := s.filter.pass(b)
	passed := live(b.N, sel)
	start = s.rows.filtered.count(b.Live(), passed, start)
	if failed == nil && passed > 0 {
		failed = s.add(b, sel)
	}
	s.rows.aggregated.count(passed, 0, start)
	if failed != nil {
		return s.rows.plan.place(b, failed)
	}
	return s.account()
}

func (s *aggregateSink) add(b *column.Batch, sel []int32) *rowError {
	var groups []int32
	if s.keys != nil {
		for i, e := range s.by {
			v, err := e.eval(b, sel)
			if err != nil {
				return asRowError(err)
			}
			s.cols[i] = v
		}
		s.groups = s.keys.assign(s.cols, b.N, sel, s.groups)
		groups = s.groups
	}
	for i, acc := range s.accs {
		var v *column.Vector
		if s.args[i] != nil {
			var err error
			if v, err = s.args[i].eval(b, sel); err != nil {
				return asRowError(err)
			}
		}
		if s.keys != nil {
			acc.grow(s.keys.len())
		}
		acc.add(v, b.N, sel, groups)
	}
	return nil
}

// asRowError is the error of an evaluator. One that names no row would be a fault of ours; it ends the batch at its first row.
func asRowError(err error) *rowError {
	var r *rowError
	if !errors.As(err, &r) {
		r = &rowError{0, sqlerr.New(sqlerr.Unexpected, "%w", err)}
	}
	return r
}

// account reports the growth of the state to the budget of the run.
func (s *aggregateSink) account() error {
	n := 0
	if s.keys != nil {
		n = s.keys.bytes()
	}
	for _, a := range s.accs {
		n += a.bytes()
	}
	total := s.rows.memory.Add(int64(n - s.held))
	s.held = n
	if limit := s.rows.options.MemoryBytes; limit > 0 && total > limit {
		return sqlerr.New(sqlerr.ScanMemory, "the groups of the statement need more than its %d bytes of memory", limit).
			WithHint("filter more, group by fewer distinct values, or raise the memory limit")
	}
	return nil
}

// Finish implements scan.Sink. The run merges the lanes when all have ended.
func (s *aggregateSink) Finish(context.Context) error { return nil }

// merge adds the state of another lane.
func (s *aggregateSink) merge(from *aggregateSink) {
	to := []int32{0}
	if s.keys != nil {
		to = s.keys.merge(from.keys)
	}
	for i, acc := range s.accs {
		if s.keys != nil {
			acc.grow(s.keys.len())
		}
		acc.merge(from.accs[i], to)
	}
}

// emit hands out the results of all groups.
func (s *aggregateSink) emit(ctx context.Context, lane int) error {
	groups := 1
	if s.keys != nil {
		groups = s.keys.len()
	}
	first, last, _ := s.rows.claim(groups)
	for g := first; g < last; {
		out := s.rows.queue.take(lane)
		for ; g < last && out.N < s.rows.options.MaxBatchRows && viewBytes(out) < s.rows.options.MaxBatchBytes; g++ {
			if s.keys != nil {
				s.keys.emit(int32(g), out.Cols)
			}
			for i, acc := range s.accs {
				acc.emit(g, &out.Cols[len(s.by)+i])
			}
			out.N++
		}
		if err := s.rows.queue.give(ctx, lane, out, g < last); err != nil {
			return err
		}
	}
	s.rows.aggregated.out.Add(int64(last - first))
	return nil
}
