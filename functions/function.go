package functions

import (
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"

	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// Function describes a function to users and to the engine.
type Function struct {
	Name string
	// Group is the heading in the docs.
	Group string
	// Args are the arguments as the docs show them, Returns is the type of the result.
	Args, Returns string
	// Doc is what it does, in a sentence or two.
	Doc string
	// Example is an expression, Result what a client shows for it. From is what the example is over, for an aggregate.
	Example, From, Result string
	// Internal functions are what the dialect makes of operators; users write the operators.
	Internal bool

	// least and most bound the number of arguments; most -1 means any number.
	least, most int
	build       func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error)
}

// example is Example with what it is over.
func (f *Function) example() string {
	if f.From == "" {
		return f.Example
	}
	return f.Example + " FROM " + f.From
}

// Table returns all functions, in the order of the docs.
func Table() []Function { return slices.Clone(table) }

// Functions returns all functions as the engine registers them.
func Functions() []sql.Function {
	out := make([]sql.Function, len(table))
	for i := range table {
		f := &table[i]
		out[i] = sql.FunctionN{Name: f.Name, Fn: f.new}
	}
	return out
}

func (f *Function) new(ctx *sql.Context, args ...sql.Expression) (sql.Expression, error) {
	if len(args) < f.least || f.most >= 0 && len(args) > f.most {
		return nil, sqlerr.New(sqlerr.BadParameters, "wrong number of arguments for function '%s': found %d", f.written(), len(args)).WithHint("%s%s", f.written(), f.Args)
	}
	return f.build(ctx, f, args)
}

// call is a function applied to arguments. It is NULL when an argument is.
type call struct {
	function *Function
	args     []sql.Expression
	result   sql.Type
	// eval gets the values of the arguments, none NULL.
	eval func(ctx *sql.Context, args []any) (any, error)
}

var (
	_ sql.FunctionExpression = (*call)(nil)
	_ sql.CollationCoercible = (*call)(nil)
)

// strict builds functions that cast their arguments to the types of params, where there is one, and give NULL for NULL.
func strict(result expr.Type, params []expr.Kind, eval func(ctx *sql.Context, args []any) (any, error)) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		args = slices.Clone(args)
		for i := range args {
			cast, err := expr.NewCast(ctx, args[i], expr.Type{Kind: params[i]}, false)
			if err != nil {
				return nil, err
			}
			args[i] = cast
		}
		return &call{f, args, result.Engine(), eval}, nil
	}
}

func (c *call) FunctionName() string { return c.function.Name }

func (c *call) Description() string { return c.function.Doc }

func (c *call) Resolved() bool { return expression.ExpressionsResolved(c.args...) }

func (c *call) String() string {
	texts := make([]string, len(c.args))
	for i, a := range c.args {
		// The casts of arguments are ours; the user wrote what is in them.
		if cast, ok := a.(*expr.Cast); ok {
			a = cast.Arg()
		}
		texts[i] = a.String()
	}
	return c.function.Name + "(" + strings.Join(texts, ",") + ")"
}

func (c *call) Type(*sql.Context) sql.Type { return c.result }

func (c *call) IsNullable(*sql.Context) bool { return true }

func (c *call) Children() []sql.Expression { return c.args }

func (c *call) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != len(c.args) {
		return nil, sql.ErrInvalidChildrenNumber.New(c, len(children), len(c.args))
	}
	n := *c
	n.args = children
	return &n, nil
}

func (c *call) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	if typed, ok := c.result.(sql.CollationCoercible); ok {
		collation, _ := typed.CollationCoercibility(ctx)
		return collation, 2
	}
	return sql.Collation_binary, 5
}

func (c *call) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	var few [4]any
	values := few[:0]
	for _, a := range c.args {
		v, err := a.Eval(ctx, row)
		if err != nil {
			return nil, err
		}
		if v, err = sql.UnwrapAny(ctx, v); err != nil || v == nil {
			return nil, err
		}
		values = append(values, v)
	}
	return c.eval(ctx, values)
}

// constant gives the text of a literal argument.
func constant(e sql.Expression) (string, bool) {
	literal, ok := e.(*expression.Literal)
	if !ok {
		return "", false
	}
	text, ok := literal.Value().(string)
	return text, ok
}

// written is the name by which a statement calls the function: an internal one stands for what has the name without the mark.
func (f *Function) written() string { return strings.TrimPrefix(f.Name, "millrace_") }
