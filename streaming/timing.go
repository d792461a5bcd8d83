package streaming

import (
	"math"
	"time"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/streaming/executor"
	"millrace/streaming/schedule"
	"millrace/streaming/store"
)

// units are those of EVERY. Days and weeks are of 24 hours, whatever clocks do; CRON knows calendars.
var units = map[string]time.Duration{"SECOND": time.Second, "MINUTE": time.Minute, "HOUR": time.Hour, "DAY": 24 * time.Hour, "WEEK": 7 * 24 * time.Hour}

// scheduleOf gives the schedule of a definition.
func scheduleOf(d *catalog.Schedule) (*schedule.Schedule, error) {
	since := time.UnixMilli(d.Since)
	if d.Cron != "" {
		s, err := schedule.ByCron(d.Cron, d.Zone)
		if err != nil {
			return nil, err
		}
		s.From = since
		return s, nil
	}
	unit := units[d.Unit]
	if d.Every < 1 || unit == 0 || int64(d.Every) > math.MaxInt64/8/int64(unit) {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "EVERY %d %s is more than a schedule can wait", d.Every, d.Unit)
	}
	return &schedule.Schedule{OnUpdate: d.OnUpdate, Every: time.Duration(d.Every) * unit, From: since}, nil
}

// settingsOf are what a definition says of how its table runs; most bounds the default of max_batch_bytes.
func settingsOf(d *catalog.Streaming, most int64) (executor.Settings, store.Durability, error) {
	s, durability, err := settings(asList(d.Properties), most)
	if err != nil || d.Schedule == nil {
		return s, durability, err
	}
	if _, set := d.Properties["trigger"]; set {
		return s, durability, sqlerr.New(sqlerr.OptionConflict, "property 'trigger' says when a table reads that has no schedule, and this one has").
			WithHint("leave the property out, or ALTER STREAMING TABLE … DROP SCHEDULE first")
	}
	if d.Schedule.OnUpdate && d.Schedule.Every == 0 {
		return s, durability, nil // as soon as there is something new: it reads all the time
	}
	s.Manual = true
	s.Schedule, err = scheduleOf(d.Schedule)
	return s, durability, err
}

// timed gives a new definition's schedule its beginning: that of the same schedule before, or now.
func (m *Manager) timed(d, old *catalog.Streaming) error {
	if d.Schedule == nil {
		return nil
	}
	now := m.now()
	s := *d.Schedule
	s.Since = now.UnixMilli()
	if old != nil && old.Schedule != nil {
		same := *old.Schedule
		if same.Since = s.Since; same == s {
			s.Since = old.Schedule.Since
		}
	}
	d.Schedule = &s
	if s.Cron == "" {
		return nil
	}
	times, err := scheduleOf(&s)
	if err != nil {
		return err
	}
	if _, ok := times.Next(now); !ok {
		return sqlerr.New(sqlerr.OptionInvalid, "CRON '%s' has no time after now", s.Cron).WithHint("see its year, and whether its months have the day")
	}
	return nil
}

func (m *Manager) now() time.Time {
	if m.Clock != nil {
		return m.Clock.Now()
	}
	return time.Now()
}

// Rescheduling is ADD, ALTER or DROP SCHEDULE.
type Rescheduling struct {
	// Schedule is the new one, nil for DROP. Replace says that there is one already.
	Schedule *catalog.Schedule
	Replace  bool
}

// Reschedule changes the schedule of a table. Without one it is manual. retell writes it into the statement of a definition.
func (m *Manager) Reschedule(n Name, r Rescheduling, retell func(catalog.Streaming) (catalog.Streaming, error)) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	t, x, err := m.find(n)
	if err != nil {
		return err
	}
	switch has := t.Streaming.Schedule != nil; {
	case has && r.Schedule != nil && !r.Replace:
		return sqlerr.New(sqlerr.TableState, "streaming table '%s' has a schedule", n).WithHint("ALTER STREAMING TABLE … ALTER SCHEDULE changes it")
	case !has && r.Replace:
		return sqlerr.New(sqlerr.TableState, "streaming table '%s' has no schedule", n).WithHint("ALTER STREAMING TABLE … ADD SCHEDULE gives it one")
	case !has && r.Schedule == nil:
		return sqlerr.New(sqlerr.TableState, "streaming table '%s' has no schedule", n)
	}
	d := *t.Streaming
	d.Schedule = r.Schedule
	d.Properties = map[string]string{}
	for name, value := range t.Streaming.Properties {
		if name != "trigger" {
			d.Properties[name] = value
		}
	}
	if r.Schedule == nil {
		d.Properties["trigger"] = "manual"
	}
	if err := m.timed(&d, t.Streaming); err != nil {
		return err
	}
	s, _, err := settingsOf(&d, m.MaxBatchBytes)
	if err != nil {
		return err
	}
	if d, err = retell(d); err != nil {
		return err
	}
	if _, err := m.redefine(n, func(t *catalog.Table) { t.Streaming = &d }); err != nil {
		return err
	}
	x.Set(s)
	return nil
}
