package planner

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
)

// Operators puts functions of ours in the place of operators of a parsed statement that the engine has wrong. It must be called on every statement before the
// engine sees it: once built, an expression has a type that others rely on. text is what was parsed.
//
// + - * and % become Arithmetic where both sides are numbers. The engine rounds a time to whole seconds before it adds an interval with + or -, but not in
// date_add and date_sub, which MySQL defines to be the same; it also drops the fraction of a number of seconds.
//
// CAST(x AS DECIMAL) becomes Decimal.
//
// An INTERVAL where no time is near is an error here: the engine panics.
func Operators(text string, ast sqlparser.Statement) error {
	if lower := strings.ToLower(text); !strings.ContainsAny(text, "+-*%") && !strings.Contains(lower, "mod") && !strings.Contains(lower, "interval") && !strings.Contains(lower, "decimal") {
		return nil
	}
	if e, ok := ast.(*sqlparser.Explain); ok {
		ast = e.Statement // which a walk does not enter
	}
	expected := map[*sqlparser.IntervalExpr]bool{}
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		replaceOperands(n)
		expectIntervals(n, expected)
		if i, ok := n.(*sqlparser.IntervalExpr); ok {
			if countMicroseconds(i); !expected[i] {
				return false, sqlerr.New(sqlerr.Syntax, "INTERVAL %s is no value of its own", sqlparser.String(i.Expr)+" "+i.Unit).
					WithHint("add it to a time or subtract it from one: now() - INTERVAL 1 DAY")
			}
		}
		return true, nil
	}, ast)
}

// expectIntervals adds the intervals in the places of n where the engine takes them.
func expectIntervals(n sqlparser.SQLNode, expected map[*sqlparser.IntervalExpr]bool) {
	expect := func(e sqlparser.SQLNode) {
		if a, ok := e.(*sqlparser.AliasedExpr); ok {
			e = a.Expr
		}
		if i, ok := e.(*sqlparser.IntervalExpr); ok {
			expected[i] = true
		}
	}
	switch n := n.(type) {
	case *sqlparser.FuncExpr:
		if takesIntervals[n.Name.Lowered()] {
			for _, e := range n.Exprs {
				expect(e)
			}
		}
	case *sqlparser.TableFuncExpr:
		for _, e := range n.Exprs {
			expect(e)
		}
	case *sqlparser.FrameBound:
		expect(n.Expr)
	case *sqlparser.BinaryExpr:
		expect(n.Left) // with what operators it may stand is the engine's to say
		expect(n.Right)
	}
}

// takesIntervals are the functions with an argument that is an INTERVAL.
var takesIntervals = map[string]bool{"date_add": true, "date_sub": true, "adddate": true, "subdate": true}

// arithmeticFunctions are the names by which the engine builds what replaces an operator.
var arithmeticFunctions = map[string]string{
	sqlparser.PlusStr: "millrace_add", sqlparser.MinusStr: "millrace_subtract", sqlparser.MultStr: "millrace_multiply", sqlparser.ModStr: "mod",
}

// IsOperator reports whether Operators makes an operator, or a cast, a call of that function. All of its arguments are always computed.
func IsOperator(function string) bool {
	if function == decimalFunction {
		return true
	}
	for _, name := range arithmeticFunctions {
		if name == function {
			return true
		}
	}
	return false
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
	if c, ok := place.Interface().(*sqlparser.ConvertExpr); ok {
		if precision, scale, ok := decimalType(c.Type); ok {
			place.Set(reflect.ValueOf(call(decimalFunction, c.Expr, precision, scale)))
		}
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

// decimalFunction is the name by which the engine builds a cast to DECIMAL.
const decimalFunction = "millrace_decimal"

// decimalType is the precision and scale of a DECIMAL that there may be; with others the engine has the error.
func decimalType(t *sqlparser.ConvertType) (precision, scale *sqlparser.SQLVal, ok bool) {
	if t == nil || !strings.EqualFold(t.Type, "decimal") {
		return nil, nil, false
	}
	number := func(v *sqlparser.SQLVal, otherwise string) (*sqlparser.SQLVal, int) {
		if v == nil {
			v = sqlparser.NewIntVal([]byte(otherwise))
		}
		n, err := strconv.Atoi(string(v.Val))
		if err != nil {
			return v, -1
		}
		return v, n
	}
	precision, p := number(t.Length, "10")
	scale, s := number(t.Scale, "0")
	return precision, scale, s >= 0 && s <= types.DecimalTypeMaxScale && p > 0 && p >= s && p <= types.DecimalTypeMaxPrecision
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
