package dialect

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"millrace/internal/sqlerr"
)

// ErrorAt returns an error of kind Syntax whose text names line and column of a byte position of text and shows the line with a
// caret under the place:
//
//	syntax error at line 2 column 13: type 'strng' is not known
//	  WHERE key::strng = 'a'
//	             ^
//
// Lines and columns count from one, columns in characters. Long lines are cut around the place; secrets in the line are masked.
func ErrorAt(text string, pos int, format string, args ...any) *sqlerr.Error {
	return errorAt(sqlerr.Syntax, "syntax error at ", text, pos, format, args...)
}

// NotSupportedAt is ErrorAt for a construct that is known but that this version does not do.
func NotSupportedAt(text string, pos int, format string, args ...any) *sqlerr.Error {
	return errorAt(sqlerr.NotSupported, "", text, pos, format, args...)
}

func errorAt(kind *sqlerr.Kind, prefix, text string, pos int, format string, args ...any) *sqlerr.Error {
	p := locate(text, pos)
	return sqlerr.New(kind, "%sline %d column %d: %s\n  %s\n  %s^", prefix, p.line, p.column, fmt.Sprintf(format, args...), p.excerpt, p.indent)
}

// excerptWidth is how many characters of a line an error shows.
const excerptWidth = 100

type place struct {
	line, column int
	excerpt      string // the line, or the part of it around the place
	indent       string // what puts a caret under the place
}

func locate(text string, pos int) place {
	pos = max(0, min(pos, len(text)))
	for pos > 0 && pos < len(text) && !utf8.RuneStart(text[pos]) {
		pos--
	}
	text, pos = mask(text, pos)
	start := strings.LastIndexByte(text[:pos], '\n') + 1
	end := len(text)
	if n := strings.IndexByte(text[pos:], '\n'); n >= 0 {
		end = pos + n
	}
	before, after := []rune(text[start:pos]), []rune(strings.TrimRight(text[pos:end], " \t\r"))
	p := place{line: 1 + strings.Count(text[:start], "\n"), column: 1 + len(before)}

	head, tail := "", ""
	if len(before)+len(after) > excerptWidth {
		// Most of the room goes to what led to the place.
		room := max(excerptWidth*2/3, excerptWidth-len(after))
		if len(before) > room {
			before, head = before[len(before)-room:], "…"
		}
		if rest := excerptWidth - len(before); len(after) > rest {
			after, tail = after[:rest], "…"
		}
	}
	p.excerpt = head + printable(before) + printable(after) + tail
	p.indent = strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, head+printable(before))
	return p
}

// printable replaces control characters, which could move the caret or the terminal's cursor.
func printable(s []rune) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return '?'
		}
		return r
	}, string(s))
}

// shorten cuts a name for a message.
func shorten(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// nearest returns the candidate that s most likely was meant to be, or "".
func nearest(s string, candidates []string) string {
	best, distance := "", 1+max(1, len(s)/3)
	for _, c := range candidates {
		if d := editDistance(strings.ToUpper(s), c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// editDistance is the number of insertions, deletions, substitutions and swaps of neighbours that turn a into b.
func editDistance(a, b string) int {
	if len(a) > 32 {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
