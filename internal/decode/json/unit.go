package json

import (
	"bytes"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// Unit is what numbers count in a column of times.
type Unit uint8

const (
	// Seconds since 1970, with a fraction. Numbers in a Date or Time column are then of the wrong type.
	Seconds Unit = iota
	// Days since 1970, in a Date column.
	Days
	// Millis, Micros and Nanos since 1970 or, in a Time column, since midnight.
	Millis
	Micros
	Nanos
)

// moment makes the value of a column of times of a number.
func (f *Field) moment(text []byte) (n int64, fault convert.Fault) {
	kind := f.Type.Kind
	if (kind == column.Date) != (f.Unit == Days) || kind == column.Time && f.Unit == Seconds {
		return 0, convert.Syntax
	}
	switch f.Unit {
	case Days:
		n, fault = convert.Int64(text)
		if fault == convert.OK && !convert.InDateRange(n) {
			fault = convert.Overflow
		}
		return n, fault
	case Seconds:
		n, fault = scaled(text, 6)
	case Millis:
		n, fault = scaled(text, 3)
	case Micros:
		n, fault = scaled(text, 0)
	default:
		n, fault = convert.Int64(text)
		if n%1000 < 0 {
			n -= 1000
		}
		n /= 1000
	}
	const day = 24 * 60 * 60 * 1e6
	if fault == convert.OK && (kind == column.Timestamp && !convert.InTimestampRange(n) || kind == column.Time && (n < 0 || n >= day)) {
		fault = convert.Overflow
	}
	return n, fault
}

// scaled is the number in text times 10^digits, rounded.
func scaled(text []byte, digits int) (int64, convert.Fault) {
	var buf [32]byte
	exact, fault := convert.AppendDecimal(buf[:0], text, 24, digits)
	if fault != convert.OK {
		return 0, fault
	}
	if point := bytes.IndexByte(exact, '.'); point >= 0 {
		exact = append(exact[:point], exact[point+1:]...)
	}
	return convert.Int64(exact)
}
