package kafka

import (
	"context"
	"math"
	"slices"
	"time"

	"millrace/internal/scan"
)

// until ends the read where an upper bound of timestamps says, which is only right when the user has asserted how far records may be out of the order
// of their timestamps: a record at or after the bound plus that skew has none below the bound behind it. Without one the end stays.
func (p *planner) until(ctx context.Context, b scan.Bounds) error {
	if !b.HasMaxTimestamp || p.spec.TimestampSkew == nil || len(p.extents) == 0 {
		return nil
	}
	wanted := map[*PartitionState]bool{}
	for i := range p.extents {
		wanted[p.extents[i].part] = true
	}
	at := max(plus(b.MaxTimestamp, milliseconds(*p.spec.TimestampSkew)), 0) // a broker takes negative times for something else
	ends := map[*PartitionState]int64{}
	ask := func(_ *TopicState, s *PartitionState) (int64, bool) { return at, wanted[s] }
	err := p.lookUp(ctx, ask, func(t *target, found listed) error {
		if ends[t.part] = math.MaxInt64; !found.noTimestamps && found.offset >= 0 {
			ends[t.part] = found.offset
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range p.extents {
		e := &p.extents[i]
		e.To = min(e.To, ends[e.part])
	}
	p.extents = slices.DeleteFunc(p.extents, func(e extent) bool { return e.Empty() })
	return nil
}

// milliseconds is d rounded up.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// plus is a + b, or the greatest integer when that is too large. b is not negative.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
