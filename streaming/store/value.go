package store

import (
	"cmp"
	"encoding/binary"
	"math"
	"strconv"

	"millrace/internal/column"
)

// Value is one value of a column, in the form that the column's kind has in a column.Vector. The zero Value is NULL.
type Value struct {
	form byte
	num  int64
	text string
}

const (
	formNull byte = iota
	formInt
	formFloat
	formText
)

// Int is a value of a kind that lies in Vector.Int; of Uint64 it holds the bits.
func Int(x int64) Value { return Value{form: formInt, num: x} }

// Float is a Float64.
func Float(x float64) Value { return Value{form: formFloat, num: int64(math.Float64bits(x))} }

// Text is a value of a view kind: its bytes.
func Text(x string) Value { return Value{form: formText, text: x} }

// IsNull reports whether v is NULL.
func (v Value) IsNull() bool { return v.form == formNull }

// Int64 is the number of a Value made by Int.
func (v Value) Int64() int64 { return v.num }

// Float64 is the number of a Value made by Float.
func (v Value) Float64() float64 { return math.Float64frombits(uint64(v.num)) }

// Bytes are those of a Value made by Text.
func (v Value) Bytes() string { return v.text }

// Fits reports whether v, which is not NULL, is in the form of kind k.
func (v Value) Fits(k column.Kind) bool {
	switch {
	case k.IsView():
		return v.form == formText
	case k == column.Float64:
		return v.form == formFloat
	default:
		return k.IsInt() && v.form == formInt
	}
}

func (v Value) String() string {
	switch v.form {
	case formInt:
		return strconv.FormatInt(v.num, 10)
	case formFloat:
		return strconv.FormatFloat(v.Float64(), 'g', -1, 64)
	case formText:
		return strconv.Quote(v.text)
	default:
		return "NULL"
	}
}

// At is the value of row i of vec.
func At(vec *column.Vector, i int) Value {
	switch k := vec.Type.Kind; {
	case vec.IsNull(i):
		return Value{}
	case k.IsView():
		return Text(string(vec.View(i)))
	case k == column.Float64:
		return Float(vec.Float[i])
	default:
		return Int(vec.Int[i])
	}
}

// AppendTo appends v, which is NULL or fits the vector's kind.
func (v Value) AppendTo(vec *column.Vector) {
	switch v.form {
	case formNull:
		vec.AppendNull()
	case formInt:
		vec.AppendInt(v.num)
	case formFloat:
		vec.AppendFloat(v.Float64())
	default:
		vec.AppendBytes([]byte(v.text))
	}
}

// AppendBinary appends an encoding of v that DecodeValue reads.
func (v Value) AppendBinary(b []byte) []byte {
	b = append(b, v.form)
	switch v.form {
	case formInt, formFloat:
		b = binary.LittleEndian.AppendUint64(b, uint64(v.num))
	case formText:
		b = binary.LittleEndian.AppendUint64(b, uint64(len(v.text)))
		b = append(b, v.text...)
	}
	return b
}

// DecodeValue reads a Value and gives what follows it; ok is false when b does not begin with one.
func DecodeValue(b []byte) (v Value, rest []byte, ok bool) {
	if len(b) == 0 {
		return v, nil, false
	}
	v.form, b = b[0], b[1:]
	if v.form == formNull {
		return v, b, true
	}
	if v.form > formText || len(b) < 8 {
		return Value{}, nil, false
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[8:]
	if v.form != formText {
		v.num = int64(n)
		return v, b, true
	}
	if n > uint64(len(b)) {
		return Value{}, nil, false
	}
	v.text = string(b[:n])
	return v, b[n:], true
}

// Compare orders two values of a kind, neither of them NULL: numbers as numbers (also decimals), NaN after all others, the rest byte by byte.
func Compare(k column.Kind, a, b Value) int {
	switch {
	case k == column.Uint64:
		return cmp.Compare(uint64(a.num), uint64(b.num))
	case k == column.Float64:
		x, y := a.Float64(), b.Float64()
		switch {
		case x != x || y != y:
			return cmp.Compare(b2i(x != x), b2i(y != y))
		default:
			return cmp.Compare(x, y)
		}
	case k == column.Decimal:
		return CompareDecimals(a.text, b.text)
	case k.IsView():
		return cmp.Compare(a.text, b.text)
	default:
		return cmp.Compare(a.num, b.num)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
