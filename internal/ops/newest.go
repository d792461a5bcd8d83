package ops

import (
	"math"

	"millrace/internal/column"
	"millrace/internal/scan"
)

var _ scan.Keeper = (*topSink)(nil)

// Kept implements scan.Keeper: the first key of the order is the field that a source reads backwards by.
func (s *topSink) Kept(values []int64) []int64 {
	key := keysOf(&s.kept, len(s.project.vectors))[0]
	scale := int64(1)
	if key.Type.Kind == column.Timestamp {
		scale = 1000 // vectors hold microseconds, the field is in milliseconds
	}
	for i := range s.kept.N {
		if key.IsNull(i) {
			values = append(values, math.MinInt64)
		} else {
			values = append(values, key.Int[i]/scale)
		}
	}
	return values
}
