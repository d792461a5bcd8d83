package planner

import (
	"slices"
	"strings"

	"millrace/internal/scan"
)

// texts is a set of texts, ordered byte by byte: ascending, disjoint ranges that do not touch, none empty. The names of topics live there.
type texts []scan.TextRange

var allTexts = texts{{}}

// after is the least text that is greater than s.
func after(s string) string { return s + "\x00" }

// only gives the set of s alone.
func only(s string) texts { return texts{{From: s, To: after(s)}} }

// textsFrom gives the texts from s on, textsBelow those less than s.
func textsFrom(s string) texts { return texts{{From: s}} }

func textsBelow(s string) texts {
	if s == "" {
		return texts{}
	}
	return texts{{To: s}}
}

// endBefore orders the ends of ranges, of which "" is the last.
func endBefore(a, b string) bool { return a != "" && (b == "" || a < b) }

func earlierEnd(a, b string) string {
	if endBefore(a, b) {
		return a
	}
	return b
}

// normal sorts t in place and joins what touches.
func (t texts) normal() texts {
	slices.SortFunc(t, func(a, b scan.TextRange) int { return strings.Compare(a.From, b.From) })
	out := t[:0]
	for _, x := range t {
		if n := len(out); n > 0 && (out[n-1].To == "" || x.From <= out[n-1].To) {
			if endBefore(out[n-1].To, x.To) {
				out[n-1].To = x.To
			}
			continue
		}
		out = append(out, x)
	}
	return out
}

func (t texts) union(o texts) texts { return slices.Concat(t, o).normal() }

func (t texts) intersect(o texts) texts {
	out := texts{}
	for i, j := 0, 0; i < len(t) && j < len(o); {
		x := scan.TextRange{From: max(t[i].From, o[j].From), To: earlierEnd(t[i].To, o[j].To)}
		if x.To == "" || x.From < x.To {
			out = append(out, x)
		}
		if endBefore(t[i].To, o[j].To) {
			i++
		} else {
			j++
		}
	}
	return out
}

// complement gives everything outside t.
func (t texts) complement() texts {
	out := texts{}
	from := ""
	for _, x := range t {
		if from < x.From {
			out = append(out, scan.TextRange{From: from, To: x.From})
		}
		if from = x.To; from == "" {
			return out
		}
	}
	return append(out, scan.TextRange{From: from})
}

func (t texts) full() bool { return len(t) == 1 && t[0] == scan.TextRange{} }

// list gives the elements of t when it is finite and small.
func (t texts) list() ([]string, bool) {
	out := []string{}
	for _, x := range t {
		if x.To != after(x.From) {
			return nil, false
		}
		out = append(out, x.From)
	}
	return out, true
}

func (t texts) String() string {
	if len(t) == 0 {
		return "none"
	}
	if names, ok := t.list(); ok {
		return "'" + strings.Join(names, "', '") + "'"
	}
	if names, ok := t.complement().list(); ok {
		return "all but '" + strings.Join(names, "', '") + "'"
	}
	var parts []string
	for _, x := range t {
		from, open := strings.CutSuffix(x.From, "\x00")
		to, closed := strings.CutSuffix(x.To, "\x00")
		switch {
		case x.To == after(x.From):
			parts = append(parts, "'"+x.From+"'")
			continue
		case open:
			from = "('" + from + "', "
		default:
			from = "['" + from + "', "
		}
		switch {
		case x.To == "":
			to = "∞)"
		case closed:
			to = "'" + to + "']"
		default:
			to = "'" + to + "')"
		}
		parts = append(parts, from+to)
	}
	return strings.Join(parts, " ∪ ")
}
