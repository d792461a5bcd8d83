package planner

import (
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	enginejson "github.com/dolthub/go-mysql-server/sql/expression/function/json"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/planner/expr"
)

// compiler turns engine expressions over the output of a Scan into kernels over record fields. Each method answers false for what it
// does not know to have the engine's meaning.
type compiler struct {
	ctx  *sql.Context
	scan *Scan
	// scoped is set where rows may begin with those of an outer query, so that positions are shifted.
	scoped bool
	// byID is set where names may be those of another table.
	byID bool
}

// position finds the output that g refers to: by id, or by name where the engine has dropped the id of an alias. Where positions are
// known they must agree.
func (c compiler) position(g *expression.GetField) (int, bool) {
	found := -1
	for i, o := range c.scan.outputs {
		if o.id != 0 && o.id == g.Id() {
			found = i
			break
		}
		if !c.byID && o.id == 0 && g.Table() == "" && strings.EqualFold(c.scan.schema[i].Name, g.Name()) {
			if found >= 0 {
				return 0, false
			}
			found = i
		}
	}
	return found, found >= 0 && (c.scoped || g.Index() == found || sameOutput(c.scan.outputs, g.Index(), found))
}

// sameOutput reports whether two outputs are the same column, projected twice.
func sameOutput(outputs []output, i, j int) bool {
	return i < len(outputs) && outputs[i].id != 0 && outputs[i].id == outputs[j].id
}

func (c compiler) compile(e sql.Expression) (kernel, bool) {
	if o, ok := c.repeatedKey(e); ok {
		return o.kernel, true
	}
	switch e := e.(type) {
	case *expression.GetField:
		i, ok := c.position(e)
		if !ok {
			return kernel{}, false
		}
		return c.scan.outputs[i].kernel, true
	case *expression.Alias:
		return c.compile(e.Child)
	case *corrected:
		return c.compile(e.Child)
	case *function.Length:
		if e.CountType == function.NumChars {
			return c.characters(e)
		}
		return c.length(e)
	case *function.Lower:
		return c.fold(e, e.Child, false)
	case *function.Upper:
		return c.fold(e, e.Child, true)
	case *function.Substring:
		return c.substring(e.Type(c.ctx), e.Str, e.Start, e.Len)
	case function.Left:
		args := e.Children()
		return c.substring(e.Type(c.ctx), args[0], nil, args[1])
	case function.Right:
		return c.right(e)
	case *function.Trim:
		return c.trim(e)
	case *function.LeftTrim:
		return c.trimmed(e.Type(c.ctx), e.Child, " ", true, false)
	case *function.RightTrim:
		return c.trimmed(e.Type(c.ctx), e.Child, " ", false, true)
	case *function.Concat:
		return c.concat(e)
	case *function.DateFormat:
		return c.dateFormat(e)
	case *utcSeconds:
		return c.unixSeconds(e)
	case *function.Hex:
		return c.hex(e)
	case *expr.Cast:
		return c.cast(e)
	case *expr.Path:
		return c.path(e)
	case *enginejson.JSONExtract:
		return c.jsonExtract(e)
	case *expr.Unquote:
		return c.jsonUnquote(e)
	case *expression.And:
		return c.logic(ops.And, e.LeftChild, e.RightChild)
	case *expression.Or:
		return c.logic(ops.Or, e.LeftChild, e.RightChild)
	case *expression.Not:
		x, ok := c.condition(e.Child)
		if !ok {
			return kernel{}, false
		}
		return unary(types.Boolean, x, ops.Not)
	case *expression.IsNull:
		x, ok := c.compile(e.Child)
		if !ok {
			return kernel{}, false
		}
		return unary(types.Boolean, x, func(x ops.Expr) (ops.Expr, error) { return ops.IsNull(x), nil })
	case *expression.Between:
		return c.logic(ops.And, expression.NewGreaterThanOrEqual(e.Val, e.Lower), expression.NewLessThanOrEqual(e.Val, e.Upper))
	case *expression.InTuple:
		return c.in(e.Left(), e.Right())
	case *expression.HashInTuple:
		return c.in(e.Left(), e.Right())
	case *function.RegexpLike:
		return c.matches(e)
	case *expression.Like:
		return c.like(e)
	case *expr.Arithmetic:
		return c.arithmetic(e)
	case *expression.UnaryMinus:
		return c.negative(e)
	case *expression.IsTrue:
		return c.isTrue(e)
	case *expression.Case:
		return c.cases(e)
	case *function.If:
		return c.ifElse(e)
	case *function.NullIf:
		return c.nullIf(e)
	case *function.IfNull:
		return c.choice(e.Type(c.ctx), nil, []sql.Expression{e.LeftChild, e.RightChild}, nil)
	case *function.Coalesce:
		return c.choice(e.Type(c.ctx), nil, e.Children(), nil)
	}
	if op, l, r, ok := comparison(e); ok {
		return c.compare(op, l, r)
	}
	if part, of, ok := datePart(e); ok {
		return c.part(e.Type(c.ctx), part, of)
	}
	if f, ok := e.(sql.FunctionExpression); ok {
		return c.named(f)
	}
	return kernel{}, false
}

// condition compiles a predicate.
func (c compiler) condition(e sql.Expression) (kernel, bool) {
	k, ok := c.compile(e)
	return k, ok && k.condition()
}

func (c compiler) logic(join func(...ops.Expr) (ops.Expr, error), l, r sql.Expression) (kernel, bool) {
	lk, ok := c.condition(l)
	if !ok {
		return kernel{}, false
	}
	rk, ok := c.condition(r)
	if !ok {
		return kernel{}, false
	}
	return binary(types.Boolean, lk, rk, func(l, r ops.Expr) (ops.Expr, error) { return join(l, r) })
}

// length compiles length(x), the number of bytes. A key or value that only its length is asked of is never looked at.
func (c compiler) length(e *function.Length) (kernel, bool) {
	if e.CountType != function.NumBytes {
		return kernel{}, false
	}
	x, ok := c.compile(e.Child)
	if !ok || x.kind.Kind != column.Bytes && x.kind.Kind != column.Text {
		return kernel{}, false
	}
	if x.plain {
		switch x.field {
		case scan.Key:
			return fieldKernel(scan.KeyLength, types.Int32), true
		case scan.Value:
			return fieldKernel(scan.ValueLength, types.Int32), true
		}
	}
	return unary(types.Int32, x, ops.Length)
}

// cast compiles x::type and x ?:: type.
func (c compiler) cast(e *expr.Cast) (kernel, bool) {
	to, ok := e.To().Column()
	if !ok {
		return kernel{}, false
	}
	x, ok := c.compile(e.Arg())
	if !ok {
		return kernel{}, false
	}
	k, ok := unary(e.Type(c.ctx), x, func(x ops.Expr) (ops.Expr, error) { return ops.CastField(x, to, e.Try()) })
	k.fails = k.fails || !e.Try() && to.Type.Kind != column.Text
	return k, ok
}

// path compiles x:path. In text, an object that has a name in several spellings is an error.
func (c compiler) path(e *expr.Path) (kernel, bool) {
	x, ok := c.compile(e.Arg())
	if !ok || e.GivesJSON(c.ctx) != (x.kind.Kind == column.JSON) {
		return kernel{}, false
	}
	k, ok := unary(e.Type(c.ctx), x, func(x ops.Expr) (ops.Expr, error) { return ops.Path(x, e.JSONPath()) })
	k.fails = k.fails || !e.GivesJSON(c.ctx)
	return k, ok
}

// comparison takes a comparison apart.
func comparison(e sql.Expression) (op ops.CompareOp, l, r sql.Expression, ok bool) {
	switch e := e.(type) {
	case *expression.Equals:
		return ops.Eq, e.Left(), e.Right(), true
	case *expression.NullSafeEquals:
		return ops.NullSafeEq, e.Left(), e.Right(), true
	case *expression.LessThan:
		return ops.Lt, e.Left(), e.Right(), true
	case *expression.LessThanOrEqual:
		return ops.Le, e.Left(), e.Right(), true
	case *expression.GreaterThan:
		return ops.Gt, e.Left(), e.Right(), true
	case *expression.GreaterThanOrEqual:
		return ops.Ge, e.Left(), e.Right(), true
	case *expression.Not:
		// The engine has no node for <>.
		if op, l, r, ok := comparison(e.Child); ok && op == ops.Eq {
			return ops.Ne, l, r, true
		}
	}
	return 0, nil, nil, false
}

// mirror gives the operator that holds when the operands change sides.
func mirror(op ops.CompareOp) ops.CompareOp {
	switch op {
	case ops.Lt:
		return ops.Gt
	case ops.Le:
		return ops.Ge
	case ops.Gt:
		return ops.Lt
	case ops.Ge:
		return ops.Le
	default:
		return op
	}
}

func (c compiler) compare(op ops.CompareOp, l, r sql.Expression) (kernel, bool) {
	if isConstant(l) {
		op, l, r = mirror(op), r, l
	}
	x, ok := c.compile(l)
	if !ok {
		return kernel{}, false
	}
	if isConstant(r) {
		v, ok := constantOf(c.ctx, r)
		if !ok || v == nil {
			return kernel{}, false
		}
		op, y, ok := c.constant(op, x, l, r, v)
		if !ok {
			return kernel{}, false
		}
		return unary(types.Boolean, x, func(x ops.Expr) (ops.Expr, error) { return ops.Compare(op, x, y) })
	}
	y, ok := c.compile(r)
	if !ok || !comparable(x, y) {
		return kernel{}, false
	}
	return binary(types.Boolean, x, y, func(x, y ops.Expr) (ops.Expr, error) { return ops.Compare(op, x, y) })
}

// comparable reports whether the engine compares x and y as what they are.
func comparable(x, y kernel) bool {
	switch {
	case x.exact() && y.exact():
		return true
	case x.kind.Kind != y.kind.Kind:
		return false
	case x.kind.Kind == column.Text:
		return bytewise(x.typ) && bytewise(y.typ)
	default:
		return x.kind.Kind == column.Bytes || x.kind.Kind == column.Timestamp || x.kind.Kind == column.Date || x.kind.Kind == column.Float64
	}
}

// bytewise reports whether text of type t is compared byte by byte.
func bytewise(t sql.Type) bool {
	s, ok := t.(sql.StringType)
	return ok && s.Collation() == sql.Collation_utf8mb4_0900_bin
}

// constant converts the value v of r to what x op v needs, where x is the kernel of l. The operator may change: x < 2.5 is x <= 2.
func (c compiler) constant(op ops.CompareOp, x kernel, l, r sql.Expression, v any) (ops.CompareOp, ops.Expr, bool) {
	t := r.Type(c.ctx)
	switch {
	case x.whole():
		n, ok := integerOf(v, t)
		if !ok || !x.integral() && (n.floor <= -exactFloat || n.floor >= exactFloat) {
			return 0, nil, false
		}
		if n.fraction {
			switch op {
			case ops.Lt, ops.Le:
				op = ops.Le
			case ops.Gt, ops.Ge:
				op = ops.Gt
			default:
				return 0, nil, false
			}
		}
		return op, ops.Const(column.Type{Kind: column.Int64}, n.floor), true
	case x.kind.Kind == column.Bool && x.typ == types.Boolean:
		n, ok := integerOf(v, t)
		if !ok || n.fraction || types.IsTextOnly(t) {
			return 0, nil, false
		}
		return op, ops.Const(column.Type{Kind: column.Int64}, n.floor), true
	case x.kind.Kind == column.Float64:
		f, ok := doubleOf(v, t)
		if !ok {
			return 0, nil, false
		}
		return op, ops.Const(column.Type{Kind: column.Float64}, f), true
	case x.kind.Kind == column.Decimal:
		d, ok := decimalOf(v)
		if !ok {
			return 0, nil, false
		}
		return op, d, true
	case x.kind.Kind == column.Timestamp || x.kind.Kind == column.Date:
		us, ok := momentOf(c.ctx, v, t)
		if !ok {
			return 0, nil, false
		}
		return op, ops.Const(column.Type{Kind: column.Timestamp, Scale: 6}, us), true
	case x.kind.Kind == column.Bytes:
		b, ok := bytesOf(v, t)
		if !ok {
			return 0, nil, false
		}
		return op, ops.Const(column.Type{Kind: column.Bytes}, b), true
	case x.kind.Kind == column.Text:
		s, ok := v.(string)
		if !ok || !types.IsTextOnly(t) || !c.comparedBytewise(l, r) {
			return 0, nil, false
		}
		return op, ops.Const(column.Type{Kind: column.Text}, s), true
	default:
		return 0, nil, false
	}
}

// comparedBytewise reports whether the engine compares the texts l and r byte by byte.
func (c compiler) comparedBytewise(l, r sql.Expression) bool {
	lc, lq := sql.GetCoercibility(c.ctx, l)
	rc, rq := sql.GetCoercibility(c.ctx, r)
	collation, _ := sql.ResolveCoercibility(lc, lq, rc, rq)
	return collation == sql.Collation_utf8mb4_0900_bin
}

// in compiles l IN (constants).
func (c compiler) in(l, r sql.Expression) (kernel, bool) {
	tuple, ok := r.(expression.Tuple)
	if !ok || len(tuple) == 0 {
		return kernel{}, false
	}
	x, ok := c.compile(l)
	if !ok {
		return kernel{}, false
	}
	var list []ops.Expr
	for _, e := range tuple {
		v, ok := constantOf(c.ctx, e)
		if !ok || v == nil || !uniform(x, e.Type(c.ctx)) {
			return kernel{}, false
		}
		_, y, ok := c.constant(ops.Eq, x, l, e, v)
		if !ok {
			return kernel{}, false
		}
		list = append(list, y)
	}
	return unary(types.Boolean, x, func(x ops.Expr) (ops.Expr, error) { return ops.In(x, slices.Clone(list)) })
}

// uniform reports whether the hashed IN of the engine, which converts all elements to one type that it takes from the first, compares
// as = would: integers with an integer, texts with text or bytes.
func uniform(x kernel, t sql.Type) bool {
	if x.integral() {
		return types.IsInteger(t)
	}
	return (x.kind.Kind == column.Text || x.kind.Kind == column.Bytes) && types.IsTextOnly(t)
}
