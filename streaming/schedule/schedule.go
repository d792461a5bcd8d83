package schedule

import (
	"strings"
	"time"

	"millrace/internal/sqlerr"
)

// Schedule is when a table reads. It is immutable.
type Schedule struct {
	// OnUpdate schedules read when there is something new, at the earliest Every after they have begun to read last.
	OnUpdate bool
	// Every is the distance of the times of a schedule without cron, which begin at From.
	Every time.Duration
	From  time.Time

	cron *Cron
	zone *time.Location
}

// ByCron gives the schedule of a cron expression in a time zone.
func ByCron(text, zone string) (*Schedule, error) {
	c, err := ParseCron(text)
	if err != nil {
		return nil, err
	}
	z, err := Zone(zone)
	if err != nil {
		return nil, err
	}
	return &Schedule{cron: c, zone: z}, nil
}

// Zone finds a time zone by its name, or by its distance from UTC, such as '+05:30'.
func Zone(name string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", name); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(name, offset), nil
	}
	z, err := time.LoadLocation(name)
	if err != nil || name == "" || strings.EqualFold(name, "local") { // "" is UTC to Go, and Local another zone on another machine
		return nil, sqlerr.New(sqlerr.OptionInvalid, "time zone '%s' is not known", name).WithHint("names are those of the IANA database, such as 'Europe/Berlin' or 'UTC'; a distance is written '+02:00'")
	}
	return z, nil
}

// Next is the first time of the schedule after a moment; there is none when a cron expression has no more. Of an OnUpdate schedule after is when the table began to read last.
func (s *Schedule) Next(after time.Time) (next time.Time, ok bool) {
	switch {
	case s.cron != nil:
		return s.cron.Next(after, s.zone)
	case s.OnUpdate:
		return after.Add(s.Every), true
	case after.Before(s.From):
		return s.From, true
	default:
		return s.From.Add((after.Sub(s.From)/s.Every + 1) * s.Every), true
	}
}

// countMost bounds Between: beyond it nobody cares how many.
const countMost = 10_000

// Between counts the times of the schedule after from, up to and with to; at most 10,000.
func (s *Schedule) Between(from, to time.Time) int {
	if s.OnUpdate {
		return 0
	}
	for n := 0; ; n++ {
		next, ok := s.Next(from)
		if !ok || next.After(to) || n == countMost {
			return n
		}
		from = next
	}
}
