package csv

import (
	"context"
	"fmt"
	"strings"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/sqlerr"
)

// Field is a column.
type Field struct {
	column.Field
	// WallClock drops the zone of a time in place of converting it to UTC.
	WallClock bool
}

// Schema is the columns of records that are one row each. It implements decode.Schema.
type Schema struct {
	fields  []Field
	plain   []column.Field
	dialect dialect
}

var _ decode.Schema = (*Schema)(nil)

// NewSchema is the schema of rows with these columns, in the order of the fields unless there is a header. Errors are sqlerr errors that name the option.
func NewSchema(fields []Field, o Options) (*Schema, error) {
	d, err := o.dialect()
	if err != nil {
		return nil, err
	}
	s := &Schema{fields: fields, plain: make([]column.Field, len(fields)), dialect: d}
	for i, f := range fields {
		s.plain[i] = f.Field
	}
	return s, nil
}

// Infer gives the columns of a record, all of them text: named as in its header, or c1, c2, … An error is a *decode.Error of the record or an sqlerr error that
// names an option.
func Infer(record []byte, o Options) ([]Field, error) {
	d, err := o.dialect()
	if err != nil {
		return nil, err
	}
	s := splitter{dialect: d}
	var names []string
	taken := map[string]bool{}
	ok := s.split(record, func([]byte) bool {
		for i, f := range s.spans {
			name := string(s.appendText(nil, record[f.beg:f.end]))
			if name == "" {
				name = fmt.Sprintf("c%d", i+1)
			}
			for base, n := name, 2; taken[strings.ToLower(name)]; n++ {
				name = fmt.Sprintf("%s_%d", base, n)
			}
			taken[strings.ToLower(name)] = true
			names = append(names, name)
		}
		return true
	})
	if !ok && names == nil {
		return nil, &s.err
	}
	if !d.header {
		for i := range s.spans {
			names = append(names, fmt.Sprintf("c%d", i+1))
		}
	}
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i].Field = column.Field{Name: name, Type: column.Type{Kind: column.Text}, Nullable: true}
	}
	return fields, nil
}

// Fields implements decode.Schema.
func (s *Schema) Fields() []column.Field { return s.plain }

// Compile implements decode.Schema.
func (s *Schema) Compile(wanted []int) (decode.Plan, error) {
	p := &plan{schema: s, wanted: wanted, at: make([]int32, len(s.fields)), byName: make(map[string]int32, len(wanted))}
	for i := range p.at {
		p.at[i] = -1
	}
	for i, w := range wanted {
		if w < 0 || w >= len(s.fields) {
			return nil, sqlerr.New(sqlerr.Unexpected, "there is no column %d among %d", w, len(s.fields))
		}
		p.at[w] = int32(i)
		p.byName[strings.ToLower(s.fields[w].Name)] = int32(i)
	}
	return p, nil
}

type plan struct {
	schema *Schema
	wanted []int
	// at gives for a column the slot, -1 for none; byName does by the name in lower case.
	at     []int32
	byName map[string]int32
}

// NewDecoder makes a decoder; it waits for nothing.
func (p *plan) NewDecoder(context.Context) decode.Decoder {
	d := &decoder{plan: p, splitter: splitter{dialect: p.schema.dialect}, at: p.at}
	d.onHeader = d.header
	return d
}
