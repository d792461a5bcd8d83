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
	"github.com/dolthub/go-mysql-server/sql/types"

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

// Value evaluates one argument. One with a secret in it comes as an option.SecretValue.
func Value(ctx *sql.Context, e sql.Expression) (any, error) {
	e, secret, err := reveal(ctx, e)
	if err != nil {
		return nil, err
	}
	v, err := e.Eval(ctx, nil)
	if err == nil {
		v, err = sql.UnwrapAny(ctx, v)
	}
	switch text, isText := v.(string); {
	case secret && err != nil:
		// The message could hold the secret.
		return nil, sqlerr.New(sqlerr.OptionInvalid, "an argument with secret() in it cannot be evaluated")
	case err != nil:
		return nil, err
	case secret && isText:
		return option.SecretValue(text), nil
	case secret:
		return nil, sqlerr.New(sqlerr.OptionInvalid, "an argument with secret() in it must be text")
	}
	return v, nil
}

// Secret is an expression that shows a mask wherever it is evaluated, and its value only to the arguments of table functions.
type Secret interface {
	sql.Expression
	// Reveal gives the value, or the error that the user may not use it or that there is none.
	Reveal(ctx *sql.Context) (string, error)
}

// reveal puts the values of secrets in the place of secret().
func reveal(ctx *sql.Context, e sql.Expression) (_ sql.Expression, found bool, err error) {
	if !transform.InspectExpr(ctx, e, func(_ *sql.Context, e sql.Expression) bool {
		_, ok := e.(Secret)
		return ok
	}) {
		return e, false, nil
	}
	e, _, err = transform.Expr(ctx, e, func(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		s, ok := e.(Secret)
		if !ok {
			return e, transform.SameTree, nil
		}
		value, err := s.Reveal(ctx)
		if err != nil {
			return nil, transform.SameTree, err
		}
		return expression.NewLiteral(value, types.LongText), transform.NewTree, nil
	})
	return e, true, err
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
