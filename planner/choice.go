package planner

import (
	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
)

// CASE and its relatives give one of several values, which the engine then converts to a common type. They are compiled where that
// conversion changes nothing: for columns of that type or integers that are narrower, and for constants, which are converted here.

// choice compiles the CASE that has value for the type of all its parts. An absent condition is that the part is not NULL.
func (c compiler) choice(typ sql.Type, conds []kernel, values []sql.Expression, otherwise sql.Expression) (kernel, bool) {
	parts := conds
	all := values
	if otherwise != nil {
		all = append(all[:len(all):len(all)], otherwise)
	}
	branches, ok := c.branches(typ, all)
	if !ok {
		return kernel{}, false
	}
	parts = append(parts[:len(parts):len(parts)], branches...)
	k, ok := newKernel(typ, parts, func(in *inputs) (ops.Expr, error) {
		built := make([]ops.Expr, len(parts))
		for i, p := range parts {
			var err error
			if built[i], err = p.build(in); err != nil {
				return nil, err
			}
		}
		results := built[len(conds):]
		if len(conds) == 0 {
			return ops.Coalesce(results...)
		}
		whens := make([]ops.When, len(conds))
		for i := range whens {
			whens[i] = ops.When{Cond: built[i], Then: results[i]}
		}
		if otherwise == nil {
			return ops.Case(whens, nil)
		}
		return ops.Case(whens, results[len(whens)])
	})
	return k, ok
}

// branches compiles the values of a choice of type typ. At least one is no constant or typ is a whole number.
func (c compiler) branches(typ sql.Type, values []sql.Expression) ([]kernel, bool) {
	out := make([]kernel, len(values))
	kind, known := column.Type{Kind: column.Int64}, typ == types.Int64 || typ == types.Int32 || typ == types.Int8
	if typ == types.Float64 {
		kind, known = column.Type{Kind: column.Float64}, true
	}
	for i, e := range values {
		if isConstant(e) {
			continue
		}
		k, ok := c.compile(e)
		if !ok || !keeps(k, typ) {
			return nil, false
		}
		if !known {
			kind, known = k.kind, true
		}
		out[i] = k
	}
	if !known {
		return nil, false
	}
	for i, e := range values {
		if !isConstant(e) {
			continue
		}
		v, ok := constantOf(c.ctx, e)
		if !ok {
			return nil, false
		}
		x, ok := c.converted(v, typ, kind)
		if !ok {
			return nil, false
		}
		out[i] = kernel{typ: typ, kind: kind, nullable: v == nil, build: func(*inputs) (ops.Expr, error) { return x, nil }}
	}
	return out, true
}

// keeps reports whether a conversion of x to typ changes no value.
func keeps(x kernel, typ sql.Type) bool {
	switch x.kind.Kind {
	case column.Int32, column.Int64:
		return x.integral() && x.typ != types.Boolean && (typ == types.Int64 || typ == x.typ && (typ == types.Int32 || typ == types.Int8))
	case column.Text:
		from, ok := x.typ.(sql.StringType)
		to, isText := typ.(sql.StringType)
		return ok && isText && bytewise(x.typ) && bytewise(typ) && types.IsTextOnly(typ) && from.Length() <= to.Length()
	case column.Float64:
		return x.typ == types.Float64 && typ == types.Float64
	case column.Bytes, column.Decimal, column.Timestamp, column.Date:
		return x.typ.Equals(typ)
	default:
		return false
	}
}

// converted is the constant v as a value of typ, in a vector of type kind.
func (c compiler) converted(v any, typ sql.Type, kind column.Type) (ops.Expr, bool) {
	if v == nil {
		return ops.Const(kind, nil), true
	}
	v, inRange, err := typ.Convert(c.ctx, v)
	if err != nil || inRange != sql.InRange {
		return nil, false
	}
	switch v := v.(type) {
	case int8, int32, int64:
		if kind.Kind == column.Int32 || kind.Kind == column.Int64 {
			return ops.Const(kind, v), true
		}
	case float64:
		if kind.Kind == column.Float64 {
			return ops.Const(kind, v), true
		}
	case string:
		if kind.Kind == column.Text && bytewise(typ) {
			return ops.Const(kind, v), true
		}
	case []byte:
		if kind.Kind == column.Bytes {
			return ops.Const(kind, v), true
		}
	case *apd.Decimal:
		if kind.Kind == column.Decimal && v.Form == apd.Finite && -v.Exponent == int32(kind.Scale) {
			return ops.Const(kind, v.Text('f')), true
		}
	}
	return nil, false
}

// truth compiles e as a condition: predicates, and numbers, where the engine takes what is not zero for true.
func (c compiler) truth(e sql.Expression) (kernel, bool) {
	k, ok := c.compile(e)
	return k, ok && (k.condition() || k.integral() || k.kind.Kind == column.Float64)
}

func (c compiler) ifElse(e *function.If) (kernel, bool) {
	args := e.Children()
	cond, ok := c.truth(args[0])
	if !ok {
		return kernel{}, false
	}
	return c.choice(e.Type(c.ctx), []kernel{cond}, args[1:2], args[2])
}

func (c compiler) nullIf(e *function.NullIf) (kernel, bool) {
	if isConstant(e.LeftChild) {
		return kernel{}, false
	}
	same, ok := c.compare(ops.Eq, e.LeftChild, e.RightChild)
	if !ok {
		return kernel{}, false
	}
	return c.choice(e.Type(c.ctx), []kernel{same}, []sql.Expression{expression.NewLiteral(nil, types.Null)}, e.LeftChild)
}

// cases compiles both forms of CASE.
func (c compiler) cases(e *expression.Case) (kernel, bool) {
	conds, values := make([]kernel, len(e.Branches)), make([]sql.Expression, len(e.Branches))
	for i, b := range e.Branches {
		var ok bool
		if e.Expr == nil {
			conds[i], ok = c.truth(b.Cond)
		} else {
			conds[i], ok = c.compare(ops.Eq, e.Expr, b.Cond)
		}
		if !ok {
			return kernel{}, false
		}
		values[i] = b.Value
	}
	return c.choice(e.Type(c.ctx), conds, values, e.Else)
}

// isTrue compiles x IS TRUE and x IS FALSE. The engine hides which of the two e is, but not from its text.
func (c compiler) isTrue(e *expression.IsTrue) (kernel, bool) {
	x, ok := c.truth(e.Child)
	if !ok {
		return kernel{}, false
	}
	if e.String() == e.Child.String()+" "+expression.IsFalseStr {
		return unary(types.Boolean, x, ops.IsFalse)
	}
	return unary(types.Boolean, x, ops.IsTrue)
}
