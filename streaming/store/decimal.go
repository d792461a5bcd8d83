package store

import (
	"cmp"
	"strings"
)

// CompareDecimals orders two decimals in canonical text, '-'? digits ('.' digits)?, by value: 1.50 = 1.5, -0 = 0.
func CompareDecimals[T string | []byte](a, b T) int {
	x, y := decimalOf(string(a)), decimalOf(string(b))
	switch {
	case x.sign != y.sign:
		return cmp.Compare(x.sign, y.sign)
	case x.sign < 0:
		return -x.compareMagnitude(y)
	default:
		return x.compareMagnitude(y)
	}
}

// decimal is a decimal without what does not count: leading zeros of whole, trailing ones of fraction.
type decimal struct {
	sign            int // -1, 0, 1
	whole, fraction string
}

func decimalOf(s string) decimal {
	d := decimal{sign: 1}
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		s, d.sign = rest, -1
	}
	d.whole, d.fraction, _ = strings.Cut(s, ".")
	d.whole, d.fraction = strings.TrimLeft(d.whole, "0"), strings.TrimRight(d.fraction, "0")
	if d.whole == "" && d.fraction == "" {
		d.sign = 0
	}
	return d
}

func (d decimal) compareMagnitude(e decimal) int {
	return cmp.Or(cmp.Compare(len(d.whole), len(e.whole)), cmp.Compare(d.whole, e.whole), cmp.Compare(d.fraction, e.fraction))
}
