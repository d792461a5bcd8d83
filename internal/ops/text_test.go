package ops

import (
	"strings"
	"unicode"

	"millrace/internal/column"

	"pgregory.net/rapid"
)

// textOf is a function that makes a text.
func textOf(t *rapid.T, depth int) oracle {
	x := columnOf(5)
	if depth > 0 && rapid.Bool().Draw(t, "nested text") {
		x = textOf(t, depth-1)
	}
	n := rapid.SampledFrom([]int64{0, 1, 2, 3, 100, -1, -2, -100, 1<<63 - 1, -1 << 63}).Draw(t, "n")
	start := rapid.SampledFrom([]int64{0, 1, 2, 5, 100, -1, -2, -3, -100, 1<<63 - 1, -1 << 63}).Draw(t, "start")
	of := func(e Expr, f func(s string) string) oracle {
		return oracle{e, func(row []any) (any, error) {
			v, err := x.eval(row)
			if v == nil || err != nil {
				return nil, err
			}
			return f(v.(string)), nil
		}}
	}
	switch rapid.IntRange(0, 5).Draw(t, "text function") {
	case 0:
		return of(must(Fold("upper", x.expr, unicode.ToUpper)), strings.ToUpper)
	case 1:
		return of(must(Substring(x.expr, start, n)), func(s string) string {
			out := ""
			count := int64(len([]rune(s)))
			for i, c := range []rune(s) {
				// Position i is start + k for a k below n.
				first := start - 1
				if start < 0 {
					first = start + count
				}
				if at := int64(i); first >= 0 && at >= first && at-first < n {
					out += string(c)
				}
			}
			return out
		})
	case 2:
		return of(must(Right(x.expr, n)), func(s string) string {
			out, count := "", int64(len([]rune(s)))
			for i, c := range []rune(s) {
				if count-int64(i) <= n {
					out += string(c)
				}
			}
			return out
		})
	case 3:
		p := rapid.SampledFrom([]string{"", "a", "ä", "er", " "}).Draw(t, "trim")
		leading, trailing := rapid.Bool().Draw(t, "leading"), rapid.Bool().Draw(t, "trailing")
		return of(must(Trim(x.expr, p, leading, trailing)), func(s string) string {
			for again := p != ""; again; {
				again = false
				if rest, ok := strings.CutPrefix(s, p); ok && leading {
					s, again = rest, true
				}
			}
			for again := p != ""; again; {
				again = false
				if rest, ok := strings.CutSuffix(s, p); ok && trailing {
					s, again = rest, true
				}
			}
			return s
		})
	default:
		y := constantOf(t, column.Type{Kind: column.Text})
		if rapid.Bool().Draw(t, "same") {
			y = columnOf(5)
		}
		return oracle{must(Concat(x.expr, y.expr, x.expr)), func(row []any) (any, error) {
			a, err := x.eval(row)
			if a == nil || err != nil {
				return nil, err
			}
			b, err := y.eval(row)
			if b == nil || err != nil {
				return nil, err
			}
			return a.(string) + b.(string) + a.(string), nil
		}}
	}
}
