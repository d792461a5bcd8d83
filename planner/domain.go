package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"millrace/internal/scan"
)

// domain is a superset of the records for which a predicate is true: a product of one set for each dimension that a source can
// bound. The zero value is the empty set; everything() is the domain of a predicate of which nothing is known.
type domain struct {
	topics     texts
	partitions ranges
	offsets    ranges
	// since is the least timestamp in milliseconds, MinInt64 for none, and until the least that is too late, MaxInt64 for none.
	since, until int64
}

func everything() domain {
	return domain{topics: allTexts, partitions: allRanges, offsets: allRanges, since: math.MinInt64, until: math.MaxInt64}
}

func (d domain) timed() bool { return d.since != math.MinInt64 || d.until != math.MaxInt64 }

func (d domain) unbounded() bool {
	return d.topics.full() && d.partitions.full() && d.offsets.full() && !d.timed()
}

func (d domain) intersect(o domain) domain {
	return domain{
		topics:     d.topics.intersect(o.topics),
		partitions: d.partitions.intersect(o.partitions),
		offsets:    d.offsets.intersect(o.offsets),
		since:      max(d.since, o.since),
		until:      min(d.until, o.until),
	}
}

// union gives the smallest domain that holds both, and whether it holds nothing else: so it is when one holds the other, or when they
// differ in one dimension only. Bounds of timestamps are never exact.
func (d domain) union(o domain) (_ domain, exact bool) {
	out := domain{
		topics:     d.topics.union(o.topics),
		partitions: d.partitions.union(o.partitions),
		offsets:    d.offsets.union(o.offsets),
		since:      min(d.since, o.since),
		until:      max(d.until, o.until),
	}
	if d.timed() || o.timed() {
		return out, false
	}
	differ := 0
	for _, same := range []bool{slices.Equal(d.topics, o.topics), slices.Equal(d.partitions, o.partitions), slices.Equal(d.offsets, o.offsets)} {
		if !same {
			differ++
		}
	}
	return out, differ <= 1 || d.holds(o) || o.holds(d)
}

func (d domain) holds(o domain) bool {
	i := d.intersect(o)
	return slices.Equal(i.topics, o.topics) && slices.Equal(i.partitions, o.partitions) && slices.Equal(i.offsets, o.offsets)
}

// bounds translates d for a source.
func (d domain) bounds() scan.Bounds {
	var b scan.Bounds
	if !d.topics.full() {
		if names, ok := d.topics.list(); ok {
			b.Topics = names
		} else {
			b.TopicRanges = d.topics
		}
	}
	if !d.partitions.full() {
		b.Partitions = d.partitions
	}
	if !d.offsets.full() {
		b.Offsets = d.offsets
	}
	if d.since != math.MinInt64 {
		b.MinTimestamp, b.HasMinTimestamp = d.since, true
	}
	if d.until != math.MaxInt64 {
		b.MaxTimestamp, b.HasMaxTimestamp = d.until, true
	}
	return b
}

func (d domain) String() string {
	var parts []string
	if !d.topics.full() {
		parts = append(parts, "topic in "+d.topics.String())
	}
	if !d.partitions.full() {
		parts = append(parts, "partition in "+d.partitions.String())
	}
	if !d.offsets.full() {
		parts = append(parts, "offset in "+d.offsets.String())
	}
	if d.since != math.MinInt64 {
		parts = append(parts, fmt.Sprintf("timestamp from %s", formatMillis(d.since)))
	}
	if d.until != math.MaxInt64 {
		parts = append(parts, fmt.Sprintf("timestamp below %s", formatMillis(d.until)))
	}
	return strings.Join(parts, ", ")
}
