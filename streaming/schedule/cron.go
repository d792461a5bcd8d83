package schedule

import (
	"strconv"
	"strings"
	"time"

	"millrace/internal/sqlerr"
)

// Cron is a cron expression of Quartz: second, minute, hour, day of month, month, day of week and, where it is given, year.
//
// In a time zone whose clocks change, a time of day that does not exist that day is left out, and one that exists twice counts once, the second time. That is what Quartz
// does, whose calendar takes a time that is ambiguous for one after the change.
type Cron struct {
	seconds, minutes, hours, months bits
	years                           bits // from firstYear
	days                            days
	weekdays                        weekdays
}

// bits is a set of small numbers. Years, of which there are 130, need three words.
type bits [3]uint64

func (b *bits) add(n int)      { b[n>>6] |= 1 << (n & 63) }
func (b *bits) has(n int) bool { return b[n>>6]>>(n&63)&1 != 0 }

// days is the field for days of the month.
type days struct {
	any bool // ?: the other field decides
	set bits
	// last: L, or L-back. nearest: W, the weekday that is nearest to day, or to the last.
	last, nearest bool
	back, day     int
}

// weekdays is the field for days of the week, Sunday is 1.
type weekdays struct {
	any bool
	set bits
	// day is that of nL, the last in the month, and of n#nth, the nth in the month; 0 for neither.
	day, nth int
}

// The years of Quartz.
const (
	firstYear = 1970
	lastYear  = 2099
)

// field is one of the fields of an expression.
type field struct {
	name     string
	low, top int
	names    []string // of low and what follows
	// step is the greatest step that Quartz takes.
	step int
}

var fields = [...]field{
	{"second", 0, 59, nil, 59},
	{"minute", 0, 59, nil, 59},
	{"hour", 0, 23, nil, 23},
	{"day of month", 1, 31, nil, 31},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, 12},
	{"day of week", 1, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, 7},
	{"year", firstYear, lastYear, nil, lastYear - firstYear},
}

// The places of fields.
const (
	second = iota
	minute
	hour
	dayOfMonth
	month
	dayOfWeek
	year
)

// hint is how an expression looks.
const hint = "the fields are second, minute, hour, day of month, month, day of week and, optional, year; '0 30 6 ? * MON-FRI' is half past six on weekdays"

// ParseCron reads an expression.
func ParseCron(text string) (*Cron, error) {
	parts := strings.Fields(strings.ToUpper(text))
	if len(parts) != 6 && len(parts) != 7 {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "CRON '%s' has %d fields, wanted are 6 or 7", short(text), len(parts)).WithHint("%s", hint)
	}
	c := new(Cron)
	if len(parts) == 6 {
		parts = append(parts, "*")
	}
	for i, part := range parts {
		if err := c.field(i, part); err != nil {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "CRON '%s': field %d, %s, is '%s': %w", short(text), i+1, fields[i].name, short(part), err).WithHint("%s", hint)
		}
	}
	if c.days.any == c.weekdays.any {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "CRON '%s': exactly one of day of month and day of week is '?'", short(text)).WithHint("%s", hint)
	}
	return c, nil
}

// short is a part of a text that a message has room for.
func short(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}

func (c *Cron) field(i int, text string) error {
	f := &fields[i]
	switch i {
	case dayOfMonth:
		if done, err := c.days.special(text); done || err != nil {
			return err
		}
	case dayOfWeek:
		if done, err := c.weekdays.special(f, text); done || err != nil {
			return err
		}
	}
	set := [...]*bits{&c.seconds, &c.minutes, &c.hours, &c.days.set, &c.months, &c.weekdays.set, &c.years}[i]
	for _, item := range strings.Split(text, ",") {
		if err := f.item(set, item); err != nil {
			return err
		}
	}
	return nil
}

// special reads what only days of the month have: ?, L, L-3, LW, L-3W and 15W.
func (d *days) special(text string) (done bool, err error) {
	if text == "?" {
		d.any = true
		return true, nil
	}
	if !strings.ContainsAny(text, "LW") {
		return false, nil
	}
	rest, nearest := strings.CutSuffix(text, "W")
	d.nearest = nearest
	if back, ok := strings.CutPrefix(rest, "L"); ok {
		d.last = true
		if back == "" {
			return true, nil
		}
		n, ok := number(strings.TrimPrefix(back, "-"))
		if back[0] != '-' || !ok || n > 30 {
			return true, wrong("L may be followed by '-' and a number from 0 to 30, and by W")
		}
		d.back = n
		return true, nil
	}
	n, ok := number(rest)
	if !nearest || !ok || n < 1 || n > 31 {
		return true, wrong("L and W stand alone: L, L-3, LW or 15W")
	}
	d.day = n
	return true, nil
}

// special reads what only days of the week have: ?, L, 6L and 6#3.
func (w *weekdays) special(f *field, text string) (done bool, err error) {
	switch {
	case text == "?":
		w.any = true
		return true, nil
	case text == "L":
		w.set.add(7) // Saturday
		return true, nil
	}
	if day, nth, ok := strings.Cut(text, "#"); ok {
		d, known := f.value(day)
		n, ok := number(nth)
		if !known || !ok || n < 1 || n > 5 {
			return true, wrong("# stands alone, between a day and a number from 1 to 5, such as FRI#2")
		}
		w.day, w.nth = d, n
		return true, nil
	}
	if day, ok := strings.CutSuffix(text, "L"); ok {
		d, known := f.value(day)
		if !known {
			return true, wrong("L stands alone, or behind one day, such as FRIL")
		}
		w.day = d
		return true, nil
	}
	return false, nil
}

// item adds *, a, a-b, each with /step or without, to a set.
func (f *field) item(set *bits, text string) error {
	values, steps, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		n, ok := number(steps)
		if !ok || n < 1 || n > f.step {
			return wrong("a step is a number from 1 to " + strconv.Itoa(f.step))
		}
		step = n
	}
	from, to := f.low, f.top
	switch first, last, ranged := strings.Cut(values, "-"); {
	case values == "*", values == "" && stepped:
	case values == "?":
		return wrong("'?' is for day of month and day of week, alone")
	default:
		var ok bool
		if from, ok = f.value(first); !ok {
			return f.outside(first)
		}
		if ranged {
			if to, ok = f.value(last); !ok {
				return f.outside(last)
			}
		} else if !stepped {
			to = from
		}
	}
	if to < from { // from Friday to Monday
		if f.low == firstYear {
			return wrong("the range ends before it begins")
		}
		to += f.top - f.low + 1
	}
	for n := from; n <= to; n += step {
		v := f.low + (n-f.low)%(f.top-f.low+1)
		if f.low == firstYear {
			v -= firstYear
		}
		set.add(v)
	}
	return nil
}

// value reads a number or a name of the field.
func (f *field) value(text string) (int, bool) {
	for i, name := range f.names {
		if text == name {
			return f.low + i, true
		}
	}
	n, ok := number(text)
	return n, ok && n >= f.low && n <= f.top
}

func (f *field) outside(text string) error {
	allowed := strconv.Itoa(f.low) + " to " + strconv.Itoa(f.top)
	if f.names != nil {
		allowed += " and " + f.names[0] + " to " + f.names[len(f.names)-1]
	}
	return wrong("'" + short(text) + "' is not allowed, allowed are " + allowed)
}

// number reads digits.
func number(text string) (int, bool) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// wrong is what is wrong with a field.
type wrong string

func (w wrong) Error() string { return string(w) }

// matches reports whether a day is one of the expression's.
func (c *Cron) matches(y int, m time.Month, d int) bool {
	if y < firstYear || y > lastYear || !c.years.has(y-firstYear) || !c.months.has(int(m)) {
		return false
	}
	if c.days.any {
		return c.weekdays.has(y, m, d)
	}
	return c.days.has(y, m, d)
}

func (d *days) has(y int, m time.Month, day int) bool {
	if !d.last && !d.nearest {
		return d.set.has(day)
	}
	want, end := d.day, lastDay(y, m)
	if d.last {
		want = end - d.back
	}
	if want < 1 || want > end {
		return false
	}
	if d.nearest {
		switch weekday(y, m, want) {
		case time.Saturday:
			if want--; want == 0 {
				want = 3
			}
		case time.Sunday:
			if want++; want > end {
				want = end - 2
			}
		}
	}
	return day == want
}

func (w *weekdays) has(y int, m time.Month, day int) bool {
	d := int(weekday(y, m, day)) + 1
	switch {
	case w.day == 0:
		return w.set.has(d)
	case d != w.day:
		return false
	case w.nth > 0:
		return (day+6)/7 == w.nth
	default:
		return day+7 > lastDay(y, m)
	}
}

func weekday(y int, m time.Month, d int) time.Weekday {
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Weekday()
}

func lastDay(y int, m time.Month) int { return time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day() }
