package planner

import (
	"errors"
	"io"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// groupedRows are the groups that the scan does not compute; nil when the engine's are right: those of one group without DISTINCT.
func (x explainer) groupedRows(ctx *sql.Context, g *plan.GroupBy, row sql.Row) (sql.RowIter, error) {
	selected, changed, err := x.exactAggregates(ctx, g.SelectDeps)
	if err != nil {
		return nil, err
	}
	if len(g.GroupByExprs) == 0 {
		if !changed {
			return nil, nil
		}
		return x.engine.Build(ctx, plan.NewGroupBy(selected, nil, g.Child), row)
	}
	child, err := x.engine.Build(ctx, g.Child, row)
	if err != nil {
		return nil, err
	}
	return &groupIter{
		child:    child,
		selected: selected,
		by:       g.GroupByExprs,
		key:      make(sql.Row, len(g.GroupByExprs)),
		seen:     x.identities(ctx, rowIdentityOf(ctx, g.GroupByExprs), "the groups of GROUP BY"),
	}, nil
}

// groupIter gives the groups in the order of their first rows.
type groupIter struct {
	child        sql.RowIter
	selected, by []sql.Expression
	key          sql.Row
	seen         *identities
	groups       [][]sql.AggregationBuffer
	read         bool
	next         int
}

// bufferBytes is about what the state of one aggregate takes.
const bufferBytes = 64

// Next implements sql.RowIter.
func (it *groupIter) Next(ctx *sql.Context) (sql.Row, error) {
	if !it.read {
		it.read = true
		if err := it.readAll(ctx); err != nil {
			return nil, err
		}
	}
	if it.next == len(it.groups) {
		return nil, io.EOF
	}
	row := make(sql.Row, len(it.selected))
	for i, b := range it.groups[it.next] {
		var err error
		if row[i], err = b.Eval(ctx); err != nil {
			return nil, err
		}
	}
	it.next++
	return row, nil
}

func (it *groupIter) readAll(ctx *sql.Context) error {
	for {
		row, err := it.child.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		group, err := it.groupOf(ctx, row)
		if err != nil {
			return err
		}
		for _, b := range group {
			if err := b.Update(ctx, row); err != nil {
				return err
			}
		}
	}
}

// groupOf is the group of row, a new one where it is the first.
func (it *groupIter) groupOf(ctx *sql.Context, row sql.Row) ([]sql.AggregationBuffer, error) {
	for i, e := range it.by {
		var err error
		if it.key[i], err = e.Eval(ctx, row); err != nil {
			return nil, err
		}
	}
	number, first, err := it.seen.add(ctx, it.key)
	if err != nil {
		return nil, err
	}
	if !first {
		return it.groups[number], nil
	}
	if err := it.seen.grow(int64(bufferBytes * len(it.selected))); err != nil {
		return nil, err
	}
	group := make([]sql.AggregationBuffer, len(it.selected))
	it.groups = append(it.groups, group[:0])
	for i, e := range it.selected {
		a, ok := e.(sql.Aggregation)
		if !ok { // the same for all rows of the group, or any of them will do
			a = aggregation.NewFirst(e)
		}
		if group[i], err = a.NewBuffer(ctx); err != nil {
			return nil, err
		}
		it.groups[number] = group[:i+1]
	}
	return group, nil
}

// Close implements sql.RowIter.
func (it *groupIter) Close(ctx *sql.Context) error {
	for _, group := range it.groups {
		for _, b := range group {
			b.Dispose(ctx)
		}
	}
	it.groups, it.next = nil, 0
	it.seen.close()
	return it.child.Close(ctx)
}
