package pebblestore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

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
	if top == nil || top.Rows <= 0 {
		return nil
	}
	if top.Column < 0 || top.Column >= len(s.table.schema.Columns) {
		return fmt.Errorf("store: table %s has no column %d", s.table.id, top.Column)
	}
	if k := s.table.schema.Columns[top.Column].Type.Kind; k.IsInt() && k != column.Uint64 || k == column.Float64 {
		s.top = top
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
		worst, enough := s.worstKept(lanes)
		if !enough {
			continue
		}
		keep := len(left)
		for keep > 0 && (left[keep-1].best < worst || s.top.Ties && left[keep-1].best == worst) {
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

// worstKept is a value that none of the Top.Rows best rows so far is worse than; enough is false while there are fewer rows.
func (s *source) worstKept(lanes store.Lanes[*lane]) (worst int64, enough bool) {
	values := lanes.Kept(s.top)
	if values == nil {
		return 0, false
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
	return values[int64(len(values))-s.top.Rows], true
}
