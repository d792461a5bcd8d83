package expr

import (
	"bytes"
	stdjson "encoding/json"

	"github.com/dolthub/go-mysql-server/sql"
	enginejson "github.com/dolthub/go-mysql-server/sql/expression/function/json"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/convert"
	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"
)

// Unquote is JSON_UNQUOTE, and ->> with it: the text of a JSON string, and all else as it is written. The engine's reads escapes in objects too, and fails at
// characters beyond 16 bits.
type Unquote struct{ *enginejson.JSONUnquote }

var (
	_ sql.FunctionExpression = (*Unquote)(nil)
	_ sql.CollationCoercible = (*Unquote)(nil)
)

// NewUnquote builds json_unquote(arg).
func NewUnquote(ctx *sql.Context, arg sql.Expression) sql.Expression {
	return &Unquote{enginejson.NewJSONUnquote(ctx, arg).(*enginejson.JSONUnquote)}
}

// WithChildren implements sql.Expression.
func (u *Unquote) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(u, len(children), 1)
	}
	return NewUnquote(ctx, children[0]), nil
}

// IsNullable implements sql.Expression.
func (u *Unquote) IsNullable(*sql.Context) bool { return true }

// Eval implements sql.Expression.
func (u *Unquote) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	t := u.Child.Type(ctx)
	if t != types.Null && !types.IsText(t) && !types.IsJSON(t) {
		return nil, sqlerr.New(sqlerr.ArgumentValue, "json_unquote takes JSON or text, found %s", t)
	}
	v, err := u.Child.Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	text, err := shownText(ctx, v)
	if err != nil {
		return nil, err
	}
	inner := bytesOf(text)
	if types.IsJSON(t) {
		inner = bytes.TrimSpace(inner)
	}
	switch {
	case len(inner) < 2 || inner[0] != '"' || inner[len(inner)-1] != '"':
		return text, nil
	case !types.IsJSON(t) && !stdjson.Valid(inner):
		return nil, sqlerr.New(sqlerr.BadJSON, "json_unquote: %s begins and ends with a quote, and is no string of JSON", convert.Quote(inner))
	}
	return string(json.AppendUnescaped(nil, inner[1:len(inner)-1])), nil
}

// shownText is v as clients are shown it: of a document that is kept as text, that text.
func shownText(ctx *sql.Context, v any) (string, error) {
	if j, ok := v.(types.JSONBytes); ok {
		b, err := j.GetBytes(ctx)
		return string(b), err
	}
	converted, _, err := types.LongText.Convert(ctx, v)
	if err != nil {
		return "", err
	}
	shown, err := sql.UnwrapAny(ctx, converted)
	if err != nil {
		return "", err
	}
	text, ok := shown.(string)
	if !ok {
		return "", sqlerr.New(sqlerr.ArgumentValue, "json_unquote takes JSON or text, found a value of %T", shown)
	}
	return text, nil
}
