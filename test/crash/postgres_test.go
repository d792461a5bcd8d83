//go:build unix

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresVariable names a server of PostgreSQL whose user may create databases.
const postgresVariable = "MILLRACE_TEST_POSTGRES"

// postgresPoints are those of a store on PostgreSQL.
var postgresPoints = []string{"executor.gathered", "executor.computed", "commit.before", "commit.after", "store.commit.checked", "store.commit.copied", "store.commit.sent", "store.commit.applied"}

// onPostgres is a database of its own, and what places in it have in common.
func onPostgres(t *testing.T, server string) func() place {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	name := fmt.Sprintf("crash_%d", time.Now().UnixNano())
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return func() place { return place{dir: t.TempDir(), store: u.String(), points: postgresPoints} }
}

func postgres(t *testing.T) string {
	t.Helper()
	server := os.Getenv(postgresVariable)
	if server == "" {
		t.Skipf("%s names no server (scripts/postgres/server starts one)", postgresVariable)
	}
	return server
}

func TestEveryRecordIsThereOnceOnPostgres(t *testing.T) {
	server := postgres(t)
	n := *kills
	if n == 0 {
		n = 8
		if os.Getenv("CI") != "" {
			n = 40
		}
	}
	killed(t, onPostgres(t, server)(), n)
}

// comes waits for a query to give a text.
func (c *child) comes(t *testing.T, query, want string, within time.Duration) {
	t.Helper()
	db := c.open(t)
	deadline := time.Now().Add(within)
	for {
		var got string
		err := db.QueryRow(query).Scan(&got)
		if err == nil && got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s gives %q, %v, want %q\n%s", query, got, err, want, c.log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// grows waits until more rows are there than before, which it gives.
func (c *child) grows(t *testing.T, before int64, within time.Duration) int64 {
	t.Helper()
	db := c.open(t)
	deadline := time.Now().Add(within)
	for {
		var n int64
		err := db.QueryRow("SELECT count(*) FROM t").Scan(&n)
		if err == nil && n > before {
			return n
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d rows, as %d before, %v\n%s", n, before, err, c.log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// holds gives the server that reads the table.
const holds = "SELECT coalesce(server, 'nobody') FROM information_schema.streaming_tables"

func (c *child) reader(t *testing.T) string {
	t.Helper()
	var name string
	if err := c.open(t).QueryRow(holds).Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTheOtherServerTakesOverWhenOneIsKilled(t *testing.T) {
	at := onPostgres(t, postgres(t))
	b := connect(t)
	p := produce(t, b, busy)
	stop := sync.OnceFunc(func() { close(p.stop); p.done.Wait() })
	defer stop()
	places := []place{at(), at()}
	servers := []*child{places[0].started(t), places[1].started(t)}
	defer func() {
		for _, c := range servers {
			c.kill()
		}
	}()
	servers[0].create(t, b)
	servers[1].comes(t, "SELECT state FROM information_schema.streaming_tables", "running", 10*time.Second)
	rounds := 2
	if os.Getenv("CI") != "" {
		rounds = 4
	}
	const lease = 15 * time.Second
	for i := range rounds {
		dies, lives := i%2, 1-i%2
		name := servers[dies].reader(t)
		servers[lives].comes(t, holds, name, 10*time.Second)
		rows := servers[lives].grows(t, 0, 10*time.Second)
		servers[dies].kill()
		start := time.Now()
		for servers[lives].reader(t) == name {
			if time.Since(start) > lease+5*time.Second {
				t.Fatalf("not taken over after %v\n%s", time.Since(start), servers[lives].log)
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Logf("taken over after %v", time.Since(start).Round(time.Millisecond))
		servers[lives].grows(t, rows, 15*time.Second)
		servers[dies] = places[dies].started(t)
	}
	stop()
	for _, c := range servers {
		c.check(t, p.sent.Load())
	}
}

func TestPostgresKilledPausedAndRestartedUnderLoad(t *testing.T) {
	postgres(t)
	d := database{filepath.Join(t.TempDir(), "postgres")}
	d.run(t, "start")
	t.Cleanup(func() { d.run(t, "stop") })
	at := onPostgres(t, d.url(t))
	b := connect(t)
	p := produce(t, b, busy)
	stop := sync.OnceFunc(func() { close(p.stop); p.done.Wait() })
	defer stop()
	servers := []*child{at().started(t), at().started(t)}
	defer func() {
		for _, c := range servers {
			c.kill()
		}
	}()
	c := servers[0]
	c.create(t, b)
	var rows int64
	goesOn := func(name string) {
		t.Helper()
		start := time.Now()
		rows = c.grows(t, rows, time.Minute)
		t.Logf("%s: rows come again after %v", name, time.Since(start).Round(time.Millisecond))
	}
	const stalls = "SELECT count(*) > 0 FROM information_schema.streaming_tables WHERE state = 'stalled' AND reason LIKE '%does not answer%'"
	for _, fault := range []struct {
		name     string
		do, undo func()
		seen     bool
	}{
		{"killed and started at once", func() { d.signal(t, syscall.SIGKILL) }, func() { d.run(t, "restart") }, false},
		{"stopped for a while", func() { d.run(t, "stop") }, func() { d.run(t, "restart") }, true},
		{"killed for a while", func() { d.signal(t, syscall.SIGKILL) }, func() { d.run(t, "restart") }, true},
		{"paused", func() { d.signal(t, syscall.SIGSTOP) }, func() { d.signal(t, syscall.SIGCONT) }, true},
		{"paused for a moment", func() { d.signal(t, syscall.SIGSTOP); time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond) }, func() { d.signal(t, syscall.SIGCONT) }, false},
		{"restarted", func() {}, func() { d.run(t, "restart") }, false},
	} {
		goesOn("before it is " + fault.name)
		fault.do()
		if fault.seen {
			c.comes(t, stalls, "1", time.Minute)
			var reason string
			if err := c.open(t).QueryRow("SELECT reason FROM information_schema.streaming_tables").Scan(&reason); err != nil {
				t.Error(err)
			}
			t.Logf("%s: %s", fault.name, reason)
			if strings.Contains(reason, "millrace-secret") {
				t.Error("the reason has the password")
			}
		}
		fault.undo()
		goesOn(fault.name)
	}
	stop()
	// A server that starts while PostgreSQL is away waits for it.
	d.run(t, "stop")
	last := at()
	starting := make(chan *child, 1)
	go func() {
		c, _ := last.launch(t, "")
		starting <- c
	}()
	d.run(t, "restart")
	servers = append(servers, <-starting)
	for _, c := range servers {
		c.check(t, p.sent.Load())
		if strings.Contains(c.log.String(), "millrace-secret") {
			t.Error("the log has the password")
		}
	}
}
