package planner

import (
	"math"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
)

// domainOf gives a superset of the records for which e is true, and whether it is precisely that set.
func (c compiler) domainOf(e sql.Expression) (d domain, exact bool) {
	switch e := e.(type) {
	case *expression.And:
		l, le := c.domainOf(e.LeftChild)
		r, re := c.domainOf(e.RightChild)
		return l.intersect(r), le && re
	case *expression.Or:
		l, le := c.domainOf(e.LeftChild)
		r, re := c.domainOf(e.RightChild)
		return l.union(r), le && re && l.sameDimension(r) && l.since == math.MinInt64
	case *expression.Between:
		l, le := c.domainOf(expression.NewGreaterThanOrEqual(e.Val, e.Lower))
		r, re := c.domainOf(expression.NewLessThanOrEqual(e.Val, e.Upper))
		return l.intersect(r), le && re
	case *expression.InTuple:
		return c.domainOfIn(e.Left(), e.Right())
	case *expression.HashInTuple:
		return c.domainOfIn(e.Left(), e.Right())
	}
	if op, l, r, ok := comparison(e); ok {
		return c.domainOfComparison(op, l, r)
	}
	if not, ok := e.(*expression.Not); ok {
		// The dimensions that have a complement are never NULL, so NOT has two values here.
		if d, exact := c.domainOf(not.Child); exact {
			if d, ok := d.complement(); ok {
				return d, true
			}
		}
	}
	return everything(), false
}

func (c compiler) domainOfComparison(op ops.CompareOp, l, r sql.Expression) (d domain, exact bool) {
	if isConstant(l) {
		op, l, r = mirror(op), r, l
	}
	x, ok := c.compile(l)
	if !ok || !x.plain {
		return everything(), false
	}
	v, ok := constantOf(c.ctx, r)
	if !ok || v == nil {
		return everything(), false
	}
	d = everything()
	switch x.field {
	case scan.Topic:
		_, y, ok := c.constant(op, x, l, r, v)
		if !ok || op != ops.Eq && op != ops.NullSafeEq || y.Type().Kind != column.Text {
			return d, false
		}
		d.known, d.topics = true, []string{v.(string)}
		return d, true
	case scan.Partition, scan.Offset:
		n, ok := integerOf(v, r.Type(c.ctx))
		if !ok {
			return d, false
		}
		set := rangesOf(op, n)
		if x.field == scan.Partition {
			d.partitions = set
		} else {
			d.offsets = set
		}
		return d, true
	case scan.Timestamp:
		us, ok := momentOf(c.ctx, v, r.Type(c.ctx))
		if !ok {
			return d, false
		}
		switch op {
		case ops.Eq, ops.NullSafeEq, ops.Ge:
			d.since = -floorDiv(-us, 1000)
		case ops.Gt:
			d.since = floorDiv(us, 1000) + 1
		}
		return d, false
	default:
		return d, false
	}
}

func (c compiler) domainOfIn(l, r sql.Expression) (d domain, exact bool) {
	tuple, ok := r.(expression.Tuple)
	if !ok || len(tuple) == 0 {
		return everything(), false
	}
	x, ok := c.compile(l)
	if !ok || !x.plain {
		return everything(), false
	}
	exact = true
	for i, e := range tuple {
		if !uniform(x, e.Type(c.ctx)) {
			return everything(), false
		}
		one, ok := c.domainOfComparison(ops.Eq, l, e)
		exact = exact && ok
		if i == 0 {
			d = one
		} else {
			d = d.union(one)
		}
	}
	return d, exact
}

// rangesOf gives the integers from 0 for which x op n holds.
func rangesOf(op ops.CompareOp, n integer) ranges {
	switch op {
	case ops.Eq, ops.NullSafeEq:
		if n.fraction {
			return ranges{}
		}
		return between(n.floor, n.floor)
	case ops.Ne:
		return rangesOf(ops.Eq, n).complement()
	case ops.Le:
		return between(0, n.floor)
	case ops.Lt:
		if n.fraction {
			return between(0, n.floor)
		}
		return rangesOf(ops.Ge, n).complement()
	case ops.Ge:
		if n.fraction {
			return rangesOf(ops.Gt, n)
		}
		return between(n.floor, math.MaxInt64)
	default:
		return between(0, n.floor).complement()
	}
}

// floorDiv is a / b rounded down; b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
