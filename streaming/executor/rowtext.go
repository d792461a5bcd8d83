package executor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// How much of a row, and of each of its values, a message shows.
const (
	rowShown   = 300
	valueShown = 40
)

// rowText shows a row in a message: name=value, …, cut short.
func rowText(columns []column.Field, b *column.Batch, row int) string {
	var text strings.Builder
	for i, f := range columns {
		if i > 0 {
			text.WriteString(", ")
		}
		if text.Len() > rowShown {
			text.WriteString("…")
			break
		}
		text.WriteString(f.Name + "=" + valueText(&b.Cols[i], row))
	}
	return text.String()
}

func valueText(v *column.Vector, row int) string {
	if v.IsNull(row) {
		return "NULL"
	}
	switch v.Type.Kind {
	case column.Float64:
		return strconv.FormatFloat(v.Float[row], 'g', -1, 64)
	case column.Date:
		return time.Unix(v.Int[row]*86400, 0).UTC().Format(time.DateOnly)
	case column.Timestamp:
		return time.UnixMicro(v.Int[row]).UTC().Format("2006-01-02 15:04:05.999999")
	case column.Time:
		return string(convert.AppendTime(nil, v.Int[row]))
	case column.Uint64:
		return strconv.FormatUint(uint64(v.Int[row]), 10)
	case column.Decimal:
		return string(v.View(row))
	}
	if !v.Type.Kind.IsView() {
		return strconv.FormatInt(v.Int[row], 10)
	}
	value := v.View(row)
	if v.Type.Kind == column.Bytes || !utf8.Valid(value) {
		if len(value) > valueShown/2 {
			return fmt.Sprintf("0x%X…", value[:valueShown/2])
		}
		return fmt.Sprintf("0x%X", value)
	}
	shown := []rune(string(value[:min(len(value), 4*valueShown)]))
	if len(shown) > valueShown {
		return "'" + string(shown[:valueShown]) + "…'"
	}
	return "'" + string(shown) + "'"
}
