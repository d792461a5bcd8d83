package dialect

// keyword handles an unquoted word: a clause, the start of something with an end of its own, or a name.
func (r *rewriter) keyword(t token) {
	f := r.top()
	next := r.tokenAt(1)
	if next.is('.') && (r.tokenAt(2).identifier() || r.tokenAt(2).is('*')) {
		r.chain() // in a dotted name every word is a name
		return
	}
	switch t.word {
	case wordKey:
		if r.keyIsName() {
			r.chain()
			return
		}
	case wordLag:
		if !next.is('(') { // the column of kafka_consumer_groups, not the window function
			r.chain()
			return
		}
	case wordWindow:
		if next.is('(') { // the function; the clause is followed by a name
			r.replace(t.start, t.end, "millrace_window")
			r.chain()
			return
		}
	case wordPartition:
		if r.partitionIsName() {
			r.chain()
			return
		}
	case wordStream:
		if f.wantTable && f.clause == clauseFrom && r.stream() {
			return
		}
		r.chain()
		return
	case wordCase:
		r.push(frame{kind: frameCase, start: t.start, item: -1})
		r.at++
		return
	case wordEnd:
		if f.kind == frameCase {
			r.endCase()
			return
		}
		r.chain()
		return
	case wordCast, wordTryCast:
		if next.is('(') {
			r.open(frame{kind: frameCast, start: t.start, opener: r.at})
			r.at++ // open consumed the word, this is the parenthesis
			return
		}
		r.chain()
		return
	case wordAs:
		if f.kind == frameCast && !f.typed {
			r.castAs(t)
			return
		}
	case wordOver:
		if f.operand.ok && f.operand.call {
			r.over()
			return
		}
	case wordIgnore, wordRespect:
		if f.operand.ok && f.operand.call && next.word == wordNulls { // first_value(x) IGNORE NULLS OVER …
			r.at += 2
			return
		}
		if t.word == wordRespect {
			r.chain()
			return
		}
	case wordCollate:
		if f.operand.ok && next.identifier() { // x COLLATE c::string casts all of it
			start := f.operand.start
			r.complete(start, r.at+1)
			r.at += 2
			return
		}
	case wordDate, wordTime, wordTimestamp:
		if next.kind == tokenString { // DATE '2026-11-29'
			r.escape(next)
			r.complete(t.start, r.at+1)
			r.at += 2
			return
		}
		r.chain()
		return
	case wordOffset:
		if f.clause == clauseLimit {
			r.noOperand()
			r.at++
			return
		}
		r.chain()
		return
	}
	switch {
	case t.word == wordOperand && !next.is('('):
		r.complete(t.start, r.at)
		r.at++
	case t.word.callable() && next.is('('):
		if t.word == wordValues && f.clause == clauseFrom { // INSERT INTO t VALUES (1), (2)
			f.clause, f.wantTable = clauseNone, false
		}
		r.openCall(r.at, r.at+1)
	case t.word.reserved():
		r.clause(t)
		r.interval()
		r.noOperand()
		r.at++
	case r.source[t.start] == '_' && next.kind == tokenString: // _utf8mb4'text'
		r.escape(next)
		r.complete(t.start, r.at+1)
		r.at += 2
	default:
		if r.statementWord(t) {
			f.clause, f.wantTable = clauseTables, true
			r.at++
			return
		}
		r.chain()
	}
}

// interval writes the unit of INTERVAL 2 HOURS as MySQL does, in the singular.
func (r *rewriter) interval() {
	unit := r.tokenAt(2)
	if !r.isWord(r.at, "interval") || unit.kind != tokenWord {
		return
	}
	if text := r.text(unit); isOneOf(text, "microseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "quarters", "years") {
		r.replace(unit.end-1, unit.end, "")
	}
}

// statementWord reports whether an unreserved word announces the name of a view or table: CREATE VIEW v, TRUNCATE t.
func (r *rewriter) statementWord(t token) bool {
	switch t.word {
	case wordTruncate:
		return r.at == 0
	case wordView:
		return len(r.frames) == 1 && r.top().clause == clauseNone && r.changesSchema()
	}
	return false
}

// changesSchema reports whether the statement makes, changes, drops or shows something with a name.
func (r *rewriter) changesSchema() bool {
	switch r.tokens[0].word {
	case wordCreate, wordAlter, wordDrop, wordShow:
		return true
	}
	return false
}

// showsDatabase reports whether FROM and IN name a database: SHOW TABLES FROM d, SHOW COLUMNS FROM t FROM d.
func (r *rewriter) showsDatabase() bool {
	if r.tokens[0].word != wordShow || len(r.frames) > 1 {
		return false
	}
	for i := 1; i < min(r.at, 8); i++ { // the head of the statement
		if t := r.tokens[i]; t.word == wordFrom || isOneOf(r.text(t), "tables", "status", "triggers", "events", "views") {
			return true
		}
	}
	return false
}

// clause notes what a reserved word says about the names that follow.
func (r *rewriter) clause(t token) {
	f := r.top()
	if first := r.tokens[0].word; first == wordGrant || first == wordRevoke { // SELECT and the like are privileges
		if t.word == wordOn {
			f.clause, f.wantTable = clauseTables, true
		}
		return
	}
	switch t.word {
	case wordSelect:
		r.endItem()
		f.clause, f.query, f.wantTable = clauseSelect, true, false
		f.item, f.itemEdits = r.selectList(), len(r.edits)
	case wordFrom:
		if f.kind == frameCall && !f.query || f.kind == frameCast { // EXTRACT(DAY FROM x), TRIM(x FROM y)
			return
		}
		r.endItem()
		f.clause, f.wantTable = clauseFrom, true
		if r.showsDatabase() {
			f.clause = clauseDatabases
		}
	case wordIn:
		if r.showsDatabase() {
			f.clause, f.wantTable = clauseDatabases, true
		}
	case wordInto:
		r.endItem()
		f.clause, f.wantTable = clauseFrom, true
	case wordJoin, wordLateral:
		f.wantTable = f.clause == clauseFrom
	case wordUpdate, wordDelete, wordInsert, wordReplace:
		// Tables follow, except in ON DUPLICATE KEY UPDATE, FOR UPDATE, ON DELETE CASCADE, GRANT UPDATE ON.
		if before := r.tokenAt(-1); r.at == 0 || before.is(')') || before.is(';') || before.word == wordThen || before.word == wordElse || before.word == wordBegin {
			f.clause, f.wantTable = clauseFrom, true
		}
	case wordTable, wordDescribe, wordExplain:
		f.clause, f.wantTable = clauseTables, true
		r.table = r.table || t.word == wordTable
	case wordUse:
		if r.at == 0 {
			f.clause, f.wantTable = clauseDatabases, true
		}
	case wordCallable: // DATABASE, SCHEMA
		if r.at > 0 && r.at < 3 && r.changesSchema() && isOneOf(r.text(t), "database", "schema") {
			f.clause, f.wantTable = clauseDatabases, true
		}
	case wordDesc:
		if r.at == 0 {
			f.clause, f.wantTable = clauseTables, true
		}
	case wordReferences:
		f.wantTable = true
	case wordTo, wordLike:
		f.wantTable = f.clause == clauseTables // RENAME TABLE a TO b, CREATE TABLE a LIKE b
	case wordOn:
		// CREATE INDEX … ON t, CREATE TRIGGER … ON t, DROP INDEX … ON t
		switch r.tokens[0].word {
		case wordCreate, wordDrop:
			f.wantTable = len(r.frames) == 1 && f.clause != clauseFrom && f.clause != clauseSelect
		}
	case wordUsing:
		r.endItem()
		f.wantTable = r.tokens[0].word == wordDelete && !r.tokenAt(1).is('(') // DELETE FROM a USING a JOIN b
	case wordFor, wordLock:
		r.endItem()
	case wordWhere, wordGroup, wordOrder, wordHaving, wordSet, wordUnion, wordValues, wordWith, wordWindow:
		r.endItem()
		f.wantTable = false
		if f.clause != clauseTables {
			f.clause = clauseNone
		}
	case wordLimit:
		r.endItem()
		f.clause, f.wantTable = clauseLimit, false
	}
}
