package proto

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// Encoder writes records of a message. It belongs to one goroutine.
//
// A field that is NULL is left out, and so is one with the value that stands for absence in its place: zero, "", an empty list. Errors are *decode.Error of
// the field, which for a nested one is named with its path; they are valid until the next call, and dst is then returned as it was.
type Encoder struct {
	m       *Message
	checker *json.Extractor
	found   [1]json.Value
	err     decode.Error
	// text holds texts without their escapes; depth counts messages.
	text  []byte
	depth int
}

// anyJSON is the plan that finds nothing in JSON but that it is JSON.
var anyJSON = json.Compile([]json.Path{{}})

// NewEncoder makes an encoder of records of m.
func (m *Message) NewEncoder() *Encoder { return &Encoder{m: m, checker: anyJSON.NewExtractor()} }

// AppendJSON appends the record that a JSON object describes: as records are shown as JSON, and also with what Protobuf's own JSON mapping has besides, names
// in camel case and 64-bit integers as strings.
func (e *Encoder) AppendJSON(dst, text []byte) ([]byte, error) {
	e.depth = 0
	if err := e.checker.Extract(text, e.found[:]); err != nil {
		e.err = decode.Error{Reason: decode.Malformed, Offset: -1, Detail: err.Error()}
		return dst, &e.err
	}
	grown, ok := e.message(dst, e.m.root, e.found[0].Raw(text))
	if !ok {
		return dst, &e.err
	}
	return grown, nil
}

// AppendRow appends the record of a row. cols has a vector for each of Message.Fields, in the same order and of the same type.
func (e *Encoder) AppendRow(dst []byte, cols []column.Vector, row int) ([]byte, error) {
	e.depth = 1
	grown, ok := dst, true
	for i := range e.m.root.fields {
		f, v := &e.m.root.fields[i], &cols[i]
		if v.IsNull(row) {
			continue
		}
		if grown, ok = e.column(grown, f, v, row); !ok {
			e.err.Field = f.name
			return dst, &e.err
		}
	}
	return grown, nil
}

func (e *Encoder) fail(reason decode.Reason, detail string) bool {
	e.err = decode.Error{Reason: reason, Offset: -1, Detail: detail}
	return false
}

// column appends a field from a column that is not NULL.
func (e *Encoder) column(dst []byte, f *field, v *column.Vector, row int) ([]byte, bool) {
	switch {
	case f.typ.Kind == column.JSON:
		text := v.View(row)
		if err := e.checker.Extract(text, e.found[:]); err != nil {
			return dst, e.fail(decode.Malformed, err.Error())
		}
		return e.field(dst, f, e.found[0].Raw(text))
	case f.kind == protoreflect.EnumKind:
		n, ok := e.enumNumber(f.enum, v.View(row))
		return appendScalar(dst, f, n), ok
	case f.sub != nil:
		return e.specialColumn(dst, f, v, row)
	case f.wire == wireBytes:
		return appendText(dst, f, v.View(row)), true
	case f.typ.Kind == column.Float64:
		return appendScalar(dst, f, int64(math.Float64bits(v.Float[row]))), true
	default:
		return appendScalar(dst, f, v.Int[row]), true
	}
}

// specialColumn appends a message with a column type of its own.
func (e *Encoder) specialColumn(dst []byte, f *field, v *column.Vector, row int) ([]byte, bool) {
	dst, at := begin(dst, f)
	ok := true
	switch m := f.sub; m.special {
	case timestamp:
		seconds, micros := v.Int[row]/1e6, v.Int[row]%1e6
		if micros < 0 {
			seconds, micros = seconds-1, micros+1e6
		}
		dst = appendNumbers(dst, m, seconds, micros*1000)
	case duration:
		dst = appendNumbers(dst, m, v.Int[row]/1e6, v.Int[row]%1e6*1000)
	case date:
		year, month, day := civil(v.Int[row])
		dst = appendNumbers(dst, m, year, month, day)
	case timeOfDay:
		micros := v.Int[row]
		dst = appendNumbers(dst, m, micros/3600e6, micros/60e6%60, micros/1e6%60, micros%1e6*1000)
	case decimal:
		dst, ok = e.decimal(dst, m, v.View(row), f.typ)
	default: // wrapper
		switch inner := &m.fields[0]; {
		case inner.wire == wireBytes:
			dst = appendText(dst, inner, v.View(row))
		case f.typ.Kind == column.Float64:
			dst = appendScalar(dst, inner, int64(math.Float64bits(v.Float[row])))
		default:
			dst = appendScalar(dst, inner, v.Int[row])
		}
	}
	return end(dst, f, at), ok
}

// appendNumbers appends the first fields of a message.
func appendNumbers(dst []byte, m *message, numbers ...int64) []byte {
	for i, n := range numbers {
		dst = appendScalar(dst, &m.fields[i], n)
	}
	return dst
}

// begin starts a message that ends with end. Its length is not known yet; most take one byte.
func begin(dst []byte, f *field) ([]byte, int) {
	dst = protowire.AppendTag(dst, protowire.Number(f.number), protowire.Type(f.wire))
	if f.wire == wireBytes {
		dst = append(dst, 0)
	}
	return dst, len(dst)
}

// end completes the message of field f whose content starts at at.
func end(dst []byte, f *field, at int) []byte {
	if f.wire == wireStartGroup {
		return protowire.AppendTag(dst, protowire.Number(f.number), wireEndGroup)
	}
	n := len(dst) - at
	if more := protowire.SizeVarint(uint64(n)) - 1; more > 0 {
		dst = slices.Grow(dst, more)[:len(dst)+more]
		copy(dst[at+more:], dst[at:at+n])
	}
	protowire.AppendVarint(dst[:at-1], uint64(n))
	return dst
}

// appendScalar appends a field with a number as function number gives it, unless it is what stands for absence.
func appendScalar(dst []byte, f *field, n int64) []byte {
	if !f.presence && n == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, protowire.Number(f.number), protowire.Type(f.wire))
	return appendValue(dst, f.kind, n)
}

// appendText is appendScalar for strings and bytes.
func appendText(dst []byte, f *field, text []byte) []byte {
	if !f.presence && len(text) == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, protowire.Number(f.number), wireBytes)
	return protowire.AppendBytes(dst, text)
}

// appendValue is the inverse of number.
func appendValue(dst []byte, k protoreflect.Kind, n int64) []byte {
	switch k {
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(dst, protowire.EncodeZigZag(n))
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(dst, uint32(n))
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.AppendFixed64(dst, uint64(n))
	case protoreflect.FloatKind:
		return protowire.AppendFixed32(dst, math.Float32bits(float32(math.Float64frombits(uint64(n)))))
	default:
		return protowire.AppendVarint(dst, uint64(n))
	}
}
