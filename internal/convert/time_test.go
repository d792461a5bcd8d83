package convert

import (
	"math/rand"
	"strings"
	"testing"
	"time"
)

func TestTimestamp(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  string // RFC 3339, "" for a fault
		zone  bool
		fault Fault
	}{
		{"2026-03-01T12:34:56.789Z", "2026-03-01T12:34:56.789Z", true, OK},
		{"2026-03-01 12:34:56.789123", "2026-03-01T12:34:56.789123Z", false, OK},
		{"2026-03-01t12:34:56,5z", "2026-03-01T12:34:56.5Z", true, OK},
		{"2026-03-01T12:34:56.123456789+0530", "2026-03-01T07:04:56.123456Z", true, OK},
		{"2026-03-01T12:34:56+02:00", "2026-03-01T10:34:56Z", true, OK},
		{"2026-03-01 12:34:56 -02", "2026-03-01T14:34:56Z", true, OK},
		{"2026-03-01 12:34:56+1", "2026-03-01T11:34:56Z", true, OK},
		{"2026-03-01 12:34:56+01:02:03", "2026-03-01T11:32:53Z", true, OK},
		{"2026-03-01 12:34:56-18:00", "2026-03-02T06:34:56Z", true, OK},
		{"2026-03-01", "2026-03-01T00:00:00Z", false, OK}, {"2026-3-1 1:2:3", "2026-03-01T01:02:03Z", false, OK}, {"2026-03", "2026-03-01T00:00:00Z", false, OK},
		{"2026", "2026-01-01T00:00:00Z", false, OK}, {" 2026-03-01 ", "2026-03-01T00:00:00Z", false, OK}, {"2026-03-01 12:34", "2026-03-01T12:34:00Z", false, OK},
		{"2026-03-01T12:34Z", "2026-03-01T12:34:00Z", true, OK}, {"2024-02-29", "2024-02-29T00:00:00Z", false, OK}, {"2000-02-29", "2000-02-29T00:00:00Z", false, OK},
		{"0001-01-01", "0001-01-01T00:00:00Z", false, OK}, {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", true, OK},
		{"1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z", true, OK},
		{"2026-07-01 12:00:00 Europe/Berlin", "2026-07-01T10:00:00Z", true, OK}, {"2026-01-01 12:00:00 America/New_York", "2026-01-01T17:00:00Z", true, OK},
		{"2026-07-01 12:00:00UTC", "2026-07-01T12:00:00Z", true, OK}, {"2026-07-01 12:00:00 GMT+3", "2026-07-01T09:00:00Z", true, OK}, {"2026-07-01 12:00 UT-01:30", "2026-07-01T13:30:00Z", true, OK},

		{"0001-01-01T00:00:00+01:00", "", false, Overflow}, {"9999-12-31T23:59:59-01:00", "", false, Overflow}, {"10000-01-01", "", false, Overflow}, {"0000-01-01", "", false, Overflow},
		{"2026-02-29", "", false, Syntax}, {"1900-02-29", "", false, Syntax}, {"2026-04-31", "", false, Syntax}, {"2026-00-01", "", false, Syntax}, {"2026-13-01", "", false, Syntax},
		{"2026-01-00", "", false, Syntax}, {"2026-03-01T24:00:00Z", "", false, Syntax}, {"2026-03-01T12:60:00Z", "", false, Syntax}, {"2026-03-01T12:34:60Z", "", false, Syntax},
		{"2026-03-01T12", "", false, Syntax}, {"2026-03-01T12:", "", false, Syntax}, {"2026-03-01T12:34:", "", false, Syntax}, {"2026-03-01T12:34:56.", "", false, Syntax},
		{"2026-03-01T", "", false, Syntax}, {"2026-03-01x", "", false, Syntax}, {"2026-03T12:00", "", false, Syntax}, {"2026T12:00", "", false, Syntax}, {"20260301", "", false, Syntax},
		{"26-03-01", "", false, Syntax}, {"-2026-03-01", "", false, Syntax}, {"garbage", "", false, Syntax}, {"", "", false, Syntax}, {"2026-", "", false, Syntax}, {"2026-03-", "", false, Syntax},
		{"2026-03-01T12:34:56+19:00", "", false, Syntax}, {"2026-03-01T12:34:56+18:01", "", false, Syntax}, {"2026-03-01T12:34:56+01:60", "", false, Syntax},
		{"2026-03-01T12:34:56+", "", false, Syntax}, {"2026-03-01T12:34:56+01:", "", false, Syntax}, {"2026-03-01T12:34:56+010", "", false, Syntax}, {"2026-03-01T12:34:56Zx", "", false, Syntax},
		{"2026-03-01T12:34:56 Local", "", false, Syntax}, {"2026-03-01T12:34:56 ../etc/passwd", "", false, Syntax}, {"2026-03-01T12:34:56 /etc/localtime", "", false, Syntax},
		{"2026-03-01T12:34:56 " + strings.Repeat("a", 1000), "", false, Syntax},
	} {
		micros, zone, fault := Timestamp([]byte(c.text))
		got := ""
		if fault == OK {
			got = time.UnixMicro(micros).UTC().Format(time.RFC3339Nano)
		}
		if got != c.want || zone != c.zone || fault != c.fault {
			t.Errorf("%q: got %s, %v, %v; want %s, %v, %v", c.text, got, zone, fault, c.want, c.zone, c.fault)
		}
	}
}

func TestWallClockKeepsTheTimeAsWritten(t *testing.T) {
	for _, text := range []string{"2026-03-01 12:00", "2026-03-01 12:00+02:00", "2026-03-01 12:00 Europe/Berlin"} {
		if micros, fault := WallClock([]byte(text)); fault != OK || micros != time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro() {
			t.Errorf("%s: %d, %v", text, micros, fault)
		}
	}
}

func TestDate(t *testing.T) {
	for text, want := range map[string]string{"2026-03-01": "2026-03-01", "2026-3-1": "2026-03-01", "2026": "2026-01-01", "2026-03-01T23:59:59+14:00": "2026-03-01", "1969-12-31": "1969-12-31"} {
		if days, fault := Date([]byte(text)); fault != OK || time.Unix(days*86400, 0).UTC().Format(time.DateOnly) != want {
			t.Errorf("%s: %d, %v", text, days, fault)
		}
	}
	for text, want := range map[string]Fault{"2026-02-30": Syntax, "2026-03-01T25:00": Syntax, "x": Syntax, "12345-01-01": Overflow, "0000-12-31": Overflow} {
		if days, fault := Date([]byte(text)); fault != want {
			t.Errorf("%s: %d, %v", text, days, fault)
		}
	}
}

// randomTime is a time in the years 1 to 9999.
func randomTime(r *rand.Rand) time.Time {
	return time.UnixMicro(minMicros + r.Int63n(maxMicros-minMicros+1)).UTC()
}

func TestTimestampsRoundTripThroughPackageTime(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	layouts := []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999", "2006-01-02 15:04:05.000000Z07:00", "2006-01-02T15:04:05.999999-0700"}
	zone := time.FixedZone("", 5*3600+1800)
	for range 50_000 {
		want := randomTime(r)
		for i, layout := range layouts {
			shown := want
			if i%2 == 1 && i == 3 && want.Year() > 1 && want.Year() < 9999 {
				shown = want.In(zone)
			}
			text := shown.Format(layout)
			got, _, fault := Timestamp([]byte(text))
			if fault != OK || got != want.UnixMicro() {
				t.Fatalf("%s: got %d, %v; want %d", text, got, fault, want.UnixMicro())
			}
		}
		days, fault := Date([]byte(want.Format(time.DateOnly)))
		if fault != OK || !time.Unix(days*86400, 0).UTC().Equal(want.Truncate(24*time.Hour)) {
			t.Fatalf("%v: %d, %v", want, days, fault)
		}
	}
}

func TestLimitsOfTheCalendar(t *testing.T) {
	if minMicros != time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() || maxMicros != time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()-1 {
		t.Error("limits of TIMESTAMP")
	}
	if minDay != DaysOf(1, 1, 1) || maxDay != DaysOf(9999, 12, 31) {
		t.Error("limits of DATE")
	}
	if DaysOf(0, 1, 1) != time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix()/86400 || DaysOf(0, 3, 1) != time.Date(0, 3, 1, 0, 0, 0, 0, time.UTC).Unix()/86400 {
		t.Error("year 0")
	}
}

func FuzzTimestamp(f *testing.F) {
	for _, s := range []string{"2026-03-01T12:34:56.789Z", "2026-3-1 1:2:3", "2026-03-01 12:34:56+05:30", "2026", "2026-07-01 12:00 Europe/Berlin", "9999-12-31T23:59:59-01:00", "2026-03-01 12:00 GMT+3"} {
		f.Add(s)
	}
	layouts := []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly}
	f.Fuzz(func(t *testing.T, text string) {
		micros, _, fault := Timestamp([]byte(text))
		if fault == OK && !InTimestampRange(micros) {
			t.Fatalf("%q became %d", text, micros)
		}
		if days, dateFault := Date([]byte(text)); dateFault == OK && !InDateRange(days) || dateFault == OK && fault == Syntax {
			t.Fatalf("%q became day %d, %v against %v", text, days, dateFault, fault)
		}
		// What package time reads in these layouts, and we read as well, is the same time.
		for _, layout := range layouts {
			if want, err := time.Parse(layout, text); err == nil && fault == OK && micros != want.Truncate(time.Microsecond).UnixMicro() {
				t.Fatalf("%q: got %d, want %v", text, micros, want)
			}
		}
	})
}

func BenchmarkTimestamp(b *testing.B) {
	for _, text := range []string{"2026-03-01T12:34:56.789Z", "2026-03-01 12:34:56.789123", "2026-07-01 12:00:00 Europe/Berlin"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			in := []byte(text)
			for b.Loop() {
				if _, _, fault := Timestamp(in); fault != OK {
					b.Fatal(fault)
				}
			}
		})
	}
}
