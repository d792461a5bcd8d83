package dialect

import (
	"strconv"
	"strings"

	"millrace/internal/sqlerr"
)

// Schedule is SCHEDULE [REFRESH] {EVERY n unit | CRON 'quartz' [AT TIME ZONE zone]}, or TRIGGER ON UPDATE [AT MOST EVERY n unit].
type Schedule struct {
	// Every and Unit, such as 5 and MINUTE, are those of EVERY, also of AT MOST EVERY; 0 without.
	Every int
	Unit  string
	// Cron and Zone are the texts of CRON and AT TIME ZONE.
	Cron, Zone string
	// OnUpdate is TRIGGER ON UPDATE.
	OnUpdate bool
	Pos      int
}

// scheduleUnits are the units of EVERY.
const scheduleUnits = "second|minute|hour|day|week|seconds|minutes|hours|days|weeks"

// schedule reads a schedule at SCHEDULE or TRIGGER.
func (r *rewriter) schedule(i int) (*Schedule, int, *sqlerr.Error) {
	s := &Schedule{Pos: r.tokens[i].start}
	var err *sqlerr.Error
	if r.isWord(i, "trigger") {
		if !r.words(i, "trigger", "on", "update") {
			return nil, i, r.errorAt(r.tokens[i+1].start, "ON UPDATE is expected after TRIGGER")
		}
		s.OnUpdate = true
		if i += 3; r.words(i, "at", "most", "every") {
			i, err = r.every(s, i+3)
		}
		return s, i, err
	}
	if i++; r.isWord(i, "refresh") {
		i++
	}
	switch {
	case r.isWord(i, "every"):
		i, err = r.every(s, i+1)
		return s, i, err
	case r.isWord(i, "cron") && r.tokens[i+1].kind == tokenString:
		s.Cron = r.stringValue(r.tokens[i+1])
		i += 2
	default:
		return nil, i, r.errorAt(r.tokens[i].start, "EVERY n unit, or CRON and a text in quotes, is expected").
			WithHint("for example SCHEDULE EVERY 1 HOUR, or SCHEDULE CRON '0 0 6 * * ?' AT TIME ZONE 'Europe/Berlin'")
	}
	if !r.words(i, "at", "time", "zone") {
		return s, i, nil
	}
	switch t := r.tokens[i+3]; {
	case t.kind == tokenString:
		s.Zone = r.stringValue(t)
	case r.words(i+3, "local"):
		return nil, i, r.errorAt(t.start, "AT TIME ZONE LOCAL is not supported: the schedule would mean another time on another server").WithHint("name the zone, such as AT TIME ZONE 'Europe/Berlin'")
	default:
		return nil, i, r.errorAt(t.start, "the name of a time zone in quotes is expected")
	}
	return s, i + 4, nil
}

// every reads n unit, or a unit alone; INTERVAL may stand before, and n in quotes, also with the unit.
func (r *rewriter) every(s *Schedule, i int) (int, *sqlerr.Error) {
	if r.isWord(i, "interval") {
		i++
	}
	t := r.tokens[i]
	number, unit := "", ""
	switch {
	case t.kind == tokenNumber:
		number = r.text(t)
	case t.kind == tokenString:
		number, unit, _ = strings.Cut(strings.TrimSpace(r.stringValue(t)), " ")
		unit = strings.TrimSpace(unit)
	case r.words(i, scheduleUnits):
		number = "1" // EVERY HOUR
		i--
	default:
		return i, r.errorAt(t.start, "a whole number from 1 is expected after EVERY")
	}
	if unit == "" {
		if i++; !r.words(i, scheduleUnits) {
			return i, r.errorAt(r.tokens[i].start, "a unit is expected: SECOND, MINUTE, HOUR, DAY or WEEK")
		}
		unit = r.text(r.tokens[i])
	} else if !isOneOf(unit, strings.Split(scheduleUnits, "|")...) {
		return i, r.errorAt(t.start, "unit '%s' is not known, allowed are SECOND, MINUTE, HOUR, DAY and WEEK", shorten(unit))
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return i, r.errorAt(t.start, "a whole number from 1 is expected after EVERY")
	}
	s.Every, s.Unit = n, strings.TrimSuffix(strings.ToUpper(unit), "S")
	return i + 1, nil
}
