package functions

import (
	"millrace/internal/decode"
	"millrace/internal/decode/ddl"
	"millrace/internal/decode/json"
)

// nested shows a value of a nested type as the type says: the fields of a STRUCT and no others, each element of an ARRAY or MAP in its type, null for what is of
// another. It is safe for use by several goroutines.
type nested struct {
	name ddl.Name
	// part reads the fields of a STRUCT, or one element of an ARRAY or MAP.
	part *reader
}

// newNested gives the shape of a type, nil for those that have no parts.
func newNested(t ddl.Type) (*nested, error) {
	var part *reader
	var err error
	switch t.Name {
	case ddl.Struct:
		part, err = newColumnsReader(t.Fields)
	case ddl.Array, ddl.Map:
		part, err = newTypeReader(*t.Elem)
	default:
		return nil, nil
	}
	return &nested{t.Name, part}, err
}

// newColumnsReader reads objects with some fields.
func newColumnsReader(columns []ddl.Column) (*reader, error) {
	types := make([]ddl.Type, len(columns))
	for i, c := range columns {
		types[i] = c.Type
	}
	return newShapedReader(json.NewSchema(columnsOf(columns)), false, types)
}

// newTypeReader reads values of one type.
func newTypeReader(t ddl.Type) (*reader, error) {
	column := ddl.Column{Name: "value", Type: t}
	whole := json.Field{Field: column.Field(), Path: json.Path{}, WallClock: t.Name == ddl.TimestampNTZ, KeepNull: t.Name == ddl.Variant}
	return newShapedReader(json.NewSchema([]json.Field{whole}), true, []ddl.Type{t})
}

func newShapedReader(s *json.Schema, bare bool, types []ddl.Type) (*reader, error) {
	r, err := newReader(s, bare)
	if err != nil {
		return nil, err
	}
	r.nested = make([]*nested, len(types))
	for i, t := range types {
		if r.nested[i], err = newNested(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// append appends value, which is valid JSON, as the type says; bad is the first thing in it that is of another type.
func (n *nested) append(dst, value []byte) (_ []byte, bad error) {
	begin := len(dst)
	note := func(err error) {
		if bad == nil {
			bad = err
		}
	}
	element := func(text []byte) {
		var err error
		dst, _, err = n.part.append(dst, text)
		note(err)
	}
	switch {
	case n.name == ddl.Struct:
		text, whole, err := n.part.append(dst, value)
		if !whole {
			text = append(text[:begin], "null"...)
		}
		return text, err
	case n.name == ddl.Array && value[0] == '[':
		dst = append(dst, '[')
		for text := range json.Elements(value) {
			if len(dst) > begin+1 {
				dst = append(dst, ',')
			}
			element(text)
		}
		return append(dst, ']'), bad
	case n.name == ddl.Map && value[0] == '{':
		dst = append(dst, '{')
		for key, text := range json.Members(value) {
			if len(dst) > begin+1 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), key...), '"', ':')
			element(text)
		}
		return append(dst, '}'), bad
	}
	return append(dst, "null"...), n.otherType(value[0])
}

// otherType is what is wrong with a value that is no ARRAY or MAP.
func (n *nested) otherType(first byte) error {
	found := "a number or boolean"
	switch first {
	case '[':
		found = "an array"
	case '{':
		found = "an object"
	case '"':
		found = "a string"
	}
	return &decode.Error{Reason: decode.WrongType, Offset: -1, Detail: n.name.String() + " is expected, found " + found}
}
