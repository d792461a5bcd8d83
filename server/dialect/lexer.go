package dialect

import "strings"

type tokenKind uint8

const (
	tokenEnd      tokenKind = iota
	tokenWord               // unquoted identifier or keyword
	tokenQuoted             // `x`, and "x" under ANSI_QUOTES
	tokenString             // 'x', N'x', and "x" without ANSI_QUOTES
	tokenNumber             // 1, 1.5e3, 0x1F, x'1F', b'01'
	tokenParam              // ?
	tokenVariable           // @v, @`v w`, @@global.v
	tokenOperator           // everything else; see token.op
)

// Operators of more than one byte that matter here. Operators of one byte are that byte.
const (
	opCast      byte = iota + 1 // ::
	opAssign                    // :=
	opArrow                     // =>
	opJSON                      // ->
	opJSONText                  // ->>
	opOther                     // any other operator of several bytes
	opMaxSymbol = opOther
)

// token is a significant token: white space and comments lie in the gaps between tokens.
type token struct {
	kind  tokenKind
	op    byte
	word  word
	start int
	end   int
}

func (t token) is(op byte) bool { return t.kind == tokenOperator && t.op == op }

// named reports whether t may stand for a name: a quoted identifier or a word that is not reserved.
func (t token) named() bool {
	return t.kind == tokenQuoted || t.kind == tokenWord && !t.word.reserved()
}

// identifier reports whether t may be a part of a dotted name, where reserved words are names too.
func (t token) identifier() bool { return t.kind == tokenQuoted || t.kind == tokenWord }

// lexer cuts MySQL text into tokens. It never fails: an open string or comment extends to the end of the text, and the engine's
// parser reports it.
type lexer struct {
	text string
	mode Mode
	pos  int
	// end is where the current version comment ends, or the length of the text. The inside of /*!40101 … */ is SQL that the
	// engine executes, so its tokens are tokens of the statement.
	end int
	// last is the token before, for `t.1a` (a name, not a number).
	last, beforeLast token
}

func newLexer(text string, m Mode) lexer { return lexer{text: text, mode: m, end: len(text)} }

// tokenize returns all tokens of text, closed by a tokenEnd.
func tokenize(text string, m Mode) []token {
	tokens := make([]token, 0, len(text)/4+8)
	l := newLexer(text, m)
	for {
		t := l.next()
		tokens = append(tokens, t)
		if t.kind == tokenEnd {
			return tokens
		}
	}
}

func (l *lexer) next() token {
	l.skipBlank()
	t := token{start: l.pos, end: l.pos}
	if l.pos < l.end {
		l.scan(&t)
		l.pos = t.end
	}
	l.beforeLast, l.last = l.last, t
	return t
}

// scan sets kind, op, word and end of the token that starts at l.pos.
func (l *lexer) scan(t *token) {
	c := l.text[l.pos]
	switch {
	case l.last.is('.') && l.beforeLast.identifier() && (isIdentifier(c)):
		t.kind, t.end = tokenWord, l.identifierEnd(l.pos)
	case isDigit(c), c == '.' && isDigit(l.at(1)) && !l.memberDot():
		l.scanNumber(t)
	case isIdentifier(c):
		if q := l.at(1); q == '\'' {
			switch c | 0x20 {
			case 'n':
				t.kind, t.end = tokenString, l.stringEnd(l.pos+1)
				return
			case 'x', 'b':
				t.kind, t.end = tokenNumber, l.stringEnd(l.pos+1)
				return
			}
		}
		t.kind, t.end = tokenWord, l.identifierEnd(l.pos)
		t.word = lookup(l.text[t.start:t.end])
	case c == '\'' || c == '"' && !l.mode.AnsiQuotes:
		t.kind, t.end = tokenString, l.stringEnd(l.pos)
	case c == '`' || c == '"':
		t.kind, t.end = tokenQuoted, l.quotedEnd(l.pos)
	case c == '?':
		t.kind, t.end = tokenParam, l.pos+1
	case c == '@':
		l.scanVariable(t)
	default:
		l.scanOperator(t)
	}
}

// memberDot reports whether the dot at l.pos continues a name.
func (l *lexer) memberDot() bool { return l.last.identifier() && l.last.end == l.pos }

// at returns the byte n places ahead, 0 behind the end.
func (l *lexer) at(n int) byte {
	if l.pos+n < l.end {
		return l.text[l.pos+n]
	}
	return 0
}

func (l *lexer) identifierEnd(i int) int {
	for i < l.end && isIdentifier(l.text[i]) {
		i++
	}
	return i
}

func (l *lexer) scanNumber(t *token) {
	t.kind = tokenNumber
	i := l.pos
	digits := func() {
		for i < l.end && isDigit(l.text[i]) {
			i++
		}
	}
	digits()
	if i < l.end && l.text[i] == '.' {
		i++
		digits()
		i = l.exponentEnd(i)
		t.end = i
		return
	}
	if e := l.exponentEnd(i); e > i {
		i = e
	}
	if i < l.end && isIdentifier(l.text[i]) {
		i = l.identifierEnd(i)
		if s := l.text[t.start:i]; len(s) < 3 || s[0] != '0' || s[1] != 'x' && s[1] != 'X' && s[1] != 'b' {
			t.kind = tokenWord // names may start with a digit
		}
	}
	t.end = i
}

// exponentEnd returns the end of an exponent that starts at i, or i.
func (l *lexer) exponentEnd(i int) int {
	j := i
	if j >= l.end || l.text[j]|0x20 != 'e' {
		return i
	}
	j++
	if j < l.end && (l.text[j] == '+' || l.text[j] == '-') {
		j++
	}
	d := j
	for j < l.end && isDigit(l.text[j]) {
		j++
	}
	if j == d || j < l.end && isIdentifier(l.text[j]) {
		return i
	}
	return j
}

func (l *lexer) scanVariable(t *token) {
	t.kind = tokenVariable
	i := l.pos + 1
	if i < l.end && l.text[i] == '@' {
		i++
	}
	switch {
	case i < l.end && (l.text[i] == '\'' || l.text[i] == '"'):
		t.end = l.stringEnd(i)
		return
	case i < l.end && l.text[i] == '`':
		t.end = l.quotedEnd(i)
		return
	}
	for i < l.end && (isIdentifier(l.text[i]) || l.text[i] == '.') {
		i++
	}
	t.end = i
}

func (l *lexer) scanOperator(t *token) {
	t.kind = tokenOperator
	rest := l.text[l.pos:l.end]
	for _, o := range operators[rest[0]] {
		if strings.HasPrefix(rest, o.text) {
			t.op, t.end = o.op, l.pos+len(o.text)
			return
		}
	}
	t.op, t.end = rest[0], l.pos+1
	if t.op <= opMaxSymbol { // a control byte must not pass for a symbol
		t.op = opOther
	}
}

type operator struct {
	text string
	op   byte
}

// operators lists operators of several bytes by first byte, longest first.
var operators = [256][]operator{
	':': {{"::", opCast}, {":=", opAssign}},
	'=': {{"=>", opArrow}},
	'-': {{"->>", opJSONText}, {"->", opJSON}},
	'<': {{"<=>", opOther}, {"<=", opOther}, {"<>", opOther}, {"<<", opOther}},
	'>': {{">=", opOther}, {">>", opOther}},
	'!': {{"!=", opOther}},
	'|': {{"||", opOther}},
	'&': {{"&&", opOther}},
}

// stringEnd returns the end of the string literal whose quote is at i.
func (l *lexer) stringEnd(i int) int {
	quote := l.text[i]
	for i++; i < l.end; i++ {
		switch c := l.text[i]; {
		case c == '\\' && !l.mode.NoBackslashEscapes:
			i++
		case c == quote:
			if i+1 < l.end && l.text[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return l.end
}

// quotedEnd returns the end of the quoted identifier whose quote is at i.
func (l *lexer) quotedEnd(i int) int {
	quote := l.text[i]
	for i++; i < l.end; i++ {
		if l.text[i] == quote {
			if i+1 < l.end && l.text[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return l.end
}

// skipBlank moves over white space and comments, into and out of version comments.
func (l *lexer) skipBlank() {
	for {
		if l.pos >= l.end {
			if l.end == len(l.text) {
				return
			}
			l.pos, l.end = l.end+len("*/"), len(l.text)
			continue
		}
		switch c := l.text[l.pos]; {
		case isBlank(c):
			l.pos++
		case c == '#', c == '-' && l.at(1) == '-' && (l.pos+2 >= l.end || isBlank(l.text[l.pos+2]) || l.text[l.pos+2] < ' '):
			if n := strings.IndexByte(l.text[l.pos:l.end], '\n'); n >= 0 {
				l.pos += n + 1
			} else {
				l.pos = l.end
			}
		case c == '/' && l.at(1) == '*':
			l.skipComment()
		default:
			return
		}
	}
}

// skipComment moves over the comment at l.pos, or only over its head if it is a version comment.
func (l *lexer) skipComment() {
	n := strings.Index(l.text[l.pos+2:l.end], "*/")
	if n < 0 {
		l.pos = l.end
		return
	}
	body, closing := l.pos+2, l.pos+2+n
	l.pos = closing + 2
	if l.end != len(l.text) {
		return // version comments do not nest
	}
	if head, ok := versionHead(l.text[body:closing]); ok {
		l.pos, l.end = body+head, closing
	}
}

// versionHead tells whether a comment with this body is executed, and how long its mark and version number are. It follows the
// engine's rules: /*! or /*M!, then no digit or at least five.
func versionHead(body string) (int, bool) {
	head := strings.TrimPrefix(body, "M")
	if !strings.HasPrefix(head, "!") {
		return 0, false
	}
	head = head[1:]
	digits := 0
	for digits < len(head) && digits < 6 && isDigit(head[digits]) {
		digits++
	}
	switch {
	case body[0] == 'M' && digits == 6 && len(head) > 6 && isBlank(head[6]):
	case digits >= 5:
		digits = 5
	case digits > 0:
		return 0, false
	}
	return len(body) - len(head) + digits, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// isIdentifier reports whether c may stand in an unquoted identifier.
func isIdentifier(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}
