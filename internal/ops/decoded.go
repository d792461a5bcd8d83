package ops

import (
	"fmt"
	"strings"
	"sync"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// Decoding is how the records of one column are decoded. Expressions made of the same Decoding share one pass over each record. It is immutable for its users
// and may be shared by plans and goroutines.
type Decoding struct {
	schema decode.Schema
	mode   decode.Mode
	name   string
	format string

	mu    sync.Mutex
	plans map[string]decode.Plan // by the wanted fields
}

// NewDecoding decodes by schema, which is of a format, such as avro; name is what errors call the source, such as value.
func NewDecoding(schema decode.Schema, mode decode.Mode, name, format string) *Decoding {
	return &Decoding{schema: schema, mode: mode, name: name, format: format, plans: map[string]decode.Plan{}}
}

// Fields are the columns that records decode to.
func (d *Decoding) Fields() []column.Field { return d.schema.Fields() }

// Mode says what becomes of bad data.
func (d *Decoding) Mode() decode.Mode { return d.mode }

// FailsFast reports whether bad data ends the query.
func (d *Decoding) FailsFast() bool { return d.mode == decode.FailFast }

// plan gives the plan for some fields, made once.
func (d *Decoding) plan(wanted []int) (decode.Plan, error) {
	key := fmt.Sprint(wanted)
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.plans[key]; p != nil {
		return p, nil
	}
	p, err := d.schema.Compile(wanted)
	if err == nil {
		d.plans[key] = p
	}
	return p, err
}

// WithSchemaID is x, records in Bytes, beside which the column id holds what a header says of each one's schema: a decoder that can make use of it is told.
func WithSchemaID(x, id Expr) Expr { return &withSchemaID{x, id} }

// withSchemaID is evaluated as x is; those who decode look at id as well.
type withSchemaID struct {
	Expr
	id Expr
}

func (e *withSchemaID) operands() []Expr { return []Expr{e.Expr, e.id} }

// Decoded is a field of the records in x, which is Bytes or Text. It is NULL where the record is NULL or bad, or the field's value is not one of its type.
func Decoded(x Expr, d *Decoding, field int) (Expr, error) {
	if err := decodable(x); err != nil {
		return nil, err
	}
	return &decoded{x, d, field}, nil
}

// DecodeError says what is wrong with a record in x or with its first bad field, as text; NULL when nothing is.
func DecodeError(x Expr, d *Decoding) (Expr, error) {
	if err := decodable(x); err != nil {
		return nil, err
	}
	return &decodeError{x, d}, nil
}

// WellFormed is the condition that a record in x is not bad, and none of its fields. Under FailFast a bad one is an error. Rows where it is false count as
// dropped.
func WellFormed(x Expr, d *Decoding) (Expr, error) {
	if err := decodable(x); err != nil {
		return nil, err
	}
	return &wellFormed{condition{false, "wellFormed(" + x.String() + ")"}, x, d}, nil
}

func decodable(x Expr) error {
	if !isText(x.Type().Kind) {
		return unsupported("%v is not decoded on batches", x.Type())
	}
	return nil
}

type decoded struct {
	x     Expr
	how   *Decoding
	field int
}

func (e *decoded) description() column.Field { return e.how.schema.Fields()[e.field] }

func (e *decoded) Type() column.Type { return e.description().Type }
func (e *decoded) Nullable() bool    { return true }
func (e *decoded) String() string {
	return "`" + strings.ReplaceAll(e.description().Name, "`", "``") + "`"
}
func (e *decoded) operands() []Expr { return []Expr{e.x} }

func (e *decoded) bind(l *lane) evaluator {
	from := l.records(e.x, e.how)
	from.want(e.field)
	return &decodedEval{decoded: e, from: from, kind: e.Type()}
}

type decodeError struct {
	x   Expr
	how *Decoding
}

func (e *decodeError) Type() column.Type { return column.Type{Kind: column.Text} }
func (e *decodeError) Nullable() bool    { return true }
func (e *decodeError) String() string    { return "decode_error(" + e.x.String() + ")" }
func (e *decodeError) operands() []Expr  { return []Expr{e.x} }

func (e *decodeError) bind(l *lane) evaluator {
	from := l.records(e.x, e.how)
	from.wantAll()
	from.keepTexts = true
	return &decodeErrorEval{from: from}
}

type wellFormed struct {
	condition
	x   Expr
	how *Decoding
}

func (e *wellFormed) operands() []Expr { return []Expr{e.x} }

func (e *wellFormed) bind(l *lane) evaluator {
	from := l.records(e.x, e.how)
	from.wantAll()
	return withValue(&wellFormedEval{from: from})
}
