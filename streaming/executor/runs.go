package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"millrace/streaming/schedule"
	"millrace/streaming/store"
)

// A table that does not read all the time, because its trigger is manual or it has a schedule, reads in runs. A run begins when a statement or the schedule asks for it and
// ends when the table has read what there was when the run began, or has failed; in between it may stall, and goes on by itself.
//
// The owner keeps the time of the schedule itself: when a run ends it looks for the next time, and sleeps until then. So a run that is still going when the next one is due
// lets that one pass, and for all times that passed while nobody looked one run makes up. What was last is kept in the store, beside the positions.

// Clock tells the time to schedules. Tests have one of their own.
type Clock interface {
	// Now is the time on the wall; it may jump.
	Now() time.Time
	// After gives a channel that gets a value when d has passed, and what ends that.
	After(d time.Duration) (<-chan time.Time, func())
}

// wall is the clock of the machine.
type wall struct{}

// Now implements Clock. Without its monotonic part a time can be compared with one that was stored.
func (wall) Now() time.Time { return time.Now().Round(0) }

// After implements Clock.
func (wall) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Run is one run.
type Run struct {
	// Start and End are zero when there was none, End also of one that is under way.
	Start, End time.Time
	// Result is Succeeded or RunFailed.
	Result string
}

// The results of runs.
const (
	Succeeded = "succeeded"
	RunFailed = "failed"
)

// Runs is what a table that reads in runs knows of them.
type Runs struct {
	Last Run
	// Next is when the schedule has the next, zero for never.
	Next time.Time
	// Skipped counts times of the schedule that passed while a run was going, since the table was made or emptied.
	Skipped int64
}

// runRecord is the last run as it is kept in the store; times are in milliseconds since 1970.
type runRecord struct {
	Start   int64  `json:"start,omitempty"`
	End     int64  `json:"end,omitempty"`
	Result  string `json:"result,omitempty"`
	Skipped int64  `json:"skipped,omitempty"`
}

// scheduleEvent is the kind of events on runs that were skipped or missed.
const scheduleEvent = "schedule"

const (
	// lookAgain bounds how long the owner sleeps: clocks are set.
	lookAgain = time.Minute
	// pollEvery is how often a table whose schedule wants something new looks for it.
	pollEvery = DefaultDiscovery
)

// scheduled is the schedule, nil for none.
func (t *Table) scheduled() *schedule.Schedule {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settings.Schedule
}

// arm looks when the next run is due. It is called when a run has ended, when the schedule is another, and when the clock was set back.
func (t *Table) arm() {
	s, now := t.scheduled(), t.Clock.Now()
	var due time.Time
	if s != nil {
		base := time.UnixMilli(max(t.record.Run.End, t.record.Run.Start))
		if s.OnUpdate {
			base = time.UnixMilli(t.record.Run.Start)
		}
		if base.Before(s.From) {
			base = s.From
		}
		if base.After(now) {
			base = now // as the clock is now
		}
		due, _ = s.Next(base)
		if s.OnUpdate && due.Before(t.polled) {
			due = t.polled
		}
	}
	t.mu.Lock()
	t.due, t.armed = due, s
	t.mu.Unlock()
}

// timed notes the time, and arms anew when it must. It gives how long the owner may sleep, 0 for as long as nothing happens.
func (t *Table) timed() (sleep time.Duration) {
	now := t.Clock.Now()
	back := now.Before(t.seen)
	t.seen = now
	if s := t.scheduled(); back || s != t.armed {
		t.arm()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.due.IsZero() {
		return 0
	}
	return min(max(t.due.Sub(now), time.Millisecond), lookAgain)
}

// isDue reports whether the schedule asks for a run. The caller holds mu.
func (t *Table) isDue() bool {
	return t.settings.Schedule != nil && t.settings.Manual && !t.due.IsZero() && !t.Clock.Now().Before(t.due)
}

// errNotDue ends an attempt at a run that another server has made meanwhile.
var errNotDue = errors.New("executor: another server has made the run")

// stillDue looks again whether a run is due, once the store was read: another server may have made it.
func (t *Table) stillDue() error {
	t.mu.Lock()
	asked := !t.settings.Manual || t.settings.Schedule == nil || !t.loaded || t.wanted != t.served
	t.mu.Unlock()
	if asked {
		return nil
	}
	t.arm()
	t.mu.Lock()
	due := t.isDue()
	t.mu.Unlock()
	if !due {
		return errNotDue
	}
	t.missed()
	return nil
}

// startRun begins a run, or goes on with the one that was interrupted.
func (t *Table) startRun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.settings.Manual {
		t.run = Run{}
	} else if t.run.Start.IsZero() {
		t.run = Run{Start: t.Clock.Now()}
		t.runBatches = t.totals.batches
	}
	if t.state == Failed && !t.standing { // a schedule tries again
		t.state, t.reason, t.stateErr, t.since = Starting, "", nil, time.Now()
	}
}

// endRun ends a run, and keeps what is known of it. Of a table whose schedule wants something new, a run that has found nothing is none.
func (t *Table) endRun(ctx context.Context, result string) {
	t.mu.Lock()
	run, s := t.run, t.settings.Schedule
	t.run = Run{}
	nothing := t.totals.batches == t.runBatches
	loaded, served := t.loaded, t.served
	t.mu.Unlock()
	if run.Start.IsZero() {
		return // it reads all the time
	}
	now := t.Clock.Now()
	if s != nil && s.OnUpdate {
		t.polled = now.Add(pollEvery)
		if nothing && result == Succeeded && t.record.Loaded == loaded && t.record.Served == served {
			t.arm()
			return
		}
	}
	skipped := 0
	if s != nil {
		since := run.Start
		if since.Before(s.From) {
			since = s.From
		}
		skipped = s.Between(since, now)
	}
	if t.passed += skipped; t.passed > 0 && now.Sub(t.passNoted) >= qualityEvery {
		t.event(scheduleEvent, fmt.Sprintf("%d runs were due while one was still going, the last that began at %s: they were skipped", t.passed, run.Start.UTC().Format(time.DateTime)))
		t.passed, t.passNoted = 0, now
	}
	t.record.Loaded, t.record.Served = loaded, served
	t.record.Run = runRecord{run.Start.UnixMilli(), now.UnixMilli(), result, t.record.Run.Skipped + int64(skipped)}
	if err := t.keepRecord(ctx); err != nil && !ofStore(err) {
		t.log.Warn("keeping when a "+t.Noun+" was read", "table", t.name, "error", err)
	}
	t.mu.Lock()
	t.runs = t.record.Run
	t.mu.Unlock()
	t.arm()
}

// keepRecord commits the record alone.
func (t *Table) keepRecord(ctx context.Context) error {
	if t.lease.Epoch == 0 {
		return store.ErrFenced
	}
	progress, err := t.record.bytes()
	if err != nil {
		return err
	}
	number, err := t.Store.Commit(context.WithoutCancel(ctx), &store.Commit{Table: t.ID, Lease: t.lease, Progress: progress})
	if err == nil {
		t.number = number
	}
	return err
}

// missed notes, once for each run, that others were due before it. One makes up for all.
func (t *Table) missed() {
	s, r := t.scheduled(), t.record.Run
	t.mu.Lock()
	due := t.due
	t.mu.Unlock()
	if r.End == 0 || due.Equal(t.madeUp) {
		return
	}
	t.madeUp = due
	since := time.UnixMilli(r.End)
	if since.Before(s.From) {
		since = s.From
	}
	if n := s.Between(since, t.Clock.Now()); n > 1 {
		t.event(scheduleEvent, fmt.Sprintf("%d runs were missed; one makes up for them", n))
	}
}

// learnRuns looks whether another server has made a run meanwhile.
func (t *Table) learnRuns(ctx context.Context) {
	before := t.record.Run
	if err := t.restore(ctx); err != nil {
		if ctx.Err() == nil && !ofStore(err) {
			t.log.Warn("reading where a "+t.Noun+" is", "table", t.name, "error", err)
		}
		return
	}
	if t.record.Run != before {
		t.arm()
	}
}

// Runs tells of the runs of a table that reads in runs, and ok whether it does.
func (t *Table) Runs() (r Runs, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.settings.Manual {
		return r, false
	}
	if t.runs.Start > 0 {
		r.Last = Run{time.UnixMilli(t.runs.Start), time.UnixMilli(t.runs.End), t.runs.Result}
	}
	r.Skipped = t.runs.Skipped
	if s := t.settings.Schedule; s != nil && !t.paused {
		if r.Next = t.due; s != t.armed { // the owner has not seen it yet
			r.Next, _ = s.Next(t.Clock.Now())
		} else if r.Next.Before(t.Clock.Now()) && !t.run.Start.IsZero() {
			r.Next, _ = s.Next(t.Clock.Now())
		}
	}
	return r, true
}
