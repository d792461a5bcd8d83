package functions

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

func buildCast(try bool) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		text, ok := constant(args[1])
		if !ok {
			return nil, notConstant(f, "type")
		}
		to, err := expr.ParseType(text)
		if err != nil {
			return nil, err
		}
		return built(expr.NewCast(ctx, args[0], to, try))
	}
}

func buildPath(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
	text, ok := constant(args[1])
	if !ok {
		return nil, notConstant(f, "path")
	}
	return built(expr.NewPath(ctx, args[0], text))
}

func notConstant(f *Function, what string) error {
	return sqlerr.New(sqlerr.BadValue, "the %s of '%s' must be a text constant", what, f.written())
}

// built turns a concrete expression into the interface, keeping nil nil.
func built[E sql.Expression](e E, err error) (sql.Expression, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// buildGetJSONObject compiles a constant path; any other is parsed for every row.
func buildGetJSONObject(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
	if text, ok := constant(args[1]); ok {
		return built(expr.NewJSONObjectPath(ctx, args[0], text))
	}
	build := strict(expr.Type{Kind: expr.String}, []expr.Kind{expr.String, expr.String}, func(ctx *sql.Context, args []any) (any, error) {
		path, err := expr.NewJSONObjectPath(ctx, expression.NewLiteral(args[0], types.LongText), args[1].(string))
		if err != nil {
			return nil, err
		}
		return path.Eval(ctx, nil)
	})
	return build(ctx, f, args)
}
