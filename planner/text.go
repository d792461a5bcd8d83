package planner

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
)

// The functions of text. They are compiled over text that is valid UTF-8 for both sides; over bytes the engine reads them as UTF-8, or not,
// by rules of each function, and keeps them.

// text compiles e, which must be text in UTF-8.
func (c compiler) text(e sql.Expression) (kernel, bool) {
	x, ok := c.compile(e)
	if !ok || x.kind.Kind != column.Text {
		return kernel{}, false
	}
	t, ok := x.typ.(sql.StringType)
	return x, ok && t.Collation().CharacterSet() == sql.CharacterSet_utf8mb4
}

// fold compiles upper and lower: the engine's tables say what becomes of each character.
func (c compiler) fold(e sql.FunctionExpression, child sql.Expression, upper bool) (kernel, bool) {
	x, ok := c.text(child)
	if !ok {
		return kernel{}, false
	}
	encoder := sql.CharacterSet_utf8mb4.Encoder()
	by := encoder.LowercaseRune
	if upper {
		by = encoder.UppercaseRune
	}
	return unary(e.Type(c.ctx), x, func(x ops.Expr) (ops.Expr, error) { return ops.Fold(e.FunctionName(), x, by) })
}

// wholeConstant is the value of e as the engine converts a position or a number of characters.
func (c compiler) wholeConstant(e sql.Expression) (int64, bool) {
	v, ok := constantOf(c.ctx, e)
	if !ok || v == nil || !types.IsInteger(e.Type(c.ctx)) {
		return 0, false
	}
	converted, inRange, err := types.Int64.Convert(c.ctx, v)
	n, ok := converted.(int64)
	return n, ok && err == nil && inRange == sql.InRange
}

func (c compiler) substring(typ sql.Type, str, start, length sql.Expression) (kernel, bool) {
	x, ok := c.text(str)
	if !ok {
		return kernel{}, false
	}
	from, n := int64(1), int64(math.MaxInt64)
	if start != nil {
		if from, ok = c.wholeConstant(start); !ok {
			return kernel{}, false
		}
	}
	if length != nil {
		// The engine adds start and length, and fails where that overflows.
		if n, ok = c.wholeConstant(length); !ok || n > math.MaxInt32 {
			return kernel{}, false
		}
	}
	return unary(typ, x, func(x ops.Expr) (ops.Expr, error) { return ops.Substring(x, from, n) })
}

func (c compiler) right(e function.Right) (kernel, bool) {
	args := e.Children()
	x, ok := c.text(args[0])
	if !ok {
		return kernel{}, false
	}
	n, ok := c.wholeConstant(args[1])
	if !ok {
		return kernel{}, false
	}
	return unary(e.Type(c.ctx), x, func(x ops.Expr) (ops.Expr, error) { return ops.Right(x, n) })
}

// trim compiles all forms of trim. The engine hides the side, but not from the text of e.
func (c compiler) trim(e *function.Trim) (kernel, bool) {
	args := e.Children()
	str, pattern := args[0], args[1]
	v, ok := constantOf(c.ctx, pattern)
	if !ok {
		return kernel{}, false
	}
	p, ok := v.(string)
	if !ok || !types.IsTextOnly(pattern.Type(c.ctx)) || !utf8.ValidString(p) {
		return kernel{}, false
	}
	text := e.String()
	leading := text != fmt.Sprintf("trim(trailing %v from %v)", pattern, str)
	trailing := text != fmt.Sprintf("trim(leading %v from %v)", pattern, str)
	return c.trimmed(e.Type(c.ctx), str, p, leading, trailing)
}

func (c compiler) trimmed(typ sql.Type, str sql.Expression, pattern string, leading, trailing bool) (kernel, bool) {
	x, ok := c.text(str)
	if !ok {
		return kernel{}, false
	}
	return unary(typ, x, func(x ops.Expr) (ops.Expr, error) { return ops.Trim(x, pattern, leading, trailing) })
}

// concat compiles concat of texts, integers and constants.
func (c compiler) concat(e *function.Concat) (kernel, bool) {
	var parts []kernel
	for _, arg := range e.Children() {
		k, ok := c.concatPart(arg)
		if !ok {
			return kernel{}, false
		}
		parts = append(parts, k)
	}
	return newKernel(e.Type(c.ctx), parts, func(in *inputs) (ops.Expr, error) {
		list := make([]ops.Expr, len(parts))
		for i, p := range parts {
			var err error
			if list[i], err = p.build(in); err != nil {
				return nil, err
			}
		}
		return ops.Concat(list...)
	})
}

func (c compiler) concatPart(e sql.Expression) (kernel, bool) {
	asText := column.Type{Kind: column.Text}
	if !isConstant(e) {
		if x, ok := c.text(e); ok {
			return x, true
		}
		x, ok := c.compile(e)
		if !ok || !x.integral() {
			return kernel{}, false
		}
		return unary(types.LongText, x, func(x ops.Expr) (ops.Expr, error) { return ops.Cast(x, asText, false) })
	}
	v, ok := constantOf(c.ctx, e)
	typ := e.Type(c.ctx)
	if !ok || v == nil || !types.IsTextOnly(typ) && !types.IsNumber(typ) {
		return kernel{}, false
	}
	s, _, err := types.ConvertToCollatedString(c.ctx, v, typ)
	if err != nil || !utf8.ValidString(s) {
		return kernel{}, false
	}
	return kernel{typ: types.LongText, kind: asText, build: func(*inputs) (ops.Expr, error) { return ops.Const(asText, s), nil }}, true
}

// characters compiles char_length.
func (c compiler) characters(e *function.Length) (kernel, bool) {
	if x, ok := c.text(e.Child); ok {
		return unary(types.Int32, x, ops.Characters)
	}
	return kernel{}, false
}
