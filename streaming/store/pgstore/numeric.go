package pgstore

import (
	"encoding/binary"
	"fmt"
)

// PostgreSQL's numeric on the wire: the number of digits of base 10,000, the weight of the first, the sign, and how many decimal places to show; then
// the digits. Zeros in front and behind are left out.

const (
	numericNegative = 0x4000
	numericHeader   = 8
)

// appendNumeric appends a decimal in canonical text, and reports whether it is one. −0 becomes 0.
func appendNumeric(to, text []byte) ([]byte, bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	point := len(text)
	for i, c := range text {
		switch {
		case c == '.' && point == len(text) && i > 0 && i < len(text)-1:
			point = i
		case c < '0' || c > '9':
			return to, false
		}
	}
	if point == 0 {
		return to, false
	}
	whole, fraction := text[:point], text[min(point+1, len(text)):]
	for len(whole) > 0 && whole[0] == '0' {
		whole = whole[1:]
	}
	if len(whole) > 1<<16 || len(fraction) > 16383 {
		return to, false
	}
	at := len(to)
	to = append(to, 0, 0, 0, 0, 0, 0, 0, 0)
	digits, weight := 0, -1
	add := func(d uint16) {
		if d == 0 && digits == 0 {
			return // in front
		}
		to = binary.BigEndian.AppendUint16(to, d)
		digits++
	}
	if groups := (len(whole) + 3) / 4; groups > 0 {
		weight = groups - 1
		first := len(whole) - 4*(groups-1)
		add(group(whole[:first], false))
		for i := first; i < len(whole); i += 4 {
			add(group(whole[i:i+4], false))
		}
	}
	for i := 0; i < len(fraction); i += 4 {
		d := group(fraction[i:min(i+4, len(fraction))], true)
		if d == 0 && digits == 0 {
			weight--
			continue
		}
		add(d)
	}
	for digits > 0 && to[len(to)-1] == 0 && to[len(to)-2] == 0 {
		to = to[:len(to)-2]
		digits--
	}
	sign := uint16(0)
	switch {
	case digits == 0:
		weight = 0
	case negative:
		sign = numericNegative
	}
	h := to[at:]
	binary.BigEndian.PutUint16(h, uint16(digits))
	binary.BigEndian.PutUint16(h[2:], uint16(int16(weight)))
	binary.BigEndian.PutUint16(h[4:], sign)
	binary.BigEndian.PutUint16(h[6:], uint16(len(fraction)))
	return to, true
}

// group reads up to four digits; those of a fraction are filled up with zeros.
func group(b []byte, fraction bool) (d uint16) {
	for _, c := range b {
		d = d*10 + uint16(c-'0')
	}
	if fraction {
		for range 4 - len(b) {
			d *= 10
		}
	}
	return d
}

// appendDecimal appends the canonical text of a numeric.
func appendDecimal(to, b []byte) ([]byte, error) {
	if len(b) < numericHeader || len(b)%2 != 0 {
		return to, fmt.Errorf("a numeric has %d bytes", len(b))
	}
	digits, weight := int(binary.BigEndian.Uint16(b)), int(int16(binary.BigEndian.Uint16(b[2:])))
	sign, scale := binary.BigEndian.Uint16(b[4:]), int(binary.BigEndian.Uint16(b[6:]))
	if b = b[numericHeader:]; len(b) != 2*digits || sign != 0 && sign != numericNegative || scale > 16383 {
		return to, fmt.Errorf("a numeric has %d bytes for %d digits, sign %#x", len(b), digits, sign)
	}
	digit := func(i int) uint16 {
		if i < 0 || i >= digits {
			return 0
		}
		return binary.BigEndian.Uint16(b[2*i:])
	}
	if sign == numericNegative {
		to = append(to, '-')
	}
	if weight < 0 {
		to = append(to, '0')
	}
	for i := 0; i <= weight; i++ {
		d := digit(i)
		for k, unit := 0, uint16(1000); k < 4; k, unit = k+1, unit/10 {
			if i == 0 && d < unit && k < 3 {
				continue // in front
			}
			to = append(to, byte('0'+d/unit%10))
		}
	}
	if scale == 0 {
		return to, nil
	}
	to = append(to, '.')
	for n, i := 0, weight+1; n < scale; i++ {
		d := digit(i)
		for unit := uint16(1000); unit > 0 && n < scale; n, unit = n+1, unit/10 {
			to = append(to, byte('0'+d/unit%10))
		}
	}
	return to, nil
}
