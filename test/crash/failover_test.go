//go:build unix

package crash

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// pair is a primary and a standby that its commits wait for. They change places.
type pair struct{ primary, standby database }

// anyOf names servers, and asks for the one that writes.
func anyOf(t *testing.T, servers ...database) string {
	t.Helper()
	var hosts []string
	var all *url.URL
	for _, d := range servers {
		u, err := url.Parse(d.url(t))
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, u.Host)
		all = u
	}
	all.Host = strings.Join(hosts, ",")
	all.RawQuery += "&target_session_attrs=read-write"
	return all.String()
}

// fails takes the primary away, calls stalled, and makes the standby the primary.
func (p *pair) fails(t *testing.T, s syscall.Signal, stalled func()) {
	t.Helper()
	p.primary.signal(t, s)
	stalled()
	p.standby.run(t, "promote")
	p.primary, p.standby = p.standby, p.primary
}

// comesBack starts a primary that was replaced as it was, for as long as meanwhile takes, and wants nobody to write there, also who has to connect again.
func (p *pair) comesBack(t *testing.T, database string, meanwhile func()) {
	t.Helper()
	former := p.standby
	former.run(t, "restart")
	const written = "SELECT sum(epoch) + sum(step) FROM millrace.families"
	before := former.ask(t, database, written)
	p.primary.ask(t, database, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'millrace'")
	meanwhile()
	if after := former.ask(t, database, written); after != before {
		t.Errorf("a primary that was replaced was written to: epochs and steps add up to %d, and to %d before", after, before)
	}
	former.run(t, "stop")
}

// ask gives the number that a query on one of the databases of a server gives.
func (d database) ask(t *testing.T, database, query string) (n int64) {
	t.Helper()
	u, err := url.Parse(d.url(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = database
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := conn.QueryRow(ctx, query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// inserts adds numbers to a table without a source, one statement after the other, until it is stopped, and notes those that were acknowledged.
type inserts struct {
	stop  chan struct{}
	done  sync.WaitGroup
	acked []int
}

func (c *child) inserts(t *testing.T) *inserts {
	t.Helper()
	db := c.open(t)
	if _, err := db.Exec("CREATE TABLE kept (id BIGINT)"); err != nil {
		t.Fatal(err)
	}
	x := &inserts{stop: make(chan struct{})}
	x.done.Go(func() {
		for id := 0; ; id++ {
			select {
			case <-x.stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if _, err := db.Exec(fmt.Sprintf("INSERT INTO kept VALUES (%d)", id)); err == nil {
				x.acked = append(x.acked, id)
			}
		}
	})
	return x
}

// check wants all that was acknowledged to be there, and nothing twice.
func (x *inserts) check(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.Query("SELECT id, count(*) FROM kept GROUP BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	found := map[int]int{}
	for rows.Next() {
		var id, n int
		if err := rows.Scan(&id, &n); err != nil {
			t.Fatal(err)
		}
		if found[id] = n; n != 1 {
			t.Errorf("row %d is there %d times", id, n)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	missing := 0
	for _, id := range x.acked {
		if found[id] == 0 {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d rows whose INSERT was acknowledged are missing", missing, len(x.acked))
	}
	t.Logf("%d rows were inserted, %d of them acknowledged", len(found), len(x.acked))
}

// TestFailoverToAStandbyOnPostgres: the primary is killed under load, and its synchronous standby is promoted; the former primary comes back as one, and is made the standby; then the primary is
// gone without a word, as with a machine. Servers go on by themselves, and nothing that was acknowledged is lost or doubled.
func TestFailoverToAStandbyOnPostgres(t *testing.T) {
	postgres(t)
	first, second := database{filepath.Join(t.TempDir(), "first")}, database{filepath.Join(t.TempDir(), "second")}
	for _, d := range []database{first, second} {
		t.Cleanup(func() { d.run(t, "stop") })
	}
	first.run(t, "start")
	second.run(t, "standby", first.dir)
	p := pair{first, second}
	at := onPostgres(t, anyOf(t, first, second))
	u, err := url.Parse(at().store)
	if err != nil {
		t.Fatal(err)
	}
	b := connect(t)
	load := produce(t, b, busy)
	stop := sync.OnceFunc(func() { close(load.stop); load.done.Wait() })
	defer stop()
	servers := []*child{at().started(t), at().started(t)}
	defer func() {
		for _, c := range servers {
			c.kill()
		}
	}()
	c, other := servers[0], servers[1]
	c.create(t, b)
	acked := c.inserts(t)
	stopInserts := sync.OnceFunc(func() { close(acked.stop); acked.done.Wait() })
	defer stopInserts()
	session, err := c.open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// catchesUp waits until the rows of all records are there that were sent until now.
	catchesUp := func(what string) {
		t.Helper()
		start := time.Now()
		c.grows(t, load.sent.Load()-1, time.Minute)
		t.Logf("%s: caught up after %v", what, time.Since(start).Round(time.Millisecond))
		c.comes(t, "SELECT state FROM information_schema.streaming_tables", "running", 10*time.Second)
	}
	catchesUp("at first")

	const stalls = "SELECT count(*) > 0 FROM information_schema.streaming_tables WHERE state = 'stalled' AND reason LIKE '%does not answer%'"
	for _, way := range []struct {
		name   string
		signal syscall.Signal
	}{{"killed", syscall.SIGKILL}, {"gone", syscall.SIGSTOP}} {
		reads := c.reader(t)
		p.fails(t, way.signal, func() {
			c.comes(t, stalls, "1", time.Minute)
			t.Logf("%s: %s", way.name, c.text(t, "SELECT reason FROM information_schema.streaming_tables"))
			c.text(t, fmt.Sprintf("SELECT count(*) FROM read_kafka(bootstrapServers => '%s', subscribe => '%s', startingOffsets => 'earliest', endingOffsets => 'latest')", b.addr, b.topic))
		})
		catchesUp(way.name + ", and the standby was promoted")
		t.Logf("%s reads the table, %s did before", c.reader(t), reads)
		var one int
		if err := session.QueryRowContext(t.Context(), "SELECT 1 FROM kept LIMIT 1").Scan(&one); err != nil {
			t.Errorf("%s: a session of before: %v", way.name, err)
		}
		for _, text := range []string{"CREATE USER " + way.name, "CREATE TABLE t_" + way.name + " (a INT)", "CREATE VIEW v_" + way.name + " AS SELECT 1 AS one"} {
			if _, err := other.open(t).Exec(text); err != nil {
				t.Errorf("%s: %s: %v", way.name, text, err)
			}
		}
		c.comes(t, "SELECT one FROM v_"+way.name, "1", 10*time.Second)
		c.comes(t, "SELECT count(*) FROM t_"+way.name, "0", 10*time.Second)
		c.comes(t, "SELECT count(*) FROM mysql.user WHERE user = '"+way.name+"'", "1", 10*time.Second)
		if way.signal == syscall.SIGKILL {
			p.comesBack(t, u.Path, func() { catchesUp("the former primary is back") })
			p.standby.run(t, "standby", p.primary.dir)
		}
	}
	p.standby.signal(t, syscall.SIGKILL)
	stopInserts()
	stop()
	for _, c := range servers {
		c.check(t, load.sent.Load())
		acked.check(t, c.open(t))
	}
}
