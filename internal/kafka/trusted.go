package kafka

import (
	"context"
	"math"
	"slices"
	"time"

	"millrace/internal/column"
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
	if at > maxTimestamp {
		return nil
	}
	found := map[*PartitionState]int64{}
	ask := func(_ *TopicState, s *PartitionState) (int64, bool) { return at, wanted[s] }
	err := p.lookUp(ctx, ask, func(t *target, at listed) error {
		if !at.noTimestamps && at.offset >= 0 {
			found[t.part] = at.offset
		}
		return nil
	})
	if err != nil {
		return err
	}
	ends, err := p.recordsFrom(ctx, found, at)
	if err != nil {
		return err
	}
	for i := range p.extents {
		e := &p.extents[i]
		if end, ok := ends[e.part]; ok {
			e.To = min(e.To, end)
		}
	}
	p.extents = slices.DeleteFunc(p.extents, func(e extent) bool { return e.Empty() })
	return nil
}

// markersPassed is how many offsets behind one that a look-up found are searched for a record.
const markersPassed = 64

// recordsFrom gives the first record at or after a time, by partition, from the offsets on that brokers found. What brokers find may also be the marker
// of a transaction, which has the time at which the transaction ended, years after its records perhaps: the user's word is on records only. A
// partition with nothing but markers there is left out.
func (p *planner) recordsFrom(ctx context.Context, found map[*PartitionState]int64, at int64) (map[*PartitionState]int64, error) {
	type place struct {
		topic     string
		partition int64
	}
	parts := map[place]*PartitionState{}
	peek := *p
	peek.extents, peek.warnings = nil, nil
	for i := range p.Topics {
		t := &p.Topics[i]
		for j := range t.Partitions {
			part := &t.Partitions[j]
			from, ok := found[part]
			e := extent{topic: t, part: part, Range: scan.Range{From: from, To: min(from+markersPassed, part.End(p.spec.Isolation))}}
			if ok && !e.Empty() {
				peek.extents = append(peek.extents, e)
				parts[place{t.Name, int64(part.Partition)}] = part
			}
		}
	}
	if len(peek.extents) == 0 {
		return nil, nil
	}
	peek.spec.MaxRecords, peek.spec.MaxTime = 0, 0
	src := newSource(&peek, scan.Request{Fields: []scan.Field{scan.Topic, scan.Partition, scan.Offset, scan.Timestamp}, Limit: markersPassed * int64(len(peek.extents)), Lanes: 1})
	first := map[*PartitionState]int64{}
	err := src.Run(ctx, func(int) (scan.Sink, error) {
		return pushed(func(b *column.Batch) {
			for i := range b.N {
				part := parts[place{string(b.Cols[0].View(i)), b.Cols[1].Int[i]}]
				if was, ok := first[part]; !b.Cols[3].IsNull(i) && b.Cols[3].Int[i] >= at*1000 && (!ok || b.Cols[2].Int[i] < was) {
					first[part] = b.Cols[2].Int[i]
				}
			}
		}), nil
	})
	p.peeked = src.Stats()
	return first, err
}

// pushed is a sink that looks at batches. Only one lane uses it.
type pushed func(*column.Batch)

// Push implements scan.Sink.
func (f pushed) Push(_ context.Context, b *column.Batch) error {
	f(b)
	return nil
}

// Finish implements scan.Sink.
func (pushed) Finish(context.Context) error { return nil }

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

// unsure finds the partitions of which a broker says that no record is at or after a time, and may be wrong: it looks at the first segment with such a
// record, and when records were deleted up to beyond it, not at the segments behind. Where the newest record that the log has ever held is older, there is
// none for sure; where the broker cannot tell that, the partition is read, and its headers tell.
func (p *planner) unsure(ctx context.Context, found map[*PartitionState]listed, at int64) map[*PartitionState]bool {
	unsure := map[*PartitionState]bool{}
	for part, f := range found {
		if f.offset < 0 && !f.noTimestamps && part.LogStart > 0 && part.LogStart < part.End(p.spec.Isolation) {
			unsure[part] = true
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	all := *p
	all.spec.Isolation = ReadUncommitted // a record that is not to be read yet counts too
	ask := func(_ *TopicState, s *PartitionState) (int64, bool) { return askNewest, unsure[s] }
	old := map[*PartitionState]bool{}
	err := all.lookUp(ctx, ask, func(t *target, newest listed) error {
		old[t.part] = newest.version >= 7 && !newest.noTimestamps && newest.offset >= 0 && newest.timestamp < at
		return nil
	})
	if err != nil { // the answer only saves reading
		return unsure
	}
	for part := range old {
		if old[part] {
			delete(unsure, part)
		}
	}
	return unsure
}
