package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// apply is the rule. It works on whole plans only, once their column positions are fixed, and goes into subqueries itself.
func (o Options) apply(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, sel analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	id, err := assignIndexes()
	if err != nil {
		return nil, transform.SameTree, err
	}
	if !sel(id) {
		return n, transform.SameTree, nil
	}
	return o.push(ctx, n, place{})
}

// push makes scans of what n reads, where the session wants it.
func (o Options) push(ctx *sql.Context, n sql.Node, at place) (sql.Node, transform.TreeIdentity, error) {
	if err := refuseEndless(ctx, n); err != nil {
		return nil, transform.SameTree, err
	}
	if plan.IsDDLNode(n) {
		return n, transform.SameTree, nil
	}
	if on, err := enabled(ctx); err != nil || !on {
		return n, transform.SameTree, err
	}
	grown, same, err := grow(ctx, n, at)
	if err != nil || same {
		return n, transform.SameTree, err
	}
	settled, err := settle(ctx, grown, o)
	if err != nil {
		return nil, transform.SameTree, err
	}
	return settled, transform.NewTree, nil
}

// place is what is above a node.
type place struct {
	// scoped says that rows may begin with those of an outer query.
	scoped bool
	// limited says that a LIMIT above may want few of the node's rows.
	limited bool
}

// grow replaces the subtrees of n by scans that are not finished, bottom up.
func grow(ctx *sql.Context, n sql.Node, at place) (sql.Node, transform.TreeIdentity, error) {
	if describes(n) {
		return n, transform.SameTree, nil
	}
	n, same, err := eachSubquery(ctx, n, func(ctx *sql.Context, sq *plan.Subquery) (sql.Node, transform.TreeIdentity, error) {
		return grow(ctx, sq.Query, place{scoped: true})
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameChildren, err := eachChild(ctx, n, func(i int, child sql.Node) (sql.Node, transform.TreeIdentity, error) {
		return grow(ctx, child, place{scoped: at.scoped || shifts(n, i), limited: limits(n) || at.limited && passesRows(n)})
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	if larger, ok := absorb(ctx, n, at); ok {
		return larger, transform.NewTree, nil
	}
	return n, same && sameChildren, nil
}

// describes reports whether n says what its child is or changes it: the engine then wants a child of a type that it knows.
func describes(n sql.Node) bool {
	switch n.(type) {
	case *plan.ShowColumns, *plan.ShowCreateTable, *plan.ShowIndexes, *plan.InsertDestination, *plan.Truncate, *plan.AnalyzeTable:
		return true
	}
	return false
}

func limits(n sql.Node) bool {
	_, ok := n.(*plan.Limit)
	return ok
}

// passesRows reports whether n gives a row as soon as it gets one.
func passesRows(n sql.Node) bool {
	switch n.(type) {
	case *plan.Offset, *plan.Project, *plan.Filter, *plan.Having, *plan.SubqueryAlias:
		return true
	}
	return false
}

// shifts reports whether the rows of child i of n begin with columns that are not its own.
func shifts(n sql.Node, i int) bool {
	switch n := n.(type) {
	case *plan.JoinNode:
		return i == 1 && n.Op.IsLateral()
	case *plan.SubqueryAlias:
		return n.IsLateral || n.OuterScopeVisibility
	default:
		return false
	}
}

// eachChild changes the children of n.
func eachChild(ctx *sql.Context, n sql.Node, change func(i int, child sql.Node) (sql.Node, transform.TreeIdentity, error)) (sql.Node, transform.TreeIdentity, error) {
	children := n.Children()
	var changed []sql.Node
	for i, child := range children {
		c, same, err := change(i, child)
		if err != nil {
			return nil, transform.SameTree, err
		}
		if !same {
			if changed == nil {
				changed = slices.Clone(children)
			}
			changed[i] = c
		}
	}
	if changed == nil {
		return n, transform.SameTree, nil
	}
	n, err := n.WithChildren(ctx, changed...)
	return n, transform.NewTree, err
}

// eachSubquery changes the plans of the subqueries in n's own expressions.
func eachSubquery(ctx *sql.Context, n sql.Node, change func(*sql.Context, *plan.Subquery) (sql.Node, transform.TreeIdentity, error)) (sql.Node, transform.TreeIdentity, error) {
	return transform.OneNodeExprsWithNode(ctx, n, func(ctx *sql.Context, _ sql.Node, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		sq, ok := e.(*plan.Subquery)
		if !ok {
			return e, transform.SameTree, nil
		}
		query, same, err := change(ctx, sq)
		if err != nil || same {
			return e, transform.SameTree, err
		}
		return sq.WithQuery(query), transform.NewTree, nil
	})
}
