package ops

import (
	"math"

	"millrace/internal/column"
	"millrace/internal/scan"
)

var (
	_ scan.Keeper = (*sortSink)(nil)
	_ scan.Keeper = (*aggregateSink)(nil)
	_ scan.Coder  = (*aggregateSink)(nil)
	_ scan.Coder  = (*sortSink)(nil)
	_ scan.Coder  = (*projectSink)(nil)
)

// Kept implements scan.Keeper: the first key of the order is the field that a source reads backwards by.
func (s *sortSink) Kept(values []int64) []int64 {
	add := func(b *column.Batch) {
		key := &b.Cols[s.at[0]]
		for i := range b.N {
			switch {
			case key.IsNull(i):
				values = append(values, math.MinInt64)
			case key.Type.Kind == column.Float64:
				values = append(values, scan.FloatOrder(key.Float[i]))
			default:
				values = append(values, keptValue(key.Type, key.Int[i]))
			}
		}
	}
	for _, r := range s.runs {
		for _, b := range r.batches {
			add(b)
		}
	}
	add(s.kept)
	return values
}

// Kept implements scan.Keeper for a MAX without groups, which keeps one row.
func (s *aggregateSink) Kept(values []int64) []int64 {
	if acc, ok := s.table.accs[0].(*extremeInts); ok && acc.seen[0] {
		values = append(values, keptValue(s.stage.plan.aggregates[0].Arg.Type(), acc.best[0]^acc.mask))
	}
	return values
}

// keptValue is x of a column of type t as a source has it: vectors hold microseconds, records milliseconds.
func keptValue(t column.Type, x int64) int64 {
	if t.Kind == column.Timestamp {
		return x / 1000
	}
	return x
}
