package convert

import (
	"errors"
	"math"
	"strconv"
	"unsafe"
)

// Float64 reads a decimal number. NaN and infinities are not numbers in SQL: their names are Syntax, a number too large is Overflow. One too
// small is 0.
func Float64(b []byte) (float64, Fault) {
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
	f, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64)
	if err == nil {
		return f, OK
	}
	if errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0) {
		return 0, Overflow
	}
	return 0, Syntax
}
