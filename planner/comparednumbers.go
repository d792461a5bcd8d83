package planner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/planner/expr"
)

// likeNumbers brings two numbers that are compared to types that the engine compares as MySQL does. To the engine a DOUBLE and a DECIMAL are decimals, of
// which 1e66 is none; a BIGINT and a BIGINT UNSIGNED are doubles, as are a BIGINT and a text: then 9007199254740993 is 9007199254740992.
func likeNumbers(ctx *sql.Context, l, r sql.Expression) (sql.Expression, sql.Expression, bool, error) {
	l, changedLeft := integerText(ctx, l, r)
	r, changedRight := integerText(ctx, r, l)
	changed := changedLeft || changedRight
	lt, rt := l.Type(ctx), r.Type(ctx)
	switch {
	case types.IsFloat(lt) && types.IsDecimal(rt):
		r, err := asDouble(ctx, r)
		return l, r, true, err
	case types.IsDecimal(lt) && types.IsFloat(rt):
		l, err := asDouble(ctx, l)
		return l, r, true, err
	case !types.IsInteger(lt) || !types.IsInteger(rt) || types.IsUnsigned(lt) == types.IsUnsigned(rt) || !beyondDouble(ctx, l) || !beyondDouble(ctx, r):
		return l, r, changed, nil
	}
	_, literalLeft := l.(*expression.Literal)
	_, literalRight := r.(*expression.Literal)
	var err error
	if literalLeft || !literalRight { // the engine compares any number with a DECIMAL exactly, and a column that is left as it is may have an index
		if l, err = asWholeDecimal(ctx, l); err != nil {
			return nil, nil, false, err
		}
	}
	if literalRight || !literalLeft {
		if r, err = asWholeDecimal(ctx, r); err != nil {
			return nil, nil, false, err
		}
	}
	return l, r, true, nil
}

// likeElements makes all integers of a list DECIMAL where one is, in place: the engine's hashed IN compares by the type of the first.
func likeElements(ctx *sql.Context, left sql.Expression, list []sql.Expression) error {
	isDecimal := func(e sql.Expression) bool { return types.IsDecimal(e.Type(ctx)) }
	if !types.IsInteger(left.Type(ctx)) || !slices.ContainsFunc(list, isDecimal) {
		return nil
	}
	for i, e := range list {
		if !types.IsInteger(e.Type(ctx)) {
			continue
		}
		var err error
		if list[i], err = asWholeDecimal(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// beyondDouble reports whether the integer e can have values that are no doubles of their own. A number below exactFloat compares as a double with all
// others as it should.
func beyondDouble(ctx *sql.Context, e sql.Expression) bool {
	literal, ok := e.(*expression.Literal)
	if !ok {
		t := e.Type(ctx)
		return t == types.Int64 || t == types.Uint64
	}
	switch v := literal.Value().(type) {
	case int64:
		return v <= -exactFloat || v >= exactFloat
	case uint64:
		return v >= exactFloat
	default:
		return false
	}
}

// asDouble is the DECIMAL e as a DOUBLE.
func asDouble(ctx *sql.Context, e sql.Expression) (sql.Expression, error) {
	double := expression.NewConvert(e, expression.ConvertToDouble)
	if _, ok := e.(*expression.Literal); !ok {
		return shownAs(double, e), nil
	}
	v, err := double.Eval(ctx, nil)
	return expression.NewLiteral(v, types.Float64), err
}

// asWholeDecimal is the integer e as a DECIMAL, which every integer is.
func asWholeDecimal(ctx *sql.Context, e sql.Expression) (sql.Expression, error) {
	const digits = 20
	cast, err := expr.NewDecimalCast(ctx, e, expression.NewLiteral(int64(digits), types.Int64), expression.NewLiteral(int64(0), types.Int64))
	if err != nil {
		return nil, err
	}
	if _, ok := e.(*expression.Literal); !ok {
		return shownAs(cast, e), nil
	}
	v, err := cast.Eval(ctx, nil)
	return expression.NewLiteral(v, cast.Type(ctx)), err
}

// integerText is the literal text with the integer that it is, where it is compared with a column of integers. Other texts, and texts beside
// computed numbers, are doubles to MySQL too.
func integerText(ctx *sql.Context, text, with sql.Expression) (sql.Expression, bool) {
	literal, ok := text.(*expression.Literal)
	if _, column := with.(*expression.GetField); !ok || !column || !types.IsInteger(with.Type(ctx)) || !types.IsTextOnly(literal.Type(ctx)) {
		return text, false
	}
	s, ok := literal.Value().(string)
	if !ok {
		return text, false
	}
	s = strings.Trim(s, " ")
	if strings.Trim(strings.TrimLeft(s, "+-"), "0123456789") != "" {
		return text, false
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return expression.NewLiteral(n, types.Int64), true
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64); err == nil {
		return expression.NewLiteral(n, types.Uint64), true
	}
	d, _, err := apd.NewFromString(s)
	if err != nil || d.NumDigits() > types.DecimalTypeMaxPrecision {
		return text, false
	}
	return expression.NewLiteral(d, types.MustCreateDecimalType(types.DecimalTypeMaxPrecision, 0)), true
}
