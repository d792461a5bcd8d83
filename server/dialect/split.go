package dialect

import "strings"

// Split cuts the first statement off a text that holds several. rest begins behind the delimiter, a semicolon outside strings,
// comments, quoted identifiers and the BEGIN … END of stored programs; it is empty if there is none. first and rest are substrings
// of text, so len(text)-len(rest) is where rest begins.
func Split(text string, m Mode) (first, rest string) {
	if strings.IndexByte(text, ';') < 0 {
		return text, ""
	}
	l := newLexer(text, m)
	var b body
	for {
		t := l.next()
		if t.kind == tokenEnd {
			return text, ""
		}
		// Inside a version comment a semicolon cannot end the statement: the engine sees the comment as a whole.
		if t.is(';') && b.depth <= 0 && l.end == len(text) {
			return text[:t.start], text[t.end:]
		}
		b.step(text, t)
	}
}

// body follows how deep a text is inside the compound statements of a stored program. In any other statement the depth stays 0.
type body struct {
	depth  int
	tokens int
	// program is set in CREATE … PROCEDURE, FUNCTION, TRIGGER, EVENT; only there BEGIN, IF, LOOP and so on open a block.
	created, program bool
	before           token
	ended            bool // the token before is END
}

func (b *body) step(text string, t token) {
	b.tokens++
	if b.tokens == 1 {
		b.created = t.word == wordCreate
	}
	if b.created && !b.program && t.kind == tokenWord {
		switch w := text[t.start:t.end]; {
		case t.word == wordTable, t.word == wordView, t.word == wordSelect:
			b.created = false
		default:
			b.program = isOneOf(w, "procedure", "function", "trigger", "event")
		}
	} else if b.program {
		b.block(text, t)
	}
	b.before = t
}

func (b *body) block(text string, t token) {
	ended := b.ended
	b.ended = false
	switch t.word {
	case wordEnd:
		b.depth--
		b.ended = true
	case wordBegin, wordCase:
		if !ended {
			b.depth++
		}
	case wordIf, wordLoop, wordRepeat, wordWhile:
		// IF(…) and REPEAT(…) are also functions, IF EXISTS is also a clause: a statement begins only in a few places.
		if !ended && b.statementStart(text) {
			b.depth++
		}
	}
}

// statementStart reports whether a statement of a stored program may begin behind the token before.
func (b *body) statementStart(text string) bool {
	t := b.before
	switch {
	case t.is(';'), t.is(':'), t.is(')'):
		return true
	case t.kind != tokenWord:
		return false
	}
	return t.word == wordBegin || t.word == wordThen || t.word == wordElse || t.word == wordLoop || t.word == wordRepeat ||
		isOneOf(text[t.start:t.end], "do", "row", "deterministic", "sql", "data", "invoker", "definer")
}

// isOneOf reports whether s is one of the ASCII words of list, whatever its case.
func isOneOf(s string, list ...string) bool {
	for _, w := range list {
		// With equal lengths EqualFold cannot match letters outside ASCII, such as the Kelvin sign.
		if len(s) == len(w) && strings.EqualFold(s, w) {
			return true
		}
	}
	return false
}
