package planner

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/ops"
	"millrace/internal/scan"
)

func (r ranges) has(x int64) bool {
	return slices.ContainsFunc(r, func(r scan.Range) bool { return r.From <= x && x < r.To })
}

// set draws a set of small integers.
func set(t *rapid.T, label string) ranges {
	var r ranges
	for range rapid.IntRange(0, 4).Draw(t, label) {
		from := rapid.Int64Range(0, 20).Draw(t, "from")
		r = append(r, scan.Range{From: from, To: from + rapid.Int64Range(0, 6).Draw(t, "length")})
	}
	if rapid.Bool().Draw(t, "open") {
		r = append(r, scan.Range{From: rapid.Int64Range(0, 30).Draw(t, "from"), To: math.MaxInt64})
	}
	return r.normal()
}

func TestRangesAreASetAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := set(t, "a"), set(t, "b")
		union, both, not := a.union(b), a.intersect(b), a.complement()
		for x := int64(0); x < 40; x++ {
			if union.has(x) != (a.has(x) || b.has(x)) {
				t.Errorf("%v ∪ %v = %v at %d", a, b, union, x)
			}
			if both.has(x) != (a.has(x) && b.has(x)) {
				t.Errorf("%v ∩ %v = %v at %d", a, b, both, x)
			}
			if not.has(x) == a.has(x) {
				t.Errorf("complement of %v is %v at %d", a, not, x)
			}
		}
		for _, r := range []ranges{union, both, not} {
			for i, x := range r {
				if x.Empty() || i > 0 && r[i-1].To >= x.From {
					t.Errorf("%v is not normal", r)
				}
			}
		}
	})
}

func TestComparisonsAsRanges(t *testing.T) {
	for _, c := range []struct {
		op   ops.CompareOp
		n    integer
		want string
	}{
		{ops.Eq, integer{3, false}, "[3, 4)"},
		{ops.Eq, integer{3, true}, "none"},
		{ops.Eq, integer{-1, false}, "none"},
		{ops.Ne, integer{3, false}, "[0, 3) ∪ [4, ∞)"},
		{ops.Ne, integer{3, true}, "[0, ∞)"},
		{ops.Lt, integer{3, false}, "[0, 3)"},
		{ops.Lt, integer{3, true}, "[0, 4)"},
		{ops.Le, integer{3, true}, "[0, 4)"},
		{ops.Le, integer{-2, false}, "none"},
		{ops.Gt, integer{3, false}, "[4, ∞)"},
		{ops.Gt, integer{3, true}, "[4, ∞)"},
		{ops.Ge, integer{3, true}, "[4, ∞)"},
		{ops.Ge, integer{-2, false}, "[0, ∞)"},
		{ops.Gt, integer{math.MaxInt64, false}, "none"},
		{ops.Lt, integer{math.MinInt64, false}, "none"},
		{ops.Ge, integer{math.MinInt64, false}, "[0, ∞)"},
	} {
		if got := rangesOf(c.op, c.n).String(); got != c.want {
			t.Errorf("%v %+v: got %s, want %s", c.op, c.n, got, c.want)
		}
	}
}

// point is a record as far as domains see it.
type point struct {
	topic             string
	partition, offset int64
	at                int64
}

func (d domain) has(p point) bool {
	return (!d.known || slices.Contains(d.topics, p.topic)) && d.partitions.has(p.partition) && d.offsets.has(p.offset) && p.at >= d.since
}

func someDomain(t *rapid.T, label string) domain {
	d := everything()
	if rapid.Bool().Draw(t, label+" topics") {
		d.known, d.topics = true, rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2, rapid.ID).Draw(t, "topics")
	}
	if rapid.Bool().Draw(t, label+" partitions") {
		d.partitions = set(t, "partitions")
	}
	if rapid.Bool().Draw(t, label+" offsets") {
		d.offsets = set(t, "offsets")
	}
	if rapid.Bool().Draw(t, label+" since") {
		d.since = rapid.Int64Range(0, 5).Draw(t, "since")
	}
	return d
}

func TestDomainsHoldWhatTheyMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someDomain(t, "a"), someDomain(t, "b")
		union, both := a.union(b), a.intersect(b)
		not, hasComplement := a.complement()
		for range 50 {
			p := point{
				rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "topic"), rapid.Int64Range(0, 25).Draw(t, "partition"),
				rapid.Int64Range(0, 25).Draw(t, "offset"), rapid.Int64Range(-2, 6).Draw(t, "at"),
			}
			if both.has(p) != (a.has(p) && b.has(p)) {
				t.Errorf("%v ∩ %v = %v at %v", a, b, both, p)
			}
			either := a.has(p) || b.has(p)
			if either && !union.has(p) {
				t.Errorf("%v ∪ %v = %v misses %v", a, b, union, p)
			}
			if a.sameDimension(b) && !either && union.has(p) {
				t.Errorf("%v ∪ %v = %v holds %v", a, b, union, p)
			}
			if hasComplement && not.has(p) == a.has(p) {
				t.Errorf("complement of %v is %v at %v", a, not, p)
			}
		}
	})
}
