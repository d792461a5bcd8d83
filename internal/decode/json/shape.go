package json

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
)

// Shape is the type of the parts of what a JSON column holds. A value is written by it: the fields of a struct in their order and no others, null for those that
// are missing, and each part in its type. A part of another type is null, and a field error that leaves the rest of the value.
type Shape struct {
	Kind ShapeKind
	// Fields are those of a struct. An array or map has one, the element, whose path is Path{} and whose name is empty.
	Fields []Field
}

// ShapeKind says what a Shape is of.
type ShapeKind uint8

// The kinds of nested types.
const (
	StructShape ShapeKind = iota
	ArrayShape
	MapShape
)

func (k ShapeKind) String() string { return [...]string{"STRUCT", "ARRAY", "MAP"}[k] }

// shaper writes values by a Shape, for one goroutine.
type shaper struct {
	kind    ShapeKind
	part    *fieldDecoder
	slots   []decode.Slot
	scratch []byte
	// bad is the first fault of a value, when isBad. Its Field is the path from the value on: .name, or [].
	bad   decode.Error
	isBad bool
}

// newShapers makes those of fields, nil where a field has no shape.
func newShapers(fields []Field) []*shaper {
	var shapers []*shaper
	for i, f := range fields {
		if f.Shape == nil {
			continue
		}
		if shapers == nil {
			shapers = make([]*shaper, len(fields))
		}
		part := newPlan(f.Shape.Fields, f.Shape.Kind == StructShape).newDecoder()
		shapers[i] = &shaper{kind: f.Shape.Kind, part: part, slots: make([]decode.Slot, len(f.Shape.Fields))}
	}
	return shapers
}

// append appends value, which is valid JSON without blanks around it, as the shape says. whole is false, and nothing appended, for a value that is not of the
// shape at all.
func (s *shaper) append(dst, value []byte) (_ []byte, whole bool) {
	s.isBad = false
	begin := len(dst)
	switch {
	case s.kind == StructShape && value[0] == '{':
		return s.fields(append(dst, '{'), value), true
	case s.kind == ArrayShape && value[0] == '[':
		dst = append(dst, '[')
		for text := range Elements(value) {
			if len(dst) > begin+1 {
				dst = append(dst, ',')
			}
			dst = s.element(dst, text)
		}
		return append(dst, ']'), true
	case s.kind == MapShape && value[0] == '{':
		dst = append(dst, '{')
		for key, text := range Members(value) {
			if len(dst) > begin+1 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), key...), '"', ':')
			dst = s.element(dst, text)
		}
		return append(dst, '}'), true
	}
	s.note(&decode.Error{Reason: decode.WrongType, Detail: s.kind.String() + " is expected, found " + article[typeOf(value[0])]}, "")
	return dst, false
}

// typeOf is the type of a value by its first byte.
func typeOf(first byte) Type {
	switch first {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't':
		return True
	case 'f':
		return False
	case 'n':
		return Null
	}
	return Number
}

// fields appends the fields of an object and the end of it.
func (s *shaper) fields(dst, object []byte) []byte {
	s.locate(object)
	for i := range s.part.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := &s.part.fields[i]
		dst = append(convert.AppendJSONString(dst, []byte(f.Name)), ':')
		dst = s.value(dst, object, i, ".")
	}
	return append(dst, '}')
}

// element appends an element of an array or map.
func (s *shaper) element(dst, text []byte) []byte {
	s.locate(text)
	return s.value(dst, text, 0, "[]")
}

func (s *shaper) locate(text []byte) {
	if err := s.part.Locate(text, s.slots); err != nil {
		clear(s.slots)
		if e, ok := err.(*decode.Error); ok {
			s.note(e, "")
		}
	}
}

// value appends field number i of text, which is located.
func (s *shaper) value(dst, text []byte, i int, from string) []byte {
	slot := s.slots[i]
	if slot.Kind == decode.Lazy {
		var err error
		if slot, s.scratch, err = s.part.Settle(text, i, slot, s.scratch[:0]); err != nil {
			e, ok := err.(*decode.Error)
			if ok {
				s.note(e, from)
			}
			if !ok || !e.Partial {
				slot = decode.Slot{}
			}
		}
	}
	return AppendSlot(dst, s.part.fields[i].Field, slot, text, s.scratch)
}

// note keeps the first fault. Its place counts from a part, which nobody sees, so it is left out.
func (s *shaper) note(e *decode.Error, from string) {
	if s.isBad {
		return
	}
	s.bad, s.isBad = *e, true
	s.bad.Offset, s.bad.Field = -1, from+e.Field
}

// settleShaped writes a value by the shape of its field.
func (d *fieldDecoder) settleShaped(record []byte, i int, v Value, scratch []byte) (decode.Slot, []byte, error) {
	s, beg := d.shapers[i], len(scratch)
	scratch, whole := s.append(scratch, v.Raw(record))
	slot := decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}
	if !s.isBad {
		return slot, scratch, nil
	}
	d.err = s.bad
	d.err.Field = d.fields[i].Name + s.bad.Field
	if d.err.Partial = whole; !whole {
		d.err.Offset = int(v.Off)
		return decode.Slot{}, scratch[:beg], &d.err
	}
	return slot, scratch, &d.err
}

// AppendSlot appends a field's value, which is settled, as JSON: times as text, bytes in base64.
func AppendSlot(dst []byte, f column.Field, s decode.Slot, record, scratch []byte) []byte {
	var view []byte
	switch s.Kind {
	case decode.Null:
		return append(dst, "null"...)
	case decode.View:
		view = record[s.Beg:s.End]
	case decode.Made:
		view = scratch[s.Beg:s.End]
	}
	switch f.Type.Kind {
	case column.Bool:
		return strconv.AppendBool(dst, s.Int != 0)
	case column.Int32, column.Int64:
		return strconv.AppendInt(dst, s.Int, 10)
	case column.Uint64:
		return strconv.AppendUint(dst, uint64(s.Int), 10)
	case column.Float64:
		bits := 64
		if f.Width == 32 {
			bits = 32
		}
		return strconv.AppendFloat(dst, math.Float64frombits(uint64(s.Int)), 'g', -1, bits)
	case column.Decimal, column.JSON:
		return append(dst, view...)
	case column.Bytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, view)
		return append(dst, '"')
	case column.Date:
		return append(time.Unix(s.Int*24*60*60, 0).UTC().AppendFormat(append(dst, '"'), time.DateOnly), '"')
	case column.Timestamp:
		return append(time.UnixMicro(s.Int).UTC().AppendFormat(append(dst, '"'), "2006-01-02 15:04:05.999999"), '"')
	case column.Time:
		return appendTime(dst, s.Int)
	default:
		return convert.AppendJSONString(dst, view)
	}
}

// appendTime appends a TIME in microseconds as MySQL shows it.
func appendTime(dst []byte, micros int64) []byte {
	sign := ""
	if micros < 0 {
		sign, micros = "-", -micros
	}
	seconds := micros / 1e6
	dst = fmt.Appendf(dst, `"%s%02d:%02d:%02d`, sign, seconds/3600, seconds/60%60, seconds%60)
	if micros %= 1e6; micros != 0 {
		dst = fmt.Appendf(dst, ".%06d", micros)
	}
	return append(dst, '"')
}
