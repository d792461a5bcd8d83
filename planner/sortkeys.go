package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/iters"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// The engine evaluates the keys of an ORDER BY in each comparison of two rows: a function of a column is then called some thirty times for each row, a
// subquery runs as often, and rand() gives rows no order at all. Here rows carry their keys while the engine sorts them, and a key is computed once.

// sorted gives the rows of a Sort or a TopN whose keys are more than columns; nil leaves n to the engine.
func (x explainer) sorted(ctx *sql.Context, n sql.Node, row sql.Row) (sql.RowIter, error) {
	var conditions sql.SortConditions
	var child sql.Node
	switch n := n.(type) {
	case *plan.Sort:
		conditions, child = n.SortConditions, n.Child
	case *plan.TopN:
		conditions, child = n.SortConditions, n.Child
	default:
		return nil, nil
	}
	conditions, keys := carryKeys(conditions)
	if len(keys) == 0 {
		return nil, nil
	}
	var limit int64
	top, limited := n.(*plan.TopN)
	if limited {
		var err error
		if limit, err = iters.GetInt64Value(ctx, top.Limit); err != nil {
			return nil, err
		}
	}
	// What counts the rows that are kept is to see them with their keys.
	var kept *keeper
	if s := statementMemoryOf(ctx); s != nil {
		kept = s.claim(child)
	}
	rows, err := x.engine.Build(ctx, child, row)
	if err != nil {
		return nil, err
	}
	rows = &keyedRows{rows, keys}
	if kept != nil {
		rows = kept.begin(rows)
	}
	switch {
	case !limited:
		rows = iters.NewSortIter(conditions, rows)
	case limit == 1:
		rows = iters.NewTopRowIter(conditions, top.CalcFoundRows, rows)
	default:
		rows = iters.NewTopRowsIter(conditions, limit, top.CalcFoundRows, rows)
	}
	return &unkeyedRows{rows, len(keys)}, nil
}

// carryKeys makes of conditions those over rows that end with the values of keys.
func carryKeys(conditions sql.SortConditions) (carried sql.SortConditions, keys []sql.Expression) {
	for _, c := range conditions {
		if !atHand(c.Expr) {
			keys = append(keys, c.Expr)
		}
	}
	back := len(keys)
	for _, c := range conditions {
		if !atHand(c.Expr) {
			c.Expr = carriedKey{c.Expr, back}
			back--
		}
		carried = append(carried, c)
	}
	return carried, keys
}

// atHand reports whether a key costs nothing to evaluate.
func atHand(key sql.Expression) bool {
	switch key := key.(type) {
	case *expression.GetField, *expression.Literal:
		return true
	case *expression.Alias:
		return atHand(key.Child)
	}
	return false
}

// carriedKey is a key whose value a row carries, so many columns before its end: where a row begins is not known where it may have columns of an outer query.
type carriedKey struct {
	sql.Expression
	back int
}

// Eval implements sql.Expression.
func (k carriedKey) Eval(_ *sql.Context, row sql.Row) (any, error) { return row[len(row)-k.back], nil }

// keyedRows adds the values of keys to rows. Each has memory of its own, as those that it gets may share theirs with others.
type keyedRows struct {
	sql.RowIter
	keys []sql.Expression
}

// Next implements sql.RowIter.
func (it *keyedRows) Next(ctx *sql.Context) (sql.Row, error) {
	row, err := it.RowIter.Next(ctx)
	if err != nil {
		return nil, err
	}
	keyed := make(sql.Row, len(row), len(row)+len(it.keys))
	copy(keyed, row)
	for _, key := range it.keys {
		v, err := key.Eval(ctx, row)
		if err != nil {
			return nil, err
		}
		keyed = append(keyed, v)
	}
	return keyed, nil
}

// unkeyedRows takes the keys off again.
type unkeyedRows struct {
	sql.RowIter
	keys int
}

// Next implements sql.RowIter.
func (it *unkeyedRows) Next(ctx *sql.Context) (sql.Row, error) {
	row, err := it.RowIter.Next(ctx)
	if err != nil {
		return nil, err
	}
	n := len(row) - it.keys
	return row[:n:n], nil
}
