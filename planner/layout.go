package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/ops"
	"millrace/internal/scan"
)

// Layout says what the columns of a Table are made of.
type Layout struct {
	// Columns are in the order of the schema.
	Columns []Column
	// Records are the fields of a record that are decoded, each at most once.
	Records []Records
	// SkipTombstones leaves out records without a value.
	SkipTombstones bool
}

// Records are decoded: the bytes in a field of Kafka's records, by a format.
type Records struct {
	From scan.Field
	How  *ops.Decoding
	// Headed says that a header of a record may name its schema, which decoding then depends on.
	Headed bool
}

// Bytes is what is decoded, of the expressions of fields of Kafka's records.
func (r Records) Bytes(column func(scan.Field) ops.Expr) ops.Expr {
	x := column(r.From)
	if !r.Headed {
		return x
	}
	return ops.WithSchemaID(x, column(r.schemaID()))
}

// Fields are the fields of Kafka's records that decoding takes.
func (r Records) Fields() []scan.Field {
	if !r.Headed {
		return []scan.Field{r.From}
	}
	return []scan.Field{r.From, r.schemaID()}
}

func (r Records) schemaID() scan.Field {
	if r.From == scan.Key {
		return scan.KeySchemaID
	}
	return scan.ValueSchemaID
}

// ColumnKind says what a Column is.
type ColumnKind uint8

const (
	// Plain columns are a field of the record.
	Plain ColumnKind = iota
	// Decoded columns are a field of what the key or value decodes to.
	Decoded
	// Fault is the column that says what could not be decoded, NULL for nothing.
	Fault
)

// Column is a column of a Table.
type Column struct {
	Kind ColumnKind
	// Field is that of a Plain column.
	Field scan.Field
	// Records is the place in Layout.Records that a Decoded column comes from, and Number its number among the fields there.
	Records, Number int
}

// PlainLayout is the layout of columns that are fields of records.
func PlainLayout(fields ...scan.Field) Layout {
	l := Layout{Columns: make([]Column, len(fields))}
	for i, f := range fields {
		l.Columns[i].Field = f
	}
	return l
}

// kernel is that of column i, of the engine's type typ.
func (l *Layout) kernel(i int, typ sql.Type) kernel {
	c := l.Columns[i]
	switch c.Kind {
	case Decoded:
		from := l.Records[c.Records]
		f := from.How.Fields()[c.Number]
		return kernel{typ: typ, kind: f.Type, nullable: true, build: func(in *inputs) (ops.Expr, error) {
			return ops.Decoded(from.Bytes(in.column), from.How, c.Number)
		}}
	case Fault:
		return kernel{typ: typ, kind: column.Type{Kind: column.Text}, nullable: true, build: func(in *inputs) (ops.Expr, error) {
			faults := make([]ops.Expr, len(l.Records))
			for i, r := range l.Records {
				var err error
				if faults[i], err = ops.DecodeError(r.Bytes(in.column), r.How); err != nil {
					return nil, err
				}
			}
			if len(faults) == 0 {
				return ops.Const(column.Type{Kind: column.Text}, nil), nil
			}
			return ops.Coalesce(faults...)
		}}
	default:
		return fieldKernel(c.Field, typ)
	}
}

// conditions are what rows must fulfil before anything is computed of them, each with a text for EXPLAIN.
func (l *Layout) conditions() (kernels []kernel, texts []string) {
	if l.SkipTombstones {
		kernels = append(kernels, kernel{typ: types.Boolean, kind: column.Type{Kind: column.Bool}, build: func(in *inputs) (ops.Expr, error) {
			return ops.Not(ops.IsNull(in.column(scan.ValueLength)))
		}})
		texts = append(texts, "the record has a value")
	}
	for _, r := range l.Records {
		if r.How.Mode() == decode.Permissive {
			continue
		}
		kernels = append(kernels, kernel{typ: types.Boolean, kind: column.Type{Kind: column.Bool}, fails: r.How.Mode() == decode.FailFast, build: func(in *inputs) (ops.Expr, error) {
			return ops.WellFormed(r.Bytes(in.column), r.How)
		}})
		texts = append(texts, r.From.String()+" is well formed ("+r.How.Mode().String()+")")
	}
	return kernels, texts
}
