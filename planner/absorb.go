package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// absorb replaces n, whose children are rewritten, by a Scan or by a node over a larger Scan, when it can.
func absorb(ctx *sql.Context, n sql.Node, at place) (sql.Node, bool) {
	switch n := n.(type) {
	case *plan.TableAlias:
		if t, ok := n.Child.(Table); ok {
			return asNode(newScan(ctx, t, n))
		}
		if s, ok := growing(n.Child); ok {
			return asNode(s.named(ctx, n))
		}
	case *plan.ResolvedTable:
		return asNode(newStoredScan(ctx, n))
	case *plan.SubqueryAlias:
		if s, ok := growing(n.Child); ok {
			return asNode(s.named(ctx, n))
		}
	case *plan.Filter:
		if s, ok := growing(n.Child); ok {
			return absorbFilter(n, compiler{ctx: ctx, scan: s, scoped: at.scoped})
		}
		return lendFilter(ctx, n)
	case *plan.Having:
		if s, ok := growing(n.Child); ok && s.aggregated() {
			return absorbHaving(n.Cond, compiler{ctx: ctx, scan: s, scoped: at.scoped}, func(cond sql.Expression, s *Scan) sql.Node { return plan.NewHaving(cond, s) })
		}
	case *plan.Project:
		if s, ok := growing(n.Child); ok {
			with := compiler{ctx: ctx, scan: s, scoped: at.scoped}
			if c, ok := absorbProject(n, with, at.limited); ok {
				return c, true
			}
			return hoistProject(n, with, at.limited)
		}
	case *plan.GroupBy:
		if s, ok := growing(n.Child); ok {
			return asNode(absorbGroupBy(n, compiler{ctx: ctx, scan: s, scoped: at.scoped}))
		}
	case *plan.Distinct:
		// The engine's gives each row when it first comes, so a LIMIT stops the scan; ours gives all at the end.
		if s, ok := growing(n.Child); ok && !at.limited {
			return asNode(absorbDistinct(s))
		}
	case *plan.Sort:
		if s, ok := growing(n.Child); ok {
			return asNode(absorbSort(n.SortConditions, compiler{ctx: ctx, scan: s, scoped: at.scoped}))
		}
	case *plan.TopN:
		if s, ok := growing(n.Child); ok {
			return asNode(absorbTopN(n, compiler{ctx: ctx, scan: s, scoped: at.scoped}))
		}
	case *plan.JoinNode:
		return lendJoin(ctx, n)
	case *plan.Limit:
		if limit, ok := rowCount(ctx, n.Limit); ok && limit > 0 && !n.CalcFoundRows {
			return descend(ctx, n.Child, func(s *Scan) bool {
				if len(s.order) > 0 && s.outputsFail() {
					return false // the scan would compute rows that are not wanted
				}
				if s.limit < 0 || limit < s.limit {
					s.limit = limit
				}
				return true
			})
		}
	case *plan.Offset:
		if offset, ok := rowCount(ctx, n.Offset); ok {
			return descend(ctx, n.Child, func(s *Scan) bool {
				// What the limit has let pass is what the offset skips: a limit above an offset comes later in the plan.
				if offset > mostRows-s.offset || s.limit >= 0 && s.limit <= offset {
					return false
				}
				s.offset += offset
				if s.limit >= 0 {
					s.limit -= offset
				}
				return true
			})
		}
	}
	return nil, false
}

// growing gives n when it is a Scan that is not finished.
func growing(n sql.Node) (*Scan, bool) {
	s, ok := n.(*Scan)
	return s, ok && s.plan == nil
}

func asNode(s *Scan, ok bool) (sql.Node, bool) { return s, ok }

// rowCount is the value of a LIMIT or OFFSET that is known now.
func rowCount(ctx *sql.Context, e sql.Expression) (int64, bool) {
	v, ok := constantOf(ctx, e)
	if !ok || v == nil {
		return 0, false
	}
	n, ok := integerOf(v, e.Type(ctx))
	return n.floor, ok && !n.fraction && n.floor >= 0 && n.floor < mostRows
}

// descend changes the Scan below n through nodes that keep the number and order of rows.
func descend(ctx *sql.Context, n sql.Node, change func(*Scan) bool) (sql.Node, bool) {
	switch n := n.(type) {
	case *Scan:
		if n.plan != nil {
			return nil, false
		}
		c := n.copy()
		return c, change(c)
	case *plan.Project:
		if n.IncludesNestedIters {
			return nil, false
		}
		child, ok := descend(ctx, n.Child, change)
		if !ok {
			return nil, false
		}
		out, err := n.WithChildren(ctx, child)
		return out, err == nil
	default:
		return nil, false
	}
}

// absorbFilter moves the conjuncts of f into the scan as far as they go.
func absorbFilter(f *plan.Filter, with compiler) (sql.Node, bool) {
	ctx, s := with.ctx, with.scan
	if s.aggregated() {
		return absorbHaving(f.Expression, with, func(cond sql.Expression, s *Scan) sql.Node { return plan.NewFilter(ctx, cond, s) })
	}
	if s.bounded() {
		return nil, false
	}
	c := s.copy()
	var residual []sql.Expression
	for _, e := range expression.SplitConjunction(ctx, f.Expression) {
		p := predicate{e, notPushed}
		d, precise := with.domainOf(e)
		if precise {
			p.pushed = exact
		} else if k, ok := with.condition(e); ok && (!k.fails || len(residual) == 0) {
			p.pushed = compiled
			if !d.unbounded() {
				p.pushed = inexact
			}
			c.filters = append(c.filters, k)
		} else {
			residual = append(residual, e)
			if !d.unbounded() {
				p.pushed = inexactResidual
			}
		}
		c.domain = c.domain.intersect(d)
		c.addConditions(with.conditionsOf(e))
		c.predicates = append(c.predicates, p)
	}
	if len(residual) == 0 {
		return c, true
	}
	// The node is rebuilt even when nothing moved: EXPLAIN says what was not pushed.
	return plan.NewFilter(ctx, expression.JoinAnd(residual...), c), true
}

// absorbHaving moves the conjuncts of cond into a scan that is aggregated as far as they go; above makes the node that keeps the rest.
func absorbHaving(cond sql.Expression, with compiler, above func(sql.Expression, *Scan) sql.Node) (sql.Node, bool) {
	if with.scan.bounded() {
		return nil, false
	}
	c := with.scan.copy()
	var residual []sql.Expression
	for _, e := range expression.SplitConjunction(with.ctx, cond) {
		if k, ok := with.condition(e); ok && (!k.fails || len(residual) == 0) {
			c.having, c.havingTexts = append(c.having, k), append(c.havingTexts, e.String())
		} else {
			residual = append(residual, e)
		}
	}
	switch {
	case len(residual) == 0:
		return c, true
	case len(c.having) == len(with.scan.having):
		return nil, false
	default:
		return above(expression.JoinAnd(residual...), c), true
	}
}

// absorbProject computes the projection of p in the scan, when ops can compute all of it. limited says that of its rows few may be wanted.
func absorbProject(p *plan.Project, with compiler, limited bool) (*Scan, bool) {
	if p.IncludesNestedIters {
		return nil, false
	}
	c := with.scan.copy()
	c.outputs = make([]output, len(p.Projections))
	c.exprs = p.Projections
	c.keysBelow = true
	c.schema = p.Schema(with.ctx)
	for i, e := range p.Projections {
		o, ok := with.output(e)
		// Above an order the engine computes the rows that are wanted only; the scan computes some that are not, where a value may be an error.
		if !ok || o.fails && len(c.order) > 0 && (limited || c.bounded()) {
			return nil, false
		}
		if e, ok := e.(sql.IdExpression); ok {
			o.id = e.Id()
		}
		c.outputs[i] = o
	}
	return c, true
}

// output compiles a projected expression.
func (c compiler) output(e sql.Expression) (output, bool) {
	if alias, ok := e.(*expression.Alias); ok {
		e = alias.Child
	}
	if g, ok := e.(*expression.GetField); ok {
		i, ok := c.position(g)
		if !ok {
			return output{}, false
		}
		return output{kernel: c.scan.outputs[i].kernel, result: c.scan.outputs[i].result}, true
	}
	if o, ok := c.repeatedKey(e); ok {
		return o, true
	}
	k, ok := c.compile(e)
	return output{kernel: k, result: -1}, ok
}

// outputsFail reports whether a value of a column may be an error.
func (s *Scan) outputsFail() bool {
	return slices.ContainsFunc(s.outputs, func(o output) bool { return o.fails })
}
