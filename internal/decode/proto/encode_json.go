package proto

import (
	"bytes"
	"encoding/base64"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// message appends the fields of a JSON object as those of m. text is valid JSON without blanks around it, as everywhere below.
func (e *Encoder) message(dst []byte, m *message, text []byte) ([]byte, bool) {
	if text[0] != '{' {
		return dst, e.fail(decode.WrongType, "an object is expected, found "+convert.Quote(text))
	}
	if e.depth++; e.depth > decode.MaxDepth {
		return dst, e.fail(decode.TooDeep, "")
	}
	defer func() { e.depth-- }()
	for key, value := range json.Members(text) {
		if bytes.IndexByte(key, '\\') >= 0 {
			key = json.AppendUnescaped(nil, key)
		}
		f := m.byName[string(key)]
		if f == nil {
			return dst, e.inside(string(key), e.fail(decode.WrongType, "the message has no such field"))
		}
		var ok bool
		if dst, ok = e.field(dst, f, value); !ok {
			return dst, e.inside(f.name, false)
		}
	}
	return dst, true
}

// inside puts the name of a field before the path in the error.
func (e *Encoder) inside(name string, ok bool) bool {
	if e.err.Field != "" {
		name += "." + e.err.Field
	}
	e.err.Field = name
	return ok
}

// field appends field f with a value in JSON.
func (e *Encoder) field(dst []byte, f *field, text []byte) ([]byte, bool) {
	isNull := string(text) == "null"
	switch {
	case f.mapped:
		if isNull {
			return dst, true
		}
		return e.entries(dst, f, text)
	case f.list:
		if isNull {
			return dst, true
		}
		return e.list(dst, f, text)
	case isNull && !(f.sub != nil && f.sub.special == dynamic) && !(f.enum != nil && f.enum.null):
		return dst, true
	case f.sub != nil:
		dst, at := begin(dst, f)
		dst, ok := e.nested(dst, f.sub, text)
		return end(dst, f, at), ok
	case f.wire == wireBytes:
		value, ok := e.bytes(f, text)
		return appendText(dst, f, value), ok
	default:
		n, ok := e.number(f, text)
		return appendScalar(dst, f, n), ok
	}
}

func (e *Encoder) list(dst []byte, f *field, text []byte) ([]byte, bool) {
	if text[0] != '[' {
		return dst, e.fail(decode.WrongType, "an array is expected, found "+convert.Quote(text))
	}
	at, ok, empty := 0, true, true
	for item := range json.Elements(text) {
		if f.packed && empty {
			packed := field{number: f.number, wire: wireBytes}
			dst, at = begin(dst, &packed)
		}
		empty = false
		switch {
		case f.sub != nil:
			var inner int
			dst, inner = begin(dst, f)
			dst, ok = e.nested(dst, f.sub, item)
			dst = end(dst, f, inner)
		case f.wire == wireBytes:
			var value []byte
			value, ok = e.bytes(f, item)
			dst = protowire.AppendBytes(protowire.AppendTag(dst, protowire.Number(f.number), wireBytes), value)
		default:
			var n int64
			n, ok = e.number(f, item)
			if !f.packed {
				dst = protowire.AppendTag(dst, protowire.Number(f.number), protowire.Type(f.wire))
			}
			dst = appendValue(dst, f.kind, n)
		}
		if !ok {
			return dst, false
		}
	}
	if f.packed && !empty {
		packed := field{number: f.number, wire: wireBytes}
		dst = end(dst, &packed, at)
	}
	return dst, true
}

// entries appends a map: a message with key and value for each member.
func (e *Encoder) entries(dst []byte, f *field, text []byte) ([]byte, bool) {
	if text[0] != '{' {
		return dst, e.fail(decode.WrongType, "an object is expected, found "+convert.Quote(text))
	}
	key, value := &f.sub.fields[0], &f.sub.fields[1]
	for name, item := range json.Members(text) {
		var at int
		dst, at = begin(dst, f)
		if bytes.IndexByte(name, '\\') >= 0 {
			name = json.AppendUnescaped(nil, name)
		}
		ok := true
		dst = protowire.AppendTag(dst, protowire.Number(key.number), protowire.Type(key.wire))
		if key.wire == wireBytes {
			dst = protowire.AppendBytes(dst, name)
		} else {
			var n int64
			if n, ok = e.integer(key, name); !ok {
				return dst, e.inside(string(name), false)
			}
			dst = appendValue(dst, key.kind, n)
		}
		if dst, ok = e.field(dst, value, item); !ok {
			return dst, e.inside(string(name), false)
		}
		dst = end(dst, f, at)
	}
	return dst, true
}

// bytes is the content of a string or bytes field; it is valid until the next value.
func (e *Encoder) bytes(f *field, text []byte) ([]byte, bool) {
	inner, ok := e.string(text)
	if !ok || f.kind == protoreflect.StringKind {
		return inner, ok
	}
	encoding := base64.StdEncoding
	if bytes.ContainsAny(inner, "-_") {
		encoding = base64.URLEncoding
	}
	if len(inner)%4 != 0 {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	decoded, err := encoding.AppendDecode(nil, inner)
	if err != nil {
		return nil, e.fail(decode.WrongType, "base64 is expected, found "+convert.Quote(text))
	}
	return decoded, true
}

// string is the text of a JSON string.
func (e *Encoder) string(text []byte) ([]byte, bool) {
	if text[0] != '"' {
		return nil, e.fail(decode.WrongType, "a string is expected, found "+convert.Quote(text))
	}
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		e.text = json.AppendUnescaped(e.text[:0], inner)
		inner = e.text
	}
	return inner, true
}

// number is the value of a numeric field, as function number gives it.
func (e *Encoder) number(f *field, text []byte) (int64, bool) {
	switch f.kind {
	case protoreflect.BoolKind:
		switch string(text) {
		case "true":
			return 1, true
		case "false":
			return 0, true
		}
		return 0, e.fail(decode.WrongType, "true or false is expected, found "+convert.Quote(text))
	case protoreflect.EnumKind:
		if f.enum.null && string(text) == "null" {
			return 0, true
		}
		if text[0] == '"' {
			name, _ := e.string(text)
			return e.enumNumber(f.enum, name)
		}
	}
	if text[0] == '"' {
		text, _ = e.string(text)
	}
	if f.kind == protoreflect.FloatKind || f.kind == protoreflect.DoubleKind {
		return e.float(f, text)
	}
	return e.integer(f, text)
}

func (e *Encoder) float(f *field, text []byte) (int64, bool) {
	switch string(text) {
	case "NaN":
		return int64(math.Float64bits(math.NaN())), true
	case "Infinity":
		return int64(math.Float64bits(math.Inf(1))), true
	case "-Infinity":
		return int64(math.Float64bits(math.Inf(-1))), true
	}
	of := column.Field{Type: column.Type{Kind: column.Float64}}
	if f.kind == protoreflect.FloatKind {
		of.Width = 32
	}
	bits, fault := convert.Float(text, &of)
	return bits, e.converted(fault, text, of)
}

// integer is the value of an integer field; booleans and enums as keys of maps and numbers of enums are among them.
func (e *Encoder) integer(f *field, text []byte) (int64, bool) {
	of := column.Field{Type: scalarType(f.kind)}
	switch f.kind {
	case protoreflect.EnumKind:
		of.Type.Kind = column.Int32
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		of.Width = 32
	}
	n, fault := convert.Int(text, &of, false)
	return n, e.converted(fault, text, of)
}

func (e *Encoder) converted(fault convert.Fault, text []byte, to column.Field) bool {
	switch fault {
	case convert.OK:
		return true
	case convert.Overflow:
		return e.fail(decode.OutOfRange, convert.Quote(text)+" does not fit "+convert.TypeName(to))
	}
	return e.fail(decode.WrongType, convert.TypeName(to)+" is expected, found "+convert.Quote(text))
}

// enumNumber finds the number of a name; digits are a number without one.
func (e *Encoder) enumNumber(of *enum, name []byte) (int64, bool) {
	if n, ok := of.numbers[string(name)]; ok {
		return int64(n), true
	}
	n, fault := convert.Int(name, &column.Field{Type: column.Type{Kind: column.Int32}}, false)
	if fault != convert.OK {
		return 0, e.fail(decode.WrongType, "the enum has no value "+convert.Quote(name))
	}
	return n, true
}
