package convert

// number is the text of a decimal number taken apart: ± 0.d1d2d3… × 10^point, where d1 and the last digit are not 0. Zero has no digits.
type number struct {
	// The digits are whole[i] and then fraction[i], views of the text.
	whole, fraction []byte
	point           int
	negative        bool
}

func (n *number) digits() int { return len(n.whole) + len(n.fraction) }

func (n *number) digit(i int) byte {
	if i < len(n.whole) {
		return n.whole[i] - '0'
	}
	return n.fraction[i-len(n.whole)] - '0'
}

// maxExponent bounds what an exponent may say before it counts as beyond every type; it keeps point far from the ends of int.
const maxExponent = 1 << 30

// parseNumber reads [+-] digits [. digits] [e [+-] digits], with at least one digit before the exponent. b is trimmed.
func parseNumber(b []byte) (number, Fault) {
	var n number
	i := 0
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		n.negative = b[i] == '-'
		i++
	}
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	n.whole = b[start:i]
	if i < len(b) && b[i] == '.' {
		i++
		start = i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		n.fraction = b[start:i]
	}
	if n.digits() == 0 {
		return n, Syntax
	}
	exponent := 0
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		negative := false
		if i < len(b) && (b[i] == '-' || b[i] == '+') {
			negative = b[i] == '-'
			i++
		}
		start = i
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			exponent = min(exponent*10+int(b[i]-'0'), maxExponent)
		}
		if i == start {
			return n, Syntax
		}
		if negative {
			exponent = -exponent
		}
	}
	if i != len(b) {
		return n, Syntax
	}
	n.point = len(n.whole) + exponent
	// Leading zeros, then trailing ones.
	for len(n.whole) > 0 && n.whole[0] == '0' {
		n.whole = n.whole[1:]
		n.point--
	}
	if len(n.whole) == 0 {
		for len(n.fraction) > 0 && n.fraction[0] == '0' {
			n.fraction = n.fraction[1:]
			n.point--
		}
	}
	for len(n.fraction) > 0 && n.fraction[len(n.fraction)-1] == '0' {
		n.fraction = n.fraction[:len(n.fraction)-1]
	}
	if len(n.fraction) == 0 {
		for len(n.whole) > 0 && n.whole[len(n.whole)-1] == '0' {
			n.whole = n.whole[:len(n.whole)-1]
		}
	}
	if n.digits() == 0 {
		n.point = 0
	}
	return n, OK
}
