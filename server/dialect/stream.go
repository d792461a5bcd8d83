package dialect

// stream handles the word STREAM where a table may stand. It returns false if STREAM is just the name of a table.
//
//	STREAM f(…), STREAM(f(…))    a streaming read of a table function
//	STREAM a.b, STREAM t AS x    a streaming read of a table: not there yet
//	stream, stream AS s          a table
//	STREAM t                     written in capitals a streaming read, else the table "stream" with the alias t
func (r *rewriter) stream() bool {
	t, next := r.tokens[r.at], r.tokenAt(1)
	switch r.tokenAt(-1).word {
	case wordInto, wordUpdate, wordInsert, wordReplace, wordDelete: // what is written to is a table
		return false
	}
	if next.is('(') {
		return r.streamWrapper(t)
	}
	if !next.named() {
		return false
	}
	c := r.chainAt(r.at + 1)
	after := r.tokens[c.next]
	switch {
	case after.is('('):
		r.replace(t.start, next.start, "")
		r.at++
		r.streaming = r.at
		r.openCall(c.first, c.next)
		return true
	case c.parts > 1, after.named(), after.word == wordAs, r.text(t) == "STREAM":
		r.fail(NotSupportedAt(r.source, t.start, "a streaming read of a table is not supported yet").
			WithHint("leave STREAM out to read the table once; a table that is called stream goes into back-ticks"))
		return true
	}
	return false
}

// streamWrapper handles STREAM(…).
func (r *rewriter) streamWrapper(t token) bool {
	inner := r.tokenAt(2)
	switch {
	case inner.word == wordSelect, inner.word == wordWith:
		r.fail(NotSupportedAt(r.source, t.start, "STREAM of a query is not supported yet").WithHint("write SELECT … FROM STREAM f(…)"))
		return true
	case !inner.named():
		return false
	}
	c := r.chainAt(r.at + 2)
	switch {
	case r.tokens[c.next].is('('):
		r.replace(t.start, inner.start, "")
		r.at++
		r.open(frame{kind: frameStreamWrapper, start: inner.start})
		r.top().wantTable, r.top().clause = true, clauseFrom
		r.streaming = c.first
		r.openCall(c.first, c.next)
		return true
	case r.tokens[c.next].is(')'):
		r.fail(NotSupportedAt(r.source, t.start, "a streaming read of a table is not supported yet").
			WithHint("leave STREAM out to read the table once"))
		return true
	}
	return false
}

// watermark refuses WATERMARK … DELAY OF … behind a streaming read. FROM STREAM f(…) watermark is an alias.
func (r *rewriter) watermark() {
	at := r.at
	if r.tokens[at].is(')') { // STREAM(f(…))
		at++
	}
	if r.isWord(at, "watermark") {
		if t := r.tokens[at+1]; t.named() || t.is('(') || t.kind == tokenVariable {
			r.fail(NotSupportedAt(r.source, r.tokens[at].start, "WATERMARK is not supported yet"))
		}
	}
}
