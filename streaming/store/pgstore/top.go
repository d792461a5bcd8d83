package pgstore

import (
	"context"
	"math"
	"slices"
	"strconv"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// topGrowth is the factor by which rounds grow: the first ones are small, because after each the sinks may know better.
const topGrowth = 4

// topColumn stands for the column of Top in source.bound.
const topColumn = "{top}"

// setTop notes an order that the source can make use of.
func (s *source) setTop(top *store.Top) error {
	if top == nil || top.Rows <= 0 {
		return nil
	}
	if top.Column < 0 || top.Column >= len(s.table.schema.Columns) {
		return mistake("table %s has no column %d", s.table.id, top.Column)
	}
	if k := s.table.schema.Columns[top.Column].Type.Kind; k.IsInt() && k != column.Uint64 && k != column.Bool || k == column.Float64 {
		s.top = top
	}
	return nil
}

// topRounds reads the newest rows first, as what is asked for is mostly there, and asks the database for no rows of others that are worse than what the sinks keep.
func (s *source) topRounds(ctx context.Context, lanes store.Lanes[*lane]) error {
	left := slices.Clone(s.pieces)
	slices.Reverse(left)
	for size := len(lanes); len(left) > 0; size *= topGrowth {
		n := min(size, len(left))
		if err := s.round(ctx, lanes, left[:n]); err != nil {
			return err
		}
		left = left[n:]
		if s.bound = s.boundOf(lanes); s.bound != "" {
			for i := range left {
				left[i].sparse = true
			}
		}
	}
	return nil
}

// boundOf is a condition that rows meet which may be among the first, by what the sinks keep; empty while anything may be.
func (s *source) boundOf(lanes store.Lanes[*lane]) string {
	values := lanes.Kept(s.top)
	if values == nil {
		return ""
	}
	at := int64(len(values)) - s.top.Rows
	if s.top.Ascending {
		at = s.top.Rows - 1
	}
	worst := values[at]
	kind := s.table.schema.Columns[s.top.Column].Type.Kind
	if worst == math.MinInt64 || worst == math.MaxInt64 { // NULL, NaN, or what cannot be told from them
		return ""
	}
	bound := new(condition)
	var sql string
	switch {
	case kind == column.Float64:
		x := worst
		if x < 0 {
			x ^= math.MaxInt64
		}
		sql = "'" + strconv.FormatFloat(math.Float64frombits(uint64(x)), 'g', -1, 64) + "'::double precision"
	case kind == column.Timestamp:
		by := int64(-1)
		if s.top.Ascending {
			by = 1
		}
		sql, _ = bound.value(kind, store.Int(store.Milliseconds(worst, by)))
	default:
		sql, _ = bound.value(kind, store.Int(worst))
	}
	term := topColumn + " >= " + sql
	if s.top.Ascending {
		term = topColumn + " <= " + sql + " or " + topColumn + " is null"
	}
	if kind == column.Float64 {
		term += " or " + topColumn + " = 'NaN'"
	}
	return "(" + term + ")"
}
