package dialect

import "strings"

// selectList returns the first token behind SELECT and its modifiers.
func (r *rewriter) selectList() int {
	i := r.at + 1
	for r.tokens[i].kind == tokenWord {
		w := r.text(r.tokens[i])
		if !isOneOf(w, "distinct", "distinctrow", "all", "straight_join", "high_priority") && !strings.HasPrefix(strings.ToLower(w), "sql_") {
			break
		}
		i++
	}
	return i
}

// endItem ends the current expression of a select list, if there is one, before the current token. An expression that was rewritten
// is kept with its heading.
func (r *rewriter) endItem() {
	f := r.top()
	first := f.item
	if first < 0 {
		return
	}
	f.item = -1
	last := r.at - 1
	if last < first || f.itemEdits == len(r.edits) {
		return
	}
	it := item{start: r.tokens[first].start, end: r.tokens[last].end}
	if o := f.operand; o.ok && o.last == last && o.start == it.start {
		it.heading = o.step
	}
	r.items = append(r.items, it)
}
