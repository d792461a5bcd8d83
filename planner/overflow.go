package planner

import (
	"math/bits"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/sqlerr"
)

// checkedArithmetic is + - * whose result is a BIGINT. The engine's wraps around without a word where MySQL, and our kernels, say that the value is
// out of range.
type checkedArithmetic struct{ *expression.Arithmetic }

// checkOverflow is a rule that runs before the engine's, in both pushdown modes.
func checkOverflow(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	return transform.NodeExprsWithOpaque(ctx, n, func(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		a, ok := e.(*expression.Arithmetic)
		if !ok || !types.IsInteger(a.LeftChild.Type(ctx)) || !types.IsInteger(a.RightChild.Type(ctx)) || a.Type(ctx) != types.Int64 {
			return e, transform.SameTree, nil
		}
		return checkedArithmetic{a}, transform.NewTree, nil
	})
}

// WithChildren implements sql.Expression.
func (c checkedArithmetic) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	e, err := c.Arithmetic.WithChildren(ctx, children...)
	if a, ok := e.(*expression.Arithmetic); ok && err == nil {
		return checkedArithmetic{a}, nil
	}
	return e, err
}

// Eval implements sql.Expression.
func (c checkedArithmetic) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	l, err := c.LeftChild.Eval(ctx, row)
	if err != nil || l == nil {
		return nil, err
	}
	r, err := c.RightChild.Eval(ctx, row)
	if err != nil || r == nil {
		return nil, err
	}
	x, _, err := types.Int64.Convert(ctx, l)
	if err != nil {
		return nil, err
	}
	y, _, err := types.Int64.Convert(ctx, r)
	if err != nil {
		return nil, err
	}
	v, ok := calculate(c.Op, x.(int64), y.(int64))
	if !ok {
		return nil, sqlerr.New(sqlerr.OutOfRange, "BIGINT value is out of range in '%v'", c.Arithmetic).WithDetail("the operands are %v and %v", x, y)
	}
	return v, nil
}

// calculate is x op y, and whether it fits.
func calculate(op string, x, y int64) (int64, bool) {
	switch op {
	case "+":
		s := x + y
		return s, (s > x) == (y > 0)
	case "-":
		d := x - y
		return d, (d < x) == (y > 0)
	default:
		negative := (x < 0) != (y < 0)
		high, low := bits.Mul64(magnitude(x), magnitude(y))
		if negative {
			return -int64(low), high == 0 && low <= 1<<63
		}
		return int64(low), high == 0 && low < 1<<63
	}
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
