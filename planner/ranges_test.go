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

func (t texts) has(s string) bool {
	return slices.ContainsFunc(t, func(r scan.TextRange) bool { return r.Contains(s) })
}

func (d domain) has(p point) bool {
	in := func(b box) bool {
		return b.topics.has(p.topic) && b.partitions.has(p.partition) && b.offsets.has(p.offset)
	}
	return in(box{d.topics, d.partitions, d.offsets}) && p.at >= d.since && p.at < d.until && (d.boxes == nil || slices.ContainsFunc(d.boxes, in))
}

// names are texts around those that someTexts cuts at.
var names = []string{"", "a", "a\x00", "ab", "b", "ba", "c", "cc", "d"}

func someTexts(t *rapid.T, label string) texts {
	out := texts{}
	for range rapid.IntRange(0, 3).Draw(t, label) {
		op := rapid.SampledFrom([]ops.CompareOp{ops.Eq, ops.Ne, ops.Lt, ops.Le, ops.Gt, ops.Ge}).Draw(t, label+" op")
		one := textsOf(op, rapid.SampledFrom(names).Draw(t, label+" name"))
		switch rapid.IntRange(0, 2).Draw(t, label+" how") {
		case 0:
			out = out.intersect(one)
		default:
			out = out.union(one)
		}
	}
	return out
}

func TestTextsAreSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someTexts(t, "a"), someTexts(t, "b")
		for _, s := range names {
			if got, want := a.union(b).has(s), a.has(s) || b.has(s); got != want {
				t.Errorf("%v ∪ %v at %q: %v", a, b, s, got)
			}
			if got, want := a.intersect(b).has(s), a.has(s) && b.has(s); got != want {
				t.Errorf("%v ∩ %v at %q: %v", a, b, s, got)
			}
			if a.complement().has(s) == a.has(s) {
				t.Errorf("complement of %v at %q", a, s)
			}
		}
		if twice := a.complement().complement(); !slices.Equal(twice, a) {
			t.Errorf("%v becomes %v", a, twice)
		}
	})
}

func TestTextsShow(t *testing.T) {
	for _, c := range []struct {
		set  texts
		want string
	}{
		{only("b").union(only("a")), "'a', 'b'"},
		{texts{}, "none"},
		{only("a").complement(), "all but 'a'"},
		{textsOf(ops.Ge, "a").intersect(textsOf(ops.Lt, "c")), "['a', 'c')"},
		{textsOf(ops.Gt, "a").intersect(textsOf(ops.Le, "c")), "('a', 'c']"},
		{textsOf(ops.Lt, "a").union(textsOf(ops.Gt, "x")), "['', 'a') ∪ ('x', ∞)"},
		{textsOf(ops.Lt, ""), "none"},
	} {
		if got := c.set.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestMillisecondsOfComparisons(t *testing.T) {
	const none, all = math.MinInt64, math.MaxInt64
	for _, c := range []struct {
		op           ops.CompareOp
		us           int64
		since, until int64
	}{
		{ops.Lt, 5000, none, 5},
		{ops.Lt, 5001, none, 6},
		{ops.Le, 5000, none, 6},
		{ops.Le, 5999, none, 6},
		{ops.Ge, 5001, 6, all},
		{ops.Gt, 5000, 6, all},
		{ops.Gt, 5001, 6, all},
		{ops.Eq, 5000, 5, 6},
		{ops.Eq, 5001, 6, 6},
		{ops.Lt, -5001, none, -5},
		{ops.Le, -5001, none, -5},
		{ops.Ne, 5000, none, all},
	} {
		if since, until := millisOf(c.op, c.us); since != c.since || until != c.until {
			t.Errorf("%v %d: got %d and %d, want %d and %d", c.op, c.us, since, until, c.since, c.until)
		}
	}
}

func someDomain(t *rapid.T, label string) domain {
	d := everything()
	if rapid.Bool().Draw(t, label+" topics") {
		d.topics = someTexts(t, "topics")
	}
	if rapid.Bool().Draw(t, label+" partitions") {
		d.partitions = set(t, "partitions")
	}
	if rapid.Bool().Draw(t, label+" offsets") {
		d.offsets = set(t, "offsets")
	}
	if rapid.IntRange(0, 4).Draw(t, label+" timed") == 0 {
		d.since, d.until = rapid.Int64Range(0, 5).Draw(t, "since"), rapid.Int64Range(0, 9).Draw(t, "until")
	}
	return d
}

func TestDomainsHoldWhatTheyMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someDomain(t, "a"), someDomain(t, "b")
		if rapid.Bool().Draw(t, "boxes") {
			a, _ = a.union(someDomain(t, "more of a"))
			b, _ = b.union(someDomain(t, "more of b"))
		}
		both := a.intersect(b)
		union, exact := a.union(b)
		for range 50 {
			p := point{
				rapid.SampledFrom(names).Draw(t, "topic"), rapid.Int64Range(0, 25).Draw(t, "partition"),
				rapid.Int64Range(0, 25).Draw(t, "offset"), rapid.Int64Range(-2, 10).Draw(t, "at"),
			}
			if both.has(p) != (a.has(p) && b.has(p)) {
				t.Errorf("%v ∩ %v = %v at %v", a, b, both, p)
			}
			either := a.has(p) || b.has(p)
			if either && !union.has(p) {
				t.Errorf("%v ∪ %v = %v misses %v", a, b, union, p)
			}
			if exact && !either && union.has(p) {
				t.Errorf("%v ∪ %v = %v holds %v", a, b, union, p)
			}
		}
	})
}
