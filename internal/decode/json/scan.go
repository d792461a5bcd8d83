package json

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The scanners take the record and a position and return the position behind what they scanned, or ^position, which is negative, of
// the byte that is wrong.

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

func skipBlanks(b []byte, p int) int {
	for p < len(b) && (b[p] == ' ' || b[p] == '\n' || b[p] == '\r' || b[p] == '\t') {
		p++
	}
	return p
}

func scanLiteral(b []byte, p int, s string) int {
	if len(b)-p >= len(s) && string(b[p:p+len(s)]) == s {
		return p + len(s)
	}
	return ^p
}

// scanString scans a string from behind its opening quote to behind its closing one.
func scanString(b []byte, p int) (int, Flags) {
	var flags Flags
	start := p
	for {
		// Eight bytes at a time up to one to look at.
		for p >= 0 && p <= len(b)-8 {
			m := special(word(b, p))
			if m == 0 {
				p += 8
				continue
			}
			p += bits.TrailingZeros64(m) >> 3
			break
		}
		if p >= len(b) {
			return ^p, 0
		}
		switch c := b[p]; {
		case c == '"':
			if flags&wide != 0 && !utf8.Valid(b[start:p]) {
				return ^badSequence(b, start), 0
			}
			return p + 1, flags
		case c == '\\':
			flags |= Escaped
			if p+1 >= len(b) {
				return ^len(b), 0
			}
			switch b[p+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				p += 2
			case 'u':
				if p+6 > len(b) || hex4(b[p+2:]) < 0 {
					return ^p, 0
				}
				p += 6
			default:
				return ^p, 0
			}
		case c < 0x20:
			return ^p, 0
		case c >= utf8.RuneSelf:
			flags |= wide
			for p++; p < len(b) && b[p] >= utf8.RuneSelf; p++ {
			}
		default:
			p++
		}
	}
}

// skipString is scanString for a string that nothing is wanted of.
func skipString(b []byte, p int) int {
	if end := closingQuote(b, p); end != 0 {
		return end
	}
	p, _ = scanString(b, p)
	return p
}

// closingQuote finds the end of a string that begins at p, when it is ASCII without escapes, as most are, and does not end within the last bytes of
// the record; else it gives 0.
func closingQuote(b []byte, p int) int {
	for p >= 0 && p <= len(b)-8 {
		if m := special(word(b, p)); m != 0 {
			if q := p + bits.TrailingZeros64(m)>>3; q < len(b) && b[q] == '"' {
				return q + 1
			}
			break
		}
		p += 8
	}
	return 0
}

// word is the eight bytes of b from p on. Whoever has compared p with 0 and len(b)-8 in this way reads them without another check.
func word(b []byte, p int) uint64 { return binary.LittleEndian.Uint64(b[p : p+8]) }

// special marks the bytes of w that are a quote, a backslash, a control character or beyond ASCII, the least of them rightly: a subtraction borrows from
// the byte behind only where a byte is one of these, and a byte that is beyond ASCII counts anyway. With the bit of 2 turned over, the quote and the control
// characters are the bytes below 0x21.
func special(w uint64) uint64 {
	return (((w ^ ones*2) - ones*0x21) | ((w ^ ones*'\\') - ones) | w) & high
}

// badSequence finds the first byte from p on where UTF-8 breaks.
func badSequence(b []byte, p int) int {
	for p < len(b) {
		r, n := utf8.DecodeRune(b[p:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		p += n
	}
	return p
}

// hex4 reads four hexadecimal digits; -1 when there are none.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func scanNumber(b []byte, p int) (int, Flags) {
	var flags Flags
	if p < len(b) && b[p] == '-' {
		p++
	}
	if p >= len(b) {
		return ^p, 0
	}
	switch c := b[p]; {
	case c == '0':
		p++
	case c >= '1' && c <= '9':
		for p++; p < len(b) && b[p]-'0' < 10; p++ {
		}
	default:
		return ^p, 0
	}
	if p < len(b) && b[p] == '.' {
		flags = Fractional
		p++
		start := p
		for p < len(b) && b[p]-'0' < 10 {
			p++
		}
		if p == start {
			return ^p, 0
		}
	}
	if p < len(b) && b[p]|0x20 == 'e' {
		flags = Fractional
		p++
		if p < len(b) && (b[p] == '+' || b[p] == '-') {
			p++
		}
		start := p
		for p < len(b) && b[p]-'0' < 10 {
			p++
		}
		if p == start {
			return ^p, 0
		}
	}
	return p, flags
}

// levels remembers for each open container whether it is an object, a bit each.
type levels [MaxDepth/64 + 1]uint64

// skipContainer checks a container that nothing is wanted of, without recursion. depth containers are open around it.
//
// The state machine is written with labels: each label is what may come next, and the branch predictor gets one branch per place in
// the grammar instead of one for all.
func (x *Extractor) skipContainer(b []byte, p, depth int) int {
	var stack levels
	open := 0 // containers opened here
	var object bool
value:
	for p < len(b) && b[p] <= ' ' {
		if c := b[p]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return ^p
		}
		p++
	}
	if p >= len(b) {
		return ^p
	}
	switch b[p] {
	case '"':
		p = skipString(b, p+1)
	case '{', '[':
		if depth+open >= MaxDepth {
			x.tooDeep = true
			return ^p
		}
		if object {
			stack[open>>6] |= 1 << (open & 63)
		} else {
			stack[open>>6] &^= 1 << (open & 63)
		}
		open++
		object = b[p] == '{'
		p++
		for p < len(b) && b[p] <= ' ' {
			if c := b[p]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return ^p
			}
			p++
		}
		if p >= len(b) {
			return ^p
		}
		if object {
			if b[p] == '}' {
				goto end
			}
			goto key
		}
		if b[p] == ']' {
			goto end
		}
		goto value
	case 't':
		p = scanLiteral(b, p, "true")
	case 'f':
		p = scanLiteral(b, p, "false")
	case 'n':
		p = scanLiteral(b, p, "null")
	default:
		p, _ = scanNumber(b, p)
	}
	if p < 0 {
		return p
	}
after:
	for p < len(b) && b[p] <= ' ' {
		if c := b[p]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return ^p
		}
		p++
	}
	if p >= len(b) {
		return ^p
	}
	if b[p] == ',' {
		p++
		if !object {
			goto value
		}
		for p < len(b) && b[p] <= ' ' {
			if c := b[p]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return ^p
			}
			p++
		}
		goto key
	}
	if object && b[p] == '}' || !object && b[p] == ']' {
		goto end
	}
	return ^p
key:
	if p >= len(b) || b[p] != '"' {
		return ^p
	}
	if p = skipString(b, p+1); p < 0 {
		return p
	}
	for p < len(b) && b[p] <= ' ' {
		if c := b[p]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return ^p
		}
		p++
	}
	if p >= len(b) || b[p] != ':' {
		return ^p
	}
	p++
	goto value
end:
	p++
	open--
	if open == 0 {
		return p
	}
	object = stack[open>>6]>>(open&63)&1 != 0
	goto after
}
