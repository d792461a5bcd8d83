package avro

import (
	"math/big"
	"math/bits"
	"strconv"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// maxUnscaled is the longest number that is made into text: 2466 digits. No column of SQL takes more.
const maxUnscaled = 1024

// decimal appends the number b, in two's complement with the highest byte first, over 10^scale, as a value of type to: a Decimal, or text of any size. false
// means that it does not fit.
func (d *decoder) decimal(dst, b []byte, scale int, to column.Type) ([]byte, bool) {
	start := len(dst)
	dst, ok := d.number(dst, b, scale)
	if !ok || to.Kind != column.Decimal {
		return dst, ok
	}
	if scale == int(to.Scale) {
		if len(d.digits) > int(to.Precision) {
			return dst[:start], false
		}
		return dst, true
	}
	made, fault := convert.AppendDecimal(dst, dst[start:], int(to.Precision), int(to.Scale))
	if fault != convert.OK {
		return dst[:start], false
	}
	return append(dst[:start], made[len(dst):]...), true
}

// number appends the number with exactly scale digits behind the point; without a point when scale is 0. A negative scale appends zeros.
func (d *decoder) number(dst, b []byte, scale int) ([]byte, bool) {
	negative, sign := len(b) > 0 && b[0]&0x80 != 0, byte(0)
	if negative {
		sign = 0xff
	}
	for len(b) > 1 && b[0] == sign && (b[1]^sign)&0x80 == 0 {
		b = b[1:]
	}
	if len(b) > maxUnscaled || scale < -maxUnscaled || scale > maxUnscaled {
		return dst, false
	}
	if len(b) <= 8 {
		v := uint64(int64(int8(sign)))
		for _, c := range b {
			v = v<<8 | uint64(c)
		}
		if negative {
			v = -v
		}
		d.digits = strconv.AppendUint(d.digits[:0], v, 10)
	} else if len(b) <= 16 {
		hi, lo := uint64(int64(int8(sign))), uint64(0)
		for i, c := range b {
			if i < len(b)-8 {
				hi = hi<<8 | uint64(c)
			} else {
				lo = lo<<8 | uint64(c)
			}
		}
		if negative {
			var borrow uint64
			lo, borrow = bits.Sub64(0, lo, 0)
			hi, _ = bits.Sub64(0, hi, borrow)
		}
		d.digits = append128(d.digits[:0], hi, lo)
	} else {
		v := new(big.Int).SetBytes(b)
		if negative {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			v.Neg(v)
		}
		d.digits = v.Append(d.digits[:0], 10)
	}
	return point(dst, d.digits, scale, negative), true
}

// append128 appends the number hi·2^64 + lo, at most 2^127.
func append128(dst []byte, hi, lo uint64) []byte {
	const e19 = 10_000_000_000_000_000_000
	if hi == 0 {
		return strconv.AppendUint(dst, lo, 10)
	}
	// Three parts of 19 digits, the lowest first. hi is below 2^63 and so below 10^19.
	q, r := bits.Div64(hi, lo, e19)
	parts := [3]uint64{r, q % e19, q / e19}
	last := 2
	for last > 0 && parts[last] == 0 {
		last--
	}
	dst = strconv.AppendUint(dst, parts[last], 10)
	for i := last - 1; i >= 0; i-- {
		var part [19]byte
		text := strconv.AppendUint(part[:0], parts[i], 10)
		for range 19 - len(text) {
			dst = append(dst, '0')
		}
		dst = append(dst, text...)
	}
	return dst
}

// point writes digits with a point.
func point(dst, digits []byte, scale int, negative bool) []byte {
	if negative {
		dst = append(dst, '-')
	}
	if scale <= 0 {
		dst = append(dst, digits...)
		if len(digits) > 1 || digits[0] != '0' {
			for range -scale {
				dst = append(dst, '0')
			}
		}
		return dst
	}
	whole := len(digits) - scale
	if whole <= 0 {
		dst = append(dst, '0')
	} else {
		dst = append(dst, digits[:whole]...)
		digits = digits[whole:]
	}
	dst = append(dst, '.')
	for range -min(whole, 0) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}
