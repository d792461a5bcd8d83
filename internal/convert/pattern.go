package convert

import (
	"strings"
	"unsafe"

	"millrace/internal/sqlerr"
)

// TimePattern is a compiled format of to_timestamp, in the letters of Spark (which are Java's):
//
//	yyyy year   yy year of 2000-2099   M MM month   MMM MMMM its English name   d dd day
//	H HH hour (0-23)   h hh hour (1-12)   a AM or PM   m mm minute   s ss second   S… fraction, up to as many digits
//	X XX XXX zone +hh, +hhmm, +hh:mm or Z   x xx xxx the same without Z   VV z region, or any zone of a cast
//	'…' literal text ('' for a quote)   […] optional part
//
// One letter takes a number without leading zeros, two take exactly two digits. Other letters are reserved; all else stands for itself.
type TimePattern struct {
	text     string
	elements []timeElement
}

type timeElement struct {
	// letter is one of the letters above, 0 for a literal, '[' for an optional part.
	letter  byte
	count   int
	literal string
	part    []timeElement
}

// ParseTimePattern compiles a format.
func ParseTimePattern(text string) (*TimePattern, error) {
	elements, rest, reason := parseElements(text, 0)
	if reason == "" && rest != "" {
		reason = "']' without '['"
	}
	if reason != "" {
		return nil, sqlerr.New(sqlerr.BadValue, "invalid format '%s': %s", text, reason).
			WithHint("the letters are y M d H h a m s S X x V z; other text stands in single quotes, as in yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
	}
	return &TimePattern{text, elements}, nil
}

// maxNested bounds optional parts in optional parts.
const maxNested = 8

func parseElements(text string, nested int) (out []timeElement, rest, reason string) {
	for text != "" {
		c := text[0]
		switch {
		case c == '[':
			if nested == maxNested {
				return nil, "", "too many '[' within each other"
			}
			part, after, reason := parseElements(text[1:], nested+1)
			if reason != "" {
				return nil, "", reason
			}
			if after == "" {
				return nil, "", "'[' without ']'"
			}
			out = append(out, timeElement{letter: '[', part: part})
			text = after[1:]
		case c == ']':
			return out, text, ""
		case c == '\'':
			literal, after, ok := quotedLiteral(text[1:])
			if !ok {
				return nil, "", "a quote is not closed"
			}
			out = append(out, timeElement{literal: literal})
			text = after
		case c == '#' || c == '{' || c == '}':
			return nil, "", "'" + text[:1] + "' is reserved"
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			n := 1
			for n < len(text) && text[n] == c {
				n++
			}
			if !validLetter(c, n) {
				return nil, "", "'" + text[:n] + "' is not supported"
			}
			out = append(out, timeElement{letter: c, count: n})
			text = text[n:]
		default:
			out = append(out, timeElement{literal: text[:1]})
			text = text[1:]
		}
	}
	return out, "", ""
}

// quotedLiteral reads up to the closing quote; two quotes are one, and an empty literal is a quote as well.
func quotedLiteral(text string) (literal, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\'' {
			if i+1 < len(text) && text[i+1] == '\'' && i > 0 {
				i++
			} else {
				if i == 0 {
					return "'", text[1:], true
				}
				return b.String(), text[i+1:], true
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

func validLetter(c byte, n int) bool {
	switch c {
	case 'y':
		return n == 1 || n == 2 || n == 4
	case 'M':
		return n <= 4
	case 'd', 'H', 'h', 'm', 's':
		return n <= 2
	case 'a':
		return n == 1
	case 'S':
		return n <= 9
	case 'X', 'x':
		return n <= 3
	case 'V':
		return n == 2
	case 'z':
		return n <= 4
	}
	return false
}

// timeFields are what a pattern found in a text.
type timeFields struct {
	year, month, day, hour, minute, second int
	micros                                 int
	halfDay                                bool // the hour is 1-12
	afternoon                              bool
	zone                                   string
}

func (p *TimePattern) String() string { return p.text }

// Parse reads text, all of it, and gives microseconds since 1970 UTC. Fields that the pattern does not have are those of 1970-01-01 00:00 UTC. It allocates nothing.
func (p *TimePattern) Parse(text []byte) (micros int64, ok bool) {
	f := timeFields{year: 1970, month: 1, day: 1}
	rest, ok := f.match(p.elements, unsafe.String(unsafe.SliceData(text), len(text)))
	if !ok || rest != "" {
		return 0, false
	}
	if f.halfDay {
		f.hour %= 12
		if f.afternoon {
			f.hour += 12
		}
	}
	return f.instant()
}

// Failed is the error for a text that the pattern does not fit.
func (p *TimePattern) Failed(text []byte) *sqlerr.Error {
	return sqlerr.New(sqlerr.BadValue, "invalid value %s for the format '%s'", Quote(text), p.text).WithHint("use try_to_timestamp for NULL in place of an error")
}

// instant has the cast of a text put the fields together: it checks the ranges and knows the zones.
func (f *timeFields) instant() (micros int64, ok bool) {
	b := make([]byte, 0, 64)
	b = appendDigits(b, f.year, 4)
	b = appendDigits(append(b, '-'), f.month, 2)
	b = appendDigits(append(b, '-'), f.day, 2)
	b = appendDigits(append(b, ' '), f.hour, 2)
	b = appendDigits(append(b, ':'), f.minute, 2)
	b = appendDigits(append(b, ':'), f.second, 2)
	b = appendDigits(append(b, '.'), f.micros, 6)
	if f.zone != "" {
		b = append(append(b, ' '), f.zone...)
	}
	micros, _, fault := Timestamp(b)
	return micros, fault == OK
}

func appendDigits(b []byte, n, width int) []byte {
	var digits [20]byte
	i := len(digits)
	for n > 0 || width > 0 {
		i--
		digits[i] = byte('0' + n%10)
		n /= 10
		width--
	}
	return append(b, digits[i:]...)
}

func (f *timeFields) match(elements []timeElement, text string) (rest string, ok bool) {
	for _, e := range elements {
		switch e.letter {
		case 0:
			if text, ok = strings.CutPrefix(text, e.literal); !ok {
				return "", false
			}
		case '[':
			tried := *f
			if after, ok := tried.match(e.part, text); ok {
				*f, text = tried, after
			}
		default:
			if text, ok = f.field(e, text); !ok {
				return "", false
			}
		}
	}
	return text, true
}

func (f *timeFields) field(e timeElement, text string) (rest string, ok bool) {
	switch e.letter {
	case 'y':
		switch e.count {
		case 2:
			if rest, ok = readDigits(text, 2, 2, &f.year); ok {
				f.year += 2000
			}
			return rest, ok
		case 1:
			return readDigits(text, 1, 4, &f.year)
		}
		return readDigits(text, 4, 4, &f.year)
	case 'M':
		if e.count > 2 {
			return f.monthName(text, e.count == 4)
		}
		return readDigits(text, e.count, 2, &f.month)
	case 'd':
		return readDigits(text, e.count, 2, &f.day)
	case 'H':
		return readDigits(text, e.count, 2, &f.hour)
	case 'h':
		f.halfDay = true
		rest, ok = readDigits(text, e.count, 2, &f.hour)
		return rest, ok && f.hour >= 1 && f.hour <= 12
	case 'a':
		if len(text) < 2 || text[1]|0x20 != 'm' || text[0]|0x20 != 'a' && text[0]|0x20 != 'p' {
			return "", false
		}
		f.afternoon = text[0]|0x20 == 'p'
		return text[2:], true
	case 'm':
		return readDigits(text, e.count, 2, &f.minute)
	case 's':
		return readDigits(text, e.count, 2, &f.second)
	case 'S':
		return f.fraction(text, e.count)
	case 'X', 'x':
		return f.offset(text, e)
	default: // V, z: up to the next blank
		end := strings.IndexByte(text, ' ')
		if end < 0 {
			end = len(text)
		}
		f.zone = text[:end]
		return text[end:], end > 0
	}
}

// readDigits reads least to most digits.
func readDigits(text string, least, most int, to *int) (rest string, ok bool) {
	n, i := 0, 0
	for i < len(text) && i < most && text[i]-'0' <= 9 {
		n = n*10 + int(text[i]-'0')
		i++
	}
	*to = n
	return text[i:], i >= least
}

func (f *timeFields) fraction(text string, most int) (rest string, ok bool) {
	f.micros = 0
	i, unit := 0, 100_000
	for i < len(text) && i < most && text[i]-'0' <= 9 {
		f.micros += int(text[i]-'0') * unit
		unit /= 10
		i++
	}
	return text[i:], i > 0
}

var months = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

func (f *timeFields) monthName(text string, full bool) (rest string, ok bool) {
	for i, name := range months {
		if !full {
			name = name[:3]
		}
		if len(text) >= len(name) && strings.EqualFold(text[:len(name)], name) {
			f.month = i + 1
			return text[len(name):], true
		}
	}
	return "", false
}

// offset reads +hh, +hhmm or +hh:mm: X and x take the first two, XX and xx the second, XXX and xxx the third. X takes Z as well.
func (f *timeFields) offset(text string, e timeElement) (rest string, ok bool) {
	if e.letter == 'X' && strings.HasPrefix(text, "Z") {
		f.zone = "Z"
		return text[1:], true
	}
	if text == "" || text[0] != '+' && text[0] != '-' {
		return "", false
	}
	var hour, minute int
	if rest, ok = readDigits(text[1:], 2, 2, &hour); !ok {
		return "", false
	}
	switch e.count {
	case 1:
		if after, ok := readDigits(rest, 2, 2, &minute); ok {
			rest = after
		}
	case 2:
		rest, ok = readDigits(rest, 2, 2, &minute)
	default:
		if rest, ok = strings.CutPrefix(rest, ":"); ok {
			rest, ok = readDigits(rest, 2, 2, &minute)
		}
	}
	if !ok {
		return "", false
	}
	f.zone = text[:len(text)-len(rest)]
	return rest, true
}
