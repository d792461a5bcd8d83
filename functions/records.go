package functions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// reader shows whole records as JSON: an object with the fields of a schema, or the value of the only one. It is safe for use by several goroutines.
type reader struct {
	fields []column.Field
	plan   decode.Plan
	// bare says that the only field is the whole record.
	bare bool
	pool sync.Pool
}

// decoding is the scratch of one call.
type decoding struct {
	// ctx is the statement's while a record is decoded: a decoder may have to wait for a schema.
	ctx     current
	decoder decode.Decoder
	slots   []decode.Slot
	scratch []byte
}

// current is a context that changes between records.
type current struct{ context.Context }

func newReader(s decode.Schema, bare bool) (*reader, error) {
	r := &reader{fields: s.Fields(), bare: bare}
	wanted := make([]int, len(r.fields))
	for i := range wanted {
		wanted[i] = i
	}
	plan, err := s.Compile(wanted)
	if err != nil {
		return nil, err
	}
	r.plan = plan
	r.pool.New = func() any {
		d := &decoding{slots: make([]decode.Slot, len(r.fields))}
		d.ctx.Context = context.Background()
		d.decoder = plan.NewDecoder(&d.ctx)
		return d
	}
	return r, nil
}

// append decodes a record and appends it to text. bad is what is wrong with it or with its first bad field, which is then null; whole is false when the record as
// a whole is bad, and the text then has nulls only. What says nothing about the data is the error.
func (r *reader) append(ctx context.Context, text, record []byte) (_ []byte, whole bool, bad, failed error) {
	d := r.pool.Get().(*decoding)
	defer r.pool.Put(d)
	d.ctx.Context = ctx
	defer func() { d.ctx.Context = context.Background() }()
	whole = true
	if err := d.decoder.Locate(record, d.slots); err != nil {
		if whole, bad = false, kept(err); bad == nil {
			return text, false, nil, err
		}
		clear(d.slots)
	}
	if !r.bare {
		text = append(text, '{')
	}
	for i, f := range r.fields {
		if !r.bare {
			if i > 0 {
				text = append(text, ',')
			}
			text = append(appendQuoted(text, f.Name), ':')
		}
		s := d.slots[i]
		if s.Kind == decode.Lazy {
			var err error
			if s, d.scratch, err = d.decoder.Settle(record, i, s, d.scratch[:0]); err != nil {
				var data *decode.Error
				if !errors.As(err, &data) {
					return text, false, nil, err
				}
				if !data.Partial {
					s = decode.Slot{}
				}
				if bad == nil {
					bad = kept(err)
				}
			}
		}
		text = json.AppendSlot(text, f, s, record, d.scratch)
	}
	if !r.bare {
		text = append(text, '}')
	}
	return text, whole, bad, nil
}

// kept is a decoder's error about the data, for use beyond the decoder's next call; nil for any other.
func kept(err error) error {
	var data *decode.Error
	if !errors.As(err, &data) {
		return nil
	}
	c := *data
	return &c
}

// parserMode is the option mode of functions that decode.
type parserMode uint8

const (
	permissive parserMode = iota
	failFast
)

// decodeOptions reads the last argument of a function that decodes: the text of a JSON object, such as map('mode', 'FAILFAST').
func decodeOptions(ctx *sql.Context, f *Function, arg sql.Expression, otherwise parserMode, known ...string) (mode parserMode, options map[string]string, err error) {
	mode = otherwise
	if arg == nil {
		return mode, nil, nil
	}
	value, err := constantText(ctx, f, "options", arg)
	if err != nil {
		return mode, nil, err
	}
	if options, err = optionsOf(f, value, append(known, "mode")); err != nil {
		return mode, nil, err
	}
	mode, err = modeOf(f, options["mode"], otherwise)
	return mode, options, err
}

// modeOf reads the option mode, which may be empty.
func modeOf(f *Function, text string, otherwise parserMode) (parserMode, error) {
	switch m := strings.ToUpper(text); m {
	case "":
		return otherwise, nil
	case "PERMISSIVE":
		return permissive, nil
	case "FAILFAST":
		return failFast, nil
	default:
		return otherwise, sqlerr.New(sqlerr.OptionInvalid, "mode of '%s' is '%s', allowed are PERMISSIVE and FAILFAST", f.Name, m)
	}
}

// constantText evaluates an argument that must be the same for all rows.
func constantText(ctx *sql.Context, f *Function, what string, arg sql.Expression) (string, error) {
	if text, ok := constant(arg); ok {
		return text, nil
	}
	varies := false
	sql.Inspect(ctx, arg, func(_ *sql.Context, e sql.Expression) bool {
		switch e.(type) {
		case *expression.GetField, *expression.UnresolvedColumn, *expression.BindVar:
			varies = true
		}
		return !varies
	})
	if varies {
		return "", notConstant(f, what)
	}
	v, err := castTo(ctx, nil, arg, expr.String)
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok {
		return "", sqlerr.New(sqlerr.BadValue, "the %s of '%s' must not be NULL", what, f.Name)
	}
	return text, nil
}

// buildReader builds a function that decodes its first argument by the reader that open makes of the others.
func buildReader(param expr.Kind, result sql.Type, otherwise parserMode, open func(ctx *sql.Context, f *Function, args []sql.Expression) (*reader, parserMode, error)) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		r, mode, err := open(ctx, f, args)
		if err != nil {
			return nil, err
		}
		record, err := expr.NewCast(ctx, args[0], expr.Type{Kind: param}, false)
		if err != nil {
			return nil, err
		}
		return &call{f, []sql.Expression{record}, result, func(ctx *sql.Context, values []any) (any, error) {
			var bytes []byte
			switch v := values[0].(type) {
			case []byte:
				bytes = v
			case string:
				bytes = []byte(v)
			default:
				return nil, fmt.Errorf("%s: a record is a %T", f.Name, v)
			}
			text, whole, bad, err := r.append(ctx, nil, bytes)
			switch {
			case err != nil:
				return nil, err
			case bad != nil && mode == failFast:
				return nil, sqlerr.New(sqlerr.BadRecord, "'%s': the record cannot be decoded: %v", f.Name, bad).WithHint("the option mode => 'PERMISSIVE' gives NULL for what is bad: %s(…, map('mode', 'PERMISSIVE'))", f.Name)
			case !whole && otherwise == failFast:
				return nil, nil
			}
			return expr.JSONText(text), nil
		}}, nil
	}
}
