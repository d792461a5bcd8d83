package dialect

import "millrace/internal/sqlerr"

// Sink is what rows are written to: a call of write_kafka.
type Sink struct {
	// Call is the original text of the call. It may follow FROM in a query.
	Call string
	// Columns are the names that a list behind the call gives to the columns of the rows, nil without one.
	Columns []string
	// Query is the text of the query whose rows are written, or of VALUES; it begins at Pos.
	Query string
	Pos   int
	// Values is true for VALUES. Columns are then given.
	Values bool
}

// InsertIntoSink is INSERT INTO write_kafka(name => …) [(column, …)] query, or VALUES.
type InsertIntoSink struct{ Sink }

func (InsertIntoSink) Title() string { return "INSERT INTO " + sinkName }

// sinkName is the function that can be written to.
const sinkName = "write_kafka"

// sinkAt reports whether a call with named arguments begins at token i: what rows can be written to, if anything. INSERT INTO t (column, …) is no call.
func (r *rewriter) sinkAt(i int) bool {
	c := r.chainAt(i)
	if c.parts == 0 || !r.tokens[c.next].is('(') {
		return false
	}
	if !r.tokens[c.next+1].identifier() {
		return false
	}
	name := r.chainAt(c.next + 1)
	return name.parts > 0 && r.tokens[name.next].is(opArrow)
}

// sink reads a call and the rows behind it. BY NAME may stand before a query: the columns of a sink have no order, unless a list gives one.
func (r *rewriter) sink(i int) (Sink, *sqlerr.Error) {
	if c := r.chainAt(i); c.parts > 1 || !r.isWord(i, sinkName) {
		return Sink{}, NotSupportedAt(r.source, r.tokens[i].start, "rows cannot be written to '%s(…)'", shorten(r.source[r.tokens[i].start:r.tokens[c.next-1].end])).
			WithHint("a sink is written as INSERT INTO %s(bootstrapServers => 'broker:9092', topic => 'topic') SELECT …", sinkName)
	}
	end := r.closes(i + 1)
	if r.tokens[end].kind == tokenEnd {
		return Sink{}, r.errorAt(r.tokens[end].start, "the closing parenthesis of '%s(' is missing", sinkName)
	}
	s := Sink{Call: r.source[r.tokens[i].start:r.tokens[end].end]}
	i = end + 1
	byName := r.words(i, "by", "name")
	if byName {
		i += 2
	}
	if r.tokens[i].is('(') && !r.queryAt(i) {
		list := i
		var err *sqlerr.Error
		if s.Columns, i, err = r.columnList(i); err != nil {
			return Sink{}, err
		}
		if byName || r.words(i, "by", "name") {
			return Sink{}, r.errorAt(r.tokens[list].start, "a list of columns and BY NAME exclude each other").
				WithHint("BY NAME takes the names that the query gives to its columns, a list gives them others: leave one of them out")
		}
	}
	t := r.tokens[i]
	s.Pos, s.Query = t.start, r.textFrom(t.start)
	switch {
	case r.queryAt(i):
	case t.word == wordValues, r.isWord(i, "value") && r.tokens[i+1].is('('):
		if s.Columns == nil {
			return Sink{}, r.errorAt(t.start, "VALUES have no names, and '%s' takes columns by their names", sinkName).
				WithHint("name them: INSERT INTO %s(…) (key, value) VALUES ('k', 'text')", sinkName)
		}
		s.Values, s.Query = true, "VALUES"+s.Query[t.end-t.start:]
	case r.isWord(i, "set"):
		return Sink{}, NotSupportedAt(r.source, t.start, "INSERT … SET does not write to a sink").WithHint("INSERT INTO %s(…) (key, value) VALUES ('k', 'text')", sinkName)
	default:
		return Sink{}, r.errorAt(t.start, "a query or VALUES are expected").WithHint("INSERT INTO %s(…) SELECT … AS value FROM …", sinkName)
	}
	return s, r.noUpdate(i)
}

// closes gives the token that closes the parenthesis at token i, or the end of the text.
func (r *rewriter) closes(i int) int {
	for depth := 0; ; i++ {
		switch t := r.tokens[i]; {
		case t.kind == tokenEnd:
			return i
		case t.is('('):
			depth++
		case t.is(')'):
			if depth--; depth == 0 {
				return i
			}
		}
	}
}

// queryAt reports whether a query begins at token i, in parentheses or not.
func (r *rewriter) queryAt(i int) bool {
	for r.tokens[i].is('(') {
		i++
	}
	switch r.tokens[i].word {
	case wordSelect, wordWith, wordTable:
		return true
	}
	return false
}

// columnList reads (name, …) at token i. Every word is a name there.
func (r *rewriter) columnList(i int) (names []string, next int, err *sqlerr.Error) {
	for {
		i++
		t := r.tokens[i]
		if !t.identifier() {
			return nil, i, r.errorAt(t.start, "the name of a column is expected")
		}
		names = append(names, r.name(t))
		i++
		switch t := r.tokens[i]; {
		case t.is(','):
		case t.is(')'):
			return names, i + 1, nil
		default:
			return nil, i, r.errorAt(t.start, "a comma or the end of the list of columns is expected")
		}
	}
}

// noUpdate refuses ON DUPLICATE KEY UPDATE behind the rows, which begin at token i.
func (r *rewriter) noUpdate(i int) *sqlerr.Error {
	for ; r.tokens[i].kind != tokenEnd; i++ {
		if r.tokens[i].word == wordOn && r.words(i+1, "duplicate", "key", "update") {
			return NotSupportedAt(r.source, r.tokens[i].start, "ON DUPLICATE KEY UPDATE does not apply to a sink: a topic keeps every record").
				WithHint("leave it out; of a compacted topic the last record of a key stays")
		}
	}
	return nil
}

// insertedSink gives the token behind INSERT [INTO] at token i, when a sink begins there.
func (r *rewriter) insertedSink(i int) (at int, ok bool) {
	if r.tokens[i].word != wordInsert {
		return i, false
	}
	i++
	if r.tokens[i].word == wordInto {
		i++
	}
	return i, r.sinkAt(i)
}

// otherInsert refuses REPLACE, INSERT IGNORE and the like of a sink at token i: nil where there is no sink, or where it is inserted as it can be.
func (r *rewriter) otherInsert(i int) *sqlerr.Error {
	start, mode := i, ""
	if w := r.tokens[i].word; w != wordInsert && w != wordReplace {
		return nil
	}
	for i++; r.words(i, "low_priority|high_priority|delayed|ignore|overwrite"); i++ {
		mode = " " + r.text(r.tokens[i])
	}
	if mode == "" && r.tokens[start].word == wordInsert {
		return nil
	}
	for r.words(i, "into|table") {
		i++
	}
	if !r.sinkAt(i) {
		return nil
	}
	wrong := NotSupportedAt(r.source, r.tokens[start].start, "%s%s does not write to a sink: a topic keeps every record, and rows are only ever added", r.text(r.tokens[start]), mode)
	if r.isWord(start+1, "ignore") {
		return wrong.WithHint("INSERT INTO %s(…); with errorHandling => 'topic' rows that cannot be written go to a topic of their own", sinkName)
	}
	return wrong.WithHint("INSERT INTO %s(…); of a compacted topic the last record of a key stays", sinkName)
}

// insertIntoSink recognises INSERT INTO write_kafka(name => …) with the rows behind it.
func (r *rewriter) insertIntoSink() (Statement, *sqlerr.Error) {
	if err := r.otherInsert(0); err != nil {
		return nil, err
	}
	i, ok := r.insertedSink(0)
	if !ok {
		return nil, nil
	}
	s, err := r.sink(i)
	if err != nil {
		return nil, err
	}
	return InsertIntoSink{s}, nil
}
