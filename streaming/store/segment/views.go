package segment

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// views encodes a view kind.
func (e *Encoder) views(v *column.Vector, rows Rows, o Options, out *Encoded) (encoding byte) {
	n := rows.Len()
	out.Memory = int64(8*n) + bitmapBytes(n, out.Stats.Nulls)
	if e.dict.build(v, rows) {
		e.dictionary(v, o, out)
		return encodeDictionary
	}
	e.plain(v, rows, o, out)
	return encodePlain
}

// dictionary writes: count, lengths, bytes; bits of a code, codes.
func (e *Encoder) dictionary(v *column.Vector, o Options, out *Encoded) {
	d := &e.dict
	e.payload = binary.AppendUvarint(e.payload, uint64(len(d.entries)))
	e.lengths(v, Rows{Sel: d.entries, N: len(d.entries)}, out)
	width := uint(bits.Len64(uint64(max(len(d.entries)-1, 0))))
	e.payload = append(e.payload, byte(width))
	e.payload = pack(e.payload, d.codes, 0, width)
	e.bounds(v, Rows{Sel: d.entries}, &out.Stats)
	if o.Filter && Filterable(v.Type.Kind) {
		out.Filter = newFilter(d.hashes)
	}
}

// plain writes: lengths, bytes.
func (e *Encoder) plain(v *column.Vector, rows Rows, o Options, out *Encoded) {
	e.lengths(v, rows, out)
	e.bounds(v, rows, &out.Stats)
	if o.Filter && Filterable(v.Type.Kind) {
		e.hashes = e.hashes[:0]
		for k := range rows.Len() {
			if i := rows.at(k); !v.IsNull(i) {
				e.hashes = append(e.hashes, hashBytes(v.View(i)))
			}
		}
		out.Filter = newFilter(e.hashes)
	}
}

// lengths writes the lengths of values, NULL as empty, and then their bytes.
func (e *Encoder) lengths(v *column.Vector, rows Rows, out *Encoded) {
	e.ints = e.ints[:0]
	for k := range rows.Len() {
		n := int64(0)
		if i := rows.at(k); !v.IsNull(i) {
			n = int64(v.End[i] - v.Beg[i])
		}
		e.ints = append(e.ints, n)
	}
	e.payload = appendInts(e.payload, e.ints, e.frame())
	before := len(e.payload)
	for k := range rows.Len() {
		if i := rows.at(k); !v.IsNull(i) {
			e.payload = append(e.payload, v.View(i)...)
		}
	}
	out.Memory += int64(len(e.payload) - before)
}

// boundBytes is how much of a text is kept as a bound.
const boundBytes = 32

func (e *Encoder) bounds(v *column.Vector, rows Rows, s *store.ColumnStats) {
	k := v.Type.Kind
	if k == column.JSON {
		return
	}
	var lo, hi []byte
	for r := range rows.Len() {
		i := rows.at(r)
		if v.IsNull(i) {
			continue
		}
		x := v.View(i)
		if !s.Bounded {
			lo, hi, s.Bounded = x, x, true
			continue
		}
		switch {
		case k == column.Decimal:
			if lessDecimal(x, lo) {
				lo = x
			} else if lessDecimal(hi, x) {
				hi = x
			}
		case bytes.Compare(x, lo) < 0:
			lo = x
		case bytes.Compare(x, hi) > 0:
			hi = x
		}
	}
	if !s.Bounded {
		return
	}
	if k != column.Decimal {
		lo = lo[:min(len(lo), boundBytes)]
		if hi, s.Bounded = above(hi); !s.Bounded {
			return
		}
	}
	s.Min, s.Max = store.Text(string(lo)), store.Text(string(hi))
}

func lessDecimal(a, b []byte) bool {
	return store.CompareDecimals(unsafe.String(unsafe.SliceData(a), len(a)), unsafe.String(unsafe.SliceData(b), len(b))) < 0
}

// above gives a short text that is not less than x: x itself, or its beginning with the last byte that can be raised; ok is false when there is none.
func above(x []byte) (bound []byte, ok bool) {
	if len(x) <= boundBytes {
		return x, true
	}
	x = bytes.Clone(x[:boundBytes])
	for i := len(x) - 1; i >= 0; i-- {
		if x[i] < 0xff {
			x[i]++
			return x[:i+1], true
		}
	}
	return nil, false
}

// dictionary finds the distinct values of a column: open addressing with linear probing.
type dictionary struct {
	slots   []uint32 // entry + 1, 0 is free
	entries []int32  // the row of the vector where each value is first
	hashes  []uint64 // of entries
	codes   []int64  // by row that is encoded; 0 for NULL
}

// giveUpAfter is the row at which a column of nearly distinct values is known to be one.
const giveUpAfter = 2048

// build numbers the distinct values. It gives up when there are so many that a dictionary does not pay.
func (d *dictionary) build(v *column.Vector, rows Rows) bool {
	n := rows.Len()
	size := 1 << bits.Len(uint(n|15)) // up to half of n may be entries, so it is at most half full
	if cap(d.slots) < size {
		d.slots = make([]uint32, size)
	}
	d.slots = d.slots[:size]
	clear(d.slots)
	d.entries, d.hashes, d.codes = d.entries[:0], d.hashes[:0], d.codes[:0]
	mask := uint64(size - 1)
	limit := n/2 + 1
	for k := range n {
		i := rows.at(k)
		if v.IsNull(i) {
			d.codes = append(d.codes, 0)
			continue
		}
		x := v.Data[v.Beg[i]:v.End[i]]
		h := hashBytes(x)
		p := h & mask
		for {
			s := d.slots[p]
			if s == 0 {
				break
			}
			if e := s - 1; d.hashes[e] == h && bytes.Equal(v.View(int(d.entries[e])), x) {
				break
			}
			p = (p + 1) & mask
		}
		if d.slots[p] == 0 {
			if len(d.entries) >= limit || k == giveUpAfter && len(d.entries) > giveUpAfter/8*7 {
				return false
			}
			d.entries = append(d.entries, int32(i))
			d.hashes = append(d.hashes, h)
			d.slots[p] = uint32(len(d.entries))
		}
		d.codes = append(d.codes, int64(d.slots[p]-1))
	}
	return true
}
