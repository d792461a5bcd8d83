package ops

import (
	"cmp"
	"context"
	"slices"
	"time"

	"millrace/internal/column"
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
	runs   []*sortedRun
	sorted int // rows in runs
	bar    column.Batch
	barred []*column.Vector // the keys of bar, nil while there is none
	better []int32
	held   int64 // bytes accounted
}

// runBytes is the size of what is sorted at once. It is small enough for the caches of a processor to be of use.
const runBytes = 4 << 20

func (st *stage) newSortSink() *sortSink {
	p := st.plan
	s := &sortSink{stage: st, lane: st.newLane(), order: p.order, want: int(p.limit)}
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
	s.stage.finished.count(passed, 0, start)
	if failed != nil {
		return s.stage.plan.place(b, failed)
	}
	return s.account()
}

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
	if full := s.kept.N >= 1024 && s.want >= 0 && s.kept.N/2 >= s.want; full || s.kept.Bytes() >= runBytes {
		s.seal()
	}
	return nil
}

// beforeBar gives the rows of sel that come before the bar.
func (s *sortSink) beforeBar(sel []int32) []int32 {
	s.better = room(s.better, len(sel))
	k := 0
	for _, i := range sel {
		s.better[k] = i
		k += bit(s.order.compare(s.keys.vectors, int(i), s.barred, 0) < 0)
	}
	return s.better[:k]
}

// seal makes a run of the rows that are kept.
func (s *sortSink) seal() {
	if s.kept.N == 0 {
		return
	}
	r := &sortedRun{rows: s.kept.N, batches: []*column.Batch{s.kept}}
	r.order = s.order.sort(keysOf(s.kept, s.at), s.kept.N)
	s.kept = s.empty()
	s.runs = append(s.runs, r)
	if s.sorted += r.rows; s.want >= 0 && s.sorted/2 >= s.want {
		s.prune()
	}
}

// prune leaves one run of the rows that are wanted, and sets the bar.
func (s *sortSink) prune() {
	into := &sortedRun{batches: []*column.Batch{s.empty()}}
	last := func() *column.Batch { return into.batches[len(into.batches)-1] }
	m := newMerger(s.order, s.at, s.runs)
	for into.rows < s.want {
		b := last()
		if b.N > 0 && b.Bytes() >= runBytes {
			into.batches = append(into.batches, s.empty())
			b = last()
		}
		n := m.next(b, min(s.want-into.rows, mergedRows), runBytes)
		if n == 0 {
			break
		}
		into.rows += n
	}
	s.runs, s.sorted = []*sortedRun{into}, into.rows
	if into.rows < s.want || s.want == 0 {
		return
	}
	b := last()
	s.bar.Reset(s.fields)
	s.bar.N = 1
	for c := range b.Cols {
		s.bar.Cols[c].AppendRow(&b.Cols[c], b.N-1)
	}
	s.barred = keysOf(&s.bar, s.at)
}

// keysOf are the columns of b at the given places.
func keysOf(b *column.Batch, at []int) []*column.Vector {
	list := make([]*column.Vector, len(at))
	for k, c := range at {
		list[k] = &b.Cols[c]
	}
	return list
}

func (s *sortSink) account() error {
	n := int64(s.kept.Bytes())
	for _, r := range s.runs {
		n += r.bytes()
	}
	total := s.stage.rows.memory.Add(n - s.held)
	s.held = n
	return s.stage.rows.checkMemory(total, "the sorted rows")
}

// Finish implements scan.Sink. Each lane sorts its last rows; the run merges the lanes when all have ended.
func (s *sortSink) Finish(context.Context) (err error) {
	defer recovered(&err)
	start := time.Now()
	s.seal()
	s.stage.took(start)
	return nil
}

// emit implements partial: the rows in order, without those that OFFSET leaves out.
func (s *sortSink) emit(others []partial, to output) error {
	runs := s.runs
	for _, o := range others {
		runs = append(runs, o.(*sortSink).runs...)
	}
	m := newMerger(s.order, s.at, runs)
	plan, options := s.stage.plan, &s.stage.rows.options
	left := int64(-1)
	if plan.limit >= 0 {
		left = plan.limit - plan.offset
	}
	m.skip(plan.offset)
	for {
		start := time.Now()
		out := to.take()
		n := min(mergedRows, options.MaxBatchRows-out.N)
		if left >= 0 {
			n = int(min(int64(n), left))
		}
		got := m.next(out, n, max(options.MaxBatchBytes-viewBytes(out), 1))
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

// sortedRow is a row of a batch with the begin of its first key, so that most comparisons touch nothing else.
type sortedRow struct {
	prefix uint64
	row    int32
}

// sort gives the rows [0, n) of the keys in order.
func (o ordering) sort(keys []*column.Vector, n int) []int32 {
	list := make([]sortedRow, n)
	for i := range list {
		list[i] = sortedRow{o.prefix(keys, i), int32(i)}
	}
	slices.SortFunc(list, func(a, b sortedRow) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return o.compare(keys, int(a.row), keys, int(b.row))
	})
	order := make([]int32, n)
	for i, r := range list {
		order[i] = r.row
	}
	return order
}
