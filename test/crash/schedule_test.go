//go:build unix

package crash

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// slow produces a record every few milliseconds, so that every run of a schedule has something to read, until stop is called.
func slow(t *testing.T, b cluster) (sent *atomic.Int64, stop func()) {
	sent = new(atomic.Int64)
	cl := b.client(t)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			id := sent.Load()
			if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: b.topic, Partition: int32(id % partitions), Value: fmt.Appendf(nil, `{"id":%d}`, id)}).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				return
			}
			sent.Add(1)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return sent, sync.OnceFunc(func() { cancel(); done.Wait() })
}

// text is the only value of a query.
func (c *child) text(t *testing.T, query string) string {
	t.Helper()
	var got string
	if err := c.open(t).QueryRow(query).Scan(&got); err != nil {
		t.Fatalf("%s: %v\n%s", query, err, c.log)
	}
	return got
}

// Two servers keep a schedule together: whichever is first makes a run that is due, and the other sees that it was made. One that is killed before a run leaves it to the other,
// and one that is killed amidst a run leaves it until its lease has ended. Each row has the time of its run, so two runs for one due time would show.
func TestTwoServersKeepASchedule(t *testing.T) {
	const every = 3 * time.Second
	at := onPostgres(t, postgres(t))
	b := connect(t)
	places := []place{at(), at()}
	servers := []*child{places[0].started(t), places[1].started(t)}
	defer func() {
		for _, c := range servers {
			c.kill()
		}
	}()
	schedules := map[string]string{"by_interval": "EVERY 3 SECONDS", "by_cron": "CRON '0/3 * * * * ?' AT TIME ZONE 'Europe/Berlin'"}
	due := map[string]string{} // a time at which each of them is due
	runs := func(table string) string {
		return fmt.Sprintf("SELECT coalesce(concat(last_run, ' ', next_run), 'unknown') FROM information_schema.streaming_tables WHERE table_name = '%s'", table)
	}
	for table, schedule := range schedules {
		if _, err := servers[0].open(t).Exec(fmt.Sprintf(`CREATE STREAMING TABLE %s SCHEDULE %s AS SELECT value:id::bigint AS id, now(6) AS run FROM STREAM read_kafka(
			bootstrapServers => '%s', subscribe => '%s', startingOffsets => 'earliest')`, table, schedule, b.addr, b.topic)); err != nil {
			t.Fatal(err)
		}
		due[table] = servers[0].text(t, "SELECT next_run FROM information_schema.streaming_tables WHERE table_name = '"+table+"'")
	}
	servers[1].comes(t, "SELECT count(*) FROM information_schema.streaming_tables", "2", 10*time.Second)
	sent, stop := slow(t, b)
	defer stop()
	count := func(table string) string { return "SELECT count(DISTINCT run) FROM " + table }
	// goesOn waits until a server sees more runs of both tables.
	goesOn := func(c *child, more int, within time.Duration) {
		t.Helper()
		for table := range schedules {
			var before int
			if _, err := fmt.Sscan(c.text(t, count(table)), &before); err != nil {
				t.Fatal(err)
			}
			c.comes(t, fmt.Sprintf("SELECT (%s) >= %d", count(table), before+more), "1", within)
		}
	}
	agree := func() {
		t.Helper()
		for table := range schedules {
			deadline := time.Now().Add(4 * every)
			for {
				one, other := servers[0].text(t, runs(table)), servers[1].text(t, runs(table))
				if one == other && one != "unknown" {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("runs of %s: one server shows %s, the other %s", table, one, other)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	// before waits until a run of a table is due in a moment.
	before := func(c *child, table string) {
		t.Helper()
		c.comes(t, "SELECT timestampdiff(MICROSECOND, now(6), next_run) BETWEEN 0 AND 300000 FROM information_schema.streaming_tables WHERE table_name = '"+table+"'", "1", 3*every)
	}

	goesOn(servers[1], 2, 4*every)
	agree()
	for i, table := range []string{"by_cron", "by_interval"} {
		dies, lives := i, 1-i
		before(servers[dies], table)
		servers[dies].kill()
		goesOn(servers[lives], 2, 30*time.Second) // it may have been amidst a run of the other table
		servers[dies] = places[dies].started(t)
		goesOn(servers[dies], 1, 4*every)
		agree()
	}
	// Amidst a run, of which nothing is committed: the lease is held.
	servers[0].kill()
	last, ok := places[0].launch(t, "commit.before/1")
	servers[0] = last
	servers[1].kill()
	if ok {
		<-last.done
	}
	servers[1] = places[1].started(t)
	goesOn(servers[1], 2, 30*time.Second)
	servers[0] = places[0].started(t)
	agree()

	stop()
	for table := range schedules {
		if _, err := servers[1].open(t).Exec("ALTER STREAMING TABLE " + table + " PAUSE"); err != nil {
			t.Fatal(err)
		}
		if twice := servers[1].text(t, fmt.Sprintf(`SELECT coalesce(group_concat(slot), 'none') FROM (
			SELECT floor(timestampdiff(MICROSECOND, '%s', run) / %d) AS slot FROM %s GROUP BY 1 HAVING count(DISTINCT run) > 1) x`, due[table], every.Microseconds(), table)); twice != "none" {
			t.Errorf("%s was read more than once in the time from one run to the next: %s", table, twice)
		}
		if _, err := servers[0].open(t).Exec("ALTER STREAMING TABLE " + table + " RESUME"); err != nil {
			t.Fatal(err)
		}
		if _, err := servers[0].open(t).Exec("REFRESH STREAMING TABLE " + table); err != nil {
			t.Fatal(err)
		}
		n := sent.Load()
		servers[1].comes(t, "SELECT concat_ws(' ', count(*), count(DISTINCT id), max(id)) FROM "+table, fmt.Sprint(n, n, n-1), 4*every)
		servers[1].comes(t, "SELECT count(*) FROM information_schema.streaming_event_log WHERE event_type = 'failed'", "0", every)
	}
	t.Log(servers[1].text(t, "SELECT coalesce(group_concat(message SEPARATOR '; '), 'no run was missed') FROM information_schema.streaming_event_log WHERE event_type = 'schedule'"))
}
