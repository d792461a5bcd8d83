package expr

import (
	"fmt"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// Slice is SUBSTRING, LEFT, RIGHT or REVERSE over bytes. The engine takes what it is given for UTF-8: it counts characters, puts U+FFFD where the
// bytes are none, and hands text out as what it calls bytes.
type Slice struct {
	// FunctionExpression is the engine's.
	sql.FunctionExpression
	// cut gets the arguments behind the first.
	cut func(b []byte, numbers []int64) []byte
}

var (
	_ sql.FunctionExpression = (*Slice)(nil)
	_ sql.CollationCoercible = (*Slice)(nil)
)

// NewSlice is e, an expression of the engine, or what is to stand in its place where it takes a part of bytes, or of what is neither bytes nor text.
func NewSlice(ctx *sql.Context, e sql.Expression) sql.Expression {
	s := &Slice{}
	switch e := e.(type) {
	case *function.Substring:
		s.FunctionExpression, s.cut = e, substringOfBytes
	case function.Left:
		s.FunctionExpression, s.cut = e, leftOfBytes
	case function.Right:
		s.FunctionExpression, s.cut = e, rightOfBytes
	case *function.Reverse:
		s.FunctionExpression, s.cut = e, reversedBytes
	default:
		return e
	}
	arg := e.Children()[0]
	if !arg.Resolved() {
		return e
	}
	switch t := arg.Type(ctx).(type) {
	case sql.StringType:
		if types.IsBinaryType(t) {
			return s
		}
	case sql.NullType:
	default:
		// The engine takes no time, number or document: LEFT and RIGHT refuse it, SUBSTRING and REVERSE take another text for it than the one that is shown.
		args := slices.Clone(e.Children())
		args[0] = &textOf{expression.UnaryExpressionStub{Child: arg}}
		if of, err := e.WithChildren(ctx, args...); err == nil {
			return of
		}
	}
	return e
}

// Type implements sql.Expression.
func (s *Slice) Type(*sql.Context) sql.Type { return types.LongBlob }

// CollationCoercibility implements sql.CollationCoercible.
func (s *Slice) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	_, coercibility := sql.GetCoercibility(ctx, s.Children()[0])
	return sql.Collation_binary, coercibility
}

// WithChildren implements sql.Expression.
func (s *Slice) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	e, err := s.FunctionExpression.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	return NewSlice(ctx, e), nil
}

// Eval implements sql.Expression.
func (s *Slice) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	args := s.Children()
	v, err := s.arg(ctx, args[0], row, types.LongBlob)
	if v == nil || err != nil {
		return nil, err
	}
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%s: bytes of type %T", s.FunctionName(), v)
	}
	var room [2]int64
	numbers := room[:0]
	for _, a := range args[1:] {
		v, err := s.arg(ctx, a, row, types.Int64)
		if v == nil || err != nil {
			return nil, err
		}
		n, ok := v.(int64)
		if !ok {
			return nil, fmt.Errorf("%s: number of type %T", s.FunctionName(), v)
		}
		numbers = append(numbers, n)
	}
	return s.cut(b, numbers), nil
}

// arg is the value of an argument as the engine converts it.
func (s *Slice) arg(ctx *sql.Context, e sql.Expression, row sql.Row, t sql.Type) (any, error) {
	v, err := e.Eval(ctx, row)
	if err != nil {
		return nil, err
	}
	if v, err = sql.UnwrapAny(ctx, v); v == nil || err != nil {
		return nil, err
	}
	v, _, err = t.Convert(ctx, v)
	return v, err
}

func substringOfBytes(b []byte, numbers []int64) []byte {
	size := int64(len(b))
	from, n := numbers[0]-1, size
	if numbers[0] < 0 {
		from = size + numbers[0]
	}
	if len(numbers) > 1 {
		n = numbers[1]
	}
	if from < 0 || from >= size || n <= 0 {
		return []byte{}
	}
	return b[from : from+min(n, size-from)]
}

func leftOfBytes(b []byte, numbers []int64) []byte {
	return b[:min(max(numbers[0], 0), int64(len(b)))]
}

func rightOfBytes(b []byte, numbers []int64) []byte {
	size := int64(len(b))
	return b[size-min(max(numbers[0], 0), size):]
}

func reversedBytes(b []byte, _ []int64) []byte {
	b = slices.Clone(b)
	slices.Reverse(b)
	return b
}
