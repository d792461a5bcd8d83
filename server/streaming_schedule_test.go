package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// hands is a clock that goes on when a test says so.
type hands struct {
	mu      sync.Mutex
	now     time.Time
	elapsed time.Duration // what timers go by, whatever the clock is set to
	sleeps  map[*sleep]bool
	changed chan struct{} // closed when a sleep begins or ends
}

type sleep struct {
	until time.Duration
	over  chan time.Time
}

func newHands(text string) *hands {
	now, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return &hands{now: now, sleeps: map[*sleep]bool{}, changed: make(chan struct{})}
}

// Now implements executor.Clock.
func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// After implements executor.Clock.
func (h *hands) After(d time.Duration) (<-chan time.Time, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &sleep{h.elapsed + d, make(chan time.Time, 1)}
	h.sleeps[s] = true
	h.notify()
	return s.over, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sleeps, s)
		h.notify()
	}
}

func (h *hands) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// asleep waits until one owner sleeps.
func (h *hands) asleep(t *testing.T) {
	t.Helper()
	for {
		h.mu.Lock()
		n, changed := len(h.sleeps), h.changed
		h.mu.Unlock()
		if n == 1 {
			return
		}
		select {
		case <-changed:
		case <-time.After(testkit.Patience):
			t.Fatalf("%d owners sleep", n)
		}
	}
}

// set sets the clock without time going by, as a user or a time server does.
func (h *hands) set(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// passes lets time go by.
func (h *hands) passes(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now, h.elapsed = h.now.Add(d), h.elapsed+d
	for s := range h.sleeps {
		if s.until <= h.elapsed {
			select {
			case s.over <- h.now:
			default:
			}
		}
	}
}

const runsOf = "SELECT next_run::string, last_run::string, last_result, skipped_runs FROM information_schema.streaming_tables WHERE table_name = 't'"

func TestAScheduledTableReadsWhenItIsDue(t *testing.T) {
	b, cl, produce := ordersTopic(t, 10)
	clock, dir := newHands("2026-11-30 12:00:00"), t.TempDir()
	configure := func(c *Config) { c.DataDir, c.clock = dir, clock }
	r := start(t, configure)
	db := r.root(t)
	create := "STREAMING TABLE t (id BIGINT, CONSTRAINT known EXPECT (id >= 0) ON VIOLATION FAIL UPDATE) SCHEDULE EVERY 1 HOUR AS SELECT value:id::bigint AS id FROM " + ordersRead(b)
	do(t, db, "CREATE "+create)
	gives(t, db, "SELECT count(*) FROM t", "10")
	comes(t, r, runsOf, "2026-11-30 13:00:00|2026-11-30 12:00:00|succeeded|0")
	gives(t, db, "SELECT state, `trigger`, schedule, lag FROM information_schema.streaming_tables", "running|scheduled|SCHEDULE EVERY 1 HOUR|0")

	produce(10, 20)
	clock.asleep(t)
	clock.passes(59*time.Minute + 59*time.Second)
	clock.asleep(t)
	gives(t, db, "SELECT count(*) FROM t", "10")
	clock.passes(time.Second)
	comes(t, r, "SELECT count(*) FROM t", "20")
	comes(t, r, runsOf, "2026-11-30 14:00:00|2026-11-30 13:00:00|succeeded|0")

	// A refresh in between is a run, too, and does not move the times of the schedule.
	produce(20, 25)
	clock.asleep(t)
	clock.passes(10 * time.Minute)
	do(t, db, "REFRESH STREAMING TABLE t")
	gives(t, db, "SELECT count(*) FROM t", "25")
	comes(t, r, runsOf, "2026-11-30 14:00:00|2026-11-30 13:10:00|succeeded|0")

	// A run that fails is tried again when the next is due.
	testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: []byte(`{"note":"no id"}`)})
	clock.asleep(t)
	clock.passes(50 * time.Minute)
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "failed")
	comes(t, r, runsOf, "2026-11-30 15:00:00|2026-11-30 14:00:00|failed|0")
	clock.asleep(t)
	clock.passes(time.Hour)
	comes(t, r, runsOf, "2026-11-30 16:00:00|2026-11-30 15:00:00|failed|0")
	do(t, db, "CREATE OR REFRESH "+strings.Replace(create, "FAIL UPDATE", "DROP ROW", 1))
	comes(t, r, runsOf, "2026-11-30 16:00:00|2026-11-30 15:00:00|succeeded|0")

	// After a time without a server, one run makes up for all that were missed; without one that was missed there is none.
	produce(30, 40)
	for _, down := range []struct {
		time.Duration
		rows, runs string
	}{{30 * time.Minute, "25", "2026-11-30 16:00:00|2026-11-30 15:00:00|succeeded|0"}, {10 * time.Hour, "35", "2026-12-01 02:00:00|2026-12-01 01:30:00|succeeded|0"}} {
		clock.asleep(t)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		clock.passes(down.Duration)
		r = start(t, configure)
		comes(t, r, runsOf, down.runs)
		gives(t, r.root(t), "SELECT count(*) FROM t", down.rows)
		gives(t, r.root(t), "SELECT state FROM information_schema.streaming_tables", "running")
	}
	gives(t, r.root(t), "SELECT message FROM event_log(TABLE(t)) WHERE event_type = 'schedule'", "10 runs were missed; one makes up for them")
}

func TestARunThatIsStillGoingLetsTheNextPass(t *testing.T) {
	b, _, produce := ordersTopic(t, 10)
	clock := newHands("2026-11-30 12:00:30")
	r := start(t, func(c *Config) { c.clock = clock })
	db := r.root(t)
	do(t, db, "CREATE STREAMING TABLE t SCHEDULE CRON '0 0/5 * * * ?' AT TIME ZONE 'Europe/Berlin' AS SELECT value:id::bigint AS id FROM "+ordersRead(b))
	comes(t, r, runsOf, "2026-11-30 12:05:00|2026-11-30 12:00:30|succeeded|0")
	produce(10, 20)
	asked, release := b.HoldFetches(t)
	clock.asleep(t)
	clock.passes(4*time.Minute + 30*time.Second)
	<-asked
	clock.passes(12 * time.Minute)
	gives(t, db, "SELECT next_run::string, last_run::string, last_result FROM information_schema.streaming_tables", "2026-11-30 12:20:00|2026-11-30 12:00:30|succeeded")
	release()
	comes(t, r, "SELECT count(*) FROM t", "20")
	comes(t, r, runsOf, "2026-11-30 12:20:00|2026-11-30 12:05:00|succeeded|2")
	gives(t, db, "SELECT message FROM event_log(TABLE(t)) WHERE event_type = 'schedule'", "2 runs were due while one was still going, the last that began at 2026-11-30 12:05:00: they were skipped")
	if text := metricsText(t, r); !strings.Contains(text, `millrace_streaming_table_skipped_runs_total{database="main",table="t"} 2`) {
		t.Error("the metrics lack skipped runs")
	}
}

func TestClocksThatAreSet(t *testing.T) {
	b, _, produce := ordersTopic(t, 10)
	clock := newHands("2026-11-30 12:00:00")
	r := start(t, func(c *Config) { c.clock = clock })
	do(t, r.root(t), "CREATE STREAMING TABLE t SCHEDULE EVERY 1 DAY AS SELECT value:id::bigint AS id FROM "+ordersRead(b))
	comes(t, r, runsOf, "2026-12-01 12:00:00|2026-11-30 12:00:00|succeeded|0")

	// Forward: the owner looks at the clock each minute, and the run is due.
	produce(10, 20)
	clock.asleep(t)
	clock.set(25 * time.Hour)
	clock.asleep(t)
	clock.passes(time.Minute)
	comes(t, r, "SELECT count(*) FROM t", "20")
	comes(t, r, runsOf, "2026-12-02 12:00:00|2026-12-01 13:01:00|succeeded|0")

	// Back by a week: the times of the schedule are those that come now, and not those of a week later.
	produce(20, 30)
	clock.asleep(t)
	clock.set(-7 * 24 * time.Hour)
	clock.passes(time.Minute)
	comes(t, r, "SELECT next_run::string FROM information_schema.streaming_tables", "2026-11-30 12:00:00") // the first that EVERY has
}

func TestOnUpdateAtMostEvery(t *testing.T) {
	b, _, produce := ordersTopic(t, 10)
	clock := newHands("2026-11-30 12:00:00")
	r := start(t, func(c *Config) { c.clock = clock })
	db := r.root(t)
	do(t, db, "CREATE STREAMING TABLE t TRIGGER ON UPDATE AT MOST EVERY 10 MINUTES AS SELECT value:id::bigint AS id FROM "+ordersRead(b))
	gives(t, db, "SELECT `trigger`, schedule FROM information_schema.streaming_tables", "on update|TRIGGER ON UPDATE AT MOST EVERY 10 MINUTE")
	comes(t, r, runsOf, "2026-11-30 12:10:00|2026-11-30 12:00:00|succeeded|0")
	produce(10, 20)
	clock.asleep(t)
	clock.passes(9 * time.Minute)
	clock.asleep(t)
	gives(t, db, "SELECT count(*) FROM t", "10")
	clock.passes(time.Minute)
	comes(t, r, "SELECT count(*) FROM t", "20")
	comes(t, r, runsOf, "2026-11-30 12:20:00|2026-11-30 12:10:00|succeeded|0")

	// Nothing new: it looks every few seconds, and reads as soon as there is something. Looks are no runs.
	clock.asleep(t)
	clock.passes(10 * time.Minute)
	comes(t, r, runsOf, "2026-11-30 12:20:05|2026-11-30 12:10:00|succeeded|0")
	produce(20, 30)
	clock.asleep(t)
	clock.passes(5 * time.Second)
	comes(t, r, "SELECT count(*) FROM t", "30")
	comes(t, r, runsOf, "2026-11-30 12:30:05|2026-11-30 12:20:05|succeeded|0")
}

func TestSchedulesAreAddedChangedAndDropped(t *testing.T) {
	b, _, produce := ordersTopic(t, 10)
	clock := newHands("2026-11-30 12:00:00")
	r := start(t, func(c *Config) { c.clock = clock })
	db := r.root(t)
	query := " AS SELECT value:id::bigint AS id FROM " + ordersRead(b)
	do(t, db, "CREATE STREAMING TABLE t TBLPROPERTIES ('trigger' = 'continuous')"+query)
	gives(t, db, "SELECT `trigger`, schedule, next_run, last_run, skipped_runs FROM information_schema.streaming_tables", "continuous|NULL|NULL|NULL|NULL")
	for statement, want := range map[string]string{
		"ALTER STREAMING TABLE t ALTER SCHEDULE EVERY 1 HOUR":                                                    "has no schedule",
		"ALTER STREAMING TABLE t DROP SCHEDULE":                                                                  "has no schedule",
		"ALTER STREAMING TABLE t ADD SCHEDULE CRON '0 0 6 * * *' AT TIME ZONE 'UTC'":                             "exactly one of day of month and day of week is '?'",
		"ALTER STREAMING TABLE t ADD SCHEDULE CRON '0 0 6 * * ?' AT TIME ZONE 'Europe/Nowhere'":                  "time zone 'Europe/Nowhere' is not known",
		"ALTER STREAMING TABLE t ADD SCHEDULE CRON '0 0 6 30 2 ?' AT TIME ZONE 'UTC'":                            "has no time after now",
		"ALTER STREAMING TABLE t ADD SCHEDULE EVERY 99999999999 WEEKS":                                           "more than a schedule can wait",
		"CREATE OR REFRESH STREAMING TABLE t TBLPROPERTIES ('trigger' = 'manual') SCHEDULE EVERY 1 HOUR" + query: "property 'trigger' says when a table reads that has no schedule",
	} {
		if err := attempt(db, statement); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", statement, err, want)
		}
	}
	do(t, db, "ALTER STREAMING TABLE t ADD SCHEDULE EVERY 1 HOUR")
	gives(t, db, "SELECT `trigger`, next_run::string FROM information_schema.streaming_tables", "scheduled|2026-11-30 13:00:00")
	if err := attempt(db, "ALTER STREAMING TABLE t ADD TRIGGER ON UPDATE"); err == nil || !strings.Contains(err.Error(), "ALTER STREAMING TABLE … ALTER SCHEDULE changes it") {
		t.Error(err)
	}
	if err := attempt(db, "ALTER STREAMING TABLE t SET TBLPROPERTIES ('trigger' = 'manual')"); err == nil || !strings.Contains(err.Error(), "DROP SCHEDULE first") {
		t.Error(err)
	}
	do(t, db, "SET time_zone = '+02:00'")
	do(t, db, "ALTER STREAMING TABLE t ALTER SCHEDULE REFRESH CRON '0 30 14 ? * MON'")
	comes(t, r, "SELECT schedule, next_run::string FROM information_schema.streaming_tables", "SCHEDULE CRON '0 30 14 ? * MON' AT TIME ZONE '+02:00'|2026-11-30 12:30:00")
	if got, err := values(db, "DESCRIBE EXTENDED t"); err != nil || !strings.Contains(got, "Trigger|scheduled|\nSchedule|SCHEDULE CRON '0 30 14 ? * MON' AT TIME ZONE '+02:00'|\nNext Run|2026-11-30 12:30:00.000|") {
		t.Errorf("DESCRIBE EXTENDED: %q, %v", got, err)
	}

	show := func() (text string) {
		t.Helper()
		var name string
		if err := db.QueryRow("SHOW CREATE TABLE t").Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	text := show()
	if !strings.Contains(text, "\nSCHEDULE CRON '0 30 14 ? * MON' AT TIME ZONE '+02:00'\nAS SELECT") || strings.Contains(text, "trigger") {
		t.Error(text)
	}
	do(t, db, "DROP TABLE t")
	do(t, db, text)
	if again := show(); again != text {
		t.Errorf("%s\nbecame\n%s", text, again)
	}
	do(t, db, "DROP TABLE t")
	do(t, db, "CREATE STREAMING TABLE t SCHEDULE CRON '0 30 14 ? * MON'"+query) // the zone is the session's
	if again := show(); again != text {
		t.Errorf("%s\nis shown as\n%s", text, again)
	}

	do(t, db, "ALTER STREAMING TABLE t PAUSE")
	gives(t, db, "SELECT state, next_run FROM information_schema.streaming_tables", "paused|NULL")
	do(t, db, "ALTER STREAMING TABLE t RESUME")
	do(t, db, "ALTER STREAMING TABLE t DROP SCHEDULE")
	gives(t, db, "SELECT `trigger`, schedule, next_run::string FROM information_schema.streaming_tables", "manual|NULL|NULL")
	produce(10, 20)
	do(t, db, "REFRESH STREAMING TABLE t")
	gives(t, db, "SELECT count(*) FROM t", "20")
	do(t, db, "ALTER STREAMING TABLE t ADD TRIGGER ON UPDATE")
	produce(20, 30)
	comes(t, r, "SELECT count(*) FROM t", "30")
	gives(t, db, "SELECT `trigger`, next_run::string FROM information_schema.streaming_tables", "on update|NULL")
}

// A manual table read whenever its server was started.
func TestAManualTableDoesNotReadBecauseItsServerStarts(t *testing.T) {
	b, _, produce := ordersTopic(t, 10)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	do(t, r.root(t), "CREATE STREAMING TABLE t TBLPROPERTIES ('trigger' = 'manual') AS SELECT value:id::bigint AS id FROM "+ordersRead(b))
	comes(t, r, "SELECT last_result FROM information_schema.streaming_tables", "succeeded")
	produce(10, 20)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, func(c *Config) { c.DataDir = dir })
	comes(t, r, "SELECT state, last_result FROM information_schema.streaming_tables", "running|succeeded")
	gives(t, r.root(t), "SELECT count(*) FROM t", "10")
	do(t, r.root(t), "REFRESH STREAMING TABLE t")
	gives(t, r.root(t), "SELECT count(*) FROM t", "20")
	gives(t, r.root(t), fmt.Sprintf("SELECT count(*) FROM event_log(TABLE(t)) WHERE event_type = '%s'", "failed"), "0")
}
