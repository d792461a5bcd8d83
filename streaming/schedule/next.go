package schedule

import "time"

const (
	// widest is more than the clocks of any zone differ from UTC.
	widest = 16 * time.Hour
	// setBack is more than clocks have been set back at once since 1970.
	setBack = 4 * time.Hour
)

// Next is the first moment after another at which the clocks of a zone show a time of the expression, in whole seconds.
func (c *Cron) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	// Times are walked as the clocks show them, as if they were UTC. Those of a little before come again where clocks are set back.
	from := shown(after, zone)
	if begin, end := after.In(zone).ZoneBounds(); !begin.IsZero() && after.Sub(begin) < setBack || !end.IsZero() && end.Sub(after) < setBack {
		from = from.Add(-setBack)
	}
	first := from.Truncate(24 * time.Hour)
	for day := first; day.Year() <= lastYear; day = day.AddDate(0, 0, 1) {
		if !c.matches(day.Date()) {
			day = c.skip(day)
			continue
		}
		if next, ok := c.on(day, from, after, zone); ok {
			return next, true
		}
	}
	return time.Time{}, false
}

// shown is what the clocks of a zone show at a moment, as if it were UTC.
func shown(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// skip gives the last day before the next one that can match: that of a month or year that is not in the expression, or day itself.
func (c *Cron) skip(day time.Time) time.Time {
	y, m, _ := day.Date()
	switch {
	case y < firstYear:
		return time.Date(firstYear-1, 12, 31, 0, 0, 0, 0, time.UTC)
	case !c.years.has(y - firstYear):
		return time.Date(y, 12, 31, 0, 0, 0, 0, time.UTC)
	case !c.months.has(int(m)):
		return time.Date(y, m, lastDay(y, m), 0, 0, 0, 0, time.UTC)
	default:
		return day
	}
}

// on is the first moment of a day that is after another, and not shown before from.
func (c *Cron) on(day, from, after time.Time, zone *time.Location) (time.Time, bool) {
	for h := range 24 {
		hour := day.Add(time.Duration(h) * time.Hour)
		if !c.hours.has(h) || hour.Add(time.Hour).Before(from) {
			continue
		}
		for m := range 60 {
			minute := hour.Add(time.Duration(m) * time.Minute)
			if !c.minutes.has(m) || minute.Add(time.Minute).Before(from) {
				continue
			}
			for s := range 60 {
				if !c.seconds.has(s) {
					continue
				}
				if t, ok := moment(minute.Add(time.Duration(s)*time.Second), zone); ok && t.After(after) {
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

// moment is when the clocks of a zone show a time, given as if it were UTC: the last such moment, and none when they skip it.
func moment(shows time.Time, zone *time.Location) (found time.Time, ok bool) {
	for t := shows.Add(-widest).In(zone); ; {
		_, offset := t.Zone()
		at := shows.Add(-time.Duration(offset) * time.Second)
		if _, there := at.In(zone).Zone(); there == offset {
			found, ok = at, true
		}
		_, end := t.ZoneBounds()
		if end.IsZero() || end.After(shows.Add(widest)) {
			return found, ok
		}
		t = end.In(zone)
	}
}
