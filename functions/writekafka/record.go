package writekafka

import (
	"errors"
	"strings"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/avro"
	"millrace/internal/decode/proto"
	"millrace/internal/sqlerr"
)

// rowEncoder is an encoder of records with a schema, such as those of Avro and Protobuf.
type rowEncoder interface {
	AppendRow(dst []byte, cols []column.Vector, row int) ([]byte, error)
	AppendJSON(dst, text []byte) ([]byte, error)
}

// recordEncoder makes a record of a schema of columns. Where every column has the type that the schema wants, values are taken from the vectors; else each row
// becomes JSON first, by which the schema's own rules for conversion decide.
type recordEncoder struct {
	frame []byte
	rows  rowEncoder
	// columns are those of the query in the order of the schema's fields, -1 for a field without one; kinds are what the vectors are taken for.
	columns []int
	kinds   []column.Kind
	cols    []column.Vector
	// json makes JSON of a row, where rows become that.
	json encoder
	text []byte
	// what is what errors call it.
	what string
}

// newRecord matches columns with the fields of a schema by their names. lax takes an integer for one of another width, which the encoder checks.
func newRecord(rows rowEncoder, wanted []column.Field, fields []column.Field, columns []int, lax bool) (*recordEncoder, error) {
	e := &recordEncoder{rows: rows, columns: make([]int, len(wanted)), kinds: make([]column.Kind, len(wanted)), cols: make([]column.Vector, len(wanted)), what: "record"}
	exact := true
	used := map[int]bool{}
	for k, w := range wanted {
		e.columns[k] = -1
		for _, at := range columns {
			if strings.EqualFold(fields[at].Name, w.Name) && !used[at] {
				e.columns[k] = at
				used[at] = true
				break
			}
		}
		at := e.columns[k]
		if at < 0 {
			continue // NULL, or the field's default
		}
		kind, ok := takenAs(fields[at].Type, w.Type, lax)
		e.kinds[k] = kind
		exact = exact && ok
	}
	for _, at := range columns {
		if !used[at] {
			names := make([]string, len(wanted))
			for i, w := range wanted {
				names[i] = w.Name
			}
			return nil, sqlerr.New(sqlerr.NoColumn, "column '%s' is none of the schema's fields", fields[at].Name).WithHint("the fields are %s", strings.Join(names, ", "))
		}
	}
	if exact && !missing(e.columns) {
		return e, nil
	}
	object := newObject(fields, columns, true)
	for m := range object.members {
		for k, at := range e.columns {
			if at == object.members[m].at {
				object.members[m] = memberOf(object.members[m], wanted[k])
			}
		}
	}
	e.json = object
	return e, nil
}

// missing reports whether a field has no column: JSON then lets it have its default.
func missing(columns []int) bool {
	for _, at := range columns {
		if at < 0 {
			return true
		}
	}
	return false
}

// memberOf is a member by the schema's spelling of its name, quoted where the schema wants text.
func memberOf(m member, w column.Field) member {
	object := newObject([]column.Field{w}, []int{0}, false)
	m.label = object.members[0].label
	m.quoted = w.Type.Kind == column.Text && m.kind != column.Text && m.kind != column.Bytes
	if w.Type.Kind == column.JSON && m.kind == column.Text {
		m.kind = column.JSON // text of JSON
	}
	return m
}

// takenAs says as what kind a vector is handed to an encoder that wants another, and whether it can be.
func takenAs(have, want column.Type, lax bool) (column.Kind, bool) {
	integer := func(k column.Kind) bool { return k == column.Int32 || k == column.Int64 }
	switch {
	case have.Kind == want.Kind:
		return have.Kind, have.Kind != column.Decimal || have.Scale <= want.Scale
	case integer(have.Kind) && integer(want.Kind):
		return want.Kind, lax || want.Kind == column.Int64
	case have.Kind == column.JSON && want.Kind == column.Text, have.Kind == column.Text && want.Kind == column.JSON, have.Kind == column.Text && want.Kind == column.Bytes:
		return want.Kind, true
	}
	return have.Kind, false
}

func (e *recordEncoder) begin(b *column.Batch) {
	if e.json != nil {
		return
	}
	for k, at := range e.columns {
		e.cols[k] = b.Cols[at]
		e.cols[k].Type.Kind = e.kinds[k]
	}
}

func (e *recordEncoder) append(dst []byte, b *column.Batch, i int) (_ []byte, null bool, err error) {
	dst = append(dst, e.frame...)
	if e.json != nil {
		if e.text, _, err = e.json.append(e.text[:0], b, i); err != nil {
			return dst, false, err
		}
		dst, err = e.rows.AppendJSON(dst, e.text)
	} else {
		dst, err = e.rows.AppendRow(dst, e.cols, i)
	}
	var bad *decode.Error
	if errors.As(err, &bad) {
		return dst, false, wrongRow("its " + e.what + " does not fit the schema: " + bad.Error())
	}
	return dst, false, err
}

// schemaError is the error for a schema that cannot be read.
func schemaError(argument string, err error) error {
	if e, ok := sqlerr.As(err); ok {
		wrong := sqlerr.New(sqlerr.OptionInvalid, "'%s' is wrong: %s", argument, e.Msg).WithCause(err)
		wrong.Detail, wrong.Hint = e.Detail, e.Hint
		return wrong
	}
	return sqlerr.New(sqlerr.OptionInvalid, "'%s' is wrong: %w", argument, err)
}

func newAvro(text string, references []string, fields []column.Field, columns []int) (*recordEncoder, error) {
	s, err := avro.Parse(text, references...)
	if err != nil {
		return nil, schemaError("schema", err)
	}
	return newRecord(s.NewEncoder(), s.Fields(), fields, columns, true)
}

func newProto(files *proto.Files, name string, fields []column.Field, columns []int) (*recordEncoder, *proto.Message, error) {
	m, err := files.Message(name)
	if err != nil {
		return nil, nil, schemaError("schema", err)
	}
	e, err := newRecord(m.NewEncoder(), m.Fields(), fields, columns, false)
	return e, m, err
}
