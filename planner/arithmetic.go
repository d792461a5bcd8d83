package planner

import (
	"math"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/planner/expr"
)

// arithmetic compiles + - * over numbers and % over signed integers. Where the result does not fit, it is the error that MySQL gives.
func (c compiler) arithmetic(e *expr.Arithmetic) (kernel, bool) {
	var op ops.ArithOp
	switch e.Op() {
	case '+':
		op = ops.Add
	case '-':
		op = ops.Sub
	case '*':
		op = ops.Mul
	default:
		return c.mod(e)
	}
	typ := e.Type(c.ctx)
	l, ok := c.number(e.Left(), typ)
	if !ok {
		return kernel{}, false
	}
	r, ok := c.number(e.Right(), typ)
	if !ok {
		return kernel{}, false
	}
	return calculated(typ, op, l, r)
}

// calculated is the kernel of l op r, which must come out as the engine's type.
func calculated(typ sql.Type, op ops.ArithOp, l, r kernel) (kernel, bool) {
	k, ok := binary(typ, l, r, func(l, r ops.Expr) (ops.Expr, error) { return ops.Arith(op, l, r) })
	if !ok || k.kind.Kind != numberKind(typ) {
		return kernel{}, false
	}
	k.fails = true
	return k, true
}

// numberKind is the kind of the results of arithmetic of a type.
func numberKind(typ sql.Type) column.Kind {
	switch typ {
	case types.Int64:
		return column.Int64
	case types.Uint64:
		return column.Uint64
	case types.Float64:
		return column.Float64
	default:
		return column.Decimal
	}
}

// number compiles an operand of arithmetic that the engine carries out in typ.
func (c compiler) number(e sql.Expression, typ sql.Type) (kernel, bool) {
	if isConstant(e) {
		return c.numberConstant(e, typ)
	}
	k, ok := c.compile(e)
	switch {
	case !ok:
		return kernel{}, false
	case k.integral():
		return k, true
	case k.kind.Kind == column.Uint64:
		return k, k.typ == types.Uint64
	case k.kind.Kind == column.Decimal:
		return k, types.IsDecimal(k.typ)
	default:
		return k, k.kind.Kind == column.Float64 && k.typ == types.Float64
	}
}

func (c compiler) numberConstant(e sql.Expression, typ sql.Type) (kernel, bool) {
	v, ok := constantOf(c.ctx, e)
	if !ok || v == nil || !types.IsNumber(e.Type(c.ctx)) {
		return kernel{}, false
	}
	constant := func(x ops.Expr) (kernel, bool) {
		return kernel{typ: typ, kind: x.Type(), build: func(*inputs) (ops.Expr, error) { return x, nil }}, true
	}
	if typ != types.Float64 {
		if d, ok := v.(*apd.Decimal); ok {
			x, ok := decimalOf(d)
			if !ok {
				return kernel{}, false
			}
			return constant(x)
		}
		if u, ok := v.(uint64); ok && (typ == types.Uint64 || u > math.MaxInt64) {
			return constant(ops.Const(column.Type{Kind: column.Uint64}, u))
		}
		n, ok := integerOf(v, e.Type(c.ctx))
		if _, isFloat := v.(float64); !ok || n.fraction || isFloat {
			return kernel{}, false
		}
		return constant(ops.Const(column.Type{Kind: column.Int64}, n.floor))
	}
	x, inRange, err := typ.Convert(c.ctx, v)
	if err != nil || inRange != sql.InRange {
		return kernel{}, false
	}
	f, ok := x.(float64)
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		return kernel{}, false
	}
	return constant(ops.Const(column.Type{Kind: column.Float64}, f))
}

// negative compiles -x for integers. Of zero as a DOUBLE the engine makes 0 and multiplication -0.
func (c compiler) negative(e *expression.UnaryMinus) (kernel, bool) {
	x, ok := c.compile(e.Child)
	if !ok || !x.integral() {
		return kernel{}, false
	}
	minusOne := kernel{typ: types.Int64, kind: column.Type{Kind: column.Int64}, build: func(*inputs) (ops.Expr, error) {
		return ops.Const(column.Type{Kind: column.Int64}, -1), nil
	}}
	return calculated(e.Type(c.ctx), ops.Mul, x, minusOne)
}

// mod compiles x % n for signed integers x and n. A constant n that is zero is left to the engine.
func (c compiler) mod(e *expr.Arithmetic) (kernel, bool) {
	if e.Type(c.ctx) != types.Int64 {
		return kernel{}, false
	}
	if !isConstant(e.Right()) {
		return c.rest(e)
	}
	v, ok := constantOf(c.ctx, e.Right())
	if !ok || v == nil {
		return kernel{}, false
	}
	if big, ok := v.(uint64); ok && big > math.MaxInt64 {
		return kernel{}, false
	}
	n, ok := integerOf(v, e.Right().Type(c.ctx))
	if !ok || n.fraction {
		return kernel{}, false
	}
	x, ok := c.compile(e.Left())
	if !ok || !x.integral() {
		return kernel{}, false
	}
	return unary(types.Int64, x, func(x ops.Expr) (ops.Expr, error) { return ops.Mod(x, n.floor) })
}

// rest compiles x % y for signed integers, of which y is no constant.
func (c compiler) rest(e *expr.Arithmetic) (kernel, bool) {
	x, ok := c.number(e.Left(), types.Int64)
	if !ok || x.kind.Kind != column.Int32 && x.kind.Kind != column.Int64 {
		return kernel{}, false
	}
	y, ok := c.compile(e.Right())
	if !ok || !y.integral() {
		return kernel{}, false
	}
	return binary(types.Int64, x, y, ops.Rest)
}
