package convert

import "unicode/utf8"

// AppendUTF8 appends b to dst, with U+FFFD in place of each sequence that is not UTF-8. As the WHATWG and Unicode (§3.9, "maximal
// subparts") want it and browsers and the JVM do it, a truncated character is one sequence, and every other stray byte is one.
func AppendUTF8(dst, b []byte) []byte {
	for len(b) > 0 {
		good := 0
		for good < len(b) {
			if b[good] < utf8.RuneSelf {
				good++
				continue
			}
			r, n := utf8.DecodeRune(b[good:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			good += n
		}
		dst = append(dst, b[:good]...)
		if b = b[good:]; len(b) == 0 {
			break
		}
		dst = append(dst, "\uFFFD"...)
		b = b[badLength(b):]
	}
	return dst
}

// badLength is the length of the sequence at the start of b, which is not valid UTF-8: the bytes that begin a character, as far as they
// do.
func badLength(b []byte) int {
	// low and high bound the second byte; need is the number of bytes after the first.
	low, high, need := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 1
	case c >= 0xe0 && c <= 0xef:
		need = 2
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		need = 3
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for ; n <= need && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}
