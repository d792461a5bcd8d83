package dialect

import (
	"strings"

	"millrace/internal/sqlerr"
)

// Rewrite translates one statement. A statement that uses none of the dialect's constructs comes back byte for byte with Changed
// false; a statement of our own comes back as Result.Statement. The error is an *sqlerr.Error with a position in text.
func Rewrite(text string, m Mode) (*Result, error) {
	if !m.NoBackslashEscapes || strings.IndexByte(text, '\\') < 0 {
		if params, ok := plain(text); ok {
			return &Result{SQL: text, Params: params, original: text, mode: m}, nil
		}
	}
	return rewrite(text, m)
}

// rewrite is Rewrite without the short cut for plain text.
func rewrite(text string, m Mode) (*Result, error) {
	r := rewriter{source: text, mode: m, tokens: tokenize(text, m)}
	r.frames = append(r.storage[:0], frame{item: -1})
	statement, err := r.statementOf()
	if err != nil {
		return nil, err
	}
	result := &Result{SQL: text, Statement: statement, original: text, mode: m}
	start, end := 0, len(text)
	switch own := statement.(type) {
	case Explain:
		if own.Sink {
			result.SQL = ""
			return result, nil
		}
		start, end = own.Pos, own.Pos+len(own.Query)
	case DescribeFunction:
		start, end = own.Pos, own.Pos+len(own.Call)
		r.frames[0].clause, r.frames[0].wantTable = clauseFrom, true
	case nil:
	default:
		result.SQL = ""
		if _, sink := own.(InsertIntoSink); sink {
			return result, nil
		}
		if at := r.placeholder(); at >= 0 {
			return nil, NotSupportedAt(text, at, "%s may have no placeholders", own.Title()).WithHint("%s", noPlaceholders)
		}
		return result, nil
	}
	if statement == nil {
		r.bare()
	}
	r.skipTo(start)
	r.walk()
	if r.err != nil {
		return nil, r.err
	}
	result.Params, result.EventLogs = r.params, r.logs
	if len(r.edits) > 0 || statement != nil {
		result.items = r.items
		result.apply(r.edits, start, end)
	}
	return result, nil
}

// noPlaceholders says what to do where a placeholder may not stand.
const noPlaceholders = "write the values into the text of the statement; placeholders may stand in a SELECT, and in INSERT INTO " + sinkName

// placeholder finds the first placeholder, -1 without one. Of `a?::int` the question mark belongs to the cast.
func (r *rewriter) placeholder() int {
	for i, t := range r.tokens {
		if t.kind != tokenParam {
			continue
		}
		if next := r.tokens[i+1]; next.is(opCast) && next.start == t.end && i > 0 {
			switch before := r.tokens[i-1]; {
			case before.named(), before.kind == tokenString, before.kind == tokenNumber, before.kind == tokenVariable, before.kind == tokenParam,
				before.is(')'), before.is(']'), before.word == wordOperand, before.word == wordKey, before.word == wordLag, before.word == wordPartition:
				continue
			}
		}
		return t.start
	}
	return -1
}

// IsOwn reports whether a text begins as a statement that the engine does not know.
func IsOwn(text string, m Mode) bool {
	r := rewriter{source: text, mode: m, tokens: tokenize(text, m)}
	statement, err := r.statementOf()
	return statement != nil || err != nil
}

// bare takes parentheses away from a statement that is one query in parentheses, which the engine's grammar lacks. Blanks stand in their places.
func (r *rewriter) bare() {
	if !r.tokens[0].is('(') || !r.queryAt(0) {
		return
	}
	for i := 0; r.tokens[i].is('('); i++ {
		last := r.closes(i)
		if want := len(r.tokens) - 2 - i; last != want { // the last token is the end
			return
		}
		r.replace(r.tokens[i].start, r.tokens[i].end, " ")
		r.replace(r.tokens[last].start, r.tokens[last].end, " ")
	}
}

// skipTo drops the tokens before a position.
func (r *rewriter) skipTo(pos int) {
	for r.tokens[0].start < pos {
		r.tokens = r.tokens[1:]
	}
}

// rewriter walks once over the tokens of a statement and collects edits.
type rewriter struct {
	source string
	mode   Mode
	tokens []token // closed by tokenEnd
	at     int     // the current token

	frames  []frame // the innermost is last; the first is the statement itself
	storage [8]frame

	edits []edit
	items []item
	logs  []TableName
	// streaming is the token where the name of a call with STREAM begins.
	streaming int
	// table is set once TABLE was seen: the parenthesis behind the name of a new table holds its columns.
	table  bool
	params int
	err    *sqlerr.Error // the first error; it ends the walk
}

// operand is the last complete operand before the current token.
type operand struct {
	ok    bool
	start int // byte position
	last  int // its last token
	// plain is true for a column as the engine's parser sees one: only such a thing may stand before ->.
	plain bool
	// call is true behind a function call, which OVER may follow.
	call bool
	// step is the last name of a path, also behind casts: the heading.
	step string
}

type frameKind uint8

const (
	frameGroup         frameKind = iota // the statement, ( … ), OVER ( … ), USING ( … )
	frameCall                           // f( … )
	frameCast                           // CAST( … AS … ), try_cast
	frameCase                           // CASE … END
	frameColumns                        // the columns and indexes of CREATE TABLE, ALTER TABLE … ADD ( … )
	framePartitions                     // ( PARTITION p0 … ) in DDL
	frameStreamWrapper                  // STREAM( … )
)

type clause uint8

const (
	clauseNone      clause = iota
	clauseSelect           // a select list
	clauseFrom             // tables of a query: FROM, JOIN, UPDATE, INTO
	clauseTables           // tables of DDL and other statements
	clauseDatabases        // databases: USE, CREATE DATABASE, SHOW TABLES FROM
	clauseLimit
)

// frame is an open parenthesis or CASE.
type frame struct {
	kind   frameKind
	clause clause
	// wantTable is set where a table name may come next.
	wantTable bool
	// table is set if the whole frame stands where a table does.
	table bool
	// query is set once SELECT was seen.
	query bool
	// elementStart is set at the start of the frame and behind its commas.
	elementStart bool

	start   int // where the operand begins that the closed frame is
	operand operand

	item      int // first token of the current expression of a select list, or -1
	itemEdits int // edits before it

	// Of calls:
	stream     bool
	named      []string
	positional bool

	// Of casts:
	opener int // the token CAST or TRY_CAST
	typed  bool
}

func (r *rewriter) top() *frame { return &r.frames[len(r.frames)-1] }

func (r *rewriter) text(t token) string { return r.source[t.start:t.end] }

func (r *rewriter) isWord(i int, w string) bool {
	return r.tokens[i].kind == tokenWord && isOneOf(r.text(r.tokens[i]), w)
}

// tokenAt is the token n places from the current one; beyond either end it is the closing tokenEnd.
func (r *rewriter) tokenAt(n int) token {
	if i := r.at + n; i >= 0 && i < len(r.tokens) {
		return r.tokens[i]
	}
	return r.tokens[len(r.tokens)-1]
}

func (r *rewriter) errorAt(pos int, format string, args ...any) *sqlerr.Error {
	return ErrorAt(r.source, pos, format, args...)
}

// fail ends the walk.
func (r *rewriter) fail(err *sqlerr.Error) {
	if r.err == nil {
		r.err = err
	}
}

// insert puts text before a position. What is inserted later at the same position comes first.
func (r *rewriter) insert(pos int, text string) {
	r.edits = append(r.edits, edit{start: pos, end: pos, text: text, order: -len(r.edits) - 1})
}

func (r *rewriter) replace(start, end int, text string) {
	r.edits = append(r.edits, edit{start: start, end: end, text: text})
}

// gapStart is where to begin a replacement that ends an operand: right behind the token before i, or at i if a comment lies between.
func (r *rewriter) gapStart(i int) int {
	start := r.tokens[i].start
	if i == 0 {
		return start
	}
	if end := r.tokens[i-1].end; strings.TrimSpace(r.source[end:start]) == "" {
		return end
	}
	return start
}

// complete makes the tokens up to last the current operand.
func (r *rewriter) complete(start, last int) {
	r.top().operand = operand{ok: true, start: start, last: last}
}

func (r *rewriter) noOperand() { r.top().operand = operand{} }

// walk goes over all tokens. Each step consumes at least one.
func (r *rewriter) walk() {
	for r.tokens[r.at].kind != tokenEnd {
		t := r.tokens[r.at]
		f := r.top()
		if f.elementStart {
			if f.kind == frameCall && !t.is(')') && r.argument() {
				if r.err != nil {
					return
				}
				continue
			}
		}
		switch t.kind {
		case tokenWord:
			r.keyword(t)
		case tokenQuoted:
			r.chain()
		case tokenString:
			r.stringLiteral(t)
		case tokenNumber, tokenVariable:
			r.complete(t.start, r.at)
			r.at++
		case tokenParam:
			r.param(t)
		default:
			r.operator(t)
		}
		if r.err != nil {
			return
		}
		r.top().elementStart = r.tokens[r.at-1].is(',') || r.tokens[r.at-1].is('(')
	}
	for len(r.frames) > 0 {
		r.endItem()
		r.frames = r.frames[:len(r.frames)-1]
	}
}

// stringLiteral completes a string. Strings side by side are one literal.
func (r *rewriter) stringLiteral(t token) {
	r.escape(t)
	f := r.top()
	start := t.start
	if r.at > 0 && r.tokens[r.at-1].kind == tokenString && f.operand.ok && f.operand.last == r.at-1 {
		start = f.operand.start
	}
	r.complete(start, r.at)
	r.at++
}

// escape doubles the backslashes of a string in a mode where they mean themselves. The engine's lexer does not know the mode and
// would see another end of the string.
func (r *rewriter) escape(t token) {
	if s := r.text(t); r.mode.NoBackslashEscapes && strings.IndexByte(s, '\\') >= 0 {
		r.replace(t.start, t.end, strings.ReplaceAll(s, `\`, `\\`))
	}
}

// param is a placeholder, or the first half of `?::` behind an operand.
func (r *rewriter) param(t token) {
	if next := r.tokenAt(1); next.is(opCast) && next.start == t.end && r.top().operand.ok {
		r.cast(r.at+2, "millrace_try_cast(")
		return
	}
	r.params++
	r.complete(t.start, r.at)
	r.at++
}

func (r *rewriter) operator(t token) {
	f := r.top()
	switch t.op {
	case '(':
		opened := frame{kind: frameGroup, start: t.start}
		if r.definesTable() && r.tokenAt(1).word == wordPartition && r.tokenAt(2).identifier() {
			opened.kind = framePartitions
		}
		r.open(opened)
		return
	case ')':
		r.close(t)
		return
	case opCast:
		r.cast(r.at+1, "millrace_cast(")
		return
	case ':':
		if f.operand.ok {
			r.path(t)
			return
		}
	case opJSON, opJSONText:
		if f.operand.ok {
			r.jsonArrow(t)
			return
		}
	case opArrow:
		r.fail(r.errorAt(t.start, "'=>' is allowed only between the name and the value of an argument").
			WithHint("write f(name => value); a name with dots goes into back-ticks"))
		return
	case ',':
		r.endItem()
		switch f.clause {
		case clauseSelect:
			f.item, f.itemEdits = r.at+1, len(r.edits)
		case clauseFrom, clauseTables:
			f.wantTable = true
		}
	case ';':
		r.endItem()
		f.clause, f.wantTable = clauseNone, false
	case '-':
		if before := r.tokenAt(-1); r.at > 0 && before.is('-') && before.end == t.start {
			r.insert(t.start, " ") // the engine takes -- for a comment, whatever follows
		}
	}
	r.noOperand()
	r.at++
}

// open pushes a frame for the parenthesis at the current token.
func (r *rewriter) open(f frame) {
	outer := r.top()
	f.item = -1
	if outer.wantTable {
		f.table = true
		outer.wantTable = false
		if f.kind == frameGroup { // FROM (a JOIN b), FROM (SELECT …)
			f.clause, f.wantTable = clauseFrom, true
		}
	}
	outer.operand = operand{}
	r.push(f)
	r.at++
}

// maxDepth is several times what the engine's parser takes. It bounds the memory for frames.
const maxDepth = 1000

func (r *rewriter) push(f frame) {
	if len(r.frames) > maxDepth {
		r.fail(r.errorAt(r.tokens[r.at].start, "parentheses are nested more than %d deep", maxDepth))
		return
	}
	r.frames = append(r.frames, f)
}

// close pops the frame of the parenthesis that closes at the current token.
func (r *rewriter) close(t token) {
	for len(r.frames) > 1 && r.top().kind == frameCase { // CASE without END: the engine says so
		r.frames = r.frames[:len(r.frames)-1]
	}
	r.endItem()
	if len(r.frames) == 1 { // one too many: the engine says so
		r.noOperand()
		r.at++
		return
	}
	f := *r.top()
	switch f.kind {
	case frameCall:
		r.endCall(&f, t)
	case frameCast:
		if r.endCast(&f, t); r.err != nil {
			return
		}
	case frameStreamWrapper:
		r.replace(t.start, t.end, "")
	}
	r.frames = r.frames[:len(r.frames)-1]
	r.noOperand()
	if !f.table {
		r.complete(f.start, r.at)
		r.top().operand.call = f.kind == frameCall
	}
	r.at++
	if f.stream {
		r.watermark()
	}
}
