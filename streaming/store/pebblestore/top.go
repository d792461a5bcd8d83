package pebblestore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// The rows with the greatest values of a column: segments are read best first, in growing rounds. After each, sinks tell the values that they keep; once these are enough, segments
// whose best value is worse than the worst of them are left out. "Better" is greater, or with Ascending less: all values are negated then, so
// one order will do.

// topGrowth is how much more a round reads than the one before.
const topGrowth = 4

func (s *source) setTop(top *store.Top) error {
	s.topAt = -1
	if top == nil || top.Rows <= 0 {
		return nil
	}
	if top.Column < 0 || top.Column >= len(s.table.schema.Columns) {
		return fmt.Errorf("store: table %s has no column %d", s.table.id, top.Column)
	}
	if k := s.table.schema.Columns[top.Column].Type.Kind; k.IsInt() && k != column.Uint64 || k == column.Float64 {
		s.top, s.bar.ties = top, top.Ties
		id := s.table.schema.Columns[top.Column].ID
		s.topAt = slices.IndexFunc(s.columns, func(c store.Column) bool { return c.ID == id })
	}
	return nil
}

// bestOf is a value that no row of a segment betters. NULL is less than all, so the best when ascending.
func bestOf(top *store.Top, e *entry, c *store.Column) int64 {
	stats := e.statsOf(c)
	switch {
	case top.Ascending && stats.Nulls > 0, stats.NaN:
		return math.MaxInt64
	case !stats.Bounded:
		return math.MinInt64 // nothing but NULLs
	case top.Ascending:
		return negated(numberOf(c, stats.Min))
	default:
		return numberOf(c, stats.Max)
	}
}

// numberOf is a value as sinks tell it, but for times, which sinks tell in milliseconds.
func numberOf(c *store.Column, v store.Value) int64 {
	if c.Type.Kind == column.Float64 {
		return scan.FloatOrder(v.Float64())
	}
	return v.Int64()
}

// negated reverses the order of numbers; MinInt64 and the next become equal, which is no worse.
func negated(x int64) int64 { return -max(x, -math.MaxInt64) }

func (s *source) topRounds(ctx context.Context, lanes store.Lanes[*lane]) error {
	var left []piece
	for _, p := range s.pieces {
		left = append(left, p...)
	}
	slices.SortStableFunc(left, func(a, b piece) int { return cmp.Compare(b.best, a.best) })
	for size := len(lanes); len(left) > 0; size *= topGrowth {
		n, rows := 0, 0
		var round [][]piece
		for n < len(left) && (n < size || int64(rows) < s.top.Rows) {
			round = append(round, left[n:n+1])
			rows += left[n].rows
			n++
		}
		if err := s.round(ctx, lanes, round); err != nil {
			return err
		}
		left = left[n:]
		s.raise(lanes)
		keep := len(left)
		for keep > 0 && s.bar.below(left[keep-1].best) {
			keep--
		}
		s.skipped.Add(int64(len(left) - keep))
		for _, p := range left[keep:] {
			s.rowsDone.Add(int64(p.rows)) // done with, as far as progress is concerned
		}
		left = left[:keep]
	}
	s.splitsDone.Store(int64(len(s.splits)))
	return nil
}

// bar is the value that rows have to better, or where other keys may decide to equal, to be among the first.
type bar struct {
	ties  bool
	mu    sync.Mutex
	worst int64
	known bool // there are as many rows as are wanted
}

// below reports whether rows are of no use none of which is better than best.
func (b *bar) below(best int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known && (best < b.worst || b.ties && best == b.worst)
}

func (b *bar) raise(worst int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known || worst > b.worst {
		b.worst, b.known = worst, true
	}
}

// raise sets the bar by what the sinks of lanes keep, which must not run: a value that none of their Top.Rows best rows is worse than.
func (s *source) raise(lanes store.Lanes[*lane]) {
	values := lanes.Kept(s.top)
	if values == nil {
		return
	}
	milliseconds := s.table.schema.Columns[s.top.Column].Type.Kind == column.Timestamp
	for i, x := range values {
		switch {
		case s.top.Ascending && x == math.MinInt64: // NULL comes first
			x = math.MaxInt64
		case milliseconds && s.top.Ascending:
			x = negated(store.Milliseconds(x, 1)) // rounded to the worse side
		case milliseconds && x != math.MinInt64:
			x = store.Milliseconds(x, -1)
		case s.top.Ascending:
			x = negated(x)
		}
		values[i] = x
	}
	slices.Sort(values)
	s.bar.raise(values[int64(len(values))-s.top.Rows])
}

// soonRaised is the most rows for which a lane raises the bar after each window, and not only after a segment: it looks at all that are kept.
const soonRaised = windowRows / 16

// raise sets the bar by what the lane itself has kept so far.
func (l *lane) raise() {
	if s := l.source; s.top != nil && s.top.Rows <= soonRaised {
		s.raise(l.self)
	}
}

// best is a value that no row of a window of the segment at hand betters.
func (l *lane) best(window int) int64 {
	s := l.source
	if s.topAt < 0 || l.zones[s.topAt] == nil {
		return math.MaxInt64
	}
	switch z := l.zones[s.topAt][window]; {
	case !s.top.Ascending:
		return z.max
	case l.whole[s.topAt].Valid != nil: // there may be a NULL
		return math.MaxInt64
	default:
		return negated(z.min)
	}
}
