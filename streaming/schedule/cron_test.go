package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustParse(t testing.TB, text string) *Cron {
	t.Helper()
	c, err := ParseCron(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

const layout = "2006-01-02 15:04:05 MST"

// The examples of Quartz' own documentation, and what its parser takes beyond them.
func TestTimesOfExpressions(t *testing.T) {
	for _, c := range []struct{ cron, zone, after, want string }{
		{"0 0 12 * * ?", "UTC", "2026-11-30 12:00:00", "2026-12-01 12:00:00 UTC, 2026-12-02 12:00:00 UTC"},
		{"0 15 10 ? * *", "UTC", "2026-11-30 10:00:00", "2026-11-30 10:15:00 UTC"},
		{"0 15 10 * * ? 2027", "UTC", "2026-11-30 10:00:00", "2027-01-01 10:15:00 UTC"},
		{"0 15 10 * * ? 2005", "UTC", "2026-11-30 10:00:00", "never"},
		{"0 * 14 * * ?", "UTC", "2026-11-30 14:58:30", "2026-11-30 14:59:00 UTC, 2026-12-01 14:00:00 UTC"},
		{"0 0/5 14,18 * * ?", "UTC", "2026-11-30 14:55:00", "2026-11-30 18:00:00 UTC, 2026-11-30 18:05:00 UTC"},
		{"0 0-5 14 * * ?", "UTC", "2026-11-30 14:04:00", "2026-11-30 14:05:00 UTC, 2026-12-01 14:00:00 UTC"},
		{"0 10,44 14 ? 3 WED", "UTC", "2026-11-30 00:00:00", "2027-03-03 14:10:00 UTC, 2027-03-03 14:44:00 UTC, 2027-03-10 14:10:00 UTC"},
		{"0 15 10 ? * mon-fri", "UTC", "2026-11-27 11:00:00", "2026-11-30 10:15:00 UTC"},
		{"0 15 10 15 * ?", "UTC", "2026-11-30 00:00:00", "2026-12-15 10:15:00 UTC"},
		{"0 15 10 L * ?", "UTC", "2027-01-31 10:15:00", "2027-02-28 10:15:00 UTC, 2027-03-31 10:15:00 UTC"},
		{"0 15 10 L-2 * ?", "UTC", "2028-01-30 00:00:00", "2028-02-27 10:15:00 UTC, 2028-03-29 10:15:00 UTC"},
		{"0 15 10 ? * 6L", "UTC", "2026-11-27 11:00:00", "2026-12-25 10:15:00 UTC, 2027-01-29 10:15:00 UTC"},
		{"0 15 10 ? * FRIL 2026-2027", "UTC", "2027-12-31 09:00:00", "2027-12-31 10:15:00 UTC, never"},
		{"0 15 10 ? * 6#3", "UTC", "2026-11-30 00:00:00", "2026-12-18 10:15:00 UTC"},
		{"0 15 10 ? * TUE#5", "UTC", "2026-11-30 00:00:00", "2026-12-29 10:15:00 UTC, 2027-03-30 10:15:00 UTC"},
		{"0 0 12 1/5 * ?", "UTC", "2026-11-30 00:00:00", "2026-12-01 12:00:00 UTC, 2026-12-06 12:00:00 UTC"},
		{"0 11 11 11 11 ?", "UTC", "2026-11-30 00:00:00", "2027-11-11 11:11:00 UTC"},
		{"0 0 0 ? * L", "UTC", "2026-11-30 00:00:00", "2026-12-05 00:00:00 UTC"},
		{"0 0 0 15W * ?", "UTC", "2026-11-01 00:00:00", "2026-11-16 00:00:00 UTC, 2026-12-15 00:00:00 UTC, 2027-01-15 00:00:00 UTC"}, // a Sunday
		{"0 0 0 1W * ?", "UTC", "2026-07-30 00:00:00", "2026-08-03 00:00:00 UTC"},                                                    // a Saturday
		{"0 0 0 31W * ?", "UTC", "2027-01-30 00:00:00", "2027-03-31 00:00:00 UTC, 2027-05-31 00:00:00 UTC"},
		{"0 0 0 LW * ?", "UTC", "2027-01-01 00:00:00", "2027-01-29 00:00:00 UTC, 2027-02-26 00:00:00 UTC"},
		{"0 0 0 L-1W * ?", "UTC", "2027-01-01 00:00:00", "2027-01-29 00:00:00 UTC"},
		{"0 0 22-2 * * ?", "UTC", "2026-11-30 22:30:00", "2026-11-30 23:00:00 UTC, 2026-12-01 00:00:00 UTC, 2026-12-01 01:00:00 UTC, 2026-12-01 02:00:00 UTC, 2026-12-01 22:00:00 UTC"},
		{"0 0 0 ? nov-feb/2 FRI-MON/2", "UTC", "2026-12-31 00:00:00", "2027-01-01 00:00:00 UTC, 2027-01-03 00:00:00 UTC"},
		{"*/20 59 23 31 12 ? */2", "UTC", "2026-12-31 23:59:30", "2026-12-31 23:59:40 UTC, 2028-12-31 23:59:00 UTC"},
		{"0 0 0 30 2 ?", "UTC", "2026-11-30 00:00:00", "never"},
		{"0 0 0 29 2 ?", "UTC", "2026-11-30 00:00:00", "2028-02-29 00:00:00 UTC"},

		// Clocks that change, as Quartz sees them.
		{"0 30 2 * * ?", "Europe/Berlin", "2027-03-27 00:00:00", "2027-03-27 02:30:00 CET, 2027-03-29 02:30:00 CEST"},
		{"0 0 * * * ?", "Europe/Berlin", "2027-03-28 00:30:00", "2027-03-28 01:00:00 CET, 2027-03-28 03:00:00 CEST, 2027-03-28 04:00:00 CEST"},
		{"0 30 2 * * ?", "Europe/Berlin", "2027-10-30 03:00:00", "2027-10-31 02:30:00 CET, 2027-11-01 02:30:00 CET"},
		{"0 0 * * * ?", "Europe/Berlin", "2027-10-31 00:30:00", "2027-10-31 01:00:00 CEST, 2027-10-31 02:00:00 CET, 2027-10-31 03:00:00 CET"},
		{"0 0 0 * * ?", "America/Sao_Paulo", "2018-11-03 00:00:00", "2018-11-05 00:00:00 -02"}, // the clocks skipped midnight
		{"0 15 2 * * ?", "Australia/Lord_Howe", "2027-10-02 03:00:00", "2027-10-04 02:15:00 +11"},
		{"0 0 12 * * ?", "Pacific/Apia", "2011-12-29 12:00:00", "2011-12-31 12:00:00 +14"}, // a day that was not
		{"0 0 6 * * ?", "+05:30", "2026-11-30 06:00:00", "2026-12-01 06:00:00 +05:30"},
	} {
		z := zone(t, c.zone)
		at, err := time.ParseInLocation(time.DateTime, c.after, z)
		if err != nil {
			t.Fatal(err)
		}
		cron := mustParse(t, c.cron)
		for _, want := range strings.Split(c.want, ", ") {
			got := "never"
			next, ok := cron.Next(at, z)
			if ok {
				got = next.In(z).Format(layout)
			}
			if got != want {
				t.Errorf("%s in %s after %s: %s, want %s", c.cron, c.zone, at.Format(layout), got, want)
				break
			}
			at = next
		}
	}
}

func TestExpressionsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "has 0 fields, wanted are 6 or 7",
		"0 0 6 * *":              "has 5 fields",
		"0 0 6 * * ? 2027 x":     "has 8 fields",
		"60 0 6 * * ?":           "field 1, second, is '60': '60' is not allowed, allowed are 0 to 59",
		"0 0 24 * * ?":           "'24' is not allowed, allowed are 0 to 23",
		"0 0 6 0 * ?":            "field 4, day of month, is '0'",
		"0 0 6 ? 13 *":           "allowed are 1 to 12 and JAN to DEC",
		"0 0 6 ? * 8":            "allowed are 1 to 7 and SUN to SAT",
		"0 0 6 ? * MONDAY":       "'MONDAY' is not allowed",
		"0 0 6 * * ? 1969":       "allowed are 1970 to 2099",
		"0 0 6 * * *":            "exactly one of day of month and day of week is '?'",
		"0 0 6 ? * ?":            "exactly one of",
		"0 0 ? * * ?":            "'?' is for day of month and day of week, alone",
		"0 0 6 1,? * ?":          "'?' is for day of month",
		"0 */0 6 * * ?":          "a step is a number from 1 to 59",
		"0 */60 6 * * ?":         "a step is a number from 1 to 59",
		"0 1/2/3 6 * * ?":        "a step is a number",
		"0 0 6 * * ? 2030-2029":  "the range ends before it begins",
		"0 0 6 L,3 * ?":          "L may be followed by",
		"0 0 6 LX * ?":           "L may be followed by",
		"0 0 6 3,L * ?":          "L and W stand alone",
		"0 0 6 L3 * ?":           "L may be followed by",
		"0 0 6 32W * ?":          "L and W stand alone",
		"0 0 6 1-5W * ?":         "L and W stand alone",
		"0 0 6 ? * MON,FRIL":     "L stands alone",
		"0 0 6 ? * MON#6":        "# stands alone",
		"0 0 6 ? * MON#1,TUE#2":  "# stands alone",
		"0 0 6 1- * ?":           "'' is not allowed",
		"0 0 6 1,,2 * ?":         "'' is not allowed",
		"-1 0 6 * * ?":           "'' is not allowed",
		"0 0 6 99999999999 * ?":  "is not allowed",
		"@daily":                 "has 1 fields",
		strings.Repeat("x", 200): "…",
	} {
		if _, err := ParseCron(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{"", "Local", "Europe/Nowhere", "../x", "+25:00"} {
		if _, err := Zone(name); err == nil {
			t.Errorf("zone %q is taken", name)
		}
	}
}

// drawn is a field with what it means, made side by side.
type drawn struct {
	text string
	has  func(int) bool
}

func draw(t *rapid.T, f *field, label string) drawn {
	value := rapid.IntRange(f.low, f.top)
	var texts []string
	var sets []func(int) bool
	for range rapid.IntRange(1, 3).Draw(t, label) {
		a, b, step := value.Draw(t, "a"), value.Draw(t, "b"), rapid.IntRange(1, f.step).Draw(t, "step")
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			return drawn{"*", func(int) bool { return true }}
		case 1:
			texts, sets = append(texts, fmt.Sprint(a)), append(sets, func(n int) bool { return n == a })
		case 2:
			texts, sets = append(texts, fmt.Sprintf("%d/%d", a, step)), append(sets, func(n int) bool { return n >= a && (n-a)%step == 0 })
		case 3:
			texts = append(texts, fmt.Sprintf("%d-%d", a, b))
			sets = append(sets, func(n int) bool { return a <= b && n >= a && n <= b || a > b && (n >= a || n <= b) })
		default:
			texts = append(texts, fmt.Sprintf("*/%d", step))
			sets = append(sets, func(n int) bool { return (n-f.low)%step == 0 })
		}
	}
	return drawn{strings.Join(texts, ","), func(n int) bool {
		for _, s := range sets {
			if s(n) {
				return true
			}
		}
		return false
	}}
}

// Every second after a moment is looked at, as clocks show it, in zones and at times at which they change.
func TestNextIsTheFirstSecondThatMatches(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu", "Antarctica/Troll", "Europe/Dublin"}
	starts := []time.Time{
		time.Date(2027, 3, 28, 0, 0, 0, 0, time.UTC), time.Date(2027, 10, 31, 0, 0, 0, 0, time.UTC), time.Date(2027, 3, 14, 0, 0, 0, 0, time.UTC), time.Date(2027, 11, 7, 0, 0, 0, 0, time.UTC),
		time.Date(2027, 4, 3, 14, 0, 0, 0, time.UTC), time.Date(2027, 10, 2, 14, 0, 0, 0, time.UTC), time.Date(2018, 11, 4, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC),
	}
	rapid.Check(t, func(rt *rapid.T) {
		z := zone(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		after := rapid.SampledFrom(starts).Draw(rt, "start").Add(time.Duration(rapid.IntRange(-20_000, 20_000).Draw(rt, "seconds")) * time.Second)
		var f [6]drawn
		for i := range f {
			f[i] = draw(rt, &fields[i], fields[i].name)
		}
		f[dayOfWeek] = drawn{"?", func(int) bool { return true }}
		text := ""
		for _, x := range f {
			text += x.text + " "
		}
		c := mustParse(t, text)
		next, ok := c.Next(after, z)
		const horizon = 12 * 3600
		for s := 1; s <= horizon; s++ {
			at := after.Add(time.Duration(s) * time.Second)
			shows := at.In(z)
			_, mon, d := shows.Date()
			h, m, sec := shows.Clock()
			if !f[second].has(sec) || !f[minute].has(m) || !f[hour].has(h) || !f[dayOfMonth].has(d) || !f[month].has(int(mon)) || comesAgain(at, z) {
				continue
			}
			if !ok || !next.Equal(at) {
				rt.Fatalf("%s in %s after %s: %s %v, and %s matches", text, z, after.In(z).Format(layout), next.In(z).Format(layout), ok, shows.Format(layout))
			}
			return
		}
		if ok && next.Before(after.Add(horizon*time.Second)) {
			rt.Fatalf("%s in %s after %s: %s, which does not match", text, z, after.In(z).Format(layout), next.In(z).Format(layout))
		}
	})
}

// comesAgain reports whether clocks show the same once more later.
func comesAgain(at time.Time, z *time.Location) bool {
	for later := 30 * time.Minute; later <= 3*time.Hour; later += 30 * time.Minute {
		if at.Add(later).In(z).Format(time.DateTime) == at.In(z).Format(time.DateTime) {
			return true
		}
	}
	return false
}

// Days are looked up in lists of all days of each month.
func TestDaysAreThoseOfTheCalendar(t *testing.T) {
	names := []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	rapid.Check(t, func(rt *rapid.T) {
		y, m := rapid.IntRange(1970, 2099).Draw(rt, "year"), time.Month(rapid.IntRange(1, 12).Draw(rt, "month"))
		var all []time.Time
		for d := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC); d.Month() == m; d = d.AddDate(0, 0, 1) {
			all = append(all, d)
		}
		var want []time.Time
		text := "0 0 0 "
		nearest := func(d time.Time) {
			for _, by := range []int{0, -1, 1, -2, 2} {
				if x := d.AddDate(0, 0, by); x.Month() == m && x.Weekday() != time.Saturday && x.Weekday() != time.Sunday {
					want = append(want, x)
					return
				}
			}
		}
		switch rapid.IntRange(0, 4).Draw(rt, "form") {
		case 0:
			back := rapid.IntRange(0, 27).Draw(rt, "back")
			text += fmt.Sprintf("L-%d * ?", back)
			want = append(want, all[len(all)-1-back])
		case 1:
			day := rapid.IntRange(1, len(all)).Draw(rt, "day")
			text += fmt.Sprintf("%dW * ?", day)
			nearest(all[day-1])
		case 2:
			text += "LW * ?"
			nearest(all[len(all)-1])
		case 3:
			w := rapid.IntRange(0, 6).Draw(rt, "weekday")
			text += "? * " + names[w] + "L"
			for _, d := range all {
				if d.Weekday() == time.Weekday(w) {
					want = []time.Time{d}
				}
			}
		default:
			w, nth := rapid.IntRange(0, 6).Draw(rt, "weekday"), rapid.IntRange(1, 5).Draw(rt, "nth")
			text += fmt.Sprintf("? * %d#%d", w+1, nth)
			for _, d := range all {
				if d.Weekday() == time.Weekday(w) {
					if nth--; nth == 0 {
						want = []time.Time{d}
					}
				}
			}
		}
		c := mustParse(t, text)
		for _, d := range all {
			if has := len(want) == 1 && want[0].Equal(d); c.matches(d.Date()) != has {
				rt.Fatalf("%s on %s: %v", text, d.Format(time.DateOnly), !has)
			}
		}
	})
}

func FuzzParseCron(f *testing.F) {
	for _, s := range []string{"0 0 12 * * ?", "0 0/5 14,18 ? JAN-MAR MON-FRI 2027/2", "0 15 10 L-3W * ?", "0 15 10 ? * FRI#2", "*/7 1-50/3 22-2 15W * ?", "0 0 0 ? * L"} {
		f.Add(s)
	}
	z := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCron(text)
		if err != nil {
			return
		}
		after := time.Date(2027, 10, 31, 0, 30, 0, 0, time.UTC)
		for range 3 {
			next, ok := c.Next(after, z)
			if !ok {
				return
			}
			if !next.After(after) || next.Nanosecond() != 0 || !c.matches(next.In(z).Date()) {
				t.Fatalf("%q after %s: %s", text, after, next)
			}
			after = next
		}
	})
}

func BenchmarkNext(b *testing.B) {
	z := zone(b, "Europe/Berlin")
	for _, text := range []string{"* * * * * ?", "0 30 6 ? * MON-FRI", "0 0 0 29 2 ?"} {
		c := mustParse(b, text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			at := time.Date(2026, 11, 30, 5, 0, 0, 0, time.UTC)
			for b.Loop() {
				if _, ok := c.Next(at, z); !ok {
					b.Fatal("never")
				}
			}
		})
	}
}
