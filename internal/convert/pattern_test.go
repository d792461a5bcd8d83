package convert

import (
	"testing"
	"time"
)

func TestPatternsReadWhatPackageTimeWrites(t *testing.T) {
	// Formats of both worlds that mean the same.
	for format, layout := range map[string]string{
		"yyyy-MM-dd HH:mm:ss.SSSSSS":     "2006-01-02 15:04:05.000000",
		"yyyy-MM-dd'T'HH:mm:ss.SSSXXX":   "2006-01-02T15:04:05.000Z07:00",
		"dd/MM/yy hh:mm:ss a":            "02/01/06 03:04:05 PM",
		"d MMM yyyy H:m:s":               "2 Jan 2006 15:4:5",
		"MMMM d, yyyy h:mm a XX":         "January 2, 2006 3:04 PM Z0700",
		"yyyyMMddHHmmssSSSxx":            "20060102150405000-0700",
		"yyyy-MM-dd[ HH:mm:ss][.SSSSSS]": "2006-01-02 15:04:05.000000",
	} {
		p, err := ParseTimePattern(format)
		if err != nil {
			t.Fatal(err)
		}
		for _, base := range []time.Time{time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 29, 23, 59, 59, 999_000_000, time.UTC), time.Date(2068, 12, 31, 12, 0, 1, 1_000_000, time.UTC)} {
			text := base.Format(layout)
			want, err := time.Parse(layout, text)
			if err != nil {
				t.Fatal(err)
			}
			// d and H read also one digit, and layouts without it have no fraction.
			if layout == "2 Jan 2006 15:4:5" {
				text = base.Format("2 Jan 2006 ") + trimZeros(base)
			}
			if got, ok := p.Parse([]byte(text)); !ok || got != want.UnixMicro() {
				t.Errorf("%s of %q: got %v, want %v", format, text, time.UnixMicro(got).UTC(), want)
			}
		}
	}
}

func trimZeros(t time.Time) string {
	return string(appendDigits(append(appendDigits(append(appendDigits(nil, t.Hour(), 1), ':'), t.Minute(), 1), ':'), t.Second(), 1))
}

func FuzzPattern(f *testing.F) {
	for _, s := range [][2]string{{"yyyy-MM-dd", "2026-03-01"}, {"yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", "2026-03-01T12:34:56.5+02:00"}, {"d MMM yy h a", "5 Mar 26 3 pm"}, {"''''", "'"}, {"[[[[y]]]]", "1"},
		{"yyyyMMdd VV", "20260301 Europe/Berlin"}, {"'", ""}, {"#", ""}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, format, text string) {
		p, err := ParseTimePattern(format)
		if err != nil {
			return
		}
		if micros, ok := p.Parse([]byte(text)); ok && (micros < time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() || micros >= time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()) {
			t.Fatalf("%q of %q is %d", format, text, micros)
		}
	})
}
