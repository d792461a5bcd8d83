package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
	"millrace/streaming/store"
)

// writer does what an executor does: it commits numbered rows, and after an error finds out what has become of them. Any error but those that the contract
// names ends the test.
type writer struct {
	t      *testing.T
	store  store.Store
	lease  store.Lease
	number int64
	next   int
	errs   map[string]int

	commits, failures atomic.Int64
}

// passing reports whether an error says that trying again makes sense.
func passing(err error) bool {
	e, ok := sqlerr.As(err)
	return ok && e.Kind.Retry || errors.Is(err, store.ErrRetry) || errors.Is(err, store.ErrUnknownOutcome)
}

func (w *writer) note(err error) {
	w.t.Helper()
	if !passing(err) {
		w.t.Fatalf("a commit, or what comes after it, ended with %v", err)
	}
	kind := "retry"
	if e, ok := sqlerr.As(err); ok {
		kind = e.Kind.Symbol
	}
	if errors.Is(err, store.ErrUnknownOutcome) {
		kind = "unknown outcome"
	}
	w.errs[kind]++
	w.failures.Add(1)
}

// begin takes the lease and learns where the table is, however long that takes.
func (w *writer) begin() {
	w.t.Helper()
	for {
		l, err := w.store.AcquireWriter(w.t.Context(), "t", "writer", time.Minute)
		if err == nil {
			var c *store.Checkpoint
			if c, err = w.store.Checkpoint(w.t.Context(), "t"); err == nil {
				w.lease, w.number, w.next = l, c.Number, int(c.Positions[store.Partition{Topic: "topic"}].Offset)
				return
			}
		}
		w.note(err)
	}
}

// run commits until it has been told to stop.
func (w *writer) run(until func() bool) {
	w.t.Helper()
	w.errs = map[string]int{}
	w.begin()
	for n := 1; !until(); n++ {
		rows := 1 + n*7%500
		number, err := commitNumbers(w.store, w.lease, 1, w.next, rows)
		if err == nil {
			if number != w.number+1 {
				w.t.Fatalf("commit %d has the number %d", w.number+1, number)
			}
			w.number, w.next = number, w.next+rows
			w.commits.Add(1)
			continue
		}
		w.note(err)
		w.begin()
	}
}

func TestLostConnectionsLoseAndDoubleNothing(t *testing.T) {
	s := openStore(t, newName(t), Options{})
	must(t, s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	w := &writer{t: t, store: s}
	var killing sync.WaitGroup
	var kills atomic.Int64
	var over atomic.Bool
	killing.Go(func() {
		for next := int64(0); ; next = w.commits.Load() + 2 { // so that it also gets on
			for w.commits.Load() < next {
				if pause(context.Background(), time.Millisecond) != nil || over.Load() {
					return
				}
			}
			if over.Load() {
				return
			}
			// All connections of this test's but the one that asks: the pool's others, wherever they are in a commit.
			var n int64
			err := s.pool.QueryRow(context.Background(), `select count(pg_terminate_backend(pid)) from pg_stat_activity
				where pid <> pg_backend_pid() and query like $1`, "%"+s.options.Schema+"%").Scan(&n)
			if err == nil {
				kills.Add(n)
			}
		}
	})
	w.run(func() bool { return kills.Load() > 100 || t.Failed() })
	over.Store(true)
	killing.Wait()
	t.Logf("%d times a connection was told to end, %d rows committed, errors: %v", kills.Load(), w.next, w.errs)
	m := s.Metrics()
	if w.next == 0 || m.Commits < w.commits.Load() || m.CommittedRows == 0 || m.Unknown < int64(w.errs["unknown outcome"]) || m.MaxConnections != 16 {
		t.Errorf("%d rows were committed, figures are %+v", w.next, m)
	}
	expectNumbers(t, s, int64(w.next))
}

// ownServer is a server of this test's alone.
func ownServer(t *testing.T) (dir, url string) {
	t.Helper()
	needServer(t)
	dir = t.TempDir()
	control(t, "start", dir)
	t.Cleanup(func() { control(t, "stop", dir) })
	return dir, environment(t, dir)["POSTGRES_URL"]
}

func control(t *testing.T, command, dir string) {
	t.Helper()
	if out, err := exec.Command("../../../scripts/postgres/server", command, dir).CombinedOutput(); err != nil {
		t.Errorf("scripts/postgres/server %s: %v\n%s", command, err, out)
	}
}

func environment(t *testing.T, dir string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "env"))
	must(t, err)
	env := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = strings.Trim(value, "'")
	}
	return env
}

// processes are the server's and those of its children.
func processes(t *testing.T, dir string) []int {
	t.Helper()
	server, err := strconv.Atoi(environment(t, dir)["POSTGRES_PID"])
	must(t, err)
	pids := []int{server}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	for _, file := range stats {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var pid, parent int
		var state string
		_, after, _ := bytes.Cut(b, []byte(") "))
		if _, err := fmt.Sscan(string(after), &state, &parent); err == nil && parent == server {
			if _, err := fmt.Sscan(string(b), &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func signal(t *testing.T, pids []int, s syscall.Signal) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
}

// TestAServerThatIsKilledPausedAndRestarted: a writer goes on by itself, with every row once; while the server is paused it does not hang.
func TestAServerThatIsKilledPausedAndRestarted(t *testing.T) {
	dir, url := ownServer(t)
	s, err := Open(t.Context(), url, Options{Patience: 500 * time.Millisecond})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	must(t, s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	w := &writer{t: t, store: s}
	for _, c := range []struct {
		name        string
		fault, mend func()
	}{
		{"stopped and started", func() { control(t, "restart", dir) }, func() {}},
		{"killed", func() { signal(t, processes(t, dir), syscall.SIGKILL) }, func() { control(t, "restart", dir) }},
		{"made a standby", func() { readOnly(t, url, true) }, func() { readOnly(t, url, false) }},
		{"paused", func() { signal(t, processes(t, dir), syscall.SIGSTOP) }, func() { signal(t, processes(t, dir), syscall.SIGCONT) }},
	} {
		w.commits.Store(0)
		w.failures.Store(0)
		var story sync.WaitGroup
		var over atomic.Bool
		story.Go(func() {
			defer over.Store(true)
			soon(t, c.name+": commits before", func() bool { return w.commits.Load() > 20 })
			c.fault()
			soon(t, c.name+": an error", func() bool { return w.failures.Load() > 0 })
			c.mend()
			n := w.commits.Load()
			soon(t, c.name+": commits after", func() bool { return w.commits.Load() > n+20 })
		})
		w.run(over.Load)
		story.Wait()
		t.Logf("%s: %d rows, errors: %v", c.name, w.next, w.errs)
		expectNumbers(t, s, int64(w.next))
	}
}

// readOnly has a server refuse to write, as one does that is no primary any more.
func readOnly(t *testing.T, url string, on bool) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = c.Close(ctx) }()
	for _, text := range []string{"set default_transaction_read_only = off", fmt.Sprintf("alter system set default_transaction_read_only = %v", on), "select pg_reload_conf()"} {
		if _, err := c.Exec(ctx, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// soon waits for a state, from any goroutine.
func soon(t *testing.T, what string, holds func() bool) {
	deadline := time.Now().Add(testkit.Patience)
	for !holds() {
		if time.Now().After(deadline) || t.Failed() {
			t.Errorf("%s: never", what)
			return
		}
		if err := pause(context.Background(), 10*time.Millisecond); err != nil {
			t.Error(err)
		}
	}
}

// TestAWriterThatStandsStillIsTakenOver: a process that is stopped in the middle of a commit holds the table's row in the database. The server ends its transaction, and another process has
// the table; what the first one sends when it goes on changes nothing.
func TestAWriterThatStandsStillIsTakenOver(t *testing.T) {
	name := newName(t)
	stopped, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	first := openStore(t, name, Options{Patience: 250 * time.Millisecond, Failpoint: func(point string) {
		if point == "commit.copied" {
			once.Do(func() { close(stopped); <-goOn })
		}
	}})
	second := openStore(t, name, Options{Patience: 250 * time.Millisecond})
	must(t, first.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	l, err := first.AcquireWriter(t.Context(), "t", "first", time.Millisecond)
	must(t, err)
	result := make(chan error)
	go func() {
		_, err := commitNumbers(first, l, 1, 0, 100)
		result <- err
	}()
	<-stopped
	var taken store.Lease
	eventually(t, "the table is taken over", func() bool {
		if taken, err = second.AcquireWriter(t.Context(), "t", "second", time.Minute); err != nil && !passing(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	_, err = commitNumbers(second, taken, 1, 0, 10)
	must(t, err)
	close(goOn)
	if err := <-result; err == nil || !errors.Is(err, store.ErrUnknownOutcome) && !errors.Is(err, store.ErrFenced) {
		t.Errorf("the commit that was taken over ended with %v", err)
	}
	if _, err := commitNumbers(first, l, 1, 0, 100); !errors.Is(err, store.ErrFenced) {
		t.Errorf("another one: %v", err)
	}
	expectNumbers(t, second, 10)
}

// TestNoPasswordIsSaid: whatever is wrong, neither an error nor the log has the password.
func TestNoPasswordIsSaid(t *testing.T) {
	const canary = "c4nary-pa55"
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	urls := []string{
		"postgres://u:" + canary + "@127.0.0.1:1/db",
		"postgres://u:" + canary + "@127.0.0.1:" + canary + "/db",
		"postgres://u:" + canary + "#x@127.0.0.1/db",
		"postgres://u:" + canary + "/x@127.0.0.1/db",
		"postgres://u:" + canary + "%zz@127.0.0.1/db",
		"postgres://127.0.0.1:1/db?password=" + canary,
		"postgres://127.0.0.1:1/db?sslmode=" + canary,
		"postgres:// u:" + canary + "@127.0.0.1/db",
		"mysql://u:" + canary + "@127.0.0.1/db",
		"host=127.0.0.1 password=" + canary,
	}
	if url := os.Getenv(envURL); url != "" {
		_, rest, _ := strings.Cut(url, "@")
		urls = append(urls, "postgres://millrace:"+canary+"@"+rest, "postgres://millrace:"+canary+"@"+strings.Replace(rest, "/postgres", "/nowhere", 1))
	}
	for _, url := range urls {
		s, err := Open(t.Context(), url, Options{Log: logger, Patience: time.Second})
		if err == nil {
			must(t, s.Close())
			t.Errorf("opened %s", url)
			continue
		}
		if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, canary) {
			t.Errorf("the error has the password: %s", text)
		}
		if e, ok := sqlerr.As(err); !ok {
			t.Errorf("an error that is none for users: %v", err)
		} else if strings.Contains(fmt.Sprint(e.Unwrap(), e.Hint), canary) {
			t.Errorf("the cause or the hint has the password: %v", e)
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Errorf("the log has the password: %s", log.String())
	}
}

// TestAReadThatHangsIsGivenUp uses a server that accepts and says nothing.
func TestAReadThatHangsIsGivenUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	start := time.Now()
	_, err = Open(t.Context(), "postgres://u:p@"+l.Addr().String()+"/db?sslmode=disable", Options{Patience: 100 * time.Millisecond})
	if !sqlerr.HasKind(err, sqlerr.StoreAway) {
		t.Errorf("opening a store in a server that is silent: %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
