package ops

import (
	"cmp"
	"context"
	"slices"
	"time"

	"millrace/internal/column"
	"millrace/internal/memory"
)

// sortSink sorts the rows of a lane, or keeps the first of them when only so many are wanted.
//
// Rows are collected, output columns and keys side by side, in a batch of bounded size, which is then sorted and becomes a run. When all
// lanes have ended their runs are merged while they are handed out, so nothing is ever sorted as a whole or copied more than once.
//
// With a limit, runs that hold twice as many rows as are wanted are merged into one of those that are. From then on its last row is a bar: a row that
// does not come before it is dropped as soon as its keys are known, before any output column is computed. On data in random order that
// is nearly every row.
type sortSink struct {
	stage   *stage
	lane    *lane
	order   ordering
	filter  filterEval
	keys    projection
	project projection

	want   int            // rows that the result needs, -1 for all
	fields []column.Field // output columns, then the keys that are none of them
	at     []int          // where key k is among fields
	more   []int          // the keys behind the output columns

	kept   *column.Batch // rows that are in no run
	runs   []*sortedRun  // in memory
	sorted int           // rows in runs
	disk   []*sortedRun  // in the temporary file
	bar    column.Batch
	barred []*column.Vector // the keys of bar, nil while there is none
	better []int32
	held   memory.Account
}

// runBytes is the size of what is sorted at once. It is small enough for the caches of a processor to be of use.
const runBytes = 4 << 20

func (st *stage) newSortSink() *sortSink {
	p := st.plan
	s := &sortSink{stage: st, lane: st.newLane(), held: st.rows.state.Account(), order: p.order, want: int(p.limit)}
	s.filter = p.bindFilter(s.lane)
	s.keys, s.project = s.lane.bindAll(p.order.exprs()), s.lane.bindAll(p.project)
	s.fields = append(s.fields, p.fields...)
	for k, o := range p.order {
		at := slices.IndexFunc(p.project, func(e Expr) bool { return identity(e) == identity(o.Expr) })
		if at < 0 {
			at = len(s.fields)
			s.fields = append(s.fields, column.Field{Type: o.Expr.Type()})
			s.more = append(s.more, k)
		}
		s.at = append(s.at, at)
	}
	s.kept = s.empty()
	return s
}

func (s *sortSink) empty() *column.Batch {
	b := new(column.Batch)
	b.Reset(s.fields)
	return b
}

// Push implements scan.Sink.
func (s *sortSink) Push(_ context.Context, b *column.Batch) (err error) {
	defer recovered(&err)
	start := time.Now()
	s.lane.batch++
	sel, failed := s.filter.pass(b)
	passed := live(b.N, sel)
	start = s.stage.filtered.count(b.Live(), passed, start)
	if failed == nil && passed > 0 {
		failed = s.add(b, sel)
	}
	if failed != nil {
		err = s.stage.plan.place(b, failed)
	} else if err = s.seal(false); err == nil {
		err = s.account()
	}
	s.stage.finished.count(passed, 0, start)
	return err
}

// add keeps the rows of sel that may be wanted.
func (s *sortSink) add(b *column.Batch, sel []int32) *rowError {
	if failed := s.keys.all(b, sel); failed != nil {
		return failed
	}
	if s.barred != nil {
		if sel = s.beforeBar(s.lane.rows(b.N, sel)); len(sel) == 0 {
			return nil
		}
	}
	if failed := s.project.all(b, sel); failed != nil {
		return failed
	}
	n := live(b.N, sel)
	for c, v := range s.project.vectors {
		s.kept.Cols[c].AppendFrom(v, sel, n)
	}
	for i, k := range s.more {
		s.kept.Cols[len(s.project.vectors)+i].AppendFrom(s.keys.vectors[k], sel, n)
	}
	s.kept.N += n
	return nil
}

// beforeBar gives the rows of sel that come before the bar.
func (s *sortSink) beforeBar(sel []int32) []int32 {
	s.better = room(s.better, len(sel))
	k := 0
	if first := s.keys.vectors[0]; first.Valid == nil && !s.barred[0].IsNull(0) {
		sign := 1 - 2*bit(s.order[0].Desc)
		switch kind := first.Type.Kind; {
		case kind == column.Float64:
			bar := s.barred[0].Float[0]
			for _, i := range sel {
				s.better[k] = i
				k += bit(s.settle(sign*compareFloats(first.Float[i], bar), i) < 0)
			}
			return s.better[:k]
		case kind.IsInt() && kind != column.Uint64:
			bar := s.barred[0].Int[0]
			for _, i := range sel {
				s.better[k] = i
				k += bit(s.settle(sign*cmp.Compare(first.Int[i], bar), i) < 0)
			}
			return s.better[:k]
		}
	}
	for _, i := range sel {
		s.better[k] = i
		k += bit(s.order.compare(s.keys.vectors, int(i), s.barred, 0) < 0)
	}
	return s.better[:k]
}

// settle compares row i and the bar when c is how they compare by the first key.
func (s *sortSink) settle(c int, i int32) int {
	if c != 0 || len(s.order) == 1 {
		return c
	}
	return s.order.compare(s.keys.vectors, int(i), s.barred, 0)
}

// seal makes a run of the rows that are kept, when they are many or all is set.
func (s *sortSink) seal(all bool) error {
	full := s.kept.N >= 1024 && s.want >= 0 && s.kept.N/2 >= s.want || s.kept.Bytes() >= runBytes
	if s.kept.N == 0 || !full && !all {
		return nil
	}
	r := &sortedRun{rows: s.kept.N, batches: []*column.Batch{s.kept}}
	r.order = s.order.sort(keysOf(s.kept, s.at), s.kept.N, s.want)
	s.kept = s.empty()
	s.runs = append(s.runs, r)
	if s.sorted += r.rows; s.want < 0 || s.sorted/2 < s.want {
		return nil
	}
	return s.prune()
}

// prune leaves one run of the rows that are wanted, and sets the bar.
func (s *sortSink) prune() error {
	into := new(sortedRun)
	err := s.combine(into, s.runs, func(b *column.Batch) bool { return b.Bytes() >= runBytes }, func(b *column.Batch) (*column.Batch, error) {
		into.batches = append(into.batches, b)
		return s.empty(), nil
	})
	s.runs, s.sorted = []*sortedRun{into}, into.rows
	return err
}

// combine merges runs into one, with no more rows than are wanted. A batch is given away when full says so, for one to fill next. When there
// are as many rows as are wanted the last one becomes the bar.
func (s *sortSink) combine(into *sortedRun, runs []*sortedRun, full func(*column.Batch) bool, give func(*column.Batch) (*column.Batch, error)) error {
	m, err := newMerger(&s.stage.rows.temp, s.order, s.at, runs)
	if err != nil {
		return err
	}
	for b := s.empty(); ; {
		n := mergedRows
		if s.want >= 0 {
			n = min(n, s.want-into.rows)
		}
		if n, err = m.next(b, n, blockBytes); err != nil {
			return err
		}
		into.rows += n
		enough := into.rows == s.want
		if enough && n > 0 {
			s.setBar(b)
		}
		ended := n == 0 || enough
		if b.N > 0 && (ended || full(b)) {
			if b, err = give(b); err != nil {
				return err
			}
		}
		if err := context.Cause(s.stage.rows.ctx); err != nil || ended {
			return err
		}
	}
}

// setBar makes the last row of b the bar.
func (s *sortSink) setBar(b *column.Batch) {
	s.bar.Reset(s.fields)
	s.bar.N = 1
	for c := range b.Cols {
		s.bar.Cols[c].AppendRow(&b.Cols[c], b.N-1)
	}
	s.barred = keysOf(&s.bar, s.at)
}

// spill writes all rows that are in memory out as one run.
func (s *sortSink) spill() error {
	if err := s.seal(true); err != nil {
		return err
	}
	r, err := s.write(s.runs)
	if err != nil {
		return err
	}
	s.runs, s.sorted = nil, 0
	s.disk = append(s.disk, r)
	s.held.Force(s.bytes())
	return s.reduce()
}

// write merges runs into one on disk.
func (s *sortSink) write(runs []*sortedRun) (*sortedRun, error) {
	into := new(sortedRun)
	var block []byte
	err := s.combine(into, runs, func(b *column.Batch) bool { return viewBytes(b)+8*b.N*len(b.Cols) >= blockBytes }, func(b *column.Batch) (*column.Batch, error) {
		block = appendRows(block[:0], b)
		e, err := s.stage.rows.temp.append(block)
		into.blocks = append(into.blocks, e)
		b.Reset(s.fields)
		return b, err
	})
	return into, err
}

// mostRuns is how many runs on disk are merged at once: each takes a block of memory.
const mostRuns = 32

// reduce merges runs on disk until they are few enough for one merge.
func (s *sortSink) reduce() error {
	for len(s.disk) > mostRuns {
		r, err := s.write(s.disk[:mostRuns])
		if err != nil {
			return err
		}
		s.disk = append(s.disk[mostRuns:], r)
	}
	return nil
}

// keysOf are the columns of b at the given places.
func keysOf(b *column.Batch, at []int) []*column.Vector {
	list := make([]*column.Vector, len(at))
	for k, c := range at {
		list[k] = &b.Cols[c]
	}
	return list
}

func (s *sortSink) bytes() int64 {
	n := int64(s.kept.Bytes())
	for _, r := range s.runs {
		n += r.bytes()
	}
	return n
}

// account tells the budget what the lane holds. When that is too much it is written out.
func (s *sortSink) account() error {
	n := s.bytes()
	if s.held.Set(n) {
		return nil
	}
	s.held.Force(n) // it is there
	switch r := s.stage.rows; {
	case n < int64(r.options.SpillBytes):
		return nil
	case r.temp.space == nil:
		return r.outOfMemory("the sorted rows")
	default:
		return s.spill()
	}
}

// Finish implements scan.Sink. Each lane sorts its last rows; the run merges the lanes when all have ended.
func (s *sortSink) Finish(context.Context) (err error) {
	defer recovered(&err)
	start := time.Now()
	err = s.seal(true)
	s.stage.took(start)
	return err
}

// emit implements partial: the rows in order, without those that OFFSET leaves out.
func (s *sortSink) emit(others []partial, to output) error {
	for _, p := range others {
		o := p.(*sortSink)
		s.runs, s.disk = append(s.runs, o.runs...), append(s.disk, o.disk...)
	}
	if err := s.reduce(); err != nil {
		return err
	}
	m, err := newMerger(&s.stage.rows.temp, s.order, s.at, append(s.runs, s.disk...))
	if err != nil {
		return err
	}
	open := s.stage.rows.state.Account()
	open.Force(m.bytes())
	defer open.Close()
	plan, options := s.stage.plan, &s.stage.rows.options
	left := int64(-1)
	if plan.limit >= 0 {
		left = plan.limit - plan.offset
	}
	if err := m.skip(plan.offset); err != nil {
		return err
	}
	for {
		start := time.Now()
		out := to.take()
		n := min(mergedRows, options.MaxBatchRows-out.N)
		if left >= 0 {
			n = int(min(int64(n), left))
		}
		got, err := m.next(out, n, max(options.MaxBatchBytes-viewBytes(out), 1))
		if err != nil {
			return err
		}
		s.stage.finished.out.Add(int64(got))
		s.stage.took(start)
		if left >= 0 {
			left -= int64(got)
		}
		ended := got == 0 || left == 0
		if err := to.give(out, !ended && (out.N >= options.MaxBatchRows || viewBytes(out) >= options.MaxBatchBytes)); err != nil || ended {
			return err
		}
	}
}
