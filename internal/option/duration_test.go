package option

import (
	"testing"
	"time"
)

func TestDurationsOfISO8601(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"P7D": 7 * 24 * time.Hour, "p1w2d": 9 * 24 * time.Hour, "PT1H30M": 90 * time.Minute, "P1DT0.5S": 24*time.Hour + 500*time.Millisecond, "PT0S": 0, " PT10S ": 10 * time.Second,
		"P": -1, "PT": -1, "P1DT": -1, "P1M": -1, "P1Y": -1, "PT1D": -1, "PT1S1H": -1, "P1": -1, "PD": -1, "P1H": -1, "P9999999W": -1, "PT1.2.3S": -1, "P-1D": -1,
	} {
		got, err := ParseDuration(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}
