package ops

import (
	"context"
	"fmt"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// lane is what the evaluators of one lane share. It belongs to the lane's goroutine.
type lane struct {
	// ctx ends with the run; faults counts its bad data, and formats the same by format.
	ctx     context.Context
	faults  *faults
	formats *scan.Faults
	// uses counts how often each expression of the plan occurs, by its identity; it belongs to the plan.
	uses map[string]int
	// memos are the evaluators of expressions that occur more than once, by identity.
	memos map[string]*memo
	// groups are what expressions of different text share, such as one extractor for all paths into a column.
	shared map[string]any
	// batch counts the batches; what is cached is valid for one.
	batch int64
	// grown counts how often a memo was computed again for more rows of a batch. Results made of it before may point into what it overwrote.
	grown int64
	// identity is 0, 1, 2 …: the selection of all rows, for kernels that have no dense form.
	identity []int32
	// scratch serves a single kernel call.
	scratch []int32
}

func newLane(uses map[string]int) *lane {
	return &lane{ctx: context.Background(), faults: new(faults), uses: uses, memos: map[string]*memo{}, shared: map[string]any{}}
}

// newLane is a lane of st.
func (st *stage) newLane() *lane {
	l := newLane(st.plan.uses)
	l.ctx, l.faults, l.formats = st.rows.ctx, &st.rows.faults, st.rows.options.Faults
	return l
}

// rows lists sel, also when it is nil for all n.
func (l *lane) rows(n int, sel []int32) []int32 {
	if sel != nil {
		return sel
	}
	for len(l.identity) < n {
		l.identity = append(l.identity, int32(len(l.identity)))
	}
	return l.identity[:n]
}

// bind makes the evaluator of e, or shares the one of an equal expression.
func (l *lane) bind(e Expr) evaluator {
	if !worthSharing(e) {
		return e.bind(l)
	}
	id := identity(e)
	if l.uses[id] < 2 {
		return e.bind(l)
	}
	m := l.memos[id]
	if m == nil {
		m = &memo{x: e.bind(l), lane: l}
		l.memos[id] = m
	}
	return m
}

// bindHeld makes an evaluator whose vector stays as it is until the next batch, so that others may point into it.
func (l *lane) bindHeld(e Expr) evaluator {
	x := l.bind(e)
	if _, ok := x.(*memo); ok || len(e.operands()) == 0 {
		return x
	}
	return &memo{x: x, lane: l}
}

// identity is equal for expressions that compute the same. The text alone is not enough: two columns may have one name, and
// constants of different types one spelling.
func identity(e Expr) string {
	b := []byte(e.String())
	var leaves func(e Expr)
	leaves = func(e Expr) {
		switch x := e.(type) {
		case *columnRef:
			b = fmt.Appendf(b, " #%d", x.index)
		case *constant:
			b = fmt.Appendf(b, " %v", x.typ)
		case *decoded:
			b = fmt.Appendf(b, " %p", x.how)
		case *decodeError:
			b = fmt.Appendf(b, " %p", x.how)
		}
		for _, o := range e.operands() {
			leaves(o)
		}
	}
	leaves(e)
	return string(b)
}

// worthSharing: a column or constant costs nothing, and conditions choose rows instead of making values.
func worthSharing(e Expr) bool {
	return e.Type().Kind != column.Bool && len(e.operands()) > 0
}

// countUses counts the occurrences of every expression below list. What lies below the second occurrence of an expression is not
// computed again and does not count.
func countUses(uses map[string]int, list []Expr) {
	for _, e := range list {
		if !worthSharing(e) {
			countUses(uses, e.operands())
			continue
		}
		id := identity(e)
		if uses[id]++; uses[id] == 1 {
			countUses(uses, e.operands())
		}
	}
}

// memo computes an expression once a batch for all who use it. Whoever asks for rows that are computed gets the vector at hand. Who asks
// for others, as the branches of a CASE do, has it computed again for those and the ones before, so that whoever holds the vector finds
// its rows in it; memos that may point into it are then computed again too before they are used.
type memo struct {
	x     evaluator
	lane  *lane
	batch int64
	grown int64
	all   bool
	done  []uint64
	rows  []int32
	out   *column.Vector
}

func (m *memo) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	if m.batch == m.lane.batch {
		held := m.holds(sel)
		switch {
		case held && m.grown == m.lane.grown:
			return m.out, nil
		case !held:
			m.lane.grown++
		}
		sel = m.and(in.N, sel)
	}
	m.batch = 0
	out, err := m.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	m.out, m.batch, m.grown, m.all = out, m.lane.batch, m.lane.grown, sel == nil
	if !m.all {
		m.done = room(m.done, (in.N+63)/64)
		clear(m.done)
		m.mark(sel)
	}
	return out, nil
}

// and gives the rows that are computed and those of sel.
func (m *memo) and(n int, sel []int32) []int32 {
	if m.all || sel == nil {
		return nil
	}
	m.mark(sel)
	m.rows = room(m.rows, n)
	k := 0
	for i := range int32(n) {
		m.rows[k] = i
		k += int(m.done[i>>6] >> (uint(i) & 63) & 1)
	}
	return m.rows[:k]
}

func (m *memo) mark(sel []int32) {
	for _, i := range sel {
		m.done[i>>6] |= 1 << (uint(i) & 63)
	}
}

func (m *memo) holds(sel []int32) bool {
	if m.all {
		return true
	}
	if sel == nil {
		return false
	}
	var missing uint64
	for _, i := range sel {
		missing |= ^m.done[i>>6] >> (uint(i) & 63)
	}
	return missing&1 == 0
}
