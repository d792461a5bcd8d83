package export

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// appendText appends a value, which is not NULL, as a SELECT shows it.
func appendText(dst []byte, f *column.Field, v *column.Vector, i int) []byte {
	switch v.Type.Kind {
	case column.Uint64:
		return strconv.AppendUint(dst, uint64(v.Int[i]), 10)
	case column.Float64:
		return appendFloat(dst, v.Float[i], int(f.Width))
	case column.Date:
		return time.Unix(v.Int[i]*86400, 0).UTC().AppendFormat(dst, time.DateOnly)
	case column.Time:
		return convert.AppendTimeScale(dst, v.Int[i], int(f.Type.Scale))
	case column.Timestamp:
		return time.UnixMicro(v.Int[i]).UTC().AppendFormat(dst, timestampLayouts[min(f.Type.Scale, 6)])
	}
	if v.Type.Kind.IsView() {
		return append(dst, v.View(i)...)
	}
	return strconv.AppendInt(dst, v.Int[i], 10)
}

// timestampLayouts are those of DATETIME(n).
var timestampLayouts = [...]string{
	"2006-01-02 15:04:05", "2006-01-02 15:04:05.0", "2006-01-02 15:04:05.00", "2006-01-02 15:04:05.000",
	"2006-01-02 15:04:05.0000", "2006-01-02 15:04:05.00000", "2006-01-02 15:04:05.000000",
}

// appendFloat appends the shortest digits that give a DOUBLE, or a FLOAT with bits 32, back.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if bits != 32 {
		bits = 64
	}
	if a := math.Abs(f); a == 0 || a >= 1e-15 && a < 1e15 {
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	if i := bytes.IndexByte(dst[start:], '+'); i >= 0 { // SQL writes 1e15, Go 1e+15
		dst = append(dst[:start+i], dst[start+i+1:]...)
	}
	return dst
}
