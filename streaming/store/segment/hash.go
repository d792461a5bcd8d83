package segment

import (
	"encoding/binary"
	"math/bits"
)

// The hash is part of the format of filters: it may never change. It multiplies and folds (as wyhash does), eight bytes at a time.
const (
	mulA = 0x9e3779b97f4a7c15
	mulB = 0xd6e8feb86659fd93
)

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func hashBytes(b []byte) uint64 {
	h := uint64(len(b))*mulB + mulA
	for ; len(b) >= 8; b = b[8:] {
		h = fold(h^binary.LittleEndian.Uint64(b), mulA)
	}
	if len(b) > 0 {
		var tail uint64
		for i := len(b) - 1; i >= 0; i-- {
			tail = tail<<8 | uint64(b[i])
		}
		h = fold(h^tail, mulB)
	}
	return fold(h^h>>32, mulB)
}

func hashInt(x int64) uint64 {
	h := fold(uint64(x)^mulA, mulB)
	return fold(h^h>>32, mulA)
}
