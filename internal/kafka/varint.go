package kafka

// varint reads a zigzag varint at b[p:] and gives the position after it. Where b ends early or the number has no end, the position lies beyond
// len(b), and so does that of every read after it: it is enough to look at the last one.
func varint(b []byte, p int) (int64, int) {
	if uint(p) < uint(len(b)) {
		if c := b[p]; c < 0x80 {
			return int64(c>>1) ^ -int64(c&1), p + 1
		}
	}
	return longVarint(b, p)
}

// longVarint is not inlined so that varint is.
//
//go:noinline
func longVarint(b []byte, p int) (int64, int) {
	var x uint64
	for s := uint(0); s < 70 && p < len(b); s += 7 {
		c := b[p]
		p++
		x |= uint64(c&0x7f) << s
		if c < 0x80 {
			return int64(x>>1) ^ -int64(x&1), p
		}
	}
	return 0, len(b) + 1
}
