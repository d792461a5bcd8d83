package convert

import (
	"testing"
	"time"
)

// Messages showed a TIME of 838:59:59 as 838h59m59s.
func TestTimesAreWrittenAsSQLDoes(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"00:00:00": 0, "838:59:59": 838*time.Hour + 59*time.Minute + 59*time.Second, "-01:00:00": -time.Hour, "09:08:07.000060": 9*time.Hour + 8*time.Minute + 7*time.Second + 60*time.Microsecond,
	} {
		if got := string(AppendTime(nil, d.Microseconds())); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
