package ops

import (
	"context"
	"slices"
	"time"

	"millrace/internal/column"
)

// topSink keeps the first rows of a lane in the order of the plan.
//
// Rows are collected, output columns and keys side by side, until there are twice as many as wanted; then they are sorted and the
// better half stays. From then on the last row that stayed is a bar: a row that does not come before it is dropped as soon as its
// keys are known, before any output column is computed. On data in random order that is nearly every row.
type topSink struct {
	rows    *Rows
	lane    *lane
	order   ordering
	filter  filterEval
	keys    projection
	project projection

	want   int // rows that the result needs
	fields []column.Field
	kept   column.Batch // project, then keys
	spare  column.Batch
	sorted bool // kept holds want rows in order; its last is the bar
	index  []int32
	better []int32
	held   int64 // bytes accounted
}

func (r *Rows) newTopSink() *topSink {
	p := r.plan
	s := &topSink{rows: r, lane: r.newLane(), order: p.order, want: int(p.limit)}
	s.filter = p.bindFilter(s.lane)
	s.keys, s.project = s.lane.bindAll(p.order.exprs()), s.lane.bindAll(p.project)
	s.fields = append(append(s.fields, p.fields...), make([]column.Field, len(p.order))...)
	for i, o := range p.order {
		s.fields[len(p.fields)+i].Type = o.Expr.Type()
	}
	s.kept.Reset(s.fields)
	return s
}

// pruneBytes is when rows that are wide are sorted although they are few.
const pruneBytes = 1 << 20

// Push implements scan.Sink.
func (s *topSink) Push(_ context.Context, b *column.Batch) (err error) {
	defer recovered(&err)
	start := time.Now()
	s.lane.batch++
	sel, failed := s.filter.pass(b)
	passed := live(b.N, sel)
	start = s.rows.filtered.count(b.Live(), passed, start)
	if failed == nil && passed > 0 {
		failed = s.add(b, sel)
	}
	s.rows.finished.count(passed, 0, start)
	if failed != nil {
		return s.rows.plan.place(b, failed)
	}
	return s.account()
}

func (s *topSink) add(b *column.Batch, sel []int32) *rowError {
	if failed := s.keys.all(b, sel); failed != nil {
		return failed
	}
	if s.sorted {
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
	for k, v := range s.keys.vectors {
		s.kept.Cols[len(s.project.vectors)+k].AppendFrom(v, sel, n)
	}
	if s.kept.N += n; s.kept.N/2 >= s.want && (s.kept.N >= 1024 || s.kept.Bytes() >= pruneBytes) {
		s.prune()
	}
	return nil
}

// beforeBar gives the rows of sel that come before the bar.
func (s *topSink) beforeBar(sel []int32) []int32 {
	s.better = room(s.better, len(sel))
	bar := keysOf(&s.kept, len(s.project.vectors))
	k := 0
	for _, i := range sel {
		s.better[k] = i
		k += bit(s.order.compare(s.keys.vectors, int(i), bar, s.want-1) < 0)
	}
	return s.better[:k]
}

// keysOf are the key columns of kept rows, which follow the output columns.
func keysOf(b *column.Batch, output int) []*column.Vector {
	list := make([]*column.Vector, 0, 4)
	for c := output; c < len(b.Cols); c++ {
		list = append(list, &b.Cols[c])
	}
	return list
}

// prune sorts what is kept and leaves the rows that are wanted.
func (s *topSink) prune() {
	n := s.kept.N
	s.index = fillIdentity(room(s.index, n))
	keys := keysOf(&s.kept, len(s.project.vectors))
	slices.SortFunc(s.index, func(i, j int32) int { return s.order.compare(keys, int(i), keys, int(j)) })
	n = min(n, s.want)
	s.spare.Reset(s.fields)
	for c := range s.kept.Cols {
		s.spare.Cols[c].AppendFrom(&s.kept.Cols[c], s.index, n)
	}
	s.spare.N = n
	s.kept, s.spare = s.spare, s.kept
	s.sorted = n == s.want
}

func (s *topSink) account() error {
	n := int64(s.kept.Bytes() + s.spare.Bytes())
	total := s.rows.memory.Add(n - s.held)
	s.held = n
	return s.rows.checkMemory(total, "the sorted rows")
}

// Finish implements scan.Sink. The run merges the lanes when all have ended.
func (s *topSink) Finish(context.Context) error { return nil }

// merge implements partial.
func (s *topSink) merge(other partial) {
	from := other.(*topSink)
	from.prune()
	s.kept.AppendRows(&from.kept, -1)
	s.prune()
}

// emit hands out the rows in order, without those that OFFSET leaves out.
func (s *topSink) emit(lane int) error {
	s.prune()
	first, last, _ := s.rows.claim(s.kept.N)
	s.index = fillIdentity(room(s.index, s.kept.N))
	vectors := make([]*column.Vector, len(s.project.vectors))
	for c := range vectors {
		vectors[c] = &s.kept.Cols[c]
	}
	s.rows.finished.out.Add(int64(last - first))
	out := outlet{rows: s.rows, number: lane}
	return out.deliver(vectors, s.index[first:last], first == 0)
}
