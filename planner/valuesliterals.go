package planner

import (
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// WidenValues has columns of VALUES in FROM that are written as numbers be of a type that holds all of them. The engine, which decides while it builds the plan, where
// others then rely on it, takes the type of the first number there is, and 300 below 1 is out of range. A column with anything but numbers and NULL is left to it.
//
// The number in the first row becomes a cast to the type that MySQL has for the column: BIGINT, BIGINT UNSIGNED, DECIMAL or DOUBLE.
func WidenValues(text string, ast sqlparser.Statement) error {
	if !strings.Contains(strings.ToLower(text), "values") {
		return nil
	}
	if e, ok := ast.(*sqlparser.Explain); ok {
		ast = e.Statement // which a walk does not enter
	}
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		if v, ok := n.(*sqlparser.ValuesStatement); ok && len(v.Rows) > 1 {
			for i := range v.Rows[0] {
				widenColumn(v.Rows, i)
			}
		}
		return true, nil
	}, ast)
}

// widenColumn does so for a column of rows.
func widenColumn(rows sqlparser.Values, column int) {
	var all literals
	for _, row := range rows {
		if column >= len(row) || !all.add(row[column]) {
			return
		}
	}
	first := &rows[0][column]
	switch digits := max(1, all.whole) + all.scale; {
	case all.doubles:
		if !all.decimals && !all.integers {
			return
		}
		for _, row := range rows[1:] {
			if v, _ := numberOf(row[column]); v != nil && v.Type == sqlparser.FloatVal {
				row[column] = castLiteral("double", row[column]) // a DECIMAL would make the column one
			}
		}
		*first = castLiteral("double", *first)
	case all.decimals && !all.integers, !all.decimals && !all.beyondTiny: // which the engine has right
	case !all.decimals && !all.beyondSigned:
		*first = castLiteral("signed", *first)
	case !all.decimals && !all.negative && !all.beyondUnsigned:
		*first = castLiteral("unsigned", *first)
	case digits <= types.DecimalTypeMaxPrecision && all.scale <= types.DecimalTypeMaxScale:
		number := func(n int) *sqlparser.SQLVal { return sqlparser.NewIntVal([]byte(strconv.Itoa(n))) }
		*first = call(decimalFunction, *first, number(digits), number(all.scale))
	}
}

// literals is what the numbers of a column are: of which sorts, how many digits they have before the point and behind it, and of which integer types one does not fit.
type literals struct {
	integers, decimals, doubles, negative    bool
	whole, scale                             int
	beyondTiny, beyondSigned, beyondUnsigned bool
}

// add takes one in, and reports whether it is a number, or NULL.
func (l *literals) add(e sqlparser.Expr) bool {
	if _, ok := e.(*sqlparser.NullVal); ok {
		return true
	}
	v, negative := numberOf(e)
	if v == nil {
		return false
	}
	text := strings.ToLower(string(v.Val))
	if strings.Contains(text, "e") {
		l.doubles = true
		return true
	}
	whole, fraction, decimal := strings.Cut(text, ".")
	l.negative = l.negative || negative
	l.whole, l.scale = max(l.whole, len(strings.TrimLeft(whole, "0"))), max(l.scale, len(fraction))
	if l.decimals = l.decimals || decimal; decimal {
		return true
	}
	l.integers = true
	_, err := strconv.ParseUint(whole, 10, 64)
	l.beyondUnsigned = l.beyondUnsigned || err != nil
	if negative {
		whole = "-" + whole
	}
	_, err = strconv.ParseInt(whole, 10, 64)
	l.beyondSigned = l.beyondSigned || err != nil
	_, err = strconv.ParseInt(whole, 10, 8)
	l.beyondTiny = l.beyondTiny || err != nil
	return true
}

// numberOf is the literal of a number, which may have a sign before it, and nil for what is none.
func numberOf(e sqlparser.Expr) (v *sqlparser.SQLVal, negative bool) {
	if u, ok := e.(*sqlparser.UnaryExpr); ok && (u.Operator == sqlparser.UMinusStr || u.Operator == sqlparser.UPlusStr) {
		e, negative = u.Expr, u.Operator == sqlparser.UMinusStr
	}
	v, ok := e.(*sqlparser.SQLVal)
	if !ok || v.Type != sqlparser.IntVal && v.Type != sqlparser.FloatVal {
		return nil, false
	}
	if text, minus := strings.CutPrefix(string(v.Val), "-"); minus { // the parser may take a sign in
		return &sqlparser.SQLVal{Type: v.Type, Val: []byte(text)}, !negative
	}
	return v, negative
}

// castLiteral is CAST(e AS name).
func castLiteral(name string, e sqlparser.Expr) sqlparser.Expr {
	return &sqlparser.ConvertExpr{Name: "cast", Expr: e, Type: &sqlparser.ConvertType{Type: name}}
}
