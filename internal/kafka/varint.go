package kafka

// varint reads a zigzag varint at b[p:] and gives the position after it. Where b ends early or the number has no end, the position lies beyond
// len(b), and so does that of every read after it: it is enough to look at the last one.
func varint(b []byte, p int) (int64, int) {
	// One or two bytes, which most lengths and deltas take.
	if uint(p) < uint(len(b)) {
		c := b[p]
		if c < 0x80 {
			return short(c), p + 1
		}
		if p+1 < len(b) && b[p+1] < 0x80 {
			x := uint64(c&0x7f) | uint64(b[p+1])<<7
			return int64(x>>1) ^ -int64(x&1), p + 2
		}
	}
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

// short is the value of a varint of one byte. Loops that run once a record look for it themselves, since varint is too large to be inlined.
func short(c byte) int64 { return int64(c>>1) ^ -int64(c&1) }
