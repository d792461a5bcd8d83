package segment

import "encoding/binary"

// packedLen is the number of bytes that n values of width bits take.
func packedLen(n int, width uint) int { return (n*int(width) + 7) / 8 }

// pack appends x-base for each value, in width bits each. The differences must fit.
func pack(dst []byte, values []int64, base int64, width uint) []byte {
	if width == 0 {
		return dst
	}
	var acc uint64
	var held uint // bits in acc, below 64
	for _, v := range values {
		x := uint64(v) - uint64(base)
		acc |= x << held
		held += width
		if held >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			held -= 64
			acc = x >> (width - held)
		}
	}
	for ; held > 0; held -= min(held, 8) {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// unpackBits reads len(dst) values that pack wrote, of no more bits than T has. src has at least packedLen bytes.
func unpackBits[T int64 | uint16](dst []T, src []byte, base T, width uint) {
	switch {
	case width == 0:
		for i := range dst {
			dst[i] = base
		}
		return
	case width == 8:
		for i := range dst {
			dst[i] = base + T(src[i])
		}
		return
	}
	mask := uint64(1)<<width - 1 // all ones for 64
	if width < 8 && 64%width == 0 {
		// As in codes of a small dictionary: a word holds whole values.
		for each := int(64 / width); len(dst) >= each && len(src) >= 8; src = src[8:] {
			word := binary.LittleEndian.Uint64(src)
			for i := range dst[:each] {
				dst[i] = base + T(word&mask)
				word >>= width
			}
			dst = dst[each:]
		}
	}
	i := 0
	if width <= 56 {
		// One load of eight bytes holds any value: at most 7 bits are before it.
		for pos := uint(0); i < len(dst); i++ {
			at := pos >> 3
			if int(at)+8 > len(src) {
				break
			}
			dst[i] = base + T(binary.LittleEndian.Uint64(src[at:])>>(pos&7)&mask)
			pos += width
		}
	}
	for ; i < len(dst); i++ {
		dst[i] = base + T(bitsAt(src, uint(i)*width)&mask)
	}
}

// bitsAt is the 64 bits of src from a bit on, zero beyond its end.
func bitsAt(src []byte, pos uint) uint64 {
	var buf [9]byte
	copy(buf[:], src[pos>>3:])
	shift := pos & 7
	x := binary.LittleEndian.Uint64(buf[:]) >> shift
	if shift > 0 {
		x |= uint64(buf[8]) << (64 - shift)
	}
	return x
}
