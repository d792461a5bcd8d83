// Package named gives table functions arguments by name. The engine knows positions only, so the dialect writes a call
//
//	f(a => 1, `b.c` => 2)    as    f('#named', 'a', 1, 'b.c', 2)
//
// and this package reads that form back: first the names, which decide whether the call is one at all, then the values, as soon as every
// parameter and variable has one.
package named

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/transform"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Flag is the first argument of a call whose arguments are named; names and values follow in turn.
const Flag = "#named"

// Arg is an argument of a call.
type Arg struct {
	Name  string
	Value sql.Expression
}

// Args takes a call apart. Values are not looked at. example shows how function is called, for the error of a call without names.
func Args(ctx *sql.Context, function, example string, exprs []sql.Expression) ([]Arg, error) {
	if len(exprs) == 0 {
		return nil, nil
	}
	if first, ok := text(ctx, exprs[0]); !ok || first != Flag || len(exprs)%2 == 0 {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the arguments of '%s' have no names", function).WithHint("write %s", example)
	}
	args := make([]Arg, 0, len(exprs)/2)
	for i := 1; i < len(exprs); i += 2 {
		name, ok := text(ctx, exprs[i])
		if !ok {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "the name of an argument of '%s' must be written out, found %s", function, exprs[i])
		}
		args = append(args, Arg{name, exprs[i+1]})
	}
	return args, nil
}

// text is the value of a text literal.
func text(ctx *sql.Context, e sql.Expression) (string, bool) {
	l, ok := e.(*expression.Literal)
	if !ok {
		return "", false
	}
	v, err := sql.UnwrapAny(ctx, l.Value())
	s, isText := v.(string)
	return s, err == nil && isText
}

// Pairs evaluates arguments.
func Pairs(ctx *sql.Context, args []Arg) ([]option.Pair, error) {
	pairs := make([]option.Pair, 0, len(args))
	for _, a := range args {
		v, err := Value(ctx, a.Value)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, option.Pair{Name: a.Name, Value: v})
	}
	return pairs, nil
}

// Value evaluates one argument.
func Value(ctx *sql.Context, e sql.Expression) (any, error) {
	v, err := e.Eval(ctx, nil)
	if err != nil {
		return nil, err
	}
	return sql.UnwrapAny(ctx, v)
}

// HasParameter reports whether e holds a ? without a value.
func HasParameter(e sql.Expression) bool {
	return transform.InspectExpr(nil, e, func(_ *sql.Context, e sql.Expression) bool {
		_, ok := e.(*expression.BindVar)
		return ok
	})
}

// Constant reports whether expressions have the same value whenever they are evaluated: their errors can be told at once.
func Constant(exprs []sql.Expression) bool {
	for _, e := range exprs {
		if transform.InspectExpr(nil, e, func(_ *sql.Context, e sql.Expression) bool {
			switch e.(type) {
			case *expression.BindVar, *expression.UserVar, *expression.SystemVar, *expression.ProcedureParam:
				return true
			}
			return !e.Resolved()
		}) {
			return false
		}
	}
	return true
}
