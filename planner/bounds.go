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
func (c compiler) domainOf(e sql.Expression) (d domain, exact bool) { return c.domainWhere(e, true) }

// domainWhere gives a superset of the records for which e is truth: true or false. The rest, for which e is NULL, is in neither.
func (c compiler) domainWhere(e sql.Expression, truth bool) (d domain, exact bool) {
	switch e := e.(type) {
	case *expression.Not:
		return c.domainWhere(e.Child, !truth)
	case *expression.And:
		return c.join(truth, e.LeftChild, e.RightChild, truth)
	case *expression.Or:
		return c.join(!truth, e.LeftChild, e.RightChild, truth)
	case *expression.Between:
		return c.join(truth, expression.NewGreaterThanOrEqual(e.Val, e.Lower), expression.NewLessThanOrEqual(e.Val, e.Upper), truth)
	case *expression.InTuple:
		return c.domainOfIn(e.Left(), e.Right(), truth)
	case *expression.HashInTuple:
		return c.domainOfIn(e.Left(), e.Right(), truth)
	}
	if op, l, r, ok := comparison(e); ok {
		if !truth {
			// x <=> y is false where x <> y is true, and where one of them is NULL: columns with an exact domain never are.
			op = negate(op)
		}
		d, exact := c.domainOfComparison(op, l, r)
		if _, safe := e.(*expression.NullSafeEquals); safe && !truth && !exact {
			return everything(), false
		}
		return d, exact
	}
	return everything(), false
}

// join gives the records for which both l and r are truth, or one of them is.
func (c compiler) join(both bool, l, r sql.Expression, truth bool) (d domain, exact bool) {
	ld, le := c.domainWhere(l, truth)
	rd, re := c.domainWhere(r, truth)
	if both {
		return ld.intersect(rd), le && re
	}
	d, exact = ld.union(rd)
	return d, exact && le && re
}

func negate(op ops.CompareOp) ops.CompareOp {
	switch op {
	case ops.Eq, ops.NullSafeEq:
		return ops.Ne
	case ops.Ne:
		return ops.Eq
	case ops.Lt:
		return ops.Ge
	case ops.Le:
		return ops.Gt
	case ops.Gt:
		return ops.Le
	default:
		return ops.Lt
	}
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
		if !ok || y.Type().Kind != column.Text {
			return d, false
		}
		d.topics = textsOf(op, v.(string))
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
		d.since, d.until = millisOf(op, us)
		return d, false
	default:
		return d, false
	}
}

func (c compiler) domainOfIn(l, r sql.Expression, truth bool) (d domain, exact bool) {
	tuple, ok := r.(expression.Tuple)
	if !ok || len(tuple) == 0 {
		return everything(), false
	}
	x, ok := c.compile(l)
	if !ok || !x.plain {
		return everything(), false
	}
	op, exact := ops.Eq, true
	if !truth {
		op = ops.Ne
	}
	for i, e := range tuple {
		if !uniform(x, e.Type(c.ctx)) {
			return everything(), false
		}
		one, precise := c.domainOfComparison(op, l, e)
		switch {
		case i == 0:
			d = one
		case truth:
			var whole bool
			d, whole = d.union(one)
			exact = exact && whole
		default:
			d = d.intersect(one)
		}
		exact = exact && precise
	}
	return d, exact
}

// millisOf gives the first whole millisecond for which t op us may hold, and the first after the last; us is in microseconds.
func millisOf(op ops.CompareOp, us int64) (since, until int64) {
	down := floorDiv(us, 1000)
	up := -floorDiv(-us, 1000)
	since, until = math.MinInt64, math.MaxInt64
	switch op {
	case ops.Eq, ops.NullSafeEq:
		since, until = up, down+1
	case ops.Ge:
		since = up
	case ops.Gt:
		since = down + 1
	case ops.Lt:
		until = up
	case ops.Le:
		until = down + 1
	}
	return since, until
}

// textsOf gives the texts for which x op s holds.
func textsOf(op ops.CompareOp, s string) texts {
	switch op {
	case ops.Eq, ops.NullSafeEq:
		return only(s)
	case ops.Ne:
		return only(s).complement()
	case ops.Lt:
		return textsBelow(s)
	case ops.Le:
		return textsBelow(after(s))
	case ops.Gt:
		return textsFrom(after(s))
	default:
		return textsFrom(s)
	}
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
