package segment

import (
	"encoding/binary"
	"math/bits"
)

// frameRows is how many integers share a base and a width: few enough that one outlier does not cost much, many enough that the base costs
// nothing.
const frameRows = 1024

// byDelta in a frame's width byte says that what is packed are differences between neighbours.
const byDelta = 0x80

// appendInts encodes values in frames. Arithmetic wraps, so any int64 will do.
func appendInts(dst []byte, values, scratch []int64) []byte {
	for len(values) > 0 {
		n := min(len(values), frameRows)
		dst = appendFrame(dst, values[:n], scratch)
		values = values[n:]
	}
	return dst
}

func appendFrame(dst []byte, f, scratch []int64) []byte {
	lo, hi := f[0], f[0]
	dlo, dhi := int64(0), int64(0)
	for i, x := range f[1:] {
		lo, hi = min(lo, x), max(hi, x)
		d := x - f[i]
		if i == 0 {
			dlo, dhi = d, d
		}
		dlo, dhi = min(dlo, d), max(dhi, d)
	}
	width, delta := bits.Len64(uint64(hi)-uint64(lo)), bits.Len64(uint64(dhi)-uint64(dlo))
	if delta >= width {
		dst = append(dst, byte(width))
		dst = binary.AppendVarint(dst, lo)
		return pack(dst, f, lo, uint(width))
	}
	dst = append(dst, byte(delta)|byDelta)
	dst = binary.AppendVarint(dst, f[0])
	dst = binary.AppendVarint(dst, dlo)
	diffs := scratch[:0]
	for i, x := range f[1:] {
		diffs = append(diffs, x-f[i])
	}
	return pack(dst, diffs, dlo, uint(delta))
}

// readInts decodes len(dst) integers and gives what follows them.
func readInts(dst []int64, src []byte) ([]byte, error) {
	for len(dst) > 0 {
		n := min(len(dst), frameRows)
		var err error
		if src, err = readFrame(dst[:n], src); err != nil {
			return nil, err
		}
		dst = dst[n:]
	}
	return src, nil
}

func readFrame(f []int64, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return nil, corrupt("a frame of integers is missing")
	}
	width, delta := uint(src[0]&^byDelta), src[0]&byDelta != 0
	src = src[1:]
	base, w := binary.Varint(src)
	if w <= 0 || width > 64 {
		return nil, corrupt("a frame of integers has no base or %d bits", width)
	}
	src = src[w:]
	if !delta {
		if len(src) < packedLen(len(f), width) {
			return nil, corrupt("a frame of integers is cut")
		}
		unpackBits(f, src[:packedLen(len(f), width)], base, width)
		return src[packedLen(len(f), width):], nil
	}
	step, w := binary.Varint(src)
	if w <= 0 {
		return nil, corrupt("a frame of differences has no least one")
	}
	src = src[w:]
	size := packedLen(len(f)-1, width)
	if len(src) < size {
		return nil, corrupt("a frame of differences is cut")
	}
	unpackBits(f[1:], src[:size], step, width)
	f[0] = base
	for i := 1; i < len(f); i++ {
		base += f[i]
		f[i] = base
	}
	return src[size:], nil
}
