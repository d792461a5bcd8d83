package dialect

import "millrace/internal/sqlerr"

// Sink is what rows are written to: a call of write_kafka.
type Sink struct {
	// Call is the original text of the call. It may follow FROM in a query.
	Call string
	// Query is the text of the query whose rows are written; it begins at Pos.
	Query string
	Pos   int
}

// InsertIntoSink is INSERT INTO write_kafka(name => …) query.
type InsertIntoSink struct{ Sink }

func (InsertIntoSink) statement() {}

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

// sink reads a call and the query behind it. BY NAME may stand between them: the columns of a sink have no order.
func (r *rewriter) sink(i int) (Sink, *sqlerr.Error) {
	if c := r.chainAt(i); c.parts > 1 || !r.isWord(i, sinkName) {
		return Sink{}, NotSupportedAt(r.source, r.tokens[i].start, "rows cannot be written to '%s(…)'", shorten(r.source[r.tokens[i].start:r.tokens[c.next-1].end])).
			WithHint("a sink is written as INSERT INTO %s(bootstrapServers => 'broker:9092', topic => 'topic') SELECT …", sinkName)
	}
	start, depth := r.tokens[i].start, 0
	for i++; ; i++ {
		switch t := r.tokens[i]; {
		case t.kind == tokenEnd:
			return Sink{}, r.errorAt(t.start, "the closing parenthesis of '%s(' is missing", sinkName)
		case t.is('('):
			depth++
			continue
		case t.is(')'):
			depth--
		}
		if depth == 0 {
			break
		}
	}
	s := Sink{Call: r.source[start:r.tokens[i].end]}
	i++
	if r.words(i, "by", "name") {
		i += 2
	}
	switch t := r.tokens[i]; {
	case t.word == wordSelect, t.word == wordWith, t.word == wordTable, t.is('(') && (r.tokens[i+1].word == wordSelect || r.tokens[i+1].word == wordWith || r.tokens[i+1].is('(')):
		s.Pos, s.Query = t.start, r.textFrom(t.start)
		return s, nil
	case t.word == wordValues, t.is('('):
		return Sink{}, NotSupportedAt(r.source, t.start, "'%s' takes a query whose columns have names, not VALUES or a list of columns", sinkName).
			WithHint("INSERT INTO %s(…) SELECT 'k' AS key, 'text' AS value", sinkName)
	default:
		return Sink{}, r.errorAt(t.start, "a query is expected").WithHint("INSERT INTO %s(…) SELECT … AS value FROM …", sinkName)
	}
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

// insertIntoSink recognises INSERT INTO write_kafka(name => …) query.
func (r *rewriter) insertIntoSink() (Statement, *sqlerr.Error) {
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
