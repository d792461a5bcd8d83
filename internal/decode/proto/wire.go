package proto

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Wire types.
const (
	wireVarint     = 0
	wireFixed64    = 1
	wireBytes      = 2
	wireStartGroup = 3
	wireEndGroup   = 4
	wireFixed32    = 5
)

// maxNumber is the largest number a field may have.
const maxNumber = 1<<29 - 1

// What reads at a place returns one of these in place of the next place when there is nothing to read.
const (
	truncated = -1
	malformed = -2
)

// uvarint reads a varint at p. next is truncated or malformed, when it has more than 64 bits.
func uvarint(b []byte, p int) (value uint64, next int) {
	for shift := uint(0); p < len(b); shift += 7 {
		c := b[p]
		p++
		if shift == 63 && c > 1 {
			return 0, malformed
		}
		value |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return value, p
		}
	}
	return 0, truncated
}

// wireOf is the wire type of a single value of a kind.
func wireOf(k protoreflect.Kind) uint8 {
	switch k {
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return wireFixed64
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return wireFixed32
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return wireBytes
	case protoreflect.GroupKind:
		return wireStartGroup
	default:
		return wireVarint
	}
}

// number makes of the bits on the wire the value of a kind: an integer, as a column.Vector holds it, or the bits of a float64.
func number(k protoreflect.Kind, bits uint64) int64 {
	switch k {
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind, protoreflect.EnumKind:
		return int64(int32(bits))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return int64(uint32(bits))
	case protoreflect.Sint32Kind:
		return int64(int32(uint32(bits)>>1) ^ -int32(bits&1))
	case protoreflect.Sint64Kind:
		return int64(bits>>1) ^ -int64(bits&1)
	case protoreflect.BoolKind:
		if bits != 0 {
			return 1
		}
		return 0
	case protoreflect.FloatKind:
		return int64(math.Float64bits(float64(math.Float32frombits(uint32(bits)))))
	default:
		return int64(bits)
	}
}

// token is one field of a message on the wire.
type token struct {
	number uint32
	wire   uint8
	// bits are the value of a varint or fixed-width field; beg and end enclose the value of any, without the tags around a group.
	bits     uint64
	beg, end int
}

// next reads the field at p of a message that walk has found valid; a place beyond b ends it all the same when it is not.
func next(b []byte, p int) (t token, after int) {
	tag, p := uvarint(b, p)
	if p < 0 {
		return t, len(b)
	}
	t = token{number: uint32(tag >> 3), wire: uint8(tag & 7), beg: p}
	switch t.wire {
	case wireVarint:
		t.bits, p = uvarint(b, p)
	case wireFixed64:
		if len(b)-p < 8 {
			return token{}, len(b)
		}
		t.bits = binary.LittleEndian.Uint64(b[p:])
		p += 8
	case wireFixed32:
		if len(b)-p < 4 {
			return token{}, len(b)
		}
		t.bits = uint64(binary.LittleEndian.Uint32(b[p:]))
		p += 4
	case wireBytes:
		var n uint64
		if n, p = uvarint(b, p); p < 0 || n > uint64(len(b)-p) {
			return token{}, len(b)
		}
		t.beg = p
		p += int(n)
	case wireStartGroup:
		t.end, p = groupEnd(b, p)
		return t, p
	}
	if p < 0 {
		return token{}, len(b)
	}
	t.end = p
	return t, p
}

// groupEnd finds the end of the group whose content starts at p: end is where its end tag starts, after is behind that.
func groupEnd(b []byte, p int) (end, after int) {
	for depth := 1; p < len(b); {
		end = p
		var tag, n uint64
		if tag, p = uvarint(b, p); p < 0 {
			break
		}
		switch tag & 7 {
		case wireVarint:
			_, p = uvarint(b, p)
		case wireFixed64:
			p += 8
		case wireFixed32:
			p += 4
		case wireBytes:
			if n, p = uvarint(b, p); p < 0 || n > uint64(len(b)-p) {
				return len(b), len(b)
			}
			p += int(n)
		case wireStartGroup:
			depth++
		case wireEndGroup:
			if depth--; depth == 0 {
				return end, p
			}
		}
		if p < 0 {
			break
		}
	}
	return len(b), len(b)
}
