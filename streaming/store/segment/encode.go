package segment

import (
	"encoding/binary"
	"math"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// Rows says which rows of a vector to encode, and in which order: Sel, or N from From on when Sel is nil.
type Rows struct {
	Sel     []int32
	From, N int
}

// Len is the number of rows.
func (r Rows) Len() int {
	if r.Sel != nil {
		return len(r.Sel)
	}
	return r.N
}

func (r Rows) at(k int) int {
	if r.Sel != nil {
		return int(r.Sel[k])
	}
	return r.From + k
}

// Options say how to encode.
type Options struct {
	Level Level
	// Filter asks for a filter where one is of use.
	Filter bool
}

// Encoded is what is known of a column that was encoded.
type Encoded struct {
	Stats store.ColumnStats
	// Memory is about what the column takes when it is decoded.
	Memory int64
	// Filter is nil when there is none. It belongs to the caller.
	Filter []byte
}

// Encoder encodes columns. It keeps scratch memory from one to the next; it is for one goroutine at a time.
type Encoder struct {
	payload, packed, dense []byte
	ints, diffs, others    []int64
	hashes                 []uint64
	dict                   dictionary
}

// Encode appends the blob of rows of v to dst.
func (e *Encoder) Encode(dst []byte, v *column.Vector, rows Rows, o Options) ([]byte, Encoded) {
	n := rows.Len()
	h := header{kind: v.Type.Kind, rows: n}
	var out Encoded
	e.payload = e.appendValid(e.payload[:0], v, rows, &out.Stats)
	switch k := v.Type.Kind; {
	case k.IsView():
		h.encoding = e.views(v, rows, o, &out)
	case k == column.Float64:
		h.encoding = e.floats(v, rows, &out)
	default:
		h.encoding = encodeInts
		e.integers(v, rows, o, &out)
	}
	dst = e.seal(dst, h, e.payload, o.Level)
	return dst, out
}

// appendValid writes 0, or 1 and the bitmap when there are NULLs.
func (e *Encoder) appendValid(dst []byte, v *column.Vector, rows Rows, s *store.ColumnStats) []byte {
	n := rows.Len()
	if v.Valid == nil {
		return append(dst, 0)
	}
	start := len(dst)
	dst = append(dst, 1)
	var word uint64
	for k := range n {
		i := rows.at(k)
		bit := v.Valid[i>>6] >> (uint(i) & 63) & 1
		s.Nulls += int64(1 - bit)
		word |= bit << (uint(k) & 63)
		if k&63 == 63 {
			dst, word = binary.LittleEndian.AppendUint64(dst, word), 0
		}
	}
	if n&63 != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	if s.Nulls == 0 {
		dst[start] = 0
		return dst[:start+1]
	}
	return dst
}

// integers encodes a kind that lies in Vector.Int. A NULL repeats its predecessor, which costs the least.
func (e *Encoder) integers(v *column.Vector, rows Rows, o Options, out *Encoded) {
	n := rows.Len()
	values := v.Int
	if rows.Sel == nil && out.Stats.Nulls == 0 {
		values = values[rows.From : rows.From+n]
	} else {
		e.ints = e.ints[:0]
		// NULLs before the first value repeat that one, as those after a value do: they never count as bounds.
		var last int64
		if out.Stats.Nulls < int64(n) {
			last = v.Int[rows.at(firstValid(v, rows))]
		}
		for k := range n {
			if i := rows.at(k); !v.IsNull(i) {
				last = v.Int[i]
			}
			e.ints = append(e.ints, last)
		}
		values = e.ints
	}
	e.payload = appendInts(e.payload, values, e.frame())
	out.Memory = int64(8*n) + bitmapBytes(n, out.Stats.Nulls)
	if out.Stats.Nulls == int64(n) {
		return
	}
	lo, hi := values[0], values[0]
	if v.Type.Kind == column.Uint64 {
		for _, x := range values {
			lo, hi = int64(min(uint64(lo), uint64(x))), int64(max(uint64(hi), uint64(x)))
		}
	} else {
		for _, x := range values {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	out.Stats.Min, out.Stats.Max, out.Stats.Bounded = store.Int(lo), store.Int(hi), true
	// Where most numbers between the bounds occur, a filter says little more than the bounds.
	if o.Filter && Filterable(v.Type.Kind) && uint64(hi)-uint64(lo) > 4*uint64(n) {
		e.hashes = e.hashes[:0]
		for i, x := range values {
			if i == 0 || x != values[i-1] {
				e.hashes = append(e.hashes, hashInt(x))
			}
		}
		out.Filter = newFilter(e.hashes)
	}
}

// frame is scratch for appendInts.
func (e *Encoder) frame() []int64 {
	if e.diffs == nil {
		e.diffs = make([]int64, 0, frameRows)
	}
	return e.diffs
}

func firstValid(v *column.Vector, rows Rows) int {
	k := 0
	for v.IsNull(rows.at(k)) {
		k++
	}
	return k
}

func bitmapBytes(n int, nulls int64) int64 {
	if nulls == 0 {
		return 0
	}
	return int64((n+63)/64) * 8
}

// floats encodes doubles, as decimals where they are.
func (e *Encoder) floats(v *column.Vector, rows Rows, out *Encoded) (encoding byte) {
	n := rows.Len()
	s := &out.Stats
	out.Memory = int64(8*n) + bitmapBytes(n, s.Nulls)
	lo, hi := math.Inf(1), math.Inf(-1)
	for k := range n {
		switch i := rows.at(k); {
		case v.IsNull(i):
		case v.Float[i] != v.Float[i]:
			s.NaN = true
		default:
			lo, hi, s.Bounded = min(lo, v.Float[i]), max(hi, v.Float[i]), true
		}
	}
	if s.Bounded {
		s.Min, s.Max = store.Float(lo), store.Float(hi)
	}
	if e.decimals(v, rows) {
		return encodeDecimals
	}
	for k := range n {
		x := 0.0
		if i := rows.at(k); !v.IsNull(i) {
			x = v.Float[i]
		}
		e.payload = binary.LittleEndian.AppendUint64(e.payload, math.Float64bits(x))
	}
	return encodeFloats
}
