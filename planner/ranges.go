package planner

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"millrace/internal/scan"
)

// ranges is a set of integers from 0 to MaxInt64-1: ascending, disjoint, not adjacent, none empty. Partitions and offsets live there.
type ranges []scan.Range

var allRanges = ranges{scan.Full}

// between gives the integers from lo to hi, both included.
func between(lo, hi int64) ranges {
	to := int64(math.MaxInt64)
	if hi < math.MaxInt64 {
		to = hi + 1
	}
	return ranges{scan.Full.Intersect(scan.Range{From: lo, To: to})}.normal()
}

// normal sorts r in place, drops what is empty and joins what touches.
func (r ranges) normal() ranges {
	r = slices.DeleteFunc(r, scan.Range.Empty)
	slices.SortFunc(r, func(a, b scan.Range) int { return cmp.Compare(a.From, b.From) })
	out := r[:0]
	for _, x := range r {
		if n := len(out); n > 0 && x.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, x.To)
			continue
		}
		out = append(out, x)
	}
	return out
}

func (r ranges) union(o ranges) ranges { return slices.Concat(r, o).normal() }

func (r ranges) intersect(o ranges) ranges {
	out := ranges{}
	for i, j := 0, 0; i < len(r) && j < len(o); {
		if x := r[i].Intersect(o[j]); !x.Empty() {
			out = append(out, x)
		}
		if r[i].To < o[j].To {
			i++
		} else {
			j++
		}
	}
	return out
}

// complement gives everything outside r.
func (r ranges) complement() ranges {
	out := ranges{}
	from := int64(0)
	for _, x := range r {
		if from < x.From {
			out = append(out, scan.Range{From: from, To: x.From})
		}
		from = x.To
	}
	if from < math.MaxInt64 {
		out = append(out, scan.Range{From: from, To: math.MaxInt64})
	}
	return out
}

func (r ranges) full() bool { return len(r) == 1 && r[0] == scan.Full }

func (r ranges) String() string {
	if len(r) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, x := range r {
		if i > 0 {
			b.WriteString(" ∪ ")
		}
		b.WriteString(x.String())
	}
	return b.String()
}
