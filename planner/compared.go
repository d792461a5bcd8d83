package planner

import (
	"fmt"
	"slices"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// correctComparisons is a rule that runs before the engine's. It looks at the operands of comparisons whose types the engine brings together in a
// way that answers wrongly without a word, see timeNumber, likeNumbers and truth. SUBSTRING of bytes and JSON
// values as conditions are corrected on the way.
func correctComparisons(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	return comparisonsIn(ctx, n)
}

func comparisonsIn(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
	n, sameChildren, err := eachChild(ctx, n, func(_ int, child sql.Node) (sql.Node, transform.TreeIdentity, error) {
		return comparisonsIn(ctx, child)
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameSubqueries, err := eachSubquery(ctx, n, func(ctx *sql.Context, sq *plan.Subquery) (sql.Node, transform.TreeIdentity, error) {
		return comparisonsIn(ctx, sq.Query)
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameComparisons, err := transform.OneNodeExprsWithNode(ctx, n, func(ctx *sql.Context, _ sql.Node, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		if s, ok := e.(*function.Substring); ok {
			// SUBSTRING has a grammar of its own: the engine asks for no function of that name.
			if bytes := expr.NewSlice(ctx, s); bytes != sql.Expression(s) {
				return bytes, transform.NewTree, nil
			}
		}
		e, sameConditions, err := jsonConditions(ctx, e)
		if err != nil {
			return nil, transform.SameTree, err
		}
		e, sameComparison, err := correctComparison(ctx, e)
		return e, sameConditions && sameComparison, err
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameFilter, err := jsonFilter(ctx, n)
	if err != nil {
		return nil, transform.SameTree, err
	}
	return n, sameChildren && sameSubqueries && sameComparisons && sameFilter, nil
}

// correctComparison corrects e itself; its operands have been corrected.
func correctComparison(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
	var operands []sql.Expression
	switch e := e.(type) {
	case *expression.Case:
		return correctCase(ctx, e)
	case *expression.Equals, *expression.NullSafeEquals, *expression.GreaterThan, *expression.GreaterThanOrEqual, *expression.LessThan,
		*expression.LessThanOrEqual, *expression.InTuple, *expression.Between:
		operands = e.Children()
	default:
		return e, transform.SameTree, nil
	}
	operands = slices.Clone(operands)
	changed := false
	for again := true; again; { // the first operand may have become another for the sake of the last
		again = false
		for i := 1; i < len(operands); i++ {
			left, right, one, err := correctPair(ctx, operands[0], operands[i])
			if err != nil {
				return nil, transform.SameTree, err
			}
			operands[0], operands[i], again = left, right, again || one
		}
		changed = changed || again
	}
	switch e.(type) {
	case *expression.Equals, *expression.NullSafeEquals:
		left, changedLeft := truth(ctx, operands[0], operands[1])
		right, changedRight := truth(ctx, operands[1], operands[0])
		operands[0], operands[1], changed = left, right, changed || changedLeft || changedRight
	}
	if !changed {
		return e, transform.SameTree, nil
	}
	e, err := e.WithChildren(ctx, operands...)
	return e, transform.NewTree, err
}

// correctCase corrects the comparisons of CASE x WHEN y, which the engine makes of x and y as it runs.
func correctCase(ctx *sql.Context, c *expression.Case) (sql.Expression, transform.TreeIdentity, error) {
	if c.Expr == nil {
		return c, transform.SameTree, nil
	}
	changed := false
	branches := slices.Clone(c.Branches)
	for i, b := range branches {
		l, r, one, err := likeNumbers(ctx, c.Expr, b.Cond)
		if err != nil {
			return nil, transform.SameTree, err
		}
		branches[i].Cond, changed = expression.NewEquals(l, r), changed || one
	}
	if !changed {
		return c, transform.SameTree, nil
	}
	return shownAs(expression.NewCase(nil, branches, c.Else), c), transform.NewTree, nil
}

// correctPair corrects the operands left and right of a comparison, which may be lists and rows.
func correctPair(ctx *sql.Context, left, right sql.Expression) (l, r sql.Expression, changed bool, err error) {
	lefts, isRow := left.(expression.Tuple)
	rights, isList := right.(expression.Tuple)
	switch {
	case !isRow && !isList:
		return correctValues(ctx, left, right)
	case !isList:
		return left, right, false, nil // with a subquery, or an error of the engine
	}
	rights = slices.Clone(rights)
	rows := isRow && len(lefts) == len(rights) && !slices.ContainsFunc(rights, isTuple)
	if rows {
		lefts = slices.Clone(lefts)
	}
	for i := range rights {
		var one bool
		if rows {
			lefts[i], rights[i], one, err = correctPair(ctx, lefts[i], rights[i])
			left = lefts
		} else {
			left, rights[i], one, err = correctPair(ctx, left, rights[i])
		}
		if err != nil {
			return nil, nil, false, err
		}
		changed = changed || one
	}
	if changed && !rows {
		if err := likeElements(ctx, left, rights); err != nil {
			return nil, nil, false, err
		}
	}
	return left, rights, changed, nil
}

// correctValues is correctPair of two that are neither lists nor rows.
func correctValues(ctx *sql.Context, left, right sql.Expression) (l, r sql.Expression, changed bool, err error) {
	l, changedLeft, err := timeNumber(ctx, left, right)
	if err != nil {
		return nil, nil, false, err
	}
	r, changedRight, err := timeNumber(ctx, right, left)
	if err != nil {
		return nil, nil, false, err
	}
	l, r, changedNumbers, err := likeNumbers(ctx, l, r)
	return l, r, changedLeft || changedRight || changedNumbers, err
}

func isTuple(e sql.Expression) bool {
	_, ok := e.(expression.Tuple)
	return ok
}

// timeNumber corrects a number that is compared with a time. To MySQL 20260102030405 is a time written as a number; the engine converts none
// and answers as if the comparison were with some other time. A number that is no literal, or no such time, is refused: most are
// seconds or milliseconds since 1970, which MySQL takes for something else or for an error too.
func timeNumber(ctx *sql.Context, number, with sql.Expression) (sql.Expression, bool, error) {
	t := number.Type(ctx)
	if !types.IsTime(with.Type(ctx)) || !types.IsInteger(t) && !types.IsFloat(t) && !types.IsDecimal(t) {
		return number, false, nil
	}
	if l, ok := number.(*expression.Literal); ok {
		n, ok := integerOf(l.Value(), t)
		switch {
		case l.Value() == nil:
			return number, false, nil
		case ok && !n.fraction:
			if at, ok := timeOfDigits(n.floor); ok {
				return expression.NewLiteral(at, types.DatetimeMaxPrecision), true, nil
			}
		}
	}
	return nil, false, sqlerr.New(sqlerr.BadValue, "%s is a time and cannot be compared with the number %s", quoted(with), quoted(number)).
		WithHint("compare it with a text ('2026-01-02 03:04:05'), with now() - INTERVAL 1 HOUR, or with timestamp_millis(…) of milliseconds since 1970")
}

// quoted is an expression in a message.
func quoted(e sql.Expression) string {
	if g, ok := e.(*expression.GetField); ok {
		return "'" + g.Name() + "'"
	}
	text := []rune(e.String())
	if len(text) > 80 {
		text = append(text[:80], '…')
	}
	return "'" + string(text) + "'"
}

// timeOfDigits reads YYYYMMDD and YYYYMMDDhhmmss, and 0, which is before all times. MySQL reads years of two digits as well, which could be seconds
// since 1970.
func timeOfDigits(n int64) (time.Time, bool) {
	if n == 0 {
		return types.ZeroTime, true
	}
	layout := "20060102"
	if n > 99991231 {
		layout = "20060102150405"
	}
	text := fmt.Sprint(n)
	if len(text) != len(layout) {
		return time.Time{}, false
	}
	at, err := time.Parse(layout, text)
	return at, err == nil
}

// truth corrects a text that is compared with TRUE or FALSE. MySQL compares both as numbers, so the text 'true' is 0 and equal to FALSE. That
// stays; but it makes one warning that helps in the place of one for each record.
func truth(ctx *sql.Context, text, with sql.Expression) (sql.Expression, bool) {
	l, ok := with.(*expression.Literal)
	if !ok || !types.IsTextOnly(text.Type(ctx)) {
		return text, false
	}
	value, ok := l.Value().(bool)
	if _, literal := text.(*expression.Literal); !ok || literal {
		return text, false
	}
	message := fmt.Sprintf("a STRING is compared with %t as a number, and the text 'true' is the number 0: write ::boolean behind it, or compare it with 'true'", value)
	if !slices.ContainsFunc(ctx.Session.Warnings(), func(w *sql.Warning) bool { return w.Message == message }) {
		ctx.Warn(WarningCode, "%s", message)
	}
	return &quietNumber{expression.UnaryExpressionStub{Child: text}}, true
}

// quietNumber is a text as the number that the engine takes it for in a comparison, without a warning when it is none.
type quietNumber struct{ expression.UnaryExpressionStub }

// Type implements sql.Expression.
func (*quietNumber) Type(*sql.Context) sql.Type { return types.Float64 }

// String implements sql.Expression.
func (q *quietNumber) String() string { return q.Child.String() }

// Eval implements sql.Expression.
func (q *quietNumber) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := q.Child.Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	number, _, err := types.Float64.Convert(ctx, v)
	switch {
	case err == nil, sql.ErrTruncatedIncorrect.Is(err):
		return number, nil
	default:
		return types.Float64.Zero(), nil // as the engine does
	}
}

// WithChildren implements sql.Expression.
func (q *quietNumber) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(q, len(children), 1)
	}
	return &quietNumber{expression.UnaryExpressionStub{Child: children[0]}}, nil
}
