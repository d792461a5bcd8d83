package planner

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// Operators puts functions of ours in the place of operators of a parsed statement that the engine has wrong. It must be called on every statement before the
// engine sees it: once built, an expression has a type that others rely on. text is what was parsed.
//
// + - * and % become Arithmetic where both sides are numbers. The engine rounds a time to whole seconds before it adds an interval with + or -, but not in
// date_add and date_sub, which MySQL defines to be the same; it also drops the fraction of a number of seconds.
func Operators(text string, ast sqlparser.Statement) {
	if lower := strings.ToLower(text); !strings.ContainsAny(text, "+-*%") && !strings.Contains(lower, "mod") && !strings.Contains(lower, "interval") {
		return
	}
	if e, ok := ast.(*sqlparser.Explain); ok {
		ast = e.Statement // which a walk does not enter
	}
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		if i, ok := n.(*sqlparser.IntervalExpr); ok {
			countMicroseconds(i)
		}
		replaceOperands(n)
		return true, nil
	}, ast)
}

// arithmeticFunctions are the names by which the engine builds what replaces an operator.
var arithmeticFunctions = map[string]string{
	sqlparser.PlusStr: "millrace_add", sqlparser.MinusStr: "millrace_subtract", sqlparser.MultStr: "millrace_multiply", sqlparser.ModStr: "mod",
}

var exprType = reflect.TypeFor[sqlparser.Expr]()

// replaceOperands replaces operators among the expressions that n holds itself. The parser has a node type for each place where an
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
	} else if name, ok := arithmeticFunctions[strings.ToLower(b.Operator)]; ok && !isInterval(b.Left) && !isInterval(b.Right) {
		place.Set(reflect.ValueOf(call(name, b.Left, b.Right)))
	}
}

// intervalSum is b as a call of date_add or date_sub, nil when it adds no interval.
func intervalSum(b *sqlparser.BinaryExpr) sqlparser.Expr {
	leads, follows := isInterval(b.Left), isInterval(b.Right)
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

func isInterval(e sqlparser.Expr) bool {
	_, ok := e.(*sqlparser.IntervalExpr)
	return ok
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
	i.Expr = &sqlparser.BinaryExpr{Operator: sqlparser.MultStr, Left: i.Expr, Right: sqlparser.NewIntVal([]byte("1000000"))}
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
