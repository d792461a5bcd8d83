package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// deleteAll is a rule that runs before the engine's rules of DELETE: DELETE FROM t, of all rows, empties a table that can be emptied. The engine does so only for tables of the
// current database.
func deleteAll(_ *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	d, ok := n.(*plan.DeleteFrom)
	if !ok || d.HasExplicitTargets() || len(d.Returning) > 0 {
		return n, transform.SameTree, nil
	}
	t, ok := d.Child.(*plan.ResolvedTable)
	if !ok {
		return n, transform.SameTree, nil
	}
	if _, err := plan.GetTruncatable(t); err != nil {
		return n, transform.SameTree, nil // the engine says what cannot be done with it
	}
	return plan.NewTruncate(t.Database().Name(), t), transform.NewTree, nil
}
