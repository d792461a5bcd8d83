package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// exactAggregates gives selected with aggregates that know values apart where they have DISTINCT. The engine's COUNT makes a text of them, with commas between them, which
// fails over bytes that are no text and takes ('a,', 'b') for ('a', ',b').
func (x explainer) exactAggregates(ctx *sql.Context, selected []sql.Expression) (out []sql.Expression, changed bool, err error) {
	out = slices.Clone(selected)
	for i, e := range selected {
		if c, ok := e.(*aggregation.CountDistinct); ok {
			out[i], changed = &exactCount{c, x}, true
			continue
		}
		if _, ok := e.(*exactCount); ok {
			continue
		}
		exact, same, err := x.exactDistinct(ctx, e)
		if err != nil {
			return nil, false, err
		}
		out[i], changed = exact, changed || same == transform.NewTree
	}
	return out, changed, nil
}

// exactCount is COUNT(DISTINCT …).
type exactCount struct {
	*aggregation.CountDistinct
	explainer explainer
}

// NewBuffer implements sql.Aggregation.
func (c *exactCount) NewBuffer(ctx *sql.Context) (sql.AggregationBuffer, error) {
	exprs := make([]sql.Expression, len(c.ChildExpressions))
	for i, e := range c.ChildExpressions {
		var err error
		if exprs[i], err = transform.Clone(ctx, e); err != nil {
			return nil, err
		}
	}
	seen := c.explainer.identities(ctx, rowIdentityOf(ctx, exprs), "the different values of COUNT(DISTINCT)")
	return &exactCountBuffer{exprs: exprs, values: make(sql.Row, len(exprs)), seen: seen}, nil
}

// exactCountBuffer is the count of a group.
type exactCountBuffer struct {
	exprs  []sql.Expression
	values sql.Row
	seen   *identities
}

// Update implements sql.AggregationBuffer: a row with a NULL among the values does not count.
func (b *exactCountBuffer) Update(ctx *sql.Context, row sql.Row) error {
	for i, e := range b.exprs {
		v, err := e.Eval(ctx, row)
		if err != nil || v == nil {
			return err
		}
		b.values[i] = v
	}
	_, _, err := b.seen.add(ctx, b.values)
	return err
}

// Eval implements sql.AggregationBuffer.
func (b *exactCountBuffer) Eval(*sql.Context) (any, error) { return int64(len(b.seen.numbers)), nil }

// Dispose implements sql.Disposable.
func (b *exactCountBuffer) Dispose(ctx *sql.Context) {
	b.seen.close()
	for _, e := range b.exprs {
		expression.Dispose(ctx, e)
	}
}
