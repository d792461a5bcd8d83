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
	// boxes, when not nil, are products of which the records lie in one at least, as an OR over several dimensions has it: partition 0 from
	// one offset on, partition 1 from another. They only ever leave out more; a predicate that needs them is checked again.
	boxes []box
}

// box is a product of one set for each dimension but time.
type box struct {
	topics     texts
	partitions ranges
	offsets    ranges
}

// mostBoxes bounds the boxes of a domain: beyond it there are none.
const mostBoxes = 32

func (b box) empty() bool { return len(b.topics) == 0 || len(b.partitions) == 0 || len(b.offsets) == 0 }

func (b box) full() bool { return b.topics.full() && b.partitions.full() && b.offsets.full() }

// parts are the boxes of d, itself when it has none.
func (d domain) parts() []box {
	if d.boxes != nil {
		return d.boxes
	}
	return []box{{d.topics, d.partitions, d.offsets}}
}

func everything() domain {
	return domain{topics: allTexts, partitions: allRanges, offsets: allRanges, since: math.MinInt64, until: math.MaxInt64}
}

func (d domain) timed() bool { return d.since != math.MinInt64 || d.until != math.MaxInt64 }

func (d domain) unbounded() bool {
	return d.topics.full() && d.partitions.full() && d.offsets.full() && !d.timed() && d.boxes == nil
}

func (d domain) intersect(o domain) domain {
	out := domain{
		topics:     d.topics.intersect(o.topics),
		partitions: d.partitions.intersect(o.partitions),
		offsets:    d.offsets.intersect(o.offsets),
		since:      max(d.since, o.since),
		until:      min(d.until, o.until),
	}
	if d.boxes == nil && o.boxes == nil || len(d.parts())*len(o.parts()) > mostBoxes {
		return out
	}
	out.boxes = []box{}
	for _, a := range d.parts() {
		for _, b := range o.parts() {
			both := box{a.topics.intersect(b.topics), a.partitions.intersect(b.partitions), a.offsets.intersect(b.offsets)}
			if !both.empty() {
				out.boxes = append(out.boxes, both)
			}
		}
	}
	return out
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
	whole := d.boxes == nil && o.boxes == nil
	if whole && !d.timed() && !o.timed() && d.joins(o) {
		return out, true
	}
	boxes := slices.Concat(d.parts(), o.parts())
	if len(boxes) <= mostBoxes && !(whole && d.joins(o)) && !slices.ContainsFunc(boxes, box.full) {
		out.boxes = boxes
	}
	return out, false
}

// joins reports whether d and o, which have no boxes, have a union that is a product.
func (d domain) joins(o domain) bool {
	differ := 0
	for _, same := range []bool{slices.Equal(d.topics, o.topics), slices.Equal(d.partitions, o.partitions), slices.Equal(d.offsets, o.offsets)} {
		if !same {
			differ++
		}
	}
	return differ <= 1 || d.holds(o) || o.holds(d)
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
	for _, x := range d.boxes {
		b.Boxes = append(b.Boxes, scan.Box{Topics: x.topics, Partitions: x.partitions, Offsets: x.offsets})
	}
	if d.boxes != nil && len(d.boxes) == 0 {
		b.Offsets = []scan.Range{} // nothing qualifies
	}
	return b
}

func (d domain) String() string {
	var parts []string
	if d.boxes != nil {
		parts = append(parts, d.showBoxes())
		d.topics, d.partitions, d.offsets = allTexts, allRanges, allRanges
	}
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

func (d domain) showBoxes() string {
	if len(d.boxes) == 0 {
		return "none"
	}
	var list []string
	for _, b := range d.boxes {
		one := everything()
		one.topics, one.partitions, one.offsets = b.topics, b.partitions, b.offsets
		list = append(list, "("+one.String()+")")
	}
	return strings.Join(list, " or ")
}
