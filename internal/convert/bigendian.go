package convert

import (
	"bytes"
	"math/big"
)

// AppendBigEndian appends the number in text, times 10^scale and rounded to an integer, big-endian in two's complement, in as few bytes as hold it: the inverse of
// AppendUnscaled. On a fault dst is returned as it was.
func AppendBigEndian(dst, text []byte, scale int) ([]byte, Fault) {
	var buf [MaxPrecision + MaxScale]byte
	digits, fault := AppendDecimal(buf[:0], text, MaxPrecision, scale)
	if fault != OK {
		return dst, fault
	}
	if point := bytes.IndexByte(digits, '.'); point >= 0 {
		digits = append(digits[:point], digits[point+1:]...)
	}
	if n, ok := shortInt(digits); ok {
		bytes := 8
		for bytes > 1 && n>>(8*bytes-9) == n>>63 {
			bytes--
		}
		for bytes--; bytes >= 0; bytes-- {
			dst = append(dst, byte(n>>(8*bytes)))
		}
		return dst, OK
	}
	n, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return dst, Syntax
	}
	size := n.BitLen()/8 + 1
	if n.Sign() < 0 {
		// -2^k needs a bit less than 2^k.
		size = new(big.Int).Not(n).BitLen()/8 + 1
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	start := len(dst)
	dst = append(dst, make([]byte, size)...)
	n.FillBytes(dst[start:])
	return dst, OK
}
