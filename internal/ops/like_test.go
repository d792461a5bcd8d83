package ops

import (
	"testing"

	"millrace/internal/column"

	"pgregory.net/rapid"
)

// likeBoxed matches by trying everything, on characters as runes.
func likeBoxed(s, p []rune, escape rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	switch {
	case p[0] == '%':
		return likeBoxed(s, p[1:], escape) || len(s) > 0 && likeBoxed(s[1:], p, escape)
	case p[0] == '_':
		return len(s) > 0 && likeBoxed(s[1:], p[1:], escape)
	case p[0] == escape:
		p = p[1:]
	}
	return len(s) > 0 && s[0] == p[0] && likeBoxed(s[1:], p[1:], escape)
}

// characters are the characters of s: code points, or bytes.
func characters(s string, bytewise bool) []rune {
	if !bytewise {
		return []rune(s)
	}
	var out []rune
	for i := range len(s) {
		out = append(out, rune(s[i]))
	}
	return out
}

var patternParts = []string{"%", "%", "_", "a", "b", "ä", "lon", "er", "others", `\%`, `\_`, `\\`, "!a", "!!"}

func drawPattern(t *rapid.T) string {
	s := ""
	for range rapid.IntRange(0, 5).Draw(t, "pattern parts") {
		s += rapid.SampledFrom(patternParts).Draw(t, "pattern part")
	}
	return s
}

// likeOf is a LIKE over a text or bytes column.
func likeOf(t *rapid.T) oracle {
	x := columnOf(rapid.SampledFrom([]int{5, 6}).Draw(t, "like"))
	p, escape := drawPattern(t), rapid.SampledFrom([]rune{'\\', '!', 0}).Draw(t, "escape")
	e, err := Like(x.expr, p, escape)
	if err != nil {
		return likeOf(t)
	}
	bytewise := x.expr.Type().Kind == column.Bytes
	return oracle{e, func(row []any) (any, error) {
		v, err := x.eval(row)
		if v == nil || err != nil {
			return nil, err
		}
		return likeBoxed(characters(v.(string), bytewise), characters(p, bytewise), escape), nil
	}}
}

func TestPatternsMatchAsTheOracleDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := ""
		for range rapid.IntRange(0, 6).Draw(t, "value parts") {
			s += rapid.SampledFrom([]string{"a", "b", "ä", "%", "_", `\`, "!", "lon", "er"}).Draw(t, "value part")
		}
		p, bytewise := drawPattern(t), rapid.Bool().Draw(t, "bytewise")
		escape := rapid.SampledFrom([]rune{'\\', '!'}).Draw(t, "escape")
		m, ok := parsePattern(p, escape, bytewise)
		if !ok {
			return
		}
		if got, want := m.matches([]byte(s)), likeBoxed(characters(s, bytewise), characters(p, bytewise), escape); got != want {
			t.Fatalf("%q LIKE %q is %v, want %v", s, p, got, want)
		}
	})
}

func TestLikeRefusesWhatItCannotMean(t *testing.T) {
	text, blob, number := Column(5, rowFields[5]), Column(6, rowFields[6]), Column(2, rowFields[2])
	for _, c := range []struct {
		name    string
		x       Expr
		pattern string
		escape  rune
	}{
		{"a number", number, "1%", '\\'},
		{"an escape at the end", text, `a\`, '\\'},
		{"a wildcard as escape", text, "a%%", '%'},
		{"an invalid text", text, "\xff%", '\\'},
		{"an escape that is no byte", blob, "a%", 'ä'},
	} {
		if e, err := Like(c.x, c.pattern, c.escape); err == nil {
			t.Errorf("%s: %v is accepted", c.name, e)
		}
	}
}
