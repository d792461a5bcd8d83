package dialect

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Mode is the part of a session's sql_mode that changes how text is read.
type Mode struct {
	AnsiQuotes         bool
	NoBackslashEscapes bool
	// PipesAsConcat has no effect here: || has the same bytes and takes the same operands in both meanings.
	PipesAsConcat bool
}

// Result is a rewritten statement. It does not change any more and may be shared.
type Result struct {
	// SQL is MySQL text for the engine's parser: of the whole statement, of the query of an Explain, of the call of a
	// DescribeFunction. It is empty for all other statements of ours.
	SQL string
	// Changed is false if SQL is the original text, all of it.
	Changed bool
	// Statement is one of the statements of ours, such as Explain, or nil for one of the engine.
	Statement Statement
	// Params is the number of ? placeholders in SQL.
	Params int
	// EventLogs are the tables whose logs event_log(…) reads, which is a query of information_schema in SQL.
	EventLogs []TableName

	original string
	mode     Mode
	pieces   []piece
	items    []item

	// headings by fragment, made at the first question: most statements never ask.
	index    sync.Once
	headings map[string]string
}

// edit replaces the bytes [start, end) of the original by text; start == end inserts. Edits never overlap.
type edit struct {
	start, end int
	text       string
	// order sorts edits with the same start. Insertions open a call around an operand: a later one is an outer call and goes first.
	// A replacement goes last, it is the operand itself.
	order int
}

// piece says where a run of SQL came from: copied bytes, or the text of an edit.
type piece struct {
	sql, original int
	copied        bool
}

// item is an expression of a select list that holds an edit.
type item struct {
	start, end       int    // in the original
	sqlStart, sqlEnd int    // in SQL
	heading          string // empty: what the user wrote
}

// apply builds SQL and the map of positions from edits of the bytes [start, end) of the original.
func (r *Result) apply(edits []edit, start, end int) {
	slices.SortFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order))
	})
	var b strings.Builder
	grow := end - start
	for _, e := range edits {
		grow += len(e.text)
	}
	b.Grow(grow)
	r.pieces = make([]piece, 0, 2*len(edits)+1)
	at := start
	for _, e := range edits {
		if e.start > at {
			r.pieces = append(r.pieces, piece{b.Len(), at, true})
			b.WriteString(r.original[at:e.start])
		}
		if e.text != "" {
			r.pieces = append(r.pieces, piece{b.Len(), e.start, false})
			b.WriteString(e.text)
		}
		at = e.end
	}
	r.pieces = append(r.pieces, piece{b.Len(), at, true})
	b.WriteString(r.original[at:end])
	r.SQL = b.String()
	r.Changed = r.SQL != r.original
	for i := range r.items {
		it := &r.items[i]
		it.sqlStart, it.sqlEnd = r.rewritten(it.start), r.rewritten(it.end)
	}
}

// rewritten is where SQL has what stands at a position of the original that no edit spans, before anything inserted there.
func (r *Result) rewritten(pos int) int {
	i := sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].original >= pos })
	if i < len(r.pieces) && r.pieces[i].original == pos {
		return r.pieces[i].sql
	}
	if i == 0 {
		return pos
	}
	p := r.pieces[i-1]
	if !p.copied { // behind a deletion that ends the text
		return len(r.SQL)
	}
	return p.sql + pos - p.original
}

// Origin leads a byte position of SQL back to the original text: for copied text to the same byte, for rewritten text to the start
// of what it stands for. Positions outside SQL lead to the nearest end.
func (r *Result) Origin(pos int) int {
	pos = max(0, min(pos, len(r.SQL)))
	if len(r.pieces) == 0 {
		return min(pos, len(r.original))
	}
	i := sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].sql > pos }) - 1
	if i < 0 {
		return 0
	}
	if p := r.pieces[i]; p.copied {
		return min(p.original+pos-p.sql, len(r.original))
	}
	return r.pieces[i].original
}

// Heading gives the column heading for an expression of a select list without an alias. fragment is its text in SQL (the engine's
// parser keeps it). ok is false if nothing in it was rewritten: then the fragment itself is the heading.
//
// The heading is what the user wrote, or the last name of a path: price for both value:items[0].price and value:price::double.
// Two expressions with equal fragments, such as a::int and a::INT, share the heading of the first.
func (r *Result) Heading(fragment string) (heading string, ok bool) {
	if len(r.items) == 0 {
		return "", false
	}
	if heading, ok = r.find(fragment); ok {
		return heading, true
	}
	// The engine's fragment may start at the comma before it and have comments around it.
	l := newLexer(fragment, r.mode)
	first := l.next()
	if first.is(',') {
		first = l.next()
	}
	end := first.end
	for t := first; t.kind != tokenEnd; t = l.next() {
		end = t.end
	}
	return r.find(fragment[first.start:end])
}

func (r *Result) find(fragment string) (string, bool) {
	r.index.Do(func() {
		r.headings = make(map[string]string, len(r.items))
		for _, it := range r.items {
			s, heading := r.SQL[it.sqlStart:it.sqlEnd], r.original[it.start:it.end]
			r.head(s, cmp.Or(it.heading, heading))
			if len(s) > 1 && len(heading) > 1 && s[0] == '\'' { // the engine's parser takes the quotes off a lone string
				r.head(s[1:len(s)-1], heading[1:len(heading)-1])
			}
		}
	})
	heading, ok := r.headings[fragment]
	return heading, ok
}

func (r *Result) head(fragment, heading string) {
	if _, ok := r.headings[fragment]; !ok {
		r.headings[fragment] = heading
	}
}
