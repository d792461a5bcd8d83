package schedule

import (
	"testing"
	"time"
)

func TestTimesOfEvery(t *testing.T) {
	from := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := &Schedule{Every: time.Hour, From: from}
	for _, c := range []struct {
		after, want time.Duration
		between     int // to a day after from
	}{
		{-time.Minute, 0, 25},
		{0, time.Hour, 24},
		{time.Second, time.Hour, 24},
		{time.Hour, 2 * time.Hour, 23},
		{23*time.Hour + 59*time.Minute, 24 * time.Hour, 1},
		{24 * time.Hour, 25 * time.Hour, 0},
		{1000*time.Hour + time.Nanosecond, 1001 * time.Hour, 0},
	} {
		next, ok := s.Next(from.Add(c.after))
		if n := s.Between(from.Add(c.after), from.Add(24*time.Hour)); !ok || next.Sub(from) != c.want || n != c.between {
			t.Errorf("after %v: %v, want %v; %d until a day after, want %d", c.after, next.Sub(from), c.want, n, c.between)
		}
	}
	if n := s.Between(from, from.AddDate(100, 0, 0)); n != countMost {
		t.Errorf("a century has %d hours", n)
	}
}

func TestTimesOfOtherSchedules(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	update := &Schedule{OnUpdate: true, Every: time.Minute}
	if next, ok := update.Next(at); !ok || next.Sub(at) != time.Minute || update.Between(at, at.Add(time.Hour)) != 0 {
		t.Errorf("on update: %v, %v", next, ok)
	}
	cron, err := ByCron("0 0 6 * * ?", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if next, ok := cron.Next(at); !ok || next.UTC().Format(time.DateTime) != "2026-12-01 05:00:00" || cron.Between(at, at.AddDate(0, 0, 10)) != 10 {
		t.Errorf("cron: %v, %v", next, ok)
	}
	for _, c := range [][2]string{{"0 0 6 * * ?", "Nowhere"}, {"0 0", "UTC"}} {
		if _, err := ByCron(c[0], c[1]); err == nil {
			t.Errorf("%v is taken", c)
		}
	}
}
