package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"millrace/internal/scan"
)

// domain is a superset of the records for which a predicate is true: a product of one set for each dimension that a source can
// bound. The zero value is not useful; everything() is the domain of a predicate of which nothing is known.
type domain struct {
	// topics is the set of topics, when known is true.
	known      bool
	topics     []string
	partitions ranges
	offsets    ranges
	// since is the least timestamp in milliseconds, MinInt64 for none.
	since int64
}

func everything() domain {
	return domain{partitions: allRanges, offsets: allRanges, since: math.MinInt64}
}

// dimensions lists which dimensions d bounds.
func (d domain) dimensions() (n int) {
	if d.known {
		n++
	}
	if !d.partitions.full() {
		n++
	}
	if !d.offsets.full() {
		n++
	}
	if d.since != math.MinInt64 {
		n++
	}
	return n
}

func (d domain) unbounded() bool { return d.dimensions() == 0 }

func (d domain) intersect(o domain) domain {
	out := domain{
		partitions: d.partitions.intersect(o.partitions),
		offsets:    d.offsets.intersect(o.offsets),
		since:      max(d.since, o.since),
	}
	switch {
	case d.known && o.known:
		out.known = true
		out.topics = []string{}
		for _, t := range d.topics {
			if slices.Contains(o.topics, t) {
				out.topics = append(out.topics, t)
			}
		}
	case d.known:
		out.known, out.topics = true, d.topics
	case o.known:
		out.known, out.topics = true, o.topics
	}
	return out
}

// union gives the smallest domain that holds both. It is their exact union when both bound one and the same dimension, else more.
func (d domain) union(o domain) domain {
	out := domain{
		partitions: d.partitions.union(o.partitions),
		offsets:    d.offsets.union(o.offsets),
		since:      min(d.since, o.since),
	}
	if d.known && o.known {
		out.known = true
		out.topics = slices.Clone(d.topics)
		for _, t := range o.topics {
			if !slices.Contains(out.topics, t) {
				out.topics = append(out.topics, t)
			}
		}
	}
	return out
}

// sameDimension reports whether d and o bound one dimension each, the same, so that their union is exact.
func (d domain) sameDimension(o domain) bool {
	return d.dimensions() == 1 && o.dimensions() == 1 &&
		d.known == o.known &&
		d.partitions.full() == o.partitions.full() &&
		d.offsets.full() == o.offsets.full()
}

// complement gives the records outside d, and whether that is a domain.
func (d domain) complement() (domain, bool) {
	if d.dimensions() != 1 || d.known || d.since != math.MinInt64 {
		return domain{}, false
	}
	out := everything()
	if d.offsets.full() {
		out.partitions = d.partitions.complement()
	} else {
		out.offsets = d.offsets.complement()
	}
	return out, true
}

// bounds translates d for a source.
func (d domain) bounds() scan.Bounds {
	var b scan.Bounds
	if d.known {
		b.Topics = d.topics
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
	return b
}

func (d domain) String() string {
	var parts []string
	if d.known {
		list := "none"
		if len(d.topics) > 0 {
			list = "'" + strings.Join(d.topics, "', '") + "'"
		}
		parts = append(parts, "topic in "+list)
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
	return strings.Join(parts, ", ")
}
