package planner

import (
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
)

// like compiles x LIKE pattern where the pattern is a constant and the engine matches code points of text or bytes of binary strings one
// by one. What makes the engine warn or fail (NULL, an escape of several characters) stays there.
func (c compiler) like(e *expression.Like) (kernel, bool) {
	v, ok := constantOf(c.ctx, e.RightChild)
	if !ok {
		return kernel{}, false
	}
	pattern, ok := bytesOf(v, e.RightChild.Type(c.ctx))
	if !ok {
		return kernel{}, false
	}
	escape, ok := c.escape(e)
	if !ok {
		return kernel{}, false
	}
	x, ok := c.compile(e.LeftChild)
	if !ok {
		return kernel{}, false
	}
	switch collation, _ := e.CollationCoercibility(c.ctx); collation {
	case sql.Collation_utf8mb4_0900_bin:
		ok = x.kind.Kind == column.Text
	case sql.Collation_binary:
		ok = x.kind.Kind == column.Bytes
	default:
		ok = false
	}
	if !ok {
		return kernel{}, false
	}
	return unary(types.Boolean, x, func(x ops.Expr) (ops.Expr, error) { return ops.Like(x, string(pattern), escape) })
}

// escape is the escape character of e; the engine takes an empty one for NUL.
func (c compiler) escape(e *expression.Like) (rune, bool) {
	if e.Escape == nil {
		return '\\', true
	}
	v, ok := constantOf(c.ctx, e.Escape)
	if !ok {
		return 0, false
	}
	s, ok := v.(string)
	if !ok || utf8.RuneCountInString(s) > 1 || !utf8.ValidString(s) {
		return 0, false
	}
	if s == "" {
		return 0, true
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r, true
}
