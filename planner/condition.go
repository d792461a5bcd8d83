package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/streaming/store"
)

// conditionsOf gives sets of values of stored columns that a row must have for e to be true: with them a store leaves out segments. exact says that e is true
// for just the rows that have them; else e says more, and is checked again.
func (c compiler) conditionsOf(e sql.Expression) (list []store.Condition, exact bool) {
	switch e := e.(type) {
	case *expression.And:
		return c.conditionsOfBoth(e.LeftChild, e.RightChild)
	case *expression.Between:
		return c.conditionsOfBoth(expression.NewGreaterThanOrEqual(e.Val, e.Lower), expression.NewLessThanOrEqual(e.Val, e.Upper))
	case *expression.IsNull:
		return c.condition1(e.Child, func(kernel) (store.Condition, bool, bool) { return store.Condition{Null: true}, true, true })
	case *expression.Not:
		if null, ok := e.Child.(*expression.IsNull); ok {
			return c.condition1(null.Child, func(kernel) (store.Condition, bool, bool) {
				return store.Condition{Ranges: []store.Range{{}}}, true, true
			})
		}
	case *expression.InTuple:
		return c.conditionOfIn(e.Left(), e.Right())
	case *expression.HashInTuple:
		return c.conditionOfIn(e.Left(), e.Right())
	}
	op, l, r, ok := comparison(e)
	if !ok {
		return nil, false
	}
	if isConstant(l) {
		op, l, r = mirror(op), r, l
	}
	return c.condition1(l, func(k kernel) (cond store.Condition, exact, ok bool) {
		op, v, exact, ok := c.storedValue(op, k, l, r)
		if !ok {
			return cond, false, false
		}
		var set store.Range
		switch op {
		case ops.Eq:
			set = store.Point(v)
		case ops.Lt, ops.Le:
			set.Max, set.MaxOpen = v, exact && op == ops.Lt
		case ops.Gt, ops.Ge:
			set.Min, set.MinOpen = v, exact && op == ops.Gt
		default:
			return cond, false, false
		}
		return store.Condition{Ranges: []store.Range{set}}, exact, true
	})
}

// conditionsOfBoth are the conditions of l AND r.
func (c compiler) conditionsOfBoth(l, r sql.Expression) ([]store.Condition, bool) {
	left, exactLeft := c.conditionsOf(l)
	right, exactRight := c.conditionsOf(r)
	return append(left, right...), exactLeft && exactRight
}

// condition1 is the condition that of gives for the stored column e, none when e is something else.
func (c compiler) condition1(e sql.Expression, of func(kernel) (cond store.Condition, exact, ok bool)) ([]store.Condition, bool) {
	k, ok := c.compile(e)
	if !ok || !k.stored {
		return nil, false
	}
	cond, exact, ok := of(k)
	if !ok {
		return nil, false
	}
	cond.Column = k.column
	return []store.Condition{cond}, exact
}

func (c compiler) conditionOfIn(l, r sql.Expression) ([]store.Condition, bool) {
	tuple, ok := r.(expression.Tuple)
	if !ok || len(tuple) == 0 {
		return nil, false
	}
	return c.condition1(l, func(k kernel) (cond store.Condition, exact, ok bool) {
		exact = true
		for _, e := range tuple {
			_, v, one, ok := c.storedValue(ops.Eq, k, l, e)
			if !ok {
				return cond, false, false
			}
			exact = exact && one
			cond.Ranges = append(cond.Ranges, store.Point(v))
		}
		return cond, exact, true
	})
}

// storedValue converts the constant r for a comparison with the stored column k, which l is. exact says that the comparison with v is the one with r;
// else v is where it changes, and equal values are on either side.
func (c compiler) storedValue(op ops.CompareOp, k kernel, l, r sql.Expression) (_ ops.CompareOp, v store.Value, exact, ok bool) {
	if !isConstant(r) {
		return op, v, false, false
	}
	x, ok := constantOf(c.ctx, r)
	if !ok || x == nil {
		return op, v, false, false
	}
	op, e, ok := c.constant(op, k, l, r, x)
	if !ok {
		return op, v, false, false
	}
	number, float, bytes, ok := ops.ConstValue(e)
	if !ok {
		return op, v, false, false
	}
	switch k.kind.Kind {
	case column.Date:
		const day = 24 * 60 * 60 * 1_000_000
		d := number / day
		if number%day < 0 {
			d--
		}
		return op, store.Int(d), number%day == 0, true // a time of that day lies between it and the next
	case column.Float64:
		return op, store.Float(float), false, true // a store knows nothing of NaN
	case column.Text, column.Bytes, column.Decimal:
		return op, store.Text(string(bytes)), true, true
	case column.Bool, column.Int32, column.Int64, column.Timestamp:
		return op, store.Int(number), true, true
	default:
		return op, v, false, false
	}
}
