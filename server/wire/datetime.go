package wire

import (
	"encoding/binary"
	"strconv"
)

const (
	microsPerSecond = 1_000_000
	secondsPerDay   = 86_400
	microsPerDay    = secondsPerDay * microsPerSecond
)

// digits2 holds the numbers 00 to 99.
const digits2 = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

func two(b []byte, v int) []byte { return append(b, digits2[2*v], digits2[2*v+1]) }

// civil gives the date in the proleptic Gregorian calendar. Eras of 400 years begin on 1 March, which puts the leap day last.
func civil(days int64) (year int64, month, day int) {
	z := days + 719_468
	era := floorDiv(z, 146_097)
	ofEra := z - era*146_097
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36_524 - ofEra/146_096) / 365
	ofYear := ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*ofYear + 2) / 153
	day = int(ofYear - (153*shifted+2)/5 + 1)
	month = int(shifted + 3)
	year = yearOfEra + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// fraction appends scale digits of micros after a point.
func fraction(b []byte, micros, scale int) []byte {
	switch {
	case scale <= 0:
		return b
	case scale == 3: // what records have
		return append(b, '.', byte('0'+micros/100_000), digits2[2*(micros/1000%100)], digits2[2*(micros/1000%100)+1])
	}
	t := [6]byte{digits2[2*(micros/10_000)], digits2[2*(micros/10_000)+1], digits2[2*(micros/100%100)], digits2[2*(micros/100%100)+1],
		digits2[2*(micros%100)], digits2[2*(micros%100)+1]}
	return append(append(b, '.'), t[:min(scale, 6)]...)
}

func appendDate(b []byte, days int64) []byte {
	y, m, d := civil(days)
	if y >= 0 && y <= 9999 {
		b = two(two(b, int(y/100)), int(y%100))
	} else { // no date of MySQL: show it rather than lie about it
		b = strconv.AppendInt(b, y, 10)
	}
	return two(append(two(append(b, '-'), m), '-'), d)
}

func appendClock(b []byte, seconds int) []byte {
	b = two(b, seconds/3600)
	b = two(append(b, ':'), seconds/60%60)
	return two(append(b, ':'), seconds%60)
}

// DateText appends days since 1970-01-01 as text.
func DateText(b []byte, days int64) []byte {
	at := len(b)
	b = appendDate(append(b, 0), days)
	b[at] = byte(len(b) - at - 1)
	return b
}

// DatetimeText appends microseconds since 1970-01-01 00:00:00 as text with scale fractional digits; digits beyond are cut off.
func DatetimeText(b []byte, micros int64, scale int) []byte {
	at := len(b)
	days := floorDiv(micros, microsPerDay)
	rest := micros - days*microsPerDay
	b = appendDate(append(b, 0), days)
	b = appendClock(append(b, ' '), int(rest/microsPerSecond))
	b = fraction(b, int(rest%microsPerSecond), scale)
	b[at] = byte(len(b) - at - 1)
	return b
}

// secondText remembers the text of one second. The timestamps of records that follow each other mostly lie within one.
type secondText struct {
	second int64
	text   [24]byte
	size   int
}

// append does what DatetimeText does.
func (s *secondText) append(b []byte, micros int64, scale int) []byte {
	second := floorDiv(micros, microsPerSecond)
	if s.size == 0 || second != s.second {
		days := floorDiv(second, secondsPerDay)
		text := appendClock(append(appendDate(s.text[:0], days), ' '), int(second-days*secondsPerDay))
		s.second, s.size = second, len(text)
	}
	at := len(b)
	b = append(append(b, 0), s.text[:s.size]...)
	b = fraction(b, int(micros-second*microsPerSecond), scale)
	b[at] = byte(len(b) - at - 1)
	return b
}

// TimeText appends a signed TIME in microseconds as text with scale fractional digits; digits beyond are cut off.
func TimeText(b []byte, micros int64, scale int) []byte {
	at := len(b)
	b = append(b, 0)
	u := uint64(micros)
	if micros < 0 {
		b, u = append(b, '-'), -u
	}
	hours := u / (3600 * microsPerSecond)
	if hours < 100 {
		b = two(b, int(hours))
	} else {
		b = strconv.AppendUint(b, hours, 10)
	}
	seconds := int(u / microsPerSecond % 3600)
	b = two(append(b, ':'), seconds/60)
	b = two(append(b, ':'), seconds%60)
	b = fraction(b, int(u%microsPerSecond), scale)
	b[at] = byte(len(b) - at - 1)
	return b
}

// binaryDate appends year, month, day. The format has two bytes for the year; dates outside of them become the zero date.
func binaryDate(b []byte, days int64) []byte {
	y, m, d := civil(days)
	if y < 0 || y > 65_535 {
		y, m, d = 0, 0, 0
	}
	return append(b, byte(y), byte(y>>8), byte(m), byte(d))
}

// DateBinary appends days since 1970-01-01 in binary.
func DateBinary(b []byte, days int64) []byte { return binaryDate(append(b, 4), days) }

// DatetimeBinary appends microseconds since 1970-01-01 00:00:00 in binary; parts at the end that are zero are left out.
func DatetimeBinary(b []byte, micros int64) []byte {
	days := floorDiv(micros, microsPerDay)
	rest := micros - days*microsPerDay
	seconds, frac := int(rest/microsPerSecond), uint32(rest%microsPerSecond)
	if rest == 0 {
		return DateBinary(b, days)
	}
	n := byte(7)
	if frac != 0 {
		n = 11
	}
	b = binaryDate(append(b, n), days)
	b = append(b, byte(seconds/3600), byte(seconds/60%60), byte(seconds%60))
	if frac != 0 {
		b = binary.LittleEndian.AppendUint32(b, frac)
	}
	return b
}

// TimeBinary appends a signed TIME in microseconds in binary.
func TimeBinary(b []byte, micros int64) []byte {
	if micros == 0 {
		return append(b, 0)
	}
	u, negative := uint64(micros), byte(0)
	if micros < 0 {
		u, negative = -u, 1
	}
	seconds, frac := u/microsPerSecond, uint32(u%microsPerSecond)
	n := byte(8)
	if frac != 0 {
		n = 12
	}
	b = binary.LittleEndian.AppendUint32(append(b, n, negative), uint32(seconds/secondsPerDay))
	b = append(b, byte(seconds/3600%24), byte(seconds/60%60), byte(seconds%60))
	if frac != 0 {
		b = binary.LittleEndian.AppendUint32(b, frac)
	}
	return b
}
