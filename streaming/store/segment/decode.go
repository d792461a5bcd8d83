package segment

import (
	"encoding/binary"
	"math"

	"millrace/internal/column"
)

// Column is a decoded column. Its memory is used again by the next Decode into it. A column with a dictionary of no more than column.MaxCodes values is decoded
// to codes; its Vector has no views until Expand.
type Column struct {
	Vector column.Vector
	// data is what the views of Vector point into, beg and end those of its dictionary, codes its codes.
	data     []byte
	beg, end []uint32
	codes    []uint16
}

// Bytes is the memory that c holds.
func (c *Column) Bytes() int64 {
	v := &c.Vector
	return int64(8*cap(v.Valid) + 8*cap(v.Int) + 8*cap(v.Float) + 4*(cap(v.Beg)+cap(v.End)+cap(c.beg)+cap(c.end)) + 2*cap(c.codes) + cap(c.data))
}

// Scratch is memory that decoding needs besides its result. It is for one goroutine at a time.
type Scratch struct {
	payload     []byte
	ints, frame []int64
}

// Decode reads a blob of rows rows into c, as type t, whose values are laid out as those of the type that was encoded. c does not keep blob. After
// an error the content of c is undefined; errors about the blob are ErrCorrupt.
func (c *Column) Decode(blob []byte, t column.Type, rows int, s *Scratch) error {
	h, packed, err := open(blob)
	if err != nil {
		return err
	}
	if h.rows != rows {
		return corrupt("%d rows, want %d", h.rows, rows)
	}
	if h.kind.IsView() != t.Kind.IsView() || (h.kind == column.Float64) != (t.Kind == column.Float64) {
		return corrupt("values of %v, want %v", h.kind, t.Kind)
	}
	v := &c.Vector
	v.Type, v.Valid, v.Int, v.Float, v.Beg, v.End, v.Data = t, v.Valid[:0], v.Int[:0], v.Float[:0], v.Beg[:0], v.End[:0], nil
	v.Codes, v.Dict = nil, nil
	if t.Kind.IsView() {
		// Views stay in the payload, so it must be c's own; numbers are copied out of it.
		payload, err := unpack(h, packed, c.data)
		if err != nil {
			return err
		}
		if h.packing == compressNone {
			payload = append(c.data[:0], packed...)
		}
		c.data = payload
		return c.values(h, payload, s)
	}
	payload, err := unpack(h, packed, s.payload)
	if err != nil {
		return err
	}
	if h.packing != compressNone {
		s.payload = payload
	}
	return c.values(h, payload, s)
}

func (c *Column) values(h header, src []byte, s *Scratch) error {
	v := &c.Vector
	src, err := readValid(v, src, h.rows)
	if err != nil {
		return err
	}
	switch {
	case h.encoding == encodeInts && v.Type.Kind.IsInt():
		v.Int = sized(v.Int, h.rows)
		src, err = readInts(v.Int, src)
	case h.encoding == encodeFloats && v.Type.Kind == column.Float64:
		if len(src) != 8*h.rows {
			return corrupt("%d bytes of doubles, want %d", len(src), 8*h.rows)
		}
		v.Float = sized(v.Float, h.rows)
		for i := range v.Float {
			v.Float[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
		}
		src = nil
	case h.encoding == encodeDecimals && v.Type.Kind == column.Float64:
		v.Float = sized(v.Float, h.rows)
		src, err = readDecimals(v.Float, src, s)
	case h.encoding == encodePlain && v.Type.Kind.IsView():
		v.Beg, v.End = sized(v.Beg, h.rows), sized(v.End, h.rows)
		src, err = readViews(v, v.Beg, v.End, src, s)
	case h.encoding == encodeDictionary && v.Type.Kind.IsView():
		src, err = c.readDictionary(h.rows, src, s)
	default:
		return corrupt("encoding %d of %v", h.encoding, v.Type.Kind)
	}
	if err == nil && len(src) > 0 {
		err = corrupt("%d bytes too many", len(src))
	}
	return err
}

func readValid(v *column.Vector, src []byte, rows int) ([]byte, error) {
	if len(src) == 0 || src[0] > 1 {
		return nil, corrupt("it does not say whether there are NULLs")
	}
	if src[0] == 0 {
		v.Valid = nil
		return src[1:], nil
	}
	src = src[1:]
	words := (rows + 63) / 64
	if len(src) < 8*words {
		return nil, corrupt("the bitmap of NULLs is cut")
	}
	if cap(v.Valid) < words {
		v.Valid = make([]uint64, words)
	}
	v.Valid = v.Valid[:words]
	for i := range v.Valid {
		v.Valid[i] = binary.LittleEndian.Uint64(src[8*i:])
	}
	return src[8*words:], nil
}

// readViews reads lengths and bytes of len(beg) values. The views lie in v.Data, which it sets.
func readViews(v *column.Vector, beg, end []uint32, src []byte, s *Scratch) ([]byte, error) {
	s.ints = sized(s.ints, len(beg))
	src, err := readInts(s.ints, src)
	if err != nil {
		return nil, err
	}
	at := int64(0)
	for i, n := range s.ints {
		if n < 0 || n > int64(len(src))-at {
			return nil, corrupt("value %d is longer than what is left", i)
		}
		beg[i], end[i] = uint32(at), uint32(at+n)
		at += n
	}
	v.Data = src[:at:at]
	return src[at:], nil
}

func (c *Column) readDictionary(rows int, src []byte, s *Scratch) ([]byte, error) {
	v := &c.Vector
	count, w := binary.Uvarint(src)
	if w <= 0 || count > uint64(rows) || count == 0 && v.Valid == nil && rows > 0 {
		return nil, corrupt("a dictionary of %d values for %d rows", count, rows)
	}
	n := int(count)
	c.beg, c.end = sized(c.beg, n), sized(c.end, n)
	src, err := readViews(v, c.beg, c.end, src[w:], s)
	if err != nil {
		return nil, err
	}
	if n == 0 { // all rows are NULL, with the code 0
		n, c.beg, c.end = 1, append(c.beg, 0), append(c.end, 0)
	}
	if len(src) == 0 || src[0] > 32 {
		return nil, corrupt("codes without a width")
	}
	width := uint(src[0])
	src = src[1:]
	size := packedLen(rows, width)
	if len(src) < size {
		return nil, corrupt("codes are cut")
	}
	if n <= column.MaxCodes && width <= 16 {
		c.codes = sized(c.codes, rows)
		unpackBits(c.codes, src[:size], 0, width)
		most := uint16(0)
		for _, code := range c.codes {
			most = max(most, code)
		}
		if int(most) >= n {
			return nil, corrupt("code %d of %d", most, n)
		}
		v.Codes, v.Dict = c.codes, &column.Dictionary{Beg: c.beg, End: c.end}
		return src[size:], nil
	}
	v.Beg, v.End = sized(v.Beg, rows), sized(v.End, rows)
	s.ints = sized(s.ints, rows)
	unpackBits(s.ints, src[:size], 0, width)
	for i, code := range s.ints {
		if code >= int64(n) {
			return nil, corrupt("code %d of %d", code, n)
		}
		v.Beg[i], v.End[i] = c.beg[code], c.end[code]
	}
	return src[size:], nil
}
