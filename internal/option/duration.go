package option

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var units = map[string]time.Duration{
	"us": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// ParseDuration reads one or more numbers with units, such as '10m', '600s', '1 hour 30 minutes' or 'INTERVAL 5 MINUTES', or a length of ISO 8601, such as 'P7D' or
// 'PT1H30M'. A number without a unit is an error: the systems that people come from disagree whether it means seconds or milliseconds.
func ParseDuration(text string) (time.Duration, error) {
	rest := strings.ToLower(strings.TrimSpace(text))
	if r, ok := strings.CutPrefix(rest, "interval "); ok {
		rest = strings.TrimSpace(r)
	}
	if rest == "" {
		return 0, fmt.Errorf("it is empty")
	}
	if date, clock, iso := isoParts(rest); iso {
		return parseISO(date, clock)
	}
	var total time.Duration
	for rest != "" {
		digits := span(rest, func(c byte) bool { return c >= '0' && c <= '9' || c == '.' })
		n, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, fmt.Errorf("a number is expected where '%s' begins", Shorten(rest, 20))
		}
		rest = strings.TrimSpace(rest[digits:])
		letters := span(rest, func(c byte) bool { return c >= 'a' && c <= 'z' })
		unit, ok := units[rest[:letters]]
		if !ok {
			return 0, fmt.Errorf("a unit is expected after a number: ms, s, m, h, d or w")
		}
		part := n * float64(unit)
		if part >= math.MaxInt64-float64(total) {
			return 0, fmt.Errorf("it is longer than 292 years")
		}
		total += time.Duration(math.Round(part))
		rest = strings.TrimSpace(rest[letters:])
	}
	return total, nil
}

// isoParts splits a length of ISO 8601, in lower case, at its T.
func isoParts(text string) (date, clock string, iso bool) {
	text, iso = strings.CutPrefix(text, "p")
	date, clock, timed := strings.Cut(text, "t")
	return date, clock, iso && (date != "" || clock != "") && (!timed || clock != "")
}

// parseISO adds up both parts. Months and years have no length of their own.
func parseISO(date, clock string) (time.Duration, error) {
	var total float64
	for _, part := range []struct{ text, units string }{{date, "wd"}, {clock, "hms"}} {
		for rest := part.text; rest != ""; {
			digits := span(rest, func(c byte) bool { return c >= '0' && c <= '9' || c == '.' })
			n, err := strconv.ParseFloat(rest[:digits], 64)
			if err != nil {
				return 0, fmt.Errorf("a number is expected where '%s' begins", Shorten(rest, 20))
			}
			unit := strings.IndexByte(part.units, (rest + "?")[digits])
			if unit < 0 {
				return 0, fmt.Errorf("of the units of ISO 8601, W and D are allowed before T, and H, M and S behind it")
			}
			total += n * float64(units[part.units[unit:unit+1]])
			rest, part.units = rest[digits+1:], part.units[unit+1:]
		}
	}
	if total >= math.MaxInt64 {
		return 0, fmt.Errorf("it is longer than 292 years")
	}
	return time.Duration(math.Round(total)), nil
}

func span(s string, in func(byte) bool) int {
	i := 0
	for i < len(s) && in(s[i]) {
		i++
	}
	return i
}
