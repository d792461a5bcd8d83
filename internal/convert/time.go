package convert

// The range of DATE and DATETIME: years 0001 to 9999.
const (
	minMicros = -62135596800 * 1e6
	maxMicros = 253402300800*1e6 - 1
	minDay    = -719162
	maxDay    = 2932896
	dayMicros = 24 * 60 * 60 * 1e6
)

// InTimestampRange reports whether micros since 1970 lies in the years 0001 to 9999.
func InTimestampRange(micros int64) bool { return micros >= minMicros && micros <= maxMicros }

// InDateRange reports whether days since 1970 lies in the years 0001 to 9999.
func InDateRange(days int64) bool { return days >= minDay && days <= maxDay }

// Date reads yyyy, yyyy-[m]m or yyyy-[m]m-[d]d, also with a time behind it, which is checked and dropped. The result is in days
// since 1970-01-01. A zone behind the time does not move the date.
func Date(b []byte) (days int64, fault Fault) {
	b = trim(b)
	days, p, fault := date(b)
	if fault != OK || p == len(b) {
		return days, fault
	}
	if _, _, _, fault = timeAndZone(b, p, days); fault != OK {
		return 0, fault
	}
	return days, OK
}

// Timestamp reads a date as Date does, optionally followed by 'T', 't' or blanks and [h]h:[m]m[:[s]s[.f…]], and by a zone: Z, UTC,
// ±h[h], ±hh:mm[:ss], ±hhmm or the name of a region. The result is in microseconds since 1970-01-01 UTC; digits of the fraction beyond the sixth
// are cut off. zone reports whether a zone was given; without one the time is taken as UTC.
func Timestamp(b []byte) (micros int64, zone bool, fault Fault) {
	_, micros, zone, fault = timestamp(b)
	if fault == OK && !InTimestampRange(micros) {
		return 0, false, Overflow
	}
	return micros, zone, fault
}

// WallClock is Timestamp for TIMESTAMP_NTZ: a zone is checked and dropped, the time stays as written.
func WallClock(b []byte) (micros int64, fault Fault) {
	micros, _, _, fault = timestamp(b)
	return micros, fault
}

// TimeOfDay reads [h]h:[m]m[:[s]s[.f…]], also with a zone behind it, which is checked and dropped. The result is in microseconds since midnight.
func TimeOfDay(b []byte) (micros int64, fault Fault) {
	b = trim(b)
	if len(b) == 0 || len(b) > 64 || b[0]-'0' > 9 {
		return 0, Syntax
	}
	var dated [72]byte
	dated[0] = 'T'
	micros, _, _, fault = timeAndZone(append(dated[:1], b...), 0, 0)
	return micros, fault
}

// timestamp gives the time as written and as an instant, which may lie out of range.
func timestamp(b []byte) (clock, instant int64, zone bool, fault Fault) {
	b = trim(b)
	days, p, fault := date(b)
	if fault != OK || p == len(b) {
		return days * dayMicros, days * dayMicros, false, fault
	}
	return timeAndZone(b, p, days)
}

// digits reads at most most digits at p.
func digits(b []byte, p, most int) (value, next int) {
	next = p
	for next < len(b) && next-p < most && b[next]-'0' <= 9 {
		value = value*10 + int(b[next]-'0')
		next++
	}
	return value, next
}

// date reads the date at the start of b.
func date(b []byte) (days int64, next int, fault Fault) {
	year, p := digits(b, 0, 7)
	if p < 4 {
		return 0, 0, Syntax
	}
	month, day := 1, 1
	if p < len(b) && b[p] == '-' {
		start := p + 1
		if month, p = digits(b, start, 2); p == start {
			return 0, 0, Syntax
		}
		if p < len(b) && b[p] == '-' {
			start = p + 1
			if day, p = digits(b, start, 2); p == start {
				return 0, 0, Syntax
			}
		} else if p < len(b) {
			return 0, 0, Syntax // no time behind a date without a day
		}
	} else if p < len(b) {
		return 0, 0, Syntax
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, 0, Syntax
	}
	if year < 1 || year > 9999 {
		return 0, 0, Overflow
	}
	return DaysOf(year, month, day), p, OK
}

// timeAndZone reads the time at p, which is behind a date.
func timeAndZone(b []byte, p int, days int64) (clock, instant int64, zone bool, fault Fault) {
	switch b[p] {
	case 'T', 't':
		p++
	case ' ':
		for p < len(b) && b[p] == ' ' {
			p++
		}
	default:
		return 0, 0, false, Syntax
	}
	start := p
	hour, p := digits(b, start, 2)
	if p == start || p == len(b) || b[p] != ':' || hour > 23 {
		return 0, 0, false, Syntax
	}
	start = p + 1
	minute, p := digits(b, start, 2)
	if p == start || minute > 59 {
		return 0, 0, false, Syntax
	}
	second, fraction := 0, 0
	if p < len(b) && b[p] == ':' {
		start = p + 1
		if second, p = digits(b, start, 2); p == start || second > 59 {
			return 0, 0, false, Syntax
		}
		if p < len(b) && (b[p] == '.' || b[p] == ',') {
			start = p + 1
			if fraction, p = digits(b, start, 6); p == start {
				return 0, 0, false, Syntax
			}
			for k := p - start; k < 6; k++ {
				fraction *= 10
			}
			for p < len(b) && b[p]-'0' <= 9 {
				p++
			}
		}
	}
	clock = days*dayMicros + int64(hour*3600+minute*60+second)*1e6 + int64(fraction)
	for p < len(b) && b[p] == ' ' {
		p++
	}
	if p == len(b) {
		return clock, clock, false, OK
	}
	if (b[p] == 'Z' || b[p] == 'z') && p+1 == len(b) {
		return clock, clock, true, OK
	}
	offset, ok := zoneOffset(b[p:])
	if ok {
		return clock, clock - offset, true, OK
	}
	instant, ok = inRegion(b[p:], clock)
	if !ok {
		return 0, 0, false, Syntax
	}
	return clock, instant, true, OK
}

// zoneOffset reads ±h[h], ±hh:mm[:ss] or ±hhmm, in microseconds.
func zoneOffset(b []byte) (micros int64, ok bool) {
	if b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	hour, p := digits(b, 1, 2)
	minute, second := 0, 0
	if p == 1 || hour > 18 {
		return 0, false
	}
	if p < len(b) {
		colon := b[p] == ':'
		if colon {
			p++
		}
		start := p
		if minute, p = digits(b, start, 2); p == start || minute > 59 || !colon && p-start != 2 {
			return 0, false
		}
		if colon && p < len(b) && b[p] == ':' {
			start = p + 1
			if second, p = digits(b, start, 2); p == start || second > 59 {
				return 0, false
			}
		}
		if p != len(b) {
			return 0, false
		}
	}
	micros = int64(hour*3600+minute*60+second) * 1e6
	if micros > 18*3600*1e6 {
		return 0, false
	}
	if b[0] == '-' {
		micros = -micros
	}
	return micros, true
}

var monthDays = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func daysIn(year, month int) int {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return monthDays[month]
}

// DaysOf counts the days from 1970-01-01 to a date of the proleptic Gregorian calendar; year is not negative.
func DaysOf(year, month, day int) int64 {
	// Counting years from March puts the leap day at the end of the year, where it moves no other day.
	if month <= 2 {
		year--
		month += 12
	}
	if year < 0 { // only January and February of year 0
		year += 400
		day -= 146097
	}
	return int64(year*365+year/4-year/100+year/400+(153*(month-3)+2)/5+day-1) - 719468
}
