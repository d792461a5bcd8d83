package convert

// Limits of DECIMAL(precision, scale).
const (
	MaxPrecision = 65
	MaxScale     = 30
)

// AppendDecimal appends the number in b as the canonical text of a DECIMAL(precision, scale): '-'? digits, and '.' with exactly scale digits
// when scale is not 0. Digits beyond the scale are rounded half away from zero, as MySQL and Spark do. Zero has no sign. On a fault dst is
// returned as it was.
func AppendDecimal(dst, b []byte, precision, scale int) ([]byte, Fault) {
	n, fault := parseNumber(trim(b))
	if fault != OK {
		return dst, fault
	}
	return appendDecimal(dst, &n, precision, scale)
}

func appendDecimal(dst []byte, n *number, precision, scale int) ([]byte, Fault) {
	if n.point > precision-scale {
		return dst, Overflow
	}
	start := len(dst)
	if n.negative {
		dst = append(dst, '-')
	}
	first := len(dst)
	// The digits from 10^(point-1), or 10^0 when that is more, down to 10^-scale.
	if n.point <= 0 {
		dst = append(dst, '0')
	}
	for i := range max(n.point, 0) {
		dst = append(dst, n.at(i))
	}
	if scale > 0 {
		dst = append(dst, '.')
		for i := n.point; i < n.point+scale; i++ {
			dst = append(dst, n.at(i))
		}
	}
	if n.at(n.point+scale) >= '5' {
		dst = increment(dst, first)
		whole := len(dst) - first
		if scale > 0 {
			whole -= scale + 1
		}
		// A carry into a new digit may be one too many; DECIMAL(s,s) shows a 0 before the point that is not counted.
		if whole > max(precision-scale, 1) || precision == scale && dst[first] != '0' {
			return dst[:start], Overflow
		}
	}
	if n.negative && isZero(dst[first:]) {
		dst = append(dst[:start], dst[first:]...)
	}
	return dst, OK
}

// at is digit i as a character, 0 beyond both ends.
func (n *number) at(i int) byte {
	if i < 0 || i >= n.digits() {
		return '0'
	}
	return n.digit(i) + '0'
}

// increment adds one in the last place of the number dst[first:].
func increment(dst []byte, first int) []byte {
	for i := len(dst) - 1; i >= first; i-- {
		switch dst[i] {
		case '.':
		case '9':
			dst[i] = '0'
		default:
			dst[i]++
			return dst
		}
	}
	dst = append(dst, 0)
	copy(dst[first+1:], dst[first:])
	dst[first] = '1'
	return dst
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != '0' && c != '.' {
			return false
		}
	}
	return true
}

// CompareDecimal compares two numbers exactly, whatever their length. Both must be numbers.
func CompareDecimal(a, b []byte) int {
	x, _ := parseNumber(trim(a))
	y, _ := parseNumber(trim(b))
	sx, sy := x.sign(), y.sign()
	switch {
	case sx != sy && sx < sy:
		return -1
	case sx != sy:
		return 1
	case sx == 0:
		return 0
	case x.point != y.point:
		if (x.point < y.point) == (sx > 0) {
			return -1
		}
		return 1
	}
	for i := range max(x.digits(), y.digits()) {
		if c, d := x.at(i), y.at(i); c != d {
			if (c < d) == (sx > 0) {
				return -1
			}
			return 1
		}
	}
	return 0
}

func (n *number) sign() int {
	switch {
	case n.digits() == 0:
		return 0
	case n.negative:
		return -1
	default:
		return 1
	}
}
