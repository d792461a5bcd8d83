package ops

import (
	"encoding/binary"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// Rows of a sort are written to disk in blocks, column by column:
//
//	rows, columns            uvarint
//	of each column           kind byte · precision byte · scale byte · 1 when there are NULLs, else 0
//	  validity               8 bytes for each 64 rows, when there are NULLs
//	  values                 varint, or 8 bytes of a float, or the lengths as uvarint and then all bytes
//
// The type is there so that a block can be read by itself; its checksum is kept by whoever knows where it is.

// appendRows encodes the rows of b, which has no selection.
func appendRows(dst []byte, b *column.Batch) []byte {
	dst = binary.AppendUvarint(dst, uint64(b.N))
	dst = binary.AppendUvarint(dst, uint64(len(b.Cols)))
	for c := range b.Cols {
		v := &b.Cols[c]
		dst = append(dst, byte(v.Type.Kind), v.Type.Precision, v.Type.Scale, byte(bit(v.Valid != nil)))
		if v.Valid != nil {
			for _, word := range v.Valid[:(b.N+63)/64] {
				dst = binary.LittleEndian.AppendUint64(dst, word)
			}
		}
		switch {
		case v.Type.Kind.IsView():
			for i := range b.N {
				n := 0
				if !v.IsNull(i) {
					n = int(v.End[i] - v.Beg[i])
				}
				dst = binary.AppendUvarint(dst, uint64(n))
			}
			for i := range b.N {
				if !v.IsNull(i) {
					dst = append(dst, v.View(i)...)
				}
			}
		case v.Type.Kind == column.Float64:
			for _, x := range v.Float[:b.N] {
				dst = appendFloat(dst, x)
			}
		default:
			for _, x := range v.Int[:b.N] {
				dst = binary.AppendVarint(dst, x)
			}
		}
	}
	return dst
}

// readRows decodes a block into b, whose memory it uses again. Values are views into block. Bytes that appendRows did not write are an error.
func readRows(b *column.Batch, block []byte) error {
	r := stateReader{rest: block}
	n, columns := r.uint(), r.uint()
	// Every column takes 4 bytes, every value one.
	if r.bad || n == 0 || columns > uint64(len(block)) || columns > 0 && n > uint64(len(block)) {
		return damagedRows()
	}
	if uint64(cap(b.Cols)) < columns {
		b.Cols = make([]column.Vector, columns)
	}
	b.N, b.Sel, b.Cols = int(n), nil, b.Cols[:columns]
	for c := range b.Cols {
		if !readColumn(&b.Cols[c], int(n), &r) {
			return damagedRows()
		}
	}
	if len(r.rest) > 0 {
		return damagedRows()
	}
	return nil
}

func damagedRows() error {
	return sqlerr.New(sqlerr.Unexpected, "rows in a temporary file are damaged")
}

// readColumn decodes n values; it reports whether they were good.
func readColumn(v *column.Vector, n int, r *stateReader) bool {
	if len(r.rest) < 4 {
		return false
	}
	t := column.Type{Kind: column.Kind(r.rest[0]), Precision: r.rest[1], Scale: r.rest[2]}
	nulls := r.rest[3]
	r.rest = r.rest[4:]
	if !(t.Kind.IsView() || t.Kind.IsInt() || t.Kind == column.Float64) || t.Kind > column.Timestamp || nulls > 1 {
		return false
	}
	v.Reset(t)
	if nulls == 1 {
		v.SetNull(0, n)
		for w := range (n + 63) / 64 {
			v.Valid[w] = r.word()
		}
	}
	switch {
	case t.Kind.IsView():
		end := uint64(0)
		for range n {
			v.Beg = append(v.Beg, uint32(end))
			if end += r.uint(); r.bad || end > uint64(len(r.rest)) {
				return false
			}
			v.End = append(v.End, uint32(end))
		}
		if end > uint64(len(r.rest)) {
			return false
		}
		v.Data, r.rest = r.rest[:end:end], r.rest[end:]
	case t.Kind == column.Float64:
		for range n {
			v.Float = append(v.Float, r.float())
		}
	default:
		for range n {
			v.Int = append(v.Int, r.int())
		}
	}
	return !r.bad
}
