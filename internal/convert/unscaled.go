package convert

import "encoding/binary"

// maxUnscaled is the longest number that AppendUnscaled takes, in bytes: 2466 digits. No column of SQL takes more, and the work grows with the square.
const maxUnscaled = 1024

// AppendUnscaled appends the integer b, big-endian in two's complement, divided by 10^scale, as a decimal number with exactly scale digits behind the
// point; a negative scale appends zeros. No bytes are 0. Zero has no sign. On a fault dst is returned as it was.
func AppendUnscaled(dst, b []byte, scale int) ([]byte, Fault) {
	negative := len(b) > 0 && b[0] >= 0x80
	var sign byte
	if negative {
		sign = 0xff
	}
	for len(b) > 0 && b[0] == sign {
		b = b[1:]
	}
	if len(b) > maxUnscaled || scale > maxUnscaled || scale < -maxUnscaled {
		return dst, Overflow
	}
	// The magnitude in limbs of 32 bits, the highest first: all bits flipped and one added when negative.
	var memory [maxUnscaled/4 + 1]uint32
	limbs := memory[:len(b)/4+1]
	carry := uint64(0)
	if negative {
		carry = 1
	}
	for i, end := len(limbs)-1, len(b); i >= 0; i, end = i-1, end-4 {
		word := [4]byte{sign, sign, sign, sign}
		copy(word[max(0, 4-end):], b[max(0, end-4):end])
		limb := uint64(binary.BigEndian.Uint32(word[:])^uint32(int32(int8(sign)))) + carry
		limbs[i], carry = uint32(limb), limb>>32
	}
	// Digits, the lowest first, nine for each division.
	var digitMemory [maxUnscaled/4*10 + 20]byte
	digits := digitMemory[:0]
	for {
		for len(limbs) > 0 && limbs[0] == 0 {
			limbs = limbs[1:]
		}
		if len(limbs) == 0 {
			break
		}
		rest := uint64(0)
		for i, l := range limbs {
			rest = rest<<32 | uint64(l)
			limbs[i] = uint32(rest / 1e9)
			rest %= 1e9
		}
		for range 9 {
			digits = append(digits, byte('0'+rest%10))
			rest /= 10
		}
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if negative {
		dst = append(dst, '-')
	}
	if len(digits) <= max(scale, 0) {
		dst = append(dst, '0')
	}
	for i := len(digits) - 1; i >= max(scale, 0); i-- {
		dst = append(dst, digits[i])
	}
	if len(digits) > 0 {
		for range -scale {
			dst = append(dst, '0')
		}
	}
	if scale > 0 {
		dst = append(dst, '.')
		for i := scale - 1; i >= 0; i-- {
			if i < len(digits) {
				dst = append(dst, digits[i])
			} else {
				dst = append(dst, '0')
			}
		}
	}
	return dst, OK
}
