package json

import "millrace/internal/decode/ddl"

// Loose makes fields of declared columns in which what is nested is any JSON, as it stands.
func Loose(columns []ddl.Column) []Field {
	fields := make([]Field, len(columns))
	for i, c := range columns {
		fields[i] = Field{Field: c.Field(), WallClock: c.Type.Name == ddl.TimestampNTZ, KeepNull: c.Type.Name == ddl.Variant}
	}
	return fields
}

// Declared makes fields of declared columns, whose types hold for what is nested as well.
func Declared(columns []ddl.Column) []Field {
	fields := Loose(columns)
	for i, c := range columns {
		fields[i].Shape = shapeOf(c.Type)
	}
	return fields
}

// DeclaredType makes the field of a record that is one value of a type.
func DeclaredType(name string, t ddl.Type) Field {
	f := Declared([]ddl.Column{{Name: name, Type: t}})[0]
	f.Path = Path{}
	return f
}

// shapeOf is the shape of a type, nil for one without parts.
func shapeOf(t ddl.Type) *Shape {
	switch t.Name {
	case ddl.Struct:
		return &Shape{Kind: StructShape, Fields: Declared(t.Fields)}
	case ddl.Array:
		return &Shape{Kind: ArrayShape, Fields: []Field{DeclaredType("", *t.Elem)}}
	case ddl.Map:
		return &Shape{Kind: MapShape, Fields: []Field{DeclaredType("", *t.Elem)}}
	}
	return nil
}
