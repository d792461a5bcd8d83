package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// exactCounts gives selected with a COUNT(DISTINCT …) that knows values apart. The engine's makes a text of them, with commas between them, which fails over bytes that are
// no text and takes ('a,', 'b') for ('a', ',b').
func (x explainer) exactCounts(selected []sql.Expression) (out []sql.Expression, changed bool) {
	out = slices.Clone(selected)
	for i, e := range selected {
		if c, ok := e.(*aggregation.CountDistinct); ok {
			out[i], changed = &exactCount{c, x}, true
		}
	}
	return out, changed
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
