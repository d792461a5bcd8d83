package convert

import (
	"math"
	"strconv"
	"unsafe"
)

// Float64 reads a decimal number. NaN and infinities are not numbers in SQL: their names are Syntax, a number too large is Overflow. One too
// small is 0.
func Float64(b []byte) (float64, Fault) { return float(b, 64) }

// Float32 is Float64 for single precision.
func Float32(b []byte) (float32, Fault) {
	f, fault := float(b, 32)
	return float32(f), fault
}

func float(b []byte, bits int) (float64, Fault) {
	b = trim(b)
	// strconv takes more than SQL does: hexadecimal, underscores, inf, nan. All have a byte that no decimal number has.
	for _, c := range b {
		if c-'0' > 9 && c != '.' && c|0x20 != 'e' && c != '-' && c != '+' {
			return 0, Syntax
		}
	}
	if len(b) == 0 {
		return 0, Syntax
	}
	f, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), bits)
	switch {
	case err == nil:
		return f, OK
	case math.IsInf(f, 0):
		return 0, Overflow
	default:
		return 0, Syntax
	}
}
