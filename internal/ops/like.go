package ops

import (
	"bytes"
	"unicode/utf8"

	"millrace/internal/column"
)

// Like is x LIKE pattern for a constant pattern: '%' stands for any characters, '_' for one, and what follows escape for itself. A
// character of Text is a code point, one of Bytes a byte; they match when they are the same. A pattern that ends in escape, and '%' or
// '_' for escape, are refused.
func Like(x Expr, pattern string, escape rune) (Expr, error) {
	kind := x.Type().Kind
	text := "(" + x.String() + " LIKE " + quoted([]byte(pattern))
	if escape != '\\' {
		text += " ESCAPE " + quoted(utf8.AppendRune(nil, escape))
	}
	text += ")"
	switch {
	case kind != column.Text && kind != column.Bytes:
		return nil, unsupported("'LIKE' over %v is not computed on batches", x.Type())
	case kind == column.Text && !utf8.ValidString(pattern), kind == column.Bytes && escape >= utf8.RuneSelf:
		return nil, unsupported("the pattern of '%s' is no %v", text, kind)
	case escape == '%' || escape == '_':
		return nil, unsupported("'%s' escapes with a wildcard", text)
	}
	p, ok := parsePattern(pattern, escape, kind == column.Bytes)
	if !ok {
		return nil, unsupported("the pattern of '%s' ends in its escape character", text)
	}
	return &like{condition{x.Nullable(), text}, x, p}, nil
}

type like struct {
	condition
	x       Expr
	pattern *pattern
}

func (e *like) operands() []Expr { return []Expr{e.x} }

func (e *like) bind(l *lane) evaluator { return withValue(&likeEval{l.bind(e.x), e.pattern}) }

type likeEval struct {
	x       evaluator
	pattern *pattern
}

func (e *likeEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	v, err := e.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	sel = chooseValid(v, in.N, sel, true, dst)
	k := 0
	for _, i := range sel {
		dst[k] = i
		k += bit(e.pattern.matches(v.Data[v.Beg[i]:v.End[i]]) == want)
	}
	return dst[:k], nil
}

// pattern is a LIKE pattern cut at its '%'. Every stretch has a fixed number of characters, so that the leftmost place of a stretch leaves
// most for those after it and no place is tried twice.
type pattern struct {
	stretches []stretch
	// bytewise is set when a character is a byte.
	bytewise bool
}

// stretch is what stands between two '%': pieces one after the other. The first stretch begins the value and the last one ends it; where the
// pattern begins or ends with '%' they are empty.
type stretch struct {
	pieces []piece
	// characters is the number of characters of the stretch.
	characters int
}

// piece is some arbitrary characters and then a text.
type piece struct {
	skip int
	text []byte
}

func parsePattern(s string, escape rune, bytewise bool) (*pattern, bool) {
	p := &pattern{stretches: make([]stretch, 1), bytewise: bytewise}
	for len(s) > 0 {
		c, n := rune(s[0]), 1
		if !bytewise {
			c, n = utf8.DecodeRuneInString(s)
		}
		last := &p.stretches[len(p.stretches)-1]
		switch {
		case c == '%':
			p.stretches = append(p.stretches, stretch{})
			s = s[n:]
			continue
		case c == '_':
			last.characters++
			if k := len(last.pieces); k == 0 || len(last.pieces[k-1].text) > 0 {
				last.pieces = append(last.pieces, piece{})
			}
			last.pieces[len(last.pieces)-1].skip++
			s = s[n:]
			continue
		case c == escape:
			if s = s[n:]; s == "" {
				return nil, false
			}
			if n = 1; !bytewise {
				_, n = utf8.DecodeRuneInString(s)
			}
		}
		last.characters++
		if len(last.pieces) == 0 {
			last.pieces = append(last.pieces, piece{})
		}
		end := &last.pieces[len(last.pieces)-1]
		end.text = append(end.text, s[:n]...)
		s = s[n:]
	}
	return p, true
}

func (p *pattern) matches(s []byte) bool {
	at, ok := p.at(&p.stretches[0], s, 0)
	if last := len(p.stretches) - 1; last == 0 {
		return ok && at == len(s)
	}
	for i := 1; ok && i < len(p.stretches)-1; i++ {
		at, ok = p.find(&p.stretches[i], s, at)
	}
	return ok && p.ends(&p.stretches[len(p.stretches)-1], s, at)
}

// at matches r with the beginning of s[from:] and gives its end.
func (p *pattern) at(r *stretch, s []byte, from int) (end int, ok bool) {
	for i := range r.pieces {
		c := &r.pieces[i]
		for range c.skip {
			if from == len(s) {
				return 0, false
			}
			from += p.width(s[from:])
		}
		if !bytes.HasPrefix(s[from:], c.text) {
			return 0, false
		}
		from += len(c.text)
	}
	return from, true
}

// find gives the end of the first match of r in s[from:].
func (p *pattern) find(r *stretch, s []byte, from int) (end int, ok bool) {
	if len(r.pieces) == 1 && r.pieces[0].skip == 0 {
		i := bytes.Index(s[from:], r.pieces[0].text)
		return from + i + len(r.pieces[0].text), i >= 0
	}
	for {
		if end, ok = p.at(r, s, from); ok || from == len(s) {
			return end, ok
		}
		from += p.width(s[from:])
	}
}

// ends reports whether r matches the end of s, not before from.
func (p *pattern) ends(r *stretch, s []byte, from int) bool {
	if len(r.pieces) == 1 && r.pieces[0].skip == 0 {
		return bytes.HasSuffix(s[from:], r.pieces[0].text)
	}
	start := len(s)
	for range r.characters {
		if start == from {
			return false
		}
		if start--; !p.bytewise {
			for start > from && !utf8.RuneStart(s[start]) {
				start--
			}
		}
	}
	_, ok := p.at(r, s, start)
	return ok
}

// width is the number of bytes of the first character of s, which is not empty.
func (p *pattern) width(s []byte) int {
	if p.bytewise || s[0] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRune(s)
	return n
}
