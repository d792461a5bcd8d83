package writekafka

import (
	"encoding/base64"
	"strconv"
	"time"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// appendText appends a value as text, as a cast to STRING has it; bytes are taken as they are. The row must not be NULL.
func appendText(dst []byte, kind column.Kind, v *column.Vector, i int) []byte {
	switch kind {
	case column.Bool:
		return strconv.AppendBool(dst, v.Int[i] != 0)
	case column.Uint64:
		return strconv.AppendUint(dst, uint64(v.Int[i]), 10)
	case column.Float64:
		return strconv.AppendFloat(dst, v.Float[i], 'g', -1, 64)
	case column.Date:
		return time.Unix(v.Int[i]*24*60*60, 0).UTC().AppendFormat(dst, "2006-01-02")
	case column.Time:
		return convert.AppendTime(dst, v.Int[i])
	case column.Timestamp:
		return appendMoment(dst, v.Int[i], "2006-01-02 15:04:05", "")
	case column.Decimal, column.Bytes, column.Text, column.JSON:
		return append(dst, v.View(i)...)
	default:
		return strconv.AppendInt(dst, v.Int[i], 10)
	}
}

// appendMoment appends a time in UTC, with milliseconds, or microseconds where it has them.
func appendMoment(dst []byte, micros int64, layout, zone string) []byte {
	fraction := ".000"
	if micros%1000 != 0 {
		fraction = ".000000"
	}
	return time.UnixMicro(micros).UTC().AppendFormat(dst, layout+fraction+zone)
}

// appendJSON appends a value as JSON: times in ISO 8601, bytes in base64, JSON as it is. The row must not be NULL.
func appendJSON(dst []byte, kind column.Kind, v *column.Vector, i int) []byte {
	switch kind {
	case column.Float64:
		return convert.AppendJSONFloat(dst, v.Float[i])
	case column.Text:
		return convert.AppendJSONString(dst, v.View(i))
	case column.Bytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.View(i))
		return append(dst, '"')
	case column.Date, column.Time:
		dst = append(dst, '"')
		dst = appendText(dst, kind, v, i)
		return append(dst, '"')
	case column.Timestamp:
		dst = append(dst, '"')
		dst = appendMoment(dst, v.Int[i], "2006-01-02T15:04:05", "Z07:00")
		return append(dst, '"')
	default:
		return appendText(dst, kind, v, i)
	}
}
