package planner

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
)

// matches compiles REGEXP_LIKE(x, pattern, flags), and so x REGEXP pattern, over text with constant pattern and flags. The engine, as it is built here, matches with Go's expressions
// too; what it refuses stays there.
func (c compiler) matches(e *function.RegexpLike) (kernel, bool) {
	pattern, ok := c.constantText(e.Pattern)
	if !ok || pattern == "" {
		return kernel{}, false
	}
	collation, _ := e.CollationCoercibility(c.ctx)
	insensitive, multiline, dotAll := strings.HasSuffix(collation.String(), "_ci"), false, false
	if e.Flags != nil {
		flags, ok := c.constantText(e.Flags)
		if !ok {
			return kernel{}, false
		}
		insensitive = false // flags take the place of the collation
		for _, flag := range flags {
			switch flag {
			case 'c':
				insensitive = false
			case 'i':
				insensitive = true
			case 'm':
				multiline = true
			case 'n':
				dotAll = true
			case 'u': // to Go a line ends with \n alone
			default:
				return kernel{}, false
			}
		}
	}
	re, err := regexp.Compile(goFlags(insensitive, multiline, dotAll) + pattern)
	if err != nil {
		return kernel{}, false
	}
	x, ok := c.compile(e.Text)
	if !ok || x.kind.Kind != column.Text || !types.IsTextOnly(x.typ) {
		return kernel{}, false
	}
	return unary(types.Boolean, x, func(x ops.Expr) (ops.Expr, error) { return ops.Matches(x, re) })
}

// constantText is the value of a constant that is a text.
func (c compiler) constantText(e sql.Expression) (string, bool) {
	v, ok := constantOf(c.ctx, e)
	if !ok {
		return "", false
	}
	text, ok := v.(string)
	return text, ok && utf8.ValidString(text)
}

// goFlags begins an expression of Go's.
func goFlags(insensitive, multiline, dotAll bool) string {
	flags := ""
	if insensitive {
		flags += "i"
	}
	if multiline {
		flags += "m"
	}
	if dotAll {
		flags += "s"
	}
	if flags == "" {
		return ""
	}
	return "(?" + flags + ")"
}
