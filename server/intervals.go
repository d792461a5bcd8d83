package server

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// exactIntervals makes the engine compute times exactly. It rounds a time to whole seconds before it adds an interval with + or -, but not in
// date_add and date_sub, which MySQL defines to be the same. It also drops the fraction of a number of seconds.
func exactIntervals(text string, ast sqlparser.Statement) {
	if !strings.Contains(strings.ToLower(text), "interval") {
		return
	}
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		if i, ok := n.(*sqlparser.IntervalExpr); ok {
			countMicroseconds(i)
		}
		replaceOperands(n)
		return true, nil
	}, ast)
}

var exprType = reflect.TypeFor[sqlparser.Expr]()

// replaceOperands replaces the additions of intervals among the expressions that n holds itself. The parser has a node type for each place where an
// expression can stand, and no visitor that replaces one in all of them.
func replaceOperands(n sqlparser.SQLNode) {
	v := reflect.ValueOf(n)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			replaceIn(f)
			if f.Kind() == reflect.Slice && f.Type().Elem() == exprType {
				for i := range f.Len() {
					replaceIn(f.Index(i))
				}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			replaceIn(v.Index(i))
		}
	}
}

func replaceIn(place reflect.Value) {
	if !place.CanSet() || place.Type() != exprType {
		return
	}
	b, ok := place.Interface().(*sqlparser.BinaryExpr)
	if !ok {
		return
	}
	if sum := intervalSum(b); sum != nil {
		place.Set(reflect.ValueOf(sum))
	}
}

// intervalSum is b as a call of date_add or date_sub, nil when it adds no interval.
func intervalSum(b *sqlparser.BinaryExpr) sqlparser.Expr {
	_, leads := b.Left.(*sqlparser.IntervalExpr)
	_, follows := b.Right.(*sqlparser.IntervalExpr)
	switch {
	case leads == follows:
		return nil
	case b.Operator == sqlparser.PlusStr && follows:
		return call("date_add", b.Left, b.Right)
	case b.Operator == sqlparser.PlusStr:
		return call("date_add", b.Right, b.Left)
	case b.Operator == sqlparser.MinusStr && follows:
		return call("date_sub", b.Left, b.Right)
	}
	return nil
}

func call(name string, args ...sqlparser.Expr) *sqlparser.FuncExpr {
	f := &sqlparser.FuncExpr{Name: sqlparser.NewColIdent(name)}
	for _, a := range args {
		f.Exprs = append(f.Exprs, &sqlparser.AliasedExpr{Expr: a})
	}
	return f
}

// countMicroseconds turns a literal number of seconds with a fraction into microseconds.
func countMicroseconds(i *sqlparser.IntervalExpr) {
	if !strings.EqualFold(i.Unit, "second") || !hasFraction(i.Expr) {
		return
	}
	i.Unit = "MICROSECOND"
	i.Expr = &sqlparser.BinaryExpr{Operator: sqlparser.MultStr, Left: i.Expr, Right: intLiteral(1_000_000)}
}

func hasFraction(e sqlparser.Expr) bool {
	switch e := e.(type) {
	case *sqlparser.SQLVal:
		return (e.Type == sqlparser.FloatVal || e.Type == sqlparser.StrVal) && bytes.ContainsAny(e.Val, ".eE")
	case *sqlparser.UnaryExpr:
		return e.Operator == sqlparser.UMinusStr && hasFraction(e.Expr)
	case *sqlparser.ParenExpr:
		return hasFraction(e.Expr)
	}
	return false
}
