package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// correctNullability is a rule that runs before the engine's. The engine takes every column of a table function for NOT NULL, whatever its
// schema says. Clients would be told so, and CREATE TABLE … AS SELECT would make columns that refuse the NULLs that it then inserts.
func correctNullability(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	return nullability{}.visit(ctx, n)
}

// CorrectNullability does what the planner's rule does for each statement, for a query that is not to run: its columns then are nullable when they
// may be NULL.
func CorrectNullability(ctx *sql.Context, n sql.Node) (sql.Node, error) {
	n, _, err := nullability{}.visit(ctx, n)
	return n, err
}

// nullability is the set of columns found to be nullable so far.
type nullability map[sql.ColumnId]bool

// visit corrects n. Children come first, from left to right, then subqueries in n's expressions, then the expressions: so each column is
// known before it is referred to, also by lateral and correlated queries.
func (known nullability) visit(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
	create, _ := n.(*plan.CreateTable)
	var before sql.Schema
	if create != nil && create.Select() != nil {
		before = create.Select().Schema(ctx)
	}
	n, sameChildren, err := eachChild(ctx, n, func(_ int, child sql.Node) (sql.Node, transform.TreeIdentity, error) { return known.visit(ctx, child) })
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameSubqueries, err := eachSubquery(ctx, n, func(ctx *sql.Context, sq *plan.Subquery) (sql.Node, transform.TreeIdentity, error) {
		return known.visit(ctx, sq.Query)
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameFields, err := transform.OneNodeExprsWithNode(ctx, n, func(ctx *sql.Context, _ sql.Node, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		g, ok := e.(*expression.GetField)
		if !ok || !known[g.Id()] || g.IsNullable(ctx) || g.IsQuotedIdentifier() {
			return e, transform.SameTree, nil
		}
		return expression.NewGetFieldWithTable(int(g.Id()), int(g.TableId()), g.Type(ctx), g.Database(), g.Table(), g.Name(), true).WithIndex(g.Index()), transform.NewTree, nil
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	known.learn(ctx, n)
	if show, ok := n.(*plan.ShowColumns); ok && sameChildren == transform.NewTree {
		n, err = correctShown(ctx, show)
		return n, transform.NewTree, err
	}
	if before != nil && !sameChildren {
		correctCreated(ctx, n.(*plan.CreateTable), before)
	}
	return n, sameChildren && sameSubqueries && sameFields, nil
}

// learn adds the columns of n that are nullable.
func (known nullability) learn(ctx *sql.Context, n sql.Node) {
	switch n := n.(type) {
	case *plan.TableAlias:
		if _, ok := n.Child.(Table); ok {
			known.learnSchema(ctx, n)
		}
	case *plan.SubqueryAlias:
		known.learnSchema(ctx, n)
	case sql.Projector:
		for _, e := range n.ProjectedExprs() {
			if e, ok := e.(sql.IdExpression); ok && e.Id() != 0 && (e.IsNullable(ctx) || isExtreme(e)) {
				known[e.Id()] = true
			}
		}
	}
}

// isExtreme reports whether e is a MIN or MAX, which the engine takes for NOT NULL although they are NULL over no rows.
func isExtreme(e sql.Expression) bool {
	switch e.(type) {
	case *aggregation.Min, *aggregation.Max:
		return true
	}
	return false
}

func (known nullability) learnSchema(ctx *sql.Context, n plan.TableIdNode) {
	schema := n.Schema(ctx)
	i := 0
	n.Columns().ForEach(func(id sql.ColumnId) {
		if i < len(schema) && schema[i].Nullable {
			known[id] = true
		}
		i++
	})
}

// correctCreated corrects the columns of CREATE TABLE … AS SELECT, which were copied from the query when it was built, as before has them.
// Columns that the statement itself defines stay.
func correctCreated(ctx *sql.Context, create *plan.CreateTable, before sql.Schema) {
	columns := create.PkSchema().Schema
	copied := slices.EqualFunc(columns, before, func(a, b *sql.Column) bool {
		return a.Name == b.Name && a.Nullable == b.Nullable && a.Type.Equals(b.Type) && a.Default == b.Default && !a.PrimaryKey && !a.AutoIncrement
	})
	if !copied {
		return
	}
	for i, c := range create.Select().Schema(ctx) {
		columns[i].Nullable = c.Nullable
	}
}

// correctShown corrects DESCRIBE of a view, whose columns were copied from the view when the statement was built.
func correctShown(ctx *sql.Context, show *plan.ShowColumns) (sql.Node, error) {
	shown := slices.Clone(show.TargetSchema())
	schema := show.Child.Schema(ctx)
	if len(schema) != len(shown) {
		return show, nil
	}
	for i, c := range shown {
		shown[i] = c.Copy()
		shown[i].Nullable = schema[i].Nullable
	}
	return show.WithTargetSchema(shown)
}
