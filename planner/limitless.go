package planner

import (
	"math"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// mostRows is more than any table has. Twice of it is still an int64, so that the engine may add a LIMIT and an OFFSET.
const mostRows = math.MaxInt64 / 4

// correctLimits is a rule that runs before the engine's. MySQL's way to say "all rows behind the first n" is a LIMIT of 18446744073709551615: the
// engine adds the OFFSET to it for the rows that a sort must keep, and fails where the sum has no room. A LIMIT that no table reaches is left out, which
// also makes the sort one that may go to disk.
func correctLimits(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	return limitsWithin(ctx, n)
}

func limitsWithin(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
	n, sameChildren, err := eachChild(ctx, n, func(_ int, child sql.Node) (sql.Node, transform.TreeIdentity, error) { return limitsWithin(ctx, child) })
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameSubqueries, err := eachSubquery(ctx, n, func(ctx *sql.Context, sq *plan.Subquery) (sql.Node, transform.TreeIdentity, error) {
		return limitsWithin(ctx, sq.Query)
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	switch l := n.(type) {
	case *plan.Limit:
		if beyondMost(ctx, l.Limit) {
			if !l.CalcFoundRows {
				return l.Child, transform.NewTree, nil
			}
			return plan.NewLimit(expression.NewLiteral(int64(mostRows), types.Int64), l.Child).WithCalcFoundRows(true), transform.NewTree, nil
		}
	case *plan.Offset:
		if beyondMost(ctx, l.Offset) {
			return plan.NewOffset(expression.NewLiteral(int64(mostRows), types.Int64), l.Child), transform.NewTree, nil
		}
	}
	return n, sameChildren && sameSubqueries, nil
}

// beyondMost reports whether a number of rows is a constant that no table reaches.
func beyondMost(ctx *sql.Context, e sql.Expression) bool {
	v, ok := constantOf(ctx, e)
	if !ok || v == nil {
		return false
	}
	switch v := v.(type) {
	case int64:
		return v >= mostRows
	case uint64:
		return v >= mostRows
	case *apd.Decimal:
		return v.Cmp(apd.New(mostRows, 0)) >= 0
	}
	return false
}
