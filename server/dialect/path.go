package dialect

import (
	"math"
	"strconv"
	"strings"

	"millrace/internal/sqlerr"
)

// path handles `operand : path`. The current token is the colon.
//
//	path  = first { step }
//	first = name | `name` | "[" subscript "]"
//	step  = "." ( name | `name` ) | "[" subscript "]"
//	subscript = number | string | "*"
//
// millrace_path gets the path as text in the same grammar, without white space. Strings in it stand in single quotes, which are doubled
// inside; there are no escapes.
func (r *rewriter) path(colon token) {
	if r.label() {
		r.noOperand()
		r.at++
		return
	}
	o := r.top().operand
	p := pathReader{rewriter: r, at: r.at + 1}
	if err := p.read(); err != nil {
		r.fail(err)
		return
	}
	r.insert(o.start, "millrace_path(")
	r.replace(r.gapStart(r.at), r.tokens[p.at-1].end, ", "+literal(p.out.String())+")")
	r.complete(o.start, p.at-1)
	r.top().operand.step = p.step
	r.at = p.at
}

// label tells the label of a loop or block in a stored program from a path: l: LOOP.
func (r *rewriter) label() bool {
	switch r.tokenAt(1).word {
	case wordLoop, wordRepeat, wordWhile, wordBegin:
	default:
		return false
	}
	if r.tokens[0].word != wordCreate || len(r.frames) > 1 || r.top().operand.last != r.at-1 || r.tokens[r.at-1].start != r.top().operand.start {
		return false
	}
	b := body{program: true, before: r.tokenAt(-2)}
	return r.at >= 2 && b.statementStart(r.source)
}

type pathReader struct {
	*rewriter
	at   int
	out  strings.Builder
	step string // the last name
}

func (p *pathReader) read() *sqlerr.Error {
	switch t := p.tokens[p.at]; {
	case t.word.reserved() && p.tokens[p.at-1].end < t.start: // value: FROM t
		return p.errorAt(p.tokens[p.at-1].start, "a path is missing after ':'").WithHint("write value:a.b[0]")
	case t.identifier():
		if strings.HasPrefix(p.text(t), "$") {
			return p.errorAt(t.start, "a path starts with the name of a field, not with '$'").WithHint("write value:a.b[0]; a field whose name has a '$' goes into back-ticks")
		}
		p.field(t)
	case t.is('['):
		if err := p.subscript(); err != nil {
			return err
		}
	case t.kind == tokenString:
		return p.errorAt(t.start, "a path starts with the name of a field, not with a string").WithHint("write value:name, value:`a name`, or value:['a name']")
	case t.kind == tokenNumber && p.top().kind == frameCall && len(p.top().named) > 0:
		return p.errorAt(p.tokens[p.at-1].start, "a path starts with the name of a field, not with a number").WithHint("text is written in quotes: 'host:%s'", shorten(p.text(t)))
	case t.kind == tokenNumber:
		return p.errorAt(t.start, "a path starts with the name of a field, not with a number").WithHint("an element of an array is value:[%s]", shorten(p.text(t)))
	default:
		return p.errorAt(p.tokens[p.at-1].start, "a path is missing after ':'").WithHint("write value:a.b[0]")
	}
	for {
		switch {
		case p.tokens[p.at].is('.') && p.tokens[p.at+1].identifier():
			p.out.WriteByte('.')
			p.at++
			p.field(p.tokens[p.at])
		case p.tokens[p.at].is('['):
			if err := p.subscript(); err != nil {
				return err
			}
		case p.tokens[p.at].is('.'):
			t := p.tokens[p.at+1]
			return p.errorAt(t.start, "a field name is missing after '.' in a path").WithHint("write value:a.b, value:a.`b c`, or value:a['b c']")
		default:
			return nil
		}
	}
}

func (p *pathReader) field(t token) {
	p.step = p.name(t)
	if t.kind == tokenQuoted {
		p.out.WriteString(quote(p.step))
	} else {
		p.out.WriteString(p.step)
	}
	p.at++
}

// subscript reads [0], ['name'] or [*].
func (p *pathReader) subscript() *sqlerr.Error {
	t, end := p.tokens[p.at+1], p.tokens[min(p.at+2, len(p.tokens)-1)]
	number := t.kind == tokenNumber && strings.Trim(p.text(t), "0123456789") == ""
	switch {
	case t.is('-'):
		return p.errorAt(t.start, "an index of a path counts from 0 and is not negative")
	case !number && t.kind != tokenString && !t.is('*'):
		return p.errorAt(t.start, "an index of a path is a number, a string, or *").WithHint("write value:items[0], value:['a name'], or value:items[*]")
	case !end.is(']'):
		return p.errorAt(end.start, "']' is missing in a path")
	case number && !fitsIndex(p.text(t)):
		return p.errorAt(t.start, "an index of a path is at most %d", math.MaxInt32)
	}
	p.out.WriteByte('[')
	if t.kind == tokenString {
		p.step = p.stringValue(t)
		p.out.WriteString("'" + strings.ReplaceAll(p.step, "'", "''") + "'")
	} else {
		p.out.WriteString(p.text(t))
	}
	p.out.WriteByte(']')
	p.at += 3
	return nil
}

func fitsIndex(digits string) bool {
	_, err := strconv.ParseInt(digits, 10, 32)
	return err == nil
}

// jsonArrow handles -> and ->>. The engine's parser takes them behind a plain column only.
func (r *rewriter) jsonArrow(arrow token) {
	o := r.top().operand
	path := r.tokenAt(1)
	if path.kind != tokenString && path.kind != tokenParam {
		r.noOperand()
		r.at++
		return
	}
	if path.kind == tokenParam {
		r.params++
	}
	last := r.at + 1
	text := r.text(path)
	if r.mode.NoBackslashEscapes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	switch {
	case o.plain:
		r.escape(path)
	case arrow.is(opJSONText):
		r.insert(o.start, "json_unquote(json_extract(")
		r.replace(r.gapStart(r.at), path.end, ", "+text+"))")
	default:
		r.insert(o.start, "json_extract(")
		r.replace(r.gapStart(r.at), path.end, ", "+text+")")
	}
	r.complete(o.start, last)
	r.at = last + 1
}

// stringValue is what a string literal stands for.
func (r *rewriter) stringValue(t token) string {
	s := r.text(t)
	s = s[strings.IndexAny(s, `'"`):]
	q := s[0]
	s = strings.TrimSuffix(s[1:], string(q))
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == q:
			i++ // doubled
		case c == '\\' && !r.mode.NoBackslashEscapes && i+1 < len(s):
			i++
			c = s[i]
			if n := strings.IndexByte("0nrtbZ", c); n >= 0 {
				c = "\x00\n\r\t\b\x1a"[n]
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}
