package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/streaming/store"
)

// conditionsOf gives sets of values of stored columns that a row must have for e to be true: with them a store leaves out segments. They
// never say all that e says; e is checked again.
func (c compiler) conditionsOf(e sql.Expression) []store.Condition {
	switch e := e.(type) {
	case *expression.And:
		return append(c.conditionsOf(e.LeftChild), c.conditionsOf(e.RightChild)...)
	case *expression.Between:
		return append(c.conditionsOf(expression.NewGreaterThanOrEqual(e.Val, e.Lower)), c.conditionsOf(expression.NewLessThanOrEqual(e.Val, e.Upper))...)
	case *expression.IsNull:
		return c.condition1(e.Child, func(kernel) (store.Condition, bool) { return store.Condition{Null: true}, true })
	case *expression.Not:
		if null, ok := e.Child.(*expression.IsNull); ok {
			return c.condition1(null.Child, func(kernel) (store.Condition, bool) { return store.Condition{Ranges: []store.Range{{}}}, true })
		}
	case *expression.InTuple:
		return c.conditionOfIn(e.Left(), e.Right())
	case *expression.HashInTuple:
		return c.conditionOfIn(e.Left(), e.Right())
	}
	op, l, r, ok := comparison(e)
	if !ok {
		return nil
	}
	if isConstant(l) {
		op, l, r = mirror(op), r, l
	}
	return c.condition1(l, func(k kernel) (store.Condition, bool) {
		op, v, ok := c.storedValue(op, k, l, r)
		if !ok {
			return store.Condition{}, false
		}
		var set store.Range
		switch op {
		case ops.Eq:
			set = store.Range{Min: v.least, Max: v.greatest}
		case ops.Lt, ops.Le:
			set.Max = v.greatest
		case ops.Gt, ops.Ge:
			set.Min = v.least
		default:
			return store.Condition{}, false
		}
		return store.Condition{Ranges: []store.Range{set}}, true
	})
}

// condition1 is the condition that of gives for the stored column e, none when e is something else.
func (c compiler) condition1(e sql.Expression, of func(kernel) (store.Condition, bool)) []store.Condition {
	k, ok := c.compile(e)
	if !ok || !k.stored {
		return nil
	}
	cond, ok := of(k)
	if !ok {
		return nil
	}
	cond.Column = k.column
	return []store.Condition{cond}
}

func (c compiler) conditionOfIn(l, r sql.Expression) []store.Condition {
	tuple, ok := r.(expression.Tuple)
	if !ok || len(tuple) == 0 {
		return nil
	}
	return c.condition1(l, func(k kernel) (store.Condition, bool) {
		var cond store.Condition
		for _, e := range tuple {
			_, v, ok := c.storedValue(ops.Eq, k, l, e)
			if !ok {
				return cond, false
			}
			cond.Ranges = append(cond.Ranges, store.Range{Min: v.least, Max: v.greatest})
		}
		return cond, true
	})
}

// about is a constant as a stored column's values have it: between two of them where it is none itself.
type about struct{ least, greatest store.Value }

// storedValue converts the constant r for a comparison with the stored column k, which l is.
func (c compiler) storedValue(op ops.CompareOp, k kernel, l, r sql.Expression) (ops.CompareOp, about, bool) {
	if !isConstant(r) {
		return op, about{}, false
	}
	v, ok := constantOf(c.ctx, r)
	if !ok || v == nil {
		return op, about{}, false
	}
	op, e, ok := c.constant(op, k, l, r, v)
	if !ok {
		return op, about{}, false
	}
	number, float, bytes, ok := ops.ConstValue(e)
	if !ok {
		return op, about{}, false
	}
	one := func(v store.Value) about { return about{v, v} }
	switch k.kind.Kind {
	case column.Date:
		const day = 24 * 60 * 60 * 1_000_000
		d := number / day
		if number%day < 0 {
			d--
		}
		return op, one(store.Int(d)), true // a time of that day lies between it and the next, and bounds are closed
	case column.Float64:
		return op, one(store.Float(float)), true
	case column.Text, column.Bytes, column.Decimal:
		return op, one(store.Text(string(bytes))), true
	case column.Bool, column.Int32, column.Int64, column.Timestamp:
		return op, one(store.Int(number)), true
	default:
		return op, about{}, false
	}
}
