package expr

import (
	"fmt"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"
)

// Path takes a part out of JSON: arg:path, or get_json_object(arg, '$.path').
//
// From STRING, and from BINARY read as UTF-8, comes STRING: strings without quotes, objects and arrays as their text. From JSON comes JSON; names then match
// exactly. Whatever has no such part, is no JSON or has a null there gives NULL.
type Path struct {
	arg    sql.Expression
	path   json.Path
	dollar bool // spelled get_json_object
	// from is the class of arg's type, when known says that it is resolved.
	from  source
	known bool
	// texts serves text, exact serves JSON. They differ when path has folded names.
	texts, exact *extractors
}

var (
	_ sql.FunctionExpression = (*Path)(nil)
	_ sql.CollationCoercible = (*Path)(nil)
)

// extractors hands out extractors for one path: an expression may be evaluated by several goroutines.
type extractors struct{ pool sync.Pool }

type extractor struct {
	*json.Extractor
	out [1]json.Value
}

func newExtractors(p json.Path) *extractors {
	plan := json.Compile([]json.Path{p})
	return &extractors{sync.Pool{New: func() any { return &extractor{Extractor: plan.NewExtractor()} }}}
}

// NewPath builds arg:text.
func NewPath(ctx *sql.Context, arg sql.Expression, text string) (*Path, error) {
	return newPath(ctx, arg, text, json.ParsePath, false)
}

// NewJSONObjectPath builds get_json_object(arg, text).
func NewJSONObjectPath(ctx *sql.Context, arg sql.Expression, text string) (*Path, error) {
	return newPath(ctx, arg, text, json.ParseJSONPath, true)
}

func newPath(ctx *sql.Context, arg sql.Expression, text string, parse func(string) (json.Path, error), dollar bool) (*Path, error) {
	path, err := parse(text)
	if err != nil {
		return nil, sqlerr.New(sqlerr.BadValue, "%w", err)
	}
	p := &Path{arg: arg, path: path, dollar: dollar, texts: newExtractors(path), exact: newExtractors(path.Exact())}
	return p.check(ctx)
}

func (p *Path) check(ctx *sql.Context) (*Path, error) {
	if p.known = p.arg.Resolved(); p.known {
		p.from = sourceOf(p.arg.Type(ctx))
		switch p.from {
		case fromText, fromBinary, fromJSON, fromNull:
		default:
			return nil, sqlerr.New(sqlerr.BadValue, "a path needs STRING, BINARY or JSON on its left, found %s", p.from).WithHint("cast it first: x::STRING:%s", p.path)
		}
	}
	return p, nil
}

// Arg is what the path is applied to.
func (p *Path) Arg() sql.Expression { return p.arg }

// JSONPath is the path as it is applied to text. To a value of type JSON its Exact form is applied.
func (p *Path) JSONPath() json.Path { return p.path }

// GivesJSON reports whether the argument is of type JSON, and so the result.
func (p *Path) GivesJSON(ctx *sql.Context) bool { return p.givesJSON(ctx) }

func (p *Path) givesJSON(ctx *sql.Context) bool { return !p.dollar && p.source(ctx) == fromJSON }

func (p *Path) source(ctx *sql.Context) source {
	if p.known {
		return p.from
	}
	return sourceOf(p.arg.Type(ctx))
}

func (p *Path) FunctionName() string {
	if p.dollar {
		return "get_json_object"
	}
	return "millrace_path"
}

func (p *Path) Description() string { return "takes a part out of JSON" }

func (p *Path) Resolved() bool { return p.arg.Resolved() }

func (p *Path) String() string {
	if p.dollar {
		text := p.path.String()
		if len(p.path) > 0 {
			text = "$" + text
		}
		return fmt.Sprintf("get_json_object(%s, %q)", p.arg, text)
	}
	return fmt.Sprintf("%s:%s", operand(p.arg), p.path)
}

func (p *Path) Type(ctx *sql.Context) sql.Type {
	if p.givesJSON(ctx) {
		return types.JSON
	}
	return types.LongText
}

func (p *Path) IsNullable(*sql.Context) bool { return true }

func (p *Path) Children() []sql.Expression { return []sql.Expression{p.arg} }

func (p *Path) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(p, len(children), 1)
	}
	c := *p
	c.arg = children[0]
	return c.check(ctx)
}

func (p *Path) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	return coercibility(ctx, p.Type(ctx))
}

func (p *Path) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	if p.givesJSON(ctx) {
		return p.evalJSON(ctx, row)
	}
	var result any
	err := p.withText(ctx, row, func(text []byte) error {
		result = string(text)
		return nil
	})
	return result, err
}

// withText calls use with the result, when it is not NULL. The text is valid until use returns.
func (p *Path) withText(ctx *sql.Context, row sql.Row, use func(text []byte) error) error {
	record, err := p.record(ctx, row)
	if err != nil || record == nil {
		return err
	}
	x := p.texts.pool.Get().(*extractor)
	defer p.texts.pool.Put(x)
	record, err = x.ExtractText(record, x.out[:])
	if err != nil {
		return nil // not JSON: NULL
	}
	text, null, ambiguous := x.Text(record, 0, x.out[0])
	switch {
	case ambiguous:
		return p.ambiguous()
	case null:
		return nil
	}
	return use(text)
}

func (p *Path) evalJSON(ctx *sql.Context, row sql.Row) (any, error) {
	record, err := p.record(ctx, row)
	if err != nil || record == nil {
		return nil, err
	}
	x := p.exact.pool.Get().(*extractor)
	defer p.exact.pool.Put(x)
	if x.Extract(record, x.out[:]) != nil {
		return nil, nil
	}
	if v := x.out[0]; v.IsNull() {
		return nil, nil
	}
	text, null, _ := x.JSON(record, 0, x.out[0]) // exact names are never ambiguous
	if null {
		return nil, nil
	}
	return JSONText(append([]byte(nil), text...)), nil
}

func (p *Path) ambiguous() error {
	return sqlerr.New(sqlerr.BadValue, "path '%s' is ambiguous: an object has the name in several spellings", p.path).
		WithHint("write ['name'] in place of name to match one spelling")
}

// record evaluates the argument to bytes; nil stands for NULL. value::STRING:path reads value itself: the cast would only copy it, and replace invalid UTF-8, which
// ExtractText does as well.
func (p *Path) record(ctx *sql.Context, row sql.Row) ([]byte, error) {
	arg := p.arg
	if c, ok := arg.(*Cast); ok && c.to.Kind == String {
		switch c.source(ctx) {
		case fromBinary, fromText:
			arg = c.arg
		}
	}
	value, err := arg.Eval(ctx, row)
	if err != nil || value == nil {
		return nil, err
	}
	if value, err = sql.UnwrapAny(ctx, value); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return []byte{}, nil
		}
		return bytesOf(v), nil
	case []byte:
		if v == nil {
			return []byte{}, nil
		}
		return v, nil
	case sql.JSONWrapper:
		return types.MarshallJson(ctx, v)
	}
	return nil, sqlerr.New(sqlerr.BadValue, "a path needs STRING, BINARY or JSON on its left, found %s", p.source(ctx))
}
