package expr

import (
	"fmt"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"

	"millrace/internal/sqlerr"
)

// Cast converts its argument to a Type: arg::type, or with Try arg ?:: type, which gives NULL for a value that cannot be converted. A pair
// of types that has no conversion is an error either way.
type Cast struct {
	arg sql.Expression
	to  Type
	try bool
	// engine is to.Engine(), made once; from the class of arg's type, when known says that it is resolved.
	engine sql.Type
	from   source
	known  bool
}

var (
	_ sql.FunctionExpression = (*Cast)(nil)
	_ sql.CollationCoercible = (*Cast)(nil)
)

// NewCast builds a Cast. When the type of arg is known and cannot be cast, the error comes now.
func NewCast(ctx *sql.Context, arg sql.Expression, to Type, try bool) (*Cast, error) {
	c := &Cast{arg: arg, to: to, try: try, engine: to.Engine()}
	if arg.Resolved() {
		t := arg.Type(ctx)
		if from := sourceOf(t); from == fromOther && to.Kind != String {
			return nil, sqlerr.New(sqlerr.BadValue, "cannot cast %s to %s", strings.ToUpper(t.String()), to)
		} else if !from.castable(to.Kind) {
			return nil, notCastable(from, to)
		} else {
			c.from, c.known = from, true
		}
	}
	return c, nil
}

func notCastable(from source, to Type) *sqlerr.Error {
	err := sqlerr.New(sqlerr.BadValue, "cannot cast %s to %s", from, to)
	if from == fromBinary {
		return err.WithHint("cast to STRING first: x::STRING::%s", to)
	}
	return err
}

// source is the class of what is cast.
func (c *Cast) source(ctx *sql.Context) source {
	if c.known {
		return c.from
	}
	return sourceOf(c.arg.Type(ctx))
}

// Arg is what is cast.
func (c *Cast) Arg() sql.Expression { return c.arg }

// To is the type that it is cast to.
func (c *Cast) To() Type { return c.to }

// Try reports whether a value that cannot be converted is NULL.
func (c *Cast) Try() bool { return c.try }

func (c *Cast) FunctionName() string {
	if c.try {
		return "millrace_try_cast"
	}
	return "millrace_cast"
}

func (c *Cast) Description() string { return "converts a value to a type" }

func (c *Cast) Resolved() bool { return c.arg.Resolved() }

func (c *Cast) String() string {
	if c.try {
		return fmt.Sprintf("%s ?:: %s", operand(c.arg), c.to)
	}
	return fmt.Sprintf("%s::%s", operand(c.arg), c.to)
}

// operand shows the left side of a cast or path. The engine takes expressions with the same text for the same, so (-n)::STRING and -(n::STRING) must
// differ.
func operand(e sql.Expression) string {
	text := e.String()
	switch e := e.(type) {
	case *expression.GetField:
		return text
	case *Cast:
		if !e.try {
			return text
		}
	case *expression.Literal:
		if !strings.HasPrefix(text, "-") {
			return text
		}
	case sql.FunctionExpression:
		return text
	}
	return "(" + text + ")"
}

func (c *Cast) Type(*sql.Context) sql.Type { return c.engine }

// IsNullable is true also for an argument that is never NULL: a JSON null becomes NULL.
func (c *Cast) IsNullable(*sql.Context) bool { return true }

func (c *Cast) Children() []sql.Expression { return []sql.Expression{c.arg} }

func (c *Cast) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(c, len(children), 1)
	}
	return NewCast(ctx, children[0], c.to, c.try)
}

func (c *Cast) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	return coercibility(ctx, c.engine)
}

// coercibility is that of a column of type t.
func coercibility(ctx *sql.Context, t sql.Type) (sql.CollationID, byte) {
	if typed, ok := t.(sql.CollationCoercible); ok {
		collation, _ := typed.CollationCoercibility(ctx)
		return collation, 2
	}
	return sql.Collation_binary, 5
}

func (c *Cast) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	// A path gives text without making a string of it; most casts in front of data read from one.
	if p, ok := c.arg.(*Path); ok && !p.givesJSON(ctx) {
		var result any
		err := p.withText(ctx, row, func(text []byte) (err error) {
			result, err = c.text(text)
			return err
		})
		return result, err
	}
	value, err := c.arg.Eval(ctx, row)
	if err != nil || value == nil {
		return nil, err
	}
	if value, err = sql.UnwrapAny(ctx, value); err != nil || value == nil {
		return nil, err
	}
	return c.value(ctx, value)
}
