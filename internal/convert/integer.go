package convert

import (
	"encoding/binary"
	"math"
)

// Int64 reads an integer: an optional sign and digits, also with a fraction or an exponent as long as the value is integral (1e3, 1.0).
func Int64(b []byte) (int64, Fault) {
	if n, ok := shortInt(b); ok {
		return n, OK
	}
	if trimmed := trim(b); len(trimmed) < len(b) {
		return Int64(trimmed)
	}
	magnitude, negative, fault := integer(b)
	switch {
	case fault != OK:
		return 0, fault
	case negative && magnitude <= 1<<63:
		return -int64(magnitude), OK // also for 1<<63, which is its own negative
	case !negative && magnitude <= math.MaxInt64:
		return int64(magnitude), OK
	}
	return 0, Overflow
}

// Uint64 is Int64 for unsigned integers; -0 is 0.
func Uint64(b []byte) (uint64, Fault) {
	b = trim(b)
	if n, ok := shortInt(b); ok && n >= 0 {
		return uint64(n), OK
	}
	magnitude, negative, fault := integer(b)
	if fault == OK && negative && magnitude != 0 {
		return 0, Overflow
	}
	return magnitude, fault
}

// shortInt reads up to 18 digits, which cannot overflow.
func shortInt(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var n uint64
	for len(digits) >= 8 {
		eight, ok := eightDigits(binary.LittleEndian.Uint64(digits))
		if !ok {
			return 0, false
		}
		n = n*1e8 + eight
		digits = digits[8:]
	}
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	if b[0] == '-' {
		return -int64(n), true
	}
	return int64(n), true
}

// eightDigits reads eight digits at once, the first in the lowest byte: neighbours are joined to two digits, these to four, these to eight.
func eightDigits(w uint64) (n uint64, ok bool) {
	const zeros, high = 0x3030303030303030, 0xf0f0f0f0f0f0f0f0
	// All bytes are 0x30-0x3f, and stay so with 6 added, which 0x3a-0x3f do not.
	if w&high != zeros || (w+0x0606060606060606)&high != zeros {
		return 0, false
	}
	w -= zeros
	w = w*10 + w>>8
	const mask = 0x000000ff000000ff
	return ((w&mask)*(100+1_000_000<<32) + (w>>16&mask)*(1+10_000<<32)) >> 32, true
}

// integer reads the general form.
func integer(b []byte) (magnitude uint64, negative bool, fault Fault) {
	n, fault := parseNumber(b)
	if fault != OK {
		return 0, false, fault
	}
	if n.digits() == 0 {
		return 0, n.negative, OK
	}
	// The value is 0.d1d2d3… × 10^point. Digits behind the point must be zeros, which parseNumber has cut off.
	if n.point < n.digits() {
		return 0, false, Syntax
	}
	if n.point > 20 {
		return 0, false, Overflow
	}
	for i := range n.point {
		d := uint64(0)
		if i < n.digits() {
			d = uint64(n.digit(i))
		}
		if magnitude > math.MaxUint64/10 || magnitude == math.MaxUint64/10 && d > math.MaxUint64%10 {
			return 0, false, Overflow
		}
		magnitude = magnitude*10 + d
	}
	return magnitude, n.negative, OK
}
