package convert

import (
	"math"
	"strconv"
)

// AppendJSONFloat appends f as a JSON number. What JSON has no number for is a string: "NaN", "Infinity", "-Infinity".
func AppendJSONFloat(dst []byte, f float64) []byte {
	switch {
	case f != f:
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	default:
		return strconv.AppendFloat(dst, f, 'g', -1, 64)
	}
}
