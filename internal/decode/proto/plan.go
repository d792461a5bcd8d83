package proto

import (
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// plan finds the wanted fields in records of root.
type plan struct {
	files   *Files
	root    *message
	targets []target
	// absent are the slots of a record without fields.
	absent []decode.Slot
	// at gives for each field of root the target that reads it, -1 for none.
	at []int32
}

// target is a wanted column.
type target struct {
	// reader is the field as the column has it, source as the writer does; nil when the writer has none.
	reader, source *field
	note           note
}

// note says how Locate fills the slot of a field.
type note uint8

const (
	// noteInt, noteFloat, noteView: with the final value.
	noteInt note = iota
	noteFloat
	noteView
	// noteNumber, noteBytes: with the last value, for Settle.
	noteNumber
	noteBytes
	// notePieces: with the part of the record from the first of the field's occurrences to the last.
	notePieces
)

// What Slot.Aux of a Lazy slot says about it.
const (
	// auxNumber: Slot.Int is the source's number.
	auxNumber uint32 = iota
	// auxBytes: the source's text or bytes are record[Beg:End].
	auxBytes
	// auxPieces: the source's occurrences lie in record[Beg:End], between other fields.
	auxPieces
	// auxDefault: the reader's default, as text of the column's type.
	auxDefault
	// auxNoNumber: the reader's default is a NaN or an infinity.
	auxNoNumber
)

func newTarget(reader, source *field) target {
	t := target{reader: reader, source: source}
	if source == nil {
		return t
	}
	same := reader.typ == source.typ && (reader.width == source.width || reader.width == 0)
	switch {
	case source.list || source.mapped || source.sub != nil || reader.list || reader.typ.Kind == column.JSON:
		t.note = notePieces
	case source.kind == protoreflect.EnumKind || !same && !widens(source.typ.Kind, reader.typ.Kind):
		t.note = noteNumber
		if source.wire == wireBytes {
			t.note = noteBytes
		}
	case source.typ.Kind == column.Float64:
		t.note = noteFloat
	case source.wire == wireBytes:
		t.note = noteView
	default:
		t.note = noteInt
	}
	return t
}

// widens reports whether every value of one kind is the same number in a Vector of another.
func widens(from, to column.Kind) bool {
	return from == column.Bool && (to == column.Int32 || to == column.Int64 || to == column.Uint64) || from == column.Int32 && to == column.Int64
}

// absent is the slot of a record that lacks the field.
func (t *target) absent() decode.Slot {
	r := t.reader
	switch {
	case r.nullable:
		return decode.Slot{Kind: decode.Null}
	case r.list, r.mapped, r.kind == protoreflect.EnumKind, len(r.defaultText) > 0:
		return decode.Slot{Kind: decode.Lazy, Aux: auxDefault}
	case r.wire == wireBytes:
		return decode.Slot{Kind: decode.View}
	case r.typ.Kind == column.Float64:
		if !isNumber(r.defaultNumber) {
			return decode.Slot{Kind: decode.Lazy, Aux: auxNoNumber}
		}
		return decode.Slot{Kind: decode.Float, Int: r.defaultNumber}
	}
	return decode.Slot{Kind: decode.Int, Int: r.defaultNumber}
}

// isNumber reports whether the float64 with these bits is neither NaN nor infinite.
func isNumber(bits int64) bool {
	const exponent = 0x7ff << 52
	return uint64(bits)&exponent != exponent
}

// NewDecoder makes a decoder; it waits for nothing.
func (p *plan) NewDecoder(context.Context) decode.Decoder {
	return &decoder{plan: p, member: make([]int32, p.root.oneofs), jsonWriter: jsonWriter{files: p.files, pieces: pieces{nodes: make([]node, 1)}}}
}
