package csv

import (
	"bytes"
	"unicode/utf8"

	"millrace/internal/decode"
)

// span is a field in a record, without its quotes.
type span struct {
	beg, end uint32
	flags    flags
}

type flags uint8

const (
	// quoted: the field stood in quotes.
	quoted flags = 1 << iota
	// escaped: it holds escapes or doubled quotes.
	escaped
)

// splitter cuts records into fields. It belongs to one goroutine.
type splitter struct {
	dialect
	spans []span
	err   decode.Error
}

// maxKept bounds what stays allocated after a record with very many fields.
const maxKept = 1 << 14

func (s *splitter) fail(reason decode.Reason, offset int, detail string) bool {
	s.err = decode.Error{Reason: reason, Offset: offset, Detail: detail}
	return false
}

// lines skips what is no row at p: empty lines and comments.
func (s *splitter) lines(b []byte, p int) int {
	for p < len(b) {
		switch n := lineBreak(b, p); {
		case n > 0:
			p += n
		case s.comment != 0 && b[p] == s.comment:
			if end := bytes.IndexByte(b[p:], '\n'); end >= 0 {
				p += end + 1
			} else {
				p = len(b)
			}
		default:
			return p
		}
	}
	return p
}

// lineBreak is the length of the line break at p, 0 when there is none. A \r at the end of the record is one.
func lineBreak(b []byte, p int) int {
	switch {
	case b[p] == '\n':
		return 1
	case b[p] != '\r':
		return 0
	case p+1 == len(b):
		return 1
	case b[p+1] == '\n':
		return 2
	}
	return 0
}

// row cuts the row at p into s.spans and returns the place behind its line break; ok is false when it breaks the grammar.
func (s *splitter) row(b []byte, p int) (next int, ok bool) {
	if cap(s.spans) > maxKept {
		s.spans = nil
	}
	s.spans = s.spans[:0]
	first := s.delimiter[0]
	for {
		if s.leading {
			p = s.blanks(b, p)
		}
		if s.quote != 0 && p < len(b) && b[p] == s.quote {
			if p, ok = s.quotedField(b, p+1); !ok {
				return p, false
			}
		} else {
			beg := p
			for p < len(b) && !(b[p] == first && s.delimiterAt(b, p)) && (b[p] != '\n' && b[p] != '\r' || lineBreak(b, p) == 0) {
				p++
			}
			end := p
			for s.trailing && end > beg && (b[end-1] == ' ' || b[end-1] == '\t') {
				end--
			}
			s.spans = append(s.spans, span{beg: uint32(beg), end: uint32(end)})
		}
		switch {
		case p == len(b):
			return p, true
		case b[p] == first && s.delimiterAt(b, p):
			p += len(s.delimiter)
		default:
			n := lineBreak(b, p)
			if n == 0 {
				return p, s.fail(decode.Malformed, p, "text behind a closing quote")
			}
			return p + n, true
		}
	}
}

func (s *splitter) delimiterAt(b []byte, p int) bool {
	return len(s.delimiter) == 1 || bytes.HasPrefix(b[p:], s.delimiter)
}

// blanks skips spaces and tabs at p that are not a delimiter.
func (s *splitter) blanks(b []byte, p int) int {
	for p < len(b) && (b[p] == ' ' || b[p] == '\t') && !(b[p] == s.delimiter[0] && s.delimiterAt(b, p)) {
		p++
	}
	return p
}

// quotedField reads the field whose content starts at p and returns the place behind its closing quote.
func (s *splitter) quotedField(b []byte, p int) (next int, ok bool) {
	field := span{beg: uint32(p), flags: quoted}
	for ; p < len(b); p++ {
		c := b[p]
		if c == s.escape && c != s.quote && s.escape != 0 && p+1 < len(b) && (b[p+1] == s.quote || b[p+1] == s.escape) {
			field.flags |= escaped
			p++
			continue
		}
		if c != s.quote {
			continue
		}
		if p+1 < len(b) && b[p+1] == s.quote {
			field.flags |= escaped
			p++
			continue
		}
		field.end = uint32(p)
		s.spans = append(s.spans, field)
		if p++; s.trailing {
			p = s.blanks(b, p)
		}
		return p, true
	}
	return p, s.fail(decode.Truncated, int(field.beg)-1, "quote without an end")
}

// appendText appends the text of a field that holds escapes.
func (s *splitter) appendText(dst, field []byte) []byte {
	for i := 0; i < len(field); i++ {
		c := field[i]
		if i+1 < len(field) && (c == s.quote && field[i+1] == s.quote || c == s.escape && s.escape != 0 && (field[i+1] == s.quote || field[i+1] == s.escape)) {
			i++
			c = field[i]
		}
		dst = append(dst, c)
	}
	return dst
}

// split cuts a record: the header, when there is one, is header(names), which says whether to go on, and the row is left in s.spans.
func (s *splitter) split(b []byte, header func(line []byte) bool) bool {
	if !utf8.Valid(b) {
		return s.fail(decode.InvalidUTF8, invalidAt(b), "")
	}
	p, ok := s.lines(b, 0), true
	if s.header && p < len(b) {
		beg := p
		if p, ok = s.row(b, p); !ok || !header(b[beg:p]) {
			return false
		}
		p = s.lines(b, p)
	}
	if p == len(b) {
		return s.fail(decode.Empty, -1, "")
	}
	if p, ok = s.row(b, p); !ok {
		return false
	}
	if p = s.lines(b, p); p < len(b) {
		return s.fail(decode.TrailingBytes, p, "a second row")
	}
	return true
}

// invalidAt is the first byte that is not UTF-8.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}
