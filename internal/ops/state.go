package ops

import (
	"encoding/binary"
	"math"
	"math/big"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// stateReader takes an encoded state apart. The first read beyond the end or of what no encoder writes makes it bad; reads after that give zeros, so
// that a decoder checks once, at its end.
type stateReader struct {
	rest []byte
	bad  bool
}

func (r *stateReader) fail() { r.rest, r.bad = nil, true }

// uint reads what binary.AppendUvarint wrote.
func (r *stateReader) uint() uint64 {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

// int reads what binary.AppendVarint wrote.
func (r *stateReader) int() int64 {
	x, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

// word reads eight bytes.
func (r *stateReader) word() uint64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	x := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return x
}

func (r *stateReader) float() float64 { return math.Float64frombits(r.word()) }

func (r *stateReader) int128() int128 { return int128{hi: r.int(), lo: r.word()} }

// bool reads a byte that is 0 or 1.
func (r *stateReader) bool() bool {
	if len(r.rest) == 0 || r.rest[0] > 1 {
		r.fail()
		return false
	}
	b := r.rest[0] == 1
	r.rest = r.rest[1:]
	return b
}

// bytes reads what appendSized wrote. The result aliases the state.
func (r *stateReader) bytes() []byte {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// big reads what appendBig wrote.
func (r *stateReader) big() *big.Int {
	negative := r.bool()
	x := new(big.Int).SetBytes(r.bytes())
	if negative {
		x.Neg(x)
	}
	return x
}

// key appends the value that appendKey wrote to v, NULL when it is bad.
func (r *stateReader) key(v *column.Vector) {
	switch n := r.uint(); {
	case n == 0:
		v.AppendNull()
	case v.Type.Kind.IsView():
		if n--; n > uint64(len(r.rest)) {
			r.fail()
			v.AppendNull()
			return
		}
		v.AppendBytes(r.rest[:n])
		r.rest = r.rest[n:]
	case n == 1:
		appendNumber(v, int64(r.word()))
	default:
		r.fail()
		v.AppendNull()
	}
}

// end gives what is left behind the state.
func (r *stateReader) end() ([]byte, error) {
	if r.bad {
		return nil, sqlerr.New(sqlerr.Unexpected, "the encoded state of an aggregate is damaged")
	}
	return r.rest, nil
}

func appendBool(dst []byte, b bool) []byte { return append(dst, byte(bit(b))) }

func appendFloat(dst []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

func appendInt128(dst []byte, x int128) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendVarint(dst, x.hi), x.lo)
}

func appendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func appendBig(dst []byte, x *big.Int) []byte {
	return appendSized(appendBool(dst, x.Sign() < 0), x.Bytes())
}
