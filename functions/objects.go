package functions

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// mapCall is map(…). It is not strict: a NULL value is a null in the object.
type mapCall struct{ call }

func buildMap(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
	if len(args)%2 != 0 {
		return nil, sqlerr.New(sqlerr.BadParameters, "function 'map' takes keys and values in turn: found %d arguments", len(args)).WithHint("map('key', value, …)")
	}
	return &mapCall{call{function: f, args: args, result: types.LongText}}, nil
}

func (m *mapCall) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	return buildMap(ctx, m.function, children)
}

func (m *mapCall) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	seen := make(map[string]bool, len(m.args)/2)
	out := []byte{'{'}
	for i := 0; i < len(m.args); i += 2 {
		key, err := castTo(ctx, row, m.args[i], expr.String)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, sqlerr.New(sqlerr.BadValue, "a key of 'map' is NULL (argument %d)", i+1)
		}
		if seen[name] {
			return nil, sqlerr.New(sqlerr.BadValue, "key '%s' occurs twice in 'map'", name)
		}
		seen[name] = true
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendQuoted(out, name), ':')
		if out, err = appendJSON(ctx, row, out, m.args[i+1]); err != nil {
			return nil, err
		}
	}
	return string(append(out, '}')), nil
}

func castTo(ctx *sql.Context, row sql.Row, e sql.Expression, to expr.Kind) (any, error) {
	cast, err := expr.NewCast(ctx, e, expr.Type{Kind: to}, false)
	if err != nil {
		return nil, err
	}
	return cast.Eval(ctx, row)
}

// appendJSON appends the value of e: numbers, booleans and JSON as they are, all else as a string.
func appendJSON(ctx *sql.Context, row sql.Row, dst []byte, e sql.Expression) ([]byte, error) {
	kind := expr.String
	if t := e.Type(ctx); types.IsNumber(t) || types.IsJSON(t) {
		kind = expr.JSON
	}
	v, err := castTo(ctx, row, e, kind)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case expr.JSONText:
		return append(dst, v...), nil
	case string:
		return appendQuoted(dst, v), nil
	default:
		return append(dst, "null"...), nil
	}
}

// appendQuoted appends s as a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := stdjson.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("a string can always be encoded: " + err.Error())
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}

// headerPlan finds key, value and value.base64 of one header.
var headerPlan = json.Compile([]json.Path{{{Name: "key"}}, {{Name: "value"}}, {{Name: "value"}, {Name: "base64"}}})

// header looks up a Kafka header. The column has [{"key":"k","value":"text"}, {"key":"k","value":{"base64":"…"}}, …].
func header(_ *sql.Context, args []any) (any, error) {
	headers, key := []byte(args[0].(expr.JSONText)), args[1].(string)
	x, found := headerPlan.NewExtractor(), make([]json.Value, headerPlan.Paths())
	var scratch []byte
	for element := range json.Elements(headers) {
		if err := x.Extract(element, found); err != nil {
			return nil, sqlerr.New(sqlerr.BadValue, "the headers are not JSON: %w", err)
		}
		var name []byte
		if name, scratch = found[0].Text(element, scratch); found[0].Type != json.String || string(name) != key {
			continue
		}
		switch {
		case found[1].Type == json.String:
			return found[1].AppendText(nil, element), nil
		case found[2].Type == json.String:
			text := found[2].AppendText(nil, element)
			value, err := base64.StdEncoding.DecodeString(string(text))
			if err != nil {
				return nil, sqlerr.New(sqlerr.BadValue, "header '%s' is not base64: %w", key, err)
			}
			return value, nil
		}
		return nil, nil
	}
	return nil, nil
}
