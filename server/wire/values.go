package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
)

// The functions in this file and in datetime.go append one value to a row. Text and Decimal text are the same in the text and the
// binary protocol; the functions whose names end in Binary are for the binary one, the others for text.

// Null appends a NULL of the text protocol.
func Null(b []byte) []byte { return append(b, nullValue) }

// Text appends a string or bytes, in either protocol.
func Text[T ~string | ~[]byte](b []byte, v T) []byte {
	if len(v) < 251 {
		return append(append(b, byte(len(v))), v...)
	}
	return append(appendLenenc(b, uint64(len(v))), v...)
}

// Int appends an integer as text.
func Int(b []byte, v int64) []byte {
	if uint64(v) < 10 {
		return append(b, 1, byte('0'+v))
	}
	at := len(b)
	b = strconv.AppendInt(append(b, 0), v, 10)
	b[at] = byte(len(b) - at - 1)
	return b
}

// Uint appends an unsigned integer as text.
func Uint(b []byte, v uint64) []byte {
	at := len(b)
	b = strconv.AppendUint(append(b, 0), v, 10)
	b[at] = byte(len(b) - at - 1)
	return b
}

// wholeFloats is below where MySQL changes to exponents, and where both widths hold or round whole numbers as their digits say.
const wholeFloats = 1 << 24

// Float appends a FLOAT (bits 32) or DOUBLE (bits 64) as text: the shortest digits that give the value back, in MySQL's form.
func Float(b []byte, v float64, bits int) []byte {
	if i := int64(v); float64(i) == v && i > -wholeFloats && i < wholeFloats && i != 0 {
		return Int(b, i) // most numbers in practice, and much faster; 0 is not among them for it may be -0
	}
	at := len(b)
	b = append(b, 0)
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-15 || a >= 1e15) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, v, format, -1, bits)
	if i := bytes.IndexByte(b[at:], '+'); i > 0 { // MySQL writes 1e15, Go 1e+15
		b = append(b[:at+i], b[at+i+1:]...)
	}
	b[at] = byte(len(b) - at - 1)
	return b
}

// BinaryRow starts a row of the binary protocol: n values follow, NULLs excepted, which are marked with BinaryNull.
func BinaryRow(b []byte, n int) []byte {
	b = append(b, headerOK)
	for range (n + 9) / 8 {
		b = append(b, 0)
	}
	return b
}

// BinaryNull marks value i of the row that starts at b[start] NULL.
func BinaryNull(b []byte, start, i int) { b[start+1+(i+2)/8] |= 1 << ((i + 2) % 8) }

// IntBinary appends an integer, signed or not, in the width of its column's type.
func IntBinary(b []byte, v int64, width int) []byte {
	switch width {
	case 1:
		return append(b, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	default:
		return binary.LittleEndian.AppendUint64(b, uint64(v))
	}
}

// IntWidth is the number of bytes of an integer type in the binary protocol, 0 for other types.
func IntWidth(t byte) int {
	switch t {
	case TypeTiny:
		return 1
	case TypeShort, TypeYear:
		return 2
	case TypeLong, TypeInt24:
		return 4
	case TypeLonglong:
		return 8
	}
	return 0
}

// DoubleBinary appends a DOUBLE.
func DoubleBinary(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// FloatBinary appends a FLOAT.
func FloatBinary(b []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}
