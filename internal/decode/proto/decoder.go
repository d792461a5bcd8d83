package proto

import (
	"encoding/binary"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/decode"
)

// decoder runs a plan over records. It belongs to one goroutine.
type decoder struct {
	plan  *plan
	slots []decode.Slot
	// member holds, by oneof of the root, the target whose member came last, -1 for none.
	member []int32
	err    decode.Error
	jsonWriter
}

// Locate walks the record once.
func (d *decoder) Locate(record []byte, slots []decode.Slot) error {
	d.slots = slots
	copy(slots, d.plan.absent)
	for i := range d.member {
		d.member[i] = -1
	}
	if d.walk(d.plan.root, record, 0, 0, 1, true) < 0 {
		return &d.err
	}
	return nil
}

// fail notes a record error and returns what walk returns then.
func (d *decoder) fail(reason decode.Reason, offset int, detail string) int {
	d.err = decode.Error{Reason: reason, Offset: offset, Detail: detail}
	return malformed
}

// failVarint is fail for a varint at offset that uvarint did not read.
func (d *decoder) failVarint(code, offset int) int {
	if code == truncated {
		return d.fail(decode.Truncated, offset, "")
	}
	return d.fail(decode.Malformed, offset, "varint longer than 64 bits")
}

// unknown is the type of a group that the schema does not know: it has no fields.
var unknown = &message{}

// walk checks the fields of a message of type m, which start at p and end with b; when group is not 0, they end with that group's end tag. It
// returns the place behind, a negative number when the record is bad. It fills the slots of the plan when top is set.
func (d *decoder) walk(m *message, b []byte, p int, group uint64, depth int, top bool) int {
	if depth > decode.MaxDepth {
		return d.fail(decode.TooDeep, p, "")
	}
	for p < len(b) {
		start := p
		tag := uint64(b[p])
		if tag < 0x80 {
			p++
		} else if tag, p = uvarint(b, p); p < 0 {
			return d.failVarint(p, start)
		}
		number := tag >> 3
		if number-1 >= maxNumber {
			return d.fail(decode.Malformed, start, "field number")
		}
		var f *field
		if number < uint64(len(m.low)) {
			f = m.low[number]
		} else {
			f = m.high[uint32(number)]
		}
		wire := uint8(tag & 7)
		beg := p
		var bits uint64
		switch wire {
		case wireVarint:
			if p < len(b) && b[p] < 0x80 {
				bits = uint64(b[p])
				p++
			} else if bits, p = uvarint(b, p); p < 0 {
				return d.failVarint(p, beg)
			}
		case wireBytes:
			if p < len(b) && b[p] < 0x80 {
				bits = uint64(b[p])
				p++
			} else if bits, p = uvarint(b, p); p < 0 {
				return d.failVarint(p, beg)
			}
			if bits > uint64(len(b)-p) {
				return d.fail(decode.Truncated, start, "")
			}
			beg = p
			p += int(bits)
		case wireFixed64:
			if len(b)-p < 8 {
				return d.fail(decode.Truncated, start, "")
			}
			bits = binary.LittleEndian.Uint64(b[p:])
			p += 8
		case wireFixed32:
			if len(b)-p < 4 {
				return d.fail(decode.Truncated, start, "")
			}
			bits = uint64(binary.LittleEndian.Uint32(b[p:]))
			p += 4
		case wireStartGroup:
			inside, deeper := unknown, depth+1
			if f != nil && f.wire == wireStartGroup {
				inside, deeper = f.sub, f.deeper(depth)
			}
			if p = d.walk(inside, b, p, number, deeper, false); p < 0 {
				return p
			}
		case wireEndGroup:
			if number != group {
				return d.fail(decode.Malformed, start, "end of a group that did not start")
			}
			return p
		default:
			return d.fail(decode.Malformed, start, "wire type")
		}
		switch {
		case f == nil:
			continue
		case wire == f.wire:
			if wire == wireBytes && !d.checkBytes(f, b[:p], beg, depth) {
				return malformed
			}
		case wire == wireBytes && f.packable:
			if !d.checkPacked(f.wire, b[:p], beg) {
				return malformed
			}
		default:
			continue // not the schema's field
		}
		if top {
			d.note(f, b, start, beg, p, bits)
		}
	}
	if group != 0 {
		return d.fail(decode.Truncated, len(b), "group without an end")
	}
	return p
}

// deeper is the depth of the messages of f in a message at depth: lists and maps are containers too.
func (f *field) deeper(depth int) int {
	if f.list {
		return depth + 2
	}
	return depth + 1
}

// checkBytes checks a field with a length, which reaches from beg to the end of b.
func (d *decoder) checkBytes(f *field, b []byte, beg, depth int) bool {
	if f.sub != nil {
		return d.walk(f.sub, b, beg, 0, f.deeper(depth), false) >= 0
	}
	if f.checked && !utf8.Valid(b[beg:]) {
		d.fail(decode.InvalidUTF8, beg, "")
		return false
	}
	return true
}

// checkPacked checks values that reach from p to the end of b.
func (d *decoder) checkPacked(wire uint8, b []byte, p int) bool {
	size := 8
	switch wire {
	case wireVarint:
		for p < len(b) {
			at := p
			if _, p = uvarint(b, p); p < 0 {
				d.failVarint(p, at)
				return false
			}
		}
		return true
	case wireFixed32:
		size = 4
	}
	if (len(b)-p)%size != 0 {
		d.fail(decode.Truncated, p, "")
		return false
	}
	return true
}

// note fills the slot that belongs to an occurrence of field f of the record: its tag is at start, its value between beg and end.
func (d *decoder) note(f *field, b []byte, start, beg, end int, bits uint64) {
	i := d.plan.at[f.index]
	if f.oneof >= 0 {
		// The last member is the only one.
		if last := d.member[f.oneof]; last >= 0 && last != i {
			d.slots[last] = d.plan.absent[last]
		}
		d.member[f.oneof] = i
	}
	if i < 0 {
		return
	}
	s := &d.slots[i]
	switch d.plan.targets[i].note {
	case noteInt:
		*s = decode.Slot{Kind: decode.Int, Int: number(f.kind, bits)}
	case noteFloat:
		*s = decode.Slot{Kind: decode.Float, Int: number(f.kind, bits)}
		if !isNumber(s.Int) {
			s.Kind, s.Aux = decode.Lazy, auxNumber
		}
	case noteView:
		*s = decode.Slot{Kind: decode.View, Beg: uint32(beg), End: uint32(end)}
		if f.kind == protoreflect.StringKind && !f.checked && !utf8.Valid(b[beg:end]) {
			s.Kind, s.Aux = decode.Lazy, auxBytes
		}
	case noteNumber:
		*s = decode.Slot{Kind: decode.Lazy, Aux: auxNumber, Int: number(f.kind, bits)}
	case noteBytes:
		*s = decode.Slot{Kind: decode.Lazy, Aux: auxBytes, Beg: uint32(beg), End: uint32(end)}
	case notePieces:
		if s.Kind != decode.Lazy || s.Aux != auxPieces {
			*s = decode.Slot{Kind: decode.Lazy, Aux: auxPieces, Beg: uint32(start)}
		}
		s.End = uint32(end)
	}
}
