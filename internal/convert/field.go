package convert

import (
	"math"
	"strings"

	"millrace/internal/column"
)

// Int makes text a value of a field whose kind lies in Vector.Int, within the field's width. wallClock drops the zone of a timestamp in place of converting it to
// UTC.
func Int(text []byte, f *column.Field, wallClock bool) (n int64, fault Fault) {
	switch f.Type.Kind {
	case column.Bool:
		b, fault := Bool(text)
		if b {
			n = 1
		}
		return n, fault
	case column.Int32, column.Int64:
		if n, fault = Int64(text); fault == OK && !holds(n, f) {
			fault = Overflow
		}
		return n, fault
	case column.Uint64:
		u, fault := Uint64(text)
		if fault == OK && f.Width > 0 && f.Width < 64 && u>>f.Width != 0 {
			fault = Overflow
		}
		return int64(u), fault
	case column.Date:
		return Date(text)
	case column.Time:
		return TimeOfDay(text)
	case column.Timestamp:
		if wallClock {
			return WallClock(text)
		}
		n, _, fault = Timestamp(text)
		return n, fault
	}
	return 0, Syntax
}

// holds reports whether n is in the range of a signed field.
func holds(n int64, f *column.Field) bool {
	bits := uint32(64)
	if f.Type.Kind == column.Int32 {
		bits = 32
	}
	if f.Width > 0 {
		bits = min(bits, f.Width)
	}
	return n>>(bits-1) == n>>63
}

// Float makes text a value of a Float64 field: its bits, rounded to single precision where the field has that width.
func Float(text []byte, f *column.Field) (bits int64, fault Fault) {
	x, fault := Float64(text)
	if fault == OK && f.Width == 32 {
		var single float32
		single, fault = Float32(text)
		x = float64(single)
	}
	return int64(math.Float64bits(x)), fault
}

// TypeName is the type of a column as users write it.
func TypeName(f column.Field) string {
	switch f.Type.Kind {
	case column.Bool:
		return "BOOLEAN"
	case column.Int32:
		switch f.Width {
		case 8:
			return "TINYINT"
		case 16:
			return "SMALLINT"
		}
		return "INT"
	case column.Int64:
		return "BIGINT"
	case column.Uint64:
		if f.Width == 32 {
			return "INT UNSIGNED"
		}
		return "BIGINT UNSIGNED"
	case column.Float64:
		if f.Width == 32 {
			return "FLOAT"
		}
		return "DOUBLE"
	case column.Bytes:
		return "BINARY"
	case column.Text:
		return "STRING"
	default:
		return strings.ToUpper(f.Type.String())
	}
}
