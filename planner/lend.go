package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// A condition that cannot move into a scan, because it stands above a join or a union, or is the condition of the join itself, can still be lent
// to the scans below: it stays where it is, and what of it is about one scan alone leaves out rows there that it would drop later anyway.
//
//	Filter a.partition = 0              stays
//	  LeftJoin … AND b.topic = 'x'      stays
//	    Scan a                          partition in [0, 1)
//	    Scan b                          topic in 'x'
//
// Columns are recognised by their ids, which are unique in the statement, never by position: above a join positions are others.

// lendFilter lends the conditions of f to what is below it.
func lendFilter(ctx *sql.Context, f *plan.Filter) (sql.Node, bool) {
	child, ok := lend(ctx, f.Child, expression.SplitConjunction(ctx, f.Expression))
	if !ok {
		return nil, false
	}
	return plan.NewFilter(ctx, f.Expression, child), true
}

// lendJoin lends the condition of j to its sides. An outer join keeps the rows of a side for which the condition holds with no row of the other,
// so that side gets nothing.
func lendJoin(ctx *sql.Context, j *plan.JoinNode) (sql.Node, bool) {
	if j.Filter == nil {
		return nil, false
	}
	conditions := expression.SplitConjunction(ctx, j.Filter)
	return lendSides(ctx, j, conditions, matched(j.Op), matched(j.Op) || j.Op.IsLeftOuter() && !j.Op.IsExcludeNulls())
}

// matched reports whether a join gives nothing but pairs of rows, or the left rows of pairs, for which its condition holds.
func matched(op plan.JoinType) bool {
	switch op {
	case plan.JoinTypeInner, plan.JoinTypeHash, plan.JoinTypeLookup, plan.JoinTypeMerge, plan.JoinTypeRangeHeap,
		plan.JoinTypeCross, plan.JoinTypeCrossHash, plan.JoinTypeLateralCross, plan.JoinTypeLateralInner:
		return true
	}
	return op.IsSemi()
}

func lendSides(ctx *sql.Context, j *plan.JoinNode, conditions []sql.Expression, toLeft, toRight bool) (sql.Node, bool) {
	left, right := j.Left(), j.Right()
	leftChanged, rightChanged := false, false
	if toLeft {
		left, leftChanged = lend(ctx, left, conditions)
	}
	if toRight {
		right, rightChanged = lend(ctx, right, conditions)
	}
	if !leftChanged && !rightChanged {
		return j, false
	}
	out, err := j.WithChildren(ctx, left, right)
	return out, err == nil
}

// lend gives n with scans that leave out rows that conditions, which are checked above n, would drop. false when nothing changed: then n is as it
// was.
func lend(ctx *sql.Context, n sql.Node, conditions []sql.Expression) (sql.Node, bool) {
	same := n
	var out sql.Node
	var err error
	switch n := n.(type) {
	case *Scan:
		return n.borrow(ctx, conditions)
	case *plan.JoinNode:
		// Above a join stand conditions on its rows: those of the side that it may extend by NULLs are not the scan's.
		toLeft := matched(n.Op) || n.Op.IsLeftOuter() || n.Op == plan.JoinTypeLateralLeft || n.Op.IsAnti()
		return lendSides(ctx, n, conditions, toLeft, matched(n.Op) && !n.Op.IsSemi())
	case *plan.Filter, *plan.Project, *plan.HashLookup, *plan.CachedResults:
		child, ok := lend(ctx, n.Children()[0], conditions)
		if !ok {
			return same, false
		}
		out, err = n.WithChildren(ctx, child)
	case *plan.SetOp:
		if n.SetOpType != plan.UnionType || n.Limit != nil || n.Offset != nil {
			return same, false
		}
		// The columns of a union are those of its left side.
		left, leftChanged := lend(ctx, n.Left(), conditions)
		right, rightChanged := n.Right(), false
		if translated := translate(ctx, conditions, columnsOf(n.Left()), n.Left().Schema(ctx), columnsOf(right), right.Schema(ctx)); translated != nil {
			right, rightChanged = lend(ctx, right, translated)
		}
		if !leftChanged && !rightChanged {
			return same, false
		}
		out, err = n.WithChildren(ctx, left, right)
	case *plan.SubqueryAlias:
		translated := translate(ctx, conditions, columnsOf(n), n.Schema(ctx), columnsOf(n.Child), n.Child.Schema(ctx))
		if translated == nil {
			return same, false
		}
		child, ok := lend(ctx, n.Child, translated)
		if !ok {
			return same, false
		}
		out, err = n.WithChildren(ctx, child)
	default:
		return same, false
	}
	if err != nil {
		return same, false
	}
	return out, true
}

// borrow narrows s by the conditions that are about its columns alone.
func (s *Scan) borrow(ctx *sql.Context, conditions []sql.Expression) (sql.Node, bool) {
	if s.plan != nil || s.bounded() || s.aggregated() {
		return s, false
	}
	c := s.copy()
	with := compiler{ctx: ctx, scan: c, scoped: true, byID: true}
	changed := false
	for _, e := range conditions {
		d, precise := with.domainOf(e)
		k, ok := with.condition(e)
		if ok = ok && !k.fails && !precise; !ok && d.unbounded() {
			continue
		}
		p := predicate{e, lentBounds}
		if ok {
			c.filters = append(c.filters, k)
			p.pushed = lent
		}
		c.domain = c.domain.intersect(d)
		c.addConditions(with.conditionsOf(e))
		c.predicates = append(c.predicates, p)
		changed = true
	}
	if !changed {
		return s, false
	}
	return c, true
}

// columnsOf gives the ids of the columns of n by position, 0 where a column has none; nil when they are not known.
func columnsOf(n sql.Node) []sql.ColumnId {
	var ids []sql.ColumnId
	switch n := n.(type) {
	case *plan.SubqueryAlias:
		n.Columns().ForEach(func(id sql.ColumnId) { ids = append(ids, id) })
	case *Scan:
		for _, o := range n.outputs {
			ids = append(ids, o.id)
		}
	case *plan.Filter, *plan.HashLookup, *plan.CachedResults:
		return columnsOf(n.Children()[0])
	case *plan.SetOp:
		return columnsOf(n.Left())
	case *plan.Project:
		for _, e := range n.Projections {
			id := sql.ColumnId(0)
			if e, ok := e.(sql.IdExpression); ok {
				id = e.Id()
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// translate renames the columns of conditions from one node's to another's that has the same columns at the same positions. Conditions that refer to
// others are left out.
func translate(ctx *sql.Context, conditions []sql.Expression, from []sql.ColumnId, fromSchema sql.Schema, to []sql.ColumnId, toSchema sql.Schema) []sql.Expression {
	if len(from) != len(to) || len(from) != len(fromSchema) || len(to) != len(toSchema) {
		return nil
	}
	var out []sql.Expression
	for _, e := range conditions {
		lost := false
		renamed, _, err := transform.Expr(ctx, e, func(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
			g, ok := e.(*expression.GetField)
			if !ok {
				return e, transform.SameTree, nil
			}
			i := slices.Index(from, g.Id())
			if g.Id() == 0 || i < 0 || to[i] == 0 || !fromSchema[i].Type.Equals(toSchema[i].Type) {
				lost = true
				return e, transform.SameTree, nil
			}
			return expression.NewGetFieldWithTable(int(to[i]), int(g.TableId()), toSchema[i].Type, g.Database(), g.Table(), g.Name(), g.IsNullable(ctx)).WithIndex(i), transform.NewTree, nil
		})
		if err == nil && !lost {
			out = append(out, renamed)
		}
	}
	return out
}
