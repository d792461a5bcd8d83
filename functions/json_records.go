package functions

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/decode/avro"
	"millrace/internal/decode/ddl"
	"millrace/internal/decode/json"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// optionsOf reads the options of a function.
func optionsOf(f *Function, text string, known []string) (map[string]string, error) {
	given := map[string]any{}
	if err := stdjson.Unmarshal([]byte(text), &given); err != nil {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the options of '%s' must be a map: map('mode', 'PERMISSIVE')", f.Name)
	}
	options := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
		if i < 0 {
			return nil, sqlerr.New(sqlerr.OptionUnknown, "'%s' has no option '%s'", f.Name, option.Show(name)).WithHint("known are %s", strings.Join(known, ", "))
		}
		options[known[i]] = fmt.Sprint(given[name])
	}
	return options, nil
}

// jsonReader makes the reader of from_json's schema: columns, or one type.
func jsonReader(f *Function, text string) (*reader, error) {
	if t, err := ddl.ParseType(text); err == nil && t.Name != ddl.Struct {
		return newReader(json.NewSchema([]json.Field{json.DeclaredType("value", t)}), true)
	}
	columns, err := ddl.StructFields(text)
	if err != nil {
		var where *ddl.Error
		if errors.As(err, &where) {
			return nil, sqlerr.New(sqlerr.BadValue, "the schema of '%s' is wrong %v", f.Name, where).WithHint("write columns with their types, such as 'id BIGINT, name STRING', or one type, such as 'ARRAY<INT>'")
		}
		return nil, err
	}
	return newReader(json.NewSchema(json.Declared(columns)), false)
}

func argument(args []sql.Expression, i int) sql.Expression {
	if i < len(args) {
		return args[i]
	}
	return nil
}

func openFromJSON(ctx *sql.Context, f *Function, args []sql.Expression) (*reader, parserMode, error) {
	text, err := constantText(ctx, f, "schema", args[1])
	if err != nil {
		return nil, 0, err
	}
	r, err := jsonReader(f, text)
	if err != nil {
		return nil, 0, err
	}
	mode, _, err := decodeOptions(ctx, f, argument(args, 2), permissive)
	return r, mode, err
}

func openFromAvro(ctx *sql.Context, f *Function, args []sql.Expression) (*reader, parserMode, error) {
	s, err := avroSchema(ctx, f, args[1])
	if err != nil {
		return nil, 0, err
	}
	mode, _, err := decodeOptions(ctx, f, argument(args, 2), failFast)
	if err != nil {
		return nil, 0, err
	}
	r, err := newReader(s, !s.IsRecord())
	return r, mode, err
}

func avroSchema(ctx *sql.Context, f *Function, arg sql.Expression) (*avro.Schema, error) {
	text, err := constantText(ctx, f, "schema", arg)
	if err != nil {
		return nil, err
	}
	s, err := avro.Parse(text)
	if err != nil {
		return nil, sqlerr.New(sqlerr.BadValue, "the schema of '%s' is wrong: %s", f.Name, mainLine(err))
	}
	return s, nil
}

func mainLine(err error) string {
	if e, ok := sqlerr.As(err); ok {
		return e.Msg
	}
	return err.Error()
}

// buildWriter builds a function that encodes JSON by what open makes of its arguments; each call of the encoder is one record.
func buildWriter(open func(ctx *sql.Context, f *Function, args []sql.Expression) (func(text []byte) ([]byte, error), error)) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		encode, err := open(ctx, f, args)
		if err != nil {
			return nil, err
		}
		value, err := expr.NewCast(ctx, args[0], expr.Type{Kind: expr.JSON}, false)
		if err != nil {
			return nil, err
		}
		return &call{f, []sql.Expression{value}, types.LongBlob, func(ctx *sql.Context, values []any) (any, error) {
			text, err := jsonBytes(ctx, values[0])
			if err != nil {
				return nil, err
			}
			out, err := encode(text)
			if err != nil {
				return nil, sqlerr.New(sqlerr.BadValue, "'%s': the value does not fit the schema: %v", f.Name, err)
			}
			return out, nil
		}}, nil
	}
}

// jsonBytes is the text of a JSON value.
func jsonBytes(ctx *sql.Context, v any) ([]byte, error) {
	switch v := v.(type) {
	case sql.JSONWrapper:
		return types.MarshallJson(ctx, v)
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	}
	return nil, fmt.Errorf("a JSON value is a %T", v)
}

func openToAvro(ctx *sql.Context, f *Function, args []sql.Expression) (func([]byte) ([]byte, error), error) {
	s, err := avroSchema(ctx, f, args[1])
	if err != nil {
		return nil, err
	}
	encoders := sync.Pool{New: func() any { return s.NewEncoder() }} // an expression may be evaluated by several goroutines
	return func(text []byte) ([]byte, error) {
		e := encoders.Get().(*avro.Encoder)
		defer encoders.Put(e)
		out, err := e.AppendJSON(nil, text)
		if err != nil {
			err = errors.New(err.Error()) // the error is the encoder's own until its next call
		}
		return out, err
	}, nil
}

// buildToJSON writes any value as JSON text.
func buildToJSON(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
	if _, _, err := decodeOptions(ctx, f, argument(args, 1), permissive, "ignoreNullFields"); err != nil {
		return nil, err
	}
	return &toJSON{call{function: f, args: args[:1], result: types.LongText}}, nil
}

type toJSON struct{ call }

func (t *toJSON) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	return buildToJSON(ctx, t.function, children)
}

func (t *toJSON) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := t.args[0].Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	out, err := appendJSON(ctx, row, nil, t.args[0])
	return string(out), err
}

func buildSchemaOfJSON(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
	return strict(expr.Type{Kind: expr.String}, []expr.Kind{expr.String}, func(_ *sql.Context, args []any) (any, error) {
		t, err := ddl.InferType([]byte(args[0].(string)))
		if err != nil {
			return nil, sqlerr.New(sqlerr.BadValue, "'%s': %v", f.Name, err)
		}
		return t.String(), nil
	})(ctx, f, args)
}

// objectKeys gives the names of the members of an object, NULL for what is none.
func objectKeys(_ *sql.Context, args []any) (any, error) {
	text := []byte(args[0].(string))
	if !json.Valid(text) {
		return nil, nil
	}
	d := stdjson.NewDecoder(strings.NewReader(args[0].(string)))
	if open, err := d.Token(); err != nil || open != stdjson.Delim('{') {
		return nil, nil
	}
	out := []byte{'['}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil
		}
		var value stdjson.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, nil
		}
		name, _ := key.(string)
		if seen[name] {
			continue
		}
		seen[name] = true
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendQuoted(out, name)
	}
	return expr.JSONText(append(out, ']')), nil
}

func buildParseJSON(try bool) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, _ *Function, args []sql.Expression) (sql.Expression, error) {
		return built(expr.NewCast(ctx, args[0], expr.Type{Kind: expr.JSON}, try))
	}
}

// buildVariantGet takes a part out of JSON as a type, as JSON without one.
func buildVariantGet(try bool) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		path, err := constantText(ctx, f, "path", args[1])
		if err != nil {
			return nil, err
		}
		path = strings.TrimSpace(path)
		rest, ok := strings.CutPrefix(path, "$")
		if !ok {
			return nil, sqlerr.New(sqlerr.BadValue, "the path of '%s' is '%s', expected $ and then .name, ['name'] or [0]", f.Name, option.Show(path))
		}
		to := expr.Type{Kind: expr.JSON}
		if len(args) == 3 {
			text, err := constantText(ctx, f, "type", args[2])
			if err != nil {
				return nil, err
			}
			if to, err = expr.ParseType(text); err != nil {
				return nil, err
			}
		}
		value, err := expr.NewCast(ctx, args[0], expr.Type{Kind: expr.JSON}, try)
		if err != nil {
			return nil, err
		}
		if rest == "" {
			return built(expr.NewCast(ctx, value, to, try))
		}
		part, err := expr.NewPath(ctx, value, strings.TrimPrefix(rest, "."))
		if err != nil {
			return nil, err
		}
		return built(expr.NewCast(ctx, part, to, try))
	}
}
