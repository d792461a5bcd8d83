package proto

import (
	"bytes"
	"strconv"
	"time"

	"millrace/internal/convert"
	"millrace/internal/decode"
)

// Bounds of google.protobuf.Timestamp, years 1 to 9999, and Duration, about as long.
const (
	minSeconds  = -62135596800
	maxSeconds  = 253402300799
	maxDuration = 315576000000
)

// appendSpecial writes a special message that was taken apart.
func (w *jsonWriter) appendSpecial(dst []byte, m *message, base int) []byte {
	c := w.cells[base : base+len(m.fields)]
	switch m.special {
	case timestamp:
		if seconds, nanos := c[0].number, c[1].number; validTimestamp(seconds, nanos) {
			return appendTimestamp(dst, seconds, nanos)
		}
	case duration:
		if seconds, nanos := c[0].number, c[1].number; validDuration(seconds, nanos) {
			return appendDuration(dst, seconds, nanos)
		}
	case decimal:
		if text, fault := convert.AppendUnscaled(dst, w.b[c[0].beg:c[0].end], int(c[2].number)); fault == convert.OK {
			return text
		}
	case wrapper, structure, listValue:
		return w.appendField(dst, &m.fields[0], c[0])
	case dynamic:
		for i := range c {
			if c[i].set {
				return w.appendSingle(dst, &m.fields[i], c[i])
			}
		}
		return append(dst, "null"...)
	case anything:
		return w.appendAny(dst, w.b[c[0].beg:c[0].end], c[1])
	}
	// One with values that its text form does not allow is shown as it is.
	return closed(w.appendFields(append(dst, '{'), m, base), '}')
}

// appendAny writes a google.protobuf.Any: the fields of its message beside the type's URL where the schema knows the type and the bytes are one,
// else the bytes.
func (w *jsonWriter) appendAny(dst, url []byte, value cell) []byte {
	if len(url) == 0 && value.beg == value.end {
		return append(dst, "{}"...)
	}
	dst = append(dst, `{"@type":`...)
	dst = append(convert.AppendJSONString(dst, url), ',')
	m := w.files.named(url[bytes.LastIndexByte(url, '/')+1:])
	switch {
	case m == nil || !w.check(m, value):
		dst = append(dst, `"value":`...)
		dst = append(appendBase64(dst, w.b[value.beg:value.end]), ',')
	case m.special == plain || m.special == date || m.special == timeOfDay:
		taken := w.mark()
		dst = w.appendFields(dst, m, w.gather(m, w.piece(value.beg, value.end), nil))
		w.release(taken)
	default:
		taken := w.mark()
		dst = append(dst, `"value":`...)
		dst = append(w.appendMessage(dst, m, w.piece(value.beg, value.end)), ',')
		w.release(taken)
	}
	return closed(dst, '}')
}

// check reports whether value is a message of type m. A record's walk does not look into the bytes of an Any.
func (w *jsonWriter) check(m *message, value cell) bool {
	if w.checker == nil {
		w.checker = &decoder{}
	}
	return w.checker.walk(m, w.b[:value.end], int(value.beg), 0, w.depth+1, false) >= 0
}

func validTimestamp(seconds, nanos int64) bool {
	return seconds >= minSeconds && seconds <= maxSeconds && nanos >= 0 && nanos < 1e9
}

func validDuration(seconds, nanos int64) bool {
	return seconds >= -maxDuration && seconds <= maxDuration && nanos > -1e9 && nanos < 1e9 && (seconds <= 0 || nanos >= 0) && (seconds >= 0 || nanos <= 0)
}

func appendTimestamp(dst []byte, seconds, nanos int64) []byte {
	dst = append(dst, '"')
	dst = time.Unix(seconds, 0).UTC().AppendFormat(dst, "2006-01-02T15:04:05")
	dst = appendNanos(dst, nanos)
	return append(dst, 'Z', '"')
}

func appendDuration(dst []byte, seconds, nanos int64) []byte {
	dst = append(dst, '"')
	if seconds < 0 || nanos < 0 {
		dst = append(dst, '-')
		seconds, nanos = -seconds, -nanos
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	dst = appendNanos(dst, nanos)
	return append(dst, 's', '"')
}

// appendNanos writes a fraction of a second with as many digits as it needs, in threes.
func appendNanos(dst []byte, nanos int64) []byte {
	if nanos == 0 {
		return dst
	}
	digits := 9
	for nanos%1000 == 0 {
		nanos /= 1000
		digits -= 3
	}
	dst = append(dst, '.')
	at := len(dst)
	dst = append(dst, "000000000"[:digits]...)
	for i := at + digits - 1; nanos > 0; i-- {
		dst[i] = byte('0' + nanos%10)
		nanos /= 10
	}
	return dst
}

// The settled values of columns, in the Vector's units; ok is false when there is none.

func timestampMicros(seconds, nanos int64) (micros int64, ok bool) {
	return seconds*1e6 + nanos/1000, validTimestamp(seconds, nanos)
}

func durationMicros(seconds, nanos int64) (micros int64, ok bool) {
	return seconds*1e6 + nanos/1000, validDuration(seconds, nanos)
}

func dateDays(year, month, day int64) (days int64, ok bool) {
	if year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, false
	}
	days = convert.DaysOf(int(year), int(month), int(day))
	// The day is one of the month when the next month begins behind it.
	nextYear, nextMonth := year, month+1
	if nextMonth == 13 {
		nextYear, nextMonth = year+1, 1
	}
	return days, days < convert.DaysOf(int(nextYear), int(nextMonth), 1)
}

// timeMicros takes 24:00:00 and leap seconds, as google.type.TimeOfDay allows them.
func timeMicros(hours, minutes, seconds, nanos int64) (micros int64, ok bool) {
	ok = hours >= 0 && hours <= 24 && minutes >= 0 && minutes < 60 && seconds >= 0 && seconds <= 60 && nanos >= 0 && nanos < 1e9
	return ((hours*60+minutes)*60+seconds)*1e6 + nanos/1000, ok
}

// rangeError is the field error of a special message whose values are out of range.
func rangeError(s special) decode.Error {
	detail := map[special]string{
		timestamp: "a google.protobuf.Timestamp is in the years 1 to 9999 with nanos from 0 to 999999999",
		duration:  "a google.protobuf.Duration is within 10000 years, with seconds and nanos of one sign",
		date:      "a google.type.Date without a year, month or day is no date",
		timeOfDay: "no time of day",
		decimal:   "a decimal of more digits than the column has",
	}[s]
	return decode.Error{Reason: decode.OutOfRange, Offset: -1, Detail: detail}
}
