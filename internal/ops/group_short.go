package ops

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
)

// shortKey is the length of the longest key whose hash tells it from all others of at most this length: the bytes and their number fit a word.
const shortKey = 7

// shortSeed and shortFactor make the hashes of short keys others in each process, so that nobody can choose keys that collide.
var shortSeed, shortFactor = rand.Uint64(), rand.Uint64() | 1

// shortHash mixes the word of a short key without loss: different words have different hashes.
func shortHash(word uint64) uint64 {
	word = (word ^ shortSeed) * shortFactor
	word = (word ^ word>>32) * 0x9fb21c651e98df25
	return word ^ word>>29
}

// hashKey is the hash of a key, however it is found.
func hashKey(key []byte) uint64 {
	if len(key) > shortKey {
		return maphash.Bytes(seed, key)
	}
	word := uint64(len(key)) << 56
	for i, c := range key {
		word |= uint64(c) << (8 * i)
	}
	return shortHash(word)
}

// findView is find of data[beg:end]. A short key is read as a word, and its hash is all there is to compare.
func (t *keys) findView(data []byte, beg, end int) int32 {
	if n := end - beg; n > shortKey || beg < 0 || beg > len(data)-8 {
		return t.find(data[beg:end])
	}
	size := 8 * uint(end-beg)
	h := shortHash(binary.LittleEndian.Uint64(data[beg:beg+8])&(1<<size-1) | uint64(size)<<53)
	mask := uint64(len(t.slots) - 1)
	for p := h & mask; ; p = (p + 1) & mask {
		s := t.slots[p]
		if s == 0 {
			break
		}
		if g := int32(s - 1); t.hashes[g] == h && len(t.key(g)) <= shortKey {
			return g
		}
	}
	return t.insert(h, 0, data[beg:end])
}
