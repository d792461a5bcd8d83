package planner

import (
	"fmt"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/convert"
	"millrace/planner/expr"
)

// timeByFormat is [try_]to_timestamp(text, format) as package functions has it, which imports this one.
type timeByFormat struct {
	expression.BinaryExpressionStub
	try bool
}

var _ sql.FunctionExpression = (*timeByFormat)(nil)

func newTimeByFormat(try bool) func(*sql.Context, sql.Expression, sql.Expression) sql.Expression {
	return func(ctx *sql.Context, text, format sql.Expression) sql.Expression {
		cast, err := expr.NewCast(ctx, text, expr.Type{Kind: expr.String}, false)
		if err != nil {
			panic(err)
		}
		return &timeByFormat{expression.BinaryExpressionStub{LeftChild: cast, RightChild: format}, try}
	}
}

func (f *timeByFormat) FunctionName() string {
	if f.try {
		return "try_to_timestamp"
	}
	return "to_timestamp"
}

func (f *timeByFormat) Description() string { return "" }
func (f *timeByFormat) String() string {
	return fmt.Sprintf("%s(%v,%v)", f.FunctionName(), f.LeftChild, f.RightChild)
}
func (f *timeByFormat) Type(*sql.Context) sql.Type   { return types.DatetimeMaxPrecision }
func (f *timeByFormat) IsNullable(*sql.Context) bool { return true }

func (f *timeByFormat) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	return &timeByFormat{expression.BinaryExpressionStub{LeftChild: children[0], RightChild: children[1]}, f.try}, nil
}

func (f *timeByFormat) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	text, err := f.LeftChild.Eval(ctx, row)
	if err != nil || text == nil {
		return nil, err
	}
	format, err := f.RightChild.Eval(ctx, row)
	if err != nil || format == nil {
		return nil, err
	}
	pattern, err := convert.ParseTimePattern(format.(string))
	if err != nil {
		return nil, err
	}
	micros, ok := pattern.Parse([]byte(text.(string)))
	switch {
	case ok:
		return time.UnixMicro(micros).UTC(), nil
	case f.try:
		return nil, nil
	}
	return nil, pattern.Failed([]byte(text.(string)))
}
