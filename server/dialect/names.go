package dialect

import "strings"

// chain is a dotted name: a, a.b, a.b.c, a.b.*
type chain struct {
	first int
	parts int
	star  bool
	next  int // the token behind it
}

// chainAt reads the dotted name at token i; it has no parts if there is none.
func (r *rewriter) chainAt(i int) chain {
	c := chain{first: i, next: i}
	if i >= len(r.tokens) || !r.tokens[i].identifier() {
		return c
	}
	c.parts, c.next = 1, i+1
	for r.tokens[c.next].is('.') {
		switch t := r.tokens[c.next+1]; {
		case t.identifier():
			c.parts++
			c.next += 2
		case t.is('*'):
			c.star = true
			c.next += 2
			return c
		default:
			return c
		}
	}
	return c
}

// part is the i-th part of a dotted name.
func (r *rewriter) part(c chain, i int) token { return r.tokens[c.first+2*i] }

// chain consumes the dotted name at the current token: a table, a column, or what is called.
func (r *rewriter) chain() {
	f := r.top()
	if f.wantTable && f.clause == clauseFrom && r.eventLog() {
		return
	}
	c := r.chainAt(r.at)
	start := r.tokens[c.first].start
	call := r.tokens[c.next].is('(') && !c.star

	table := f.wantTable && !(call && f.clause == clauseFrom && !r.columnsFollow())
	catalog := 4 // with so many parts a column starts with a catalog
	switch {
	case table && (c.star || f.clause == clauseDatabases): // GRANT … ON catalog.schema.*
		catalog = 2
	case table, c.star:
		catalog = 3
	}
	switch {
	case c.parts > catalog && !call:
		r.fail(r.errorAt(start, "name '%s' has too many parts", shorten(r.source[start:r.part(c, c.parts-1).end])).
			WithHint("a table is catalog.schema.table or database.table; put names with dots into back-ticks"))
		return
	case c.parts == catalog && (!call || table):
		r.replace(start, r.part(c, 1).end, quote(r.name(r.part(c, 0))+"."+r.name(r.part(c, 1))))
	default:
		if t := r.tokens[c.first]; r.refused(t) && (!call || table && t.word == wordRefused) {
			r.replace(start, t.end, quote(r.text(t)))
		}
		for i := 1; i < c.parts; i++ {
			if t := r.part(c, i); t.kind == tokenWord && lookup(r.text(t)) == wordRefused && !(call && i == c.parts-1) {
				r.replace(t.start, t.end, quote(r.text(t)))
			}
		}
	}
	if call && !table {
		r.openCall(c.first, c.next)
		return
	}
	r.at = c.next
	r.noOperand()
	if table {
		f.wantTable = false
	} else if !c.star {
		r.complete(start, c.next-1)
		r.top().operand.plain = true
	}
	if table && call {
		r.openColumns()
	}
}

// refused reports whether the engine's parser refuses the current word as a name. KEY, PARTITION and LAG it always does, as some that are no
// keywords of MySQL; VALUE, OFFSET and TIMESTAMP only where ALTER TABLE … CHANGE or AFTER name an existing column.
func (r *rewriter) refused(t token) bool {
	if t.word == wordKey || t.word == wordPartition || t.word == wordLag || r.unreservedName(t) {
		return true
	}
	if r.tokens[0].word != wordAlter || t.kind != tokenWord || !isOneOf(r.text(t), "value", "offset", "timestamp") {
		return false
	}
	return r.at > 0 && (r.isWord(r.at-1, "after") || r.tokenAt(-1).word == wordChange || r.tokenAt(-2).word == wordChange && r.isWord(r.at-1, "column"))
}

// columnsFollow tells INSERT INTO t (a, b) from a call of a table function.
func (r *rewriter) columnsFollow() bool {
	before := r.tokenAt(-1)
	return before.word == wordInto || before.word == wordInsert || before.word == wordReplace || before.word == wordReferences || before.word == wordOn
}

// openColumns opens the parenthesis behind the name of a table.
func (r *rewriter) openColumns() {
	f := frame{kind: frameGroup, start: r.tokens[r.at].start}
	if r.definesTable() && r.tokens[0].word == wordCreate && r.table {
		if next := r.tokenAt(1); next.word != wordSelect && next.word != wordWith && next.word != wordLike && !next.is('(') {
			f.kind = frameColumns
		}
	}
	r.open(f)
}

// name is the text of an identifier without its quotes.
func (r *rewriter) name(t token) string {
	s := r.text(t)
	if t.kind != tokenQuoted || len(s) < 2 {
		return s
	}
	q := s[:1]
	return strings.ReplaceAll(s[1:len(s)-1], q+q, q)
}

// quote makes an identifier that the engine's parser takes in every mode.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// definesTable reports whether the current token lies at the top of CREATE TABLE or ALTER TABLE, outside a query in it.
func (r *rewriter) definesTable() bool {
	w := r.tokens[0].word
	return (w == wordCreate || w == wordAlter) && len(r.frames) == 1 && r.top().clause == clauseTables
}

// keyIsName tells a column KEY from the keyword of PRIMARY KEY, KEY index (column), ON DUPLICATE KEY and the like.
func (r *rewriter) keyIsName() bool {
	before, next := r.tokenAt(-1), r.tokenAt(1)
	if r.at == 0 {
		return true
	}
	switch before.word {
	case wordPrimary, wordUnique, wordForeign, wordFulltext, wordSpatial:
		return false
	case wordDuplicate:
		if r.tokenAt(-2).word == wordOn && r.at >= 2 {
			return false
		}
	case wordUse, wordForce, wordIgnore: // index hints; USE key is a database
		return r.at == 1
	case wordBy, wordLinear: // PARTITION BY KEY (column)
		return !next.is('(') && !r.isWord(r.at+1, "algorithm")
	}
	switch f := r.top(); {
	case f.kind == frameColumns:
		return f.elementStart && r.columnNamedKey()
	case r.definesTable():
		switch before.word {
		case wordAdd:
			return r.columnNamedKey()
		case wordDrop:
			return next.is(',') || next.is(';') || next.kind == tokenEnd
		case wordRename:
			return next.word == wordTo
		case wordTable, wordChange, wordAlter, wordTo:
			return true
		}
		if r.isWord(r.at-1, "column") || r.isWord(r.at-1, "modify") || r.isWord(r.at-1, "after") || r.isWord(r.at-1, "exists") {
			return true
		}
		// CHANGE [COLUMN] a key INT
		return r.at >= 2 && before.identifier() && (r.tokenAt(-2).word == wordChange || r.tokenAt(-3).word == wordChange && r.isWord(r.at-2, "column"))
	}
	return true
}

// columnNamedKey tells `key VARCHAR(10)`, a column, from `KEY name (column)` and `KEY (column)`, indexes: behind the name of an index
// comes a list of columns, behind the name of a type at most a length or values.
func (r *rewriter) columnNamedKey() bool {
	next := r.tokenAt(1)
	if !next.identifier() || next.word == wordUsing || r.tokenAt(2).word == wordUsing {
		return false
	}
	if r.tokenAt(2).is('(') {
		argument := r.tokenAt(3)
		return argument.kind == tokenNumber || argument.kind == tokenString
	}
	return true
}

// partitionIsName tells a column PARTITION from the keyword.
func (r *rewriter) partitionIsName() bool {
	before, next := r.tokenAt(-1), r.tokenAt(1)
	if next.word == wordBy || next.is('(') { // PARTITION BY, FROM t PARTITION (p0)
		return false
	}
	if f := r.top(); f.kind == framePartitions {
		return !f.elementStart
	}
	if r.at == 0 || !r.definesTable() {
		return true
	}
	switch before.word {
	case wordDrop:
		return next.is(',') || next.is(';') || next.kind == tokenEnd
	case wordAdd:
		return !r.isWord(r.at+1, "partitions") && !r.isWord(r.at+1, "no_write_to_binlog")
	}
	return !isOneOf(r.text(before), "truncate", "coalesce", "reorganize", "exchange", "analyze", "check", "optimize", "rebuild", "repair", "discard", "import")
}
