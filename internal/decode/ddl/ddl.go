// Package ddl reads lists of columns as Spark and SQL write them: "user_id BIGINT NOT NULL, tags ARRAY<STRING>, place STRUCT<city: STRING>".
//
// Such a text is the schema of formats that have none of their own (JSON, CSV). It is read once a statement, so the parser goes for errors that say where and
// what, not for speed:
//
//	columns, err := ddl.Parse("id BIGINT, name STRING COMMENT 'as printed'")
//	fields := ddl.Fields(columns)
//
// A column of a nested type is a JSON column of the engine; the parts of its type are kept for whoever writes schemas down again (Type.String).
package ddl

import (
	"fmt"
	"strconv"
	"strings"

	"millrace/internal/column"
)

// MaxDepth is how deep types may lie in each other.
const MaxDepth = 64

// MaxColumns is how many columns a schema may have, nested ones included.
const MaxColumns = 10_000

// Name is a type without its parameters.
type Name uint8

// The types. String, Varchar and Char differ in the length that SQL shows.
const (
	Boolean Name = iota
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	String
	Varchar
	Char
	Binary
	Date
	Timestamp    // an instant: a time without a zone is taken as UTC
	TimestampNTZ // a reading of a clock: a zone is dropped
	Variant      // any JSON value
	Array
	Map
	Struct
)

var names = [...]string{"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING", "VARCHAR", "CHAR", "BINARY", "DATE",
	"TIMESTAMP", "TIMESTAMP_NTZ", "VARIANT", "ARRAY", "MAP", "STRUCT"}

func (n Name) String() string { return names[n] }

// Type is the type of a column or of a part of one.
type Type struct {
	Name Name
	// Precision and Scale of a Decimal.
	Precision, Scale int
	// Length of a Varchar or Char, in characters.
	Length int
	// Key and Elem are those of a Map; an Array has only an Elem.
	Key, Elem *Type
	// Fields of a Struct.
	Fields []Column
}

// Column is a name with a type.
type Column struct {
	Name    string
	Type    Type
	NotNull bool
	Comment string
}

// Fields are columns as the engine has them. NOT NULL is what the writer promises of the data; records without a value and broken ones have NULL all the same,
// so every field is nullable.
func Fields(columns []Column) []column.Field {
	fields := make([]column.Field, len(columns))
	for i, c := range columns {
		fields[i] = c.Field()
	}
	return fields
}

// StructFields reads the fields of a struct: a list of columns, or STRUCT<…>. Any other type is an error.
func StructFields(text string) ([]Column, error) {
	t, err := ParseType(text)
	name, _, angle := strings.Cut(text, "<")
	switch {
	case err != nil && angle && strings.EqualFold(strings.TrimSpace(name), "struct"):
		return nil, err
	case err != nil:
		return Parse(text)
	case t.Name != Struct:
		return nil, &Error{Message: t.Name.String() + " is no STRUCT"}
	case len(t.Fields) == 0:
		return nil, &Error{Message: "a struct without fields has no columns"}
	}
	return t.Fields, nil
}

// Field is one column as the engine has it.
func (c Column) Field() column.Field {
	f := column.Field{Name: c.Name, Nullable: true}
	switch t := c.Type; t.Name {
	case Boolean:
		f.Type.Kind = column.Bool
	case TinyInt:
		f.Type.Kind, f.Width = column.Int32, 8
	case SmallInt:
		f.Type.Kind, f.Width = column.Int32, 16
	case Int:
		f.Type.Kind = column.Int32
	case BigInt:
		f.Type.Kind = column.Int64
	case Float:
		f.Type.Kind, f.Width = column.Float64, 32
	case Double:
		f.Type.Kind = column.Float64
	case Decimal:
		f.Type = column.Type{Kind: column.Decimal, Precision: uint8(t.Precision), Scale: uint8(t.Scale)}
	case String:
		f.Type.Kind = column.Text
	case Varchar:
		f.Type.Kind, f.Width = column.Text, uint32(t.Length)
	case Char:
		f.Type.Kind, f.Width, f.Fixed = column.Text, uint32(t.Length), true
	case Binary:
		f.Type.Kind = column.Bytes
	case Date:
		f.Type.Kind = column.Date
	case Timestamp, TimestampNTZ:
		f.Type = column.Type{Kind: column.Timestamp, Scale: 6}
	default:
		f.Type.Kind = column.JSON
	}
	return f
}

// Text is the list of columns as Parse reads it.
func Text(columns []Column) string {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		c.write(&b, " ")
	}
	return b.String()
}

// String is the type as Parse reads it.
func (t Type) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t Type) write(b *strings.Builder) {
	b.WriteString(t.Name.String())
	switch t.Name {
	case Decimal:
		fmt.Fprintf(b, "(%d,%d)", t.Precision, t.Scale)
	case Varchar, Char:
		fmt.Fprintf(b, "(%d)", t.Length)
	case Array:
		b.WriteByte('<')
		t.Elem.write(b)
		b.WriteByte('>')
	case Map:
		b.WriteByte('<')
		t.Key.write(b)
		b.WriteString(", ")
		t.Elem.write(b)
		b.WriteByte('>')
	case Struct:
		b.WriteByte('<')
		for i, c := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			c.write(b, ": ")
		}
		b.WriteByte('>')
	}
}

func (c Column) write(b *strings.Builder, between string) {
	b.WriteString(quoteName(c.Name))
	b.WriteString(between)
	c.Type.write(b)
	if c.NotNull {
		b.WriteString(" NOT NULL")
	}
	if c.Comment != "" {
		b.WriteString(" COMMENT '" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(c.Comment) + "'")
	}
}

// quoteName puts a name into backticks where it needs them.
func quoteName(name string) string {
	plain := name != ""
	for _, r := range name {
		plain = plain && nameRune(r)
	}
	if plain && (name[0] < '0' || name[0] > '9') {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// Error says where a schema is wrong.
type Error struct {
	// Pos is the number of characters before the place.
	Pos     int
	Message string
}

func (e *Error) Error() string { return "at character " + strconv.Itoa(e.Pos+1) + ": " + e.Message }
