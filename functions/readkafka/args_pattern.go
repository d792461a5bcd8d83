package readkafka

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"millrace/internal/option"
)

func quoteShort(s string) string { return "'" + option.Shorten(s, 40) + "'" }

// compilePattern compiles an RE2 expression to match whole names. Patterns mostly come from Java, so an error names what only Java has, and what
// both accept with different meanings is an error too.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	what, at := javaOnly(pattern)
	if what != "" {
		return nil, fmt.Errorf("uses %s at character %d, which Java has and RE2 has not", what, at+1)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		reason := "it cannot be parsed"
		var se *syntax.Error
		if errors.As(err, &se) {
			reason = se.Code.String()
			if se.Expr != "" {
				reason += " " + quoteShort(se.Expr)
			}
		}
		return nil, fmt.Errorf("is %s, which is no regular expression: %s", quoteShort(pattern), reason)
	}
	// The tree is printed back so that an unclosed \Q or a flag cannot swallow the anchors.
	re, err := regexp.Compile(`\A(?:` + tree.String() + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("is %s, which is no regular expression: %w", quoteShort(pattern), err)
	}
	return re, nil
}

var (
	repeat     = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)
	javaClass  = regexp.MustCompile(`^\\[pP]\{(java\w+|Is\w+|In\w+|Lower|Upper|ASCII|Alpha|Digit|Alnum|Punct|Graph|Print|Blank|Cntrl|XDigit|Space)\}`)
	inlineFlag = regexp.MustCompile(`^\(\?[a-zA-Z]*-?[a-zA-Z]*[):]`)
)

// javaOnly finds the first construct that only Java's expressions have, and its place; "" when there is none.
func javaOnly(p string) (what string, at int) {
	inClass, quantified := false, false // quantified: what came last is a quantifier
	for i := 0; i < len(p); {
		rest := p[i:]
		after := false
		step := 1
		switch {
		case strings.HasPrefix(rest, `\Q`):
			if end := strings.Index(rest, `\E`); end >= 0 {
				step = end + 2
			} else {
				step = len(rest)
			}
		case rest[0] == '\\':
			if what := javaEscape(rest); what != "" {
				return what, i
			}
			step = min(2, len(rest))
		case inClass:
			switch {
			case strings.HasPrefix(rest, "&&"):
				return "an intersection of character classes (&&)", i
			case strings.HasPrefix(rest, "[:"):
				if end := strings.Index(rest, ":]"); end > 0 {
					step = end + 2
				}
			case rest[0] == '[':
				return "a character class in another", i
			case rest[0] == ']':
				inClass = false
			}
		case rest[0] == '[':
			inClass = true
			step = classHead(rest)
		case rest[0] == '(':
			if what := javaGroup(rest); what != "" {
				return what, i
			}
			if strings.HasPrefix(rest, "(?") {
				step = 2 // this ? is no quantifier
			}
		case rest[0] == '+' && quantified:
			return "a possessive quantifier", i
		case rest[0] == '*', rest[0] == '+', rest[0] == '?' && !quantified:
			after = true
		default:
			if m := repeat.FindString(rest); m != "" {
				after, step = true, len(m)
			}
		}
		quantified = after
		i += step
	}
	return "", 0
}

// classHead is the length of what opens a class: [, a ^, and a ] that stands for itself.
func classHead(rest string) int {
	n := 1
	if strings.HasPrefix(rest[n:], "^") {
		n++
	}
	if strings.HasPrefix(rest[n:], "]") {
		n++
	}
	return n
}

func javaEscape(rest string) string {
	if len(rest) < 2 {
		return ""
	}
	switch c := rest[1]; {
	case c >= '1' && c <= '9' || c == 'k':
		return "a back-reference"
	case strings.IndexByte("GZRXhHN", c) >= 0, strings.IndexByte("ecu", c) >= 0:
		return `the escape \` + string(c)
	}
	if m := javaClass.FindString(rest); m != "" {
		return "the class " + m
	}
	return ""
}

func javaGroup(rest string) string {
	for _, g := range []struct{ opening, what string }{
		{"(?=", "a look-ahead"}, {"(?!", "a look-ahead"}, {"(?<=", "a look-behind"}, {"(?<!", "a look-behind"}, {"(?>", "an atomic group"},
	} {
		if strings.HasPrefix(rest, g.opening) {
			return g.what
		}
	}
	if flags := inlineFlag.FindString(rest); strings.ContainsAny(flags, "dux") {
		return "an inline flag (d, u or x)"
	}
	return ""
}
