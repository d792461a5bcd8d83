package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// apply is the rule. It works on whole plans only, once their column positions are fixed, and goes into subqueries itself.
func apply(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, sel analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	id, err := assignIndexes()
	if err != nil {
		return nil, transform.SameTree, err
	}
	if !sel(id) || plan.IsDDLNode(n) {
		return n, transform.SameTree, nil
	}
	if on, err := enabled(ctx); err != nil || !on {
		return n, transform.SameTree, err
	}
	grown, same, err := grow(ctx, n)
	if err != nil || same {
		return n, transform.SameTree, err
	}
	settled, err := settle(ctx, grown)
	if err != nil {
		return nil, transform.SameTree, err
	}
	return settled, transform.NewTree, nil
}

// grow replaces the subtrees of n by scans that are not finished, bottom up.
func grow(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
	return transform.NodeWithOpaque(ctx, n, func(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
		n, same, err := eachSubquery(ctx, n, grow)
		if err != nil {
			return nil, transform.SameTree, err
		}
		if larger, ok := absorb(ctx, n); ok {
			return larger, transform.NewTree, nil
		}
		return n, same, nil
	})
}

// eachSubquery changes the plans of the subqueries in n's own expressions.
func eachSubquery(ctx *sql.Context, n sql.Node, change func(*sql.Context, sql.Node) (sql.Node, transform.TreeIdentity, error)) (sql.Node, transform.TreeIdentity, error) {
	return transform.OneNodeExprsWithNode(ctx, n, func(ctx *sql.Context, _ sql.Node, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		sq, ok := e.(*plan.Subquery)
		if !ok {
			return e, transform.SameTree, nil
		}
		query, same, err := change(ctx, sq.Query)
		if err != nil || same {
			return e, transform.SameTree, err
		}
		return sq.WithQuery(query), transform.NewTree, nil
	})
}
