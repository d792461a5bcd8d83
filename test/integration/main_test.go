//go:build integration

package integration

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// env is what scripts/integration hands over.
func env(t testing.TB, name string) string {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		t.Fatalf("%s is not set: run these tests by `make integration`", name)
	}
	return v
}

// server is a millrace process of its own.
type server struct {
	cmd   *exec.Cmd
	dir   string
	ports map[string]string
	log   *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs `millrace serve` on free ports and waits until it says where it listens.
func start(t testing.TB, dir string, args ...string) *server {
	t.Helper()
	s := &server{dir: dir, log: &syncBuffer{}}
	s.cmd = exec.Command(env(t, "TEST_BINARY"), append([]string{"serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data-dir", dir}, args...)...)
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "MILLRACE_TEST_") }) // which are no settings
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan bool, 1)
	go func() {
		sc := bufio.NewScanner(io.TeeReader(out, s.log))
		for sc.Scan() {
			if strings.Contains(sc.Text(), "mysql listening on") {
				ready <- true
			}
		}
		close(ready)
	}()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("server ended while starting:\n%s", s.log)
		}
	case <-time.After(testkit.Patience):
		t.Fatalf("server did not start:\n%s", s.log)
	}
	b, err := os.ReadFile(filepath.Join(dir, "ports.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &s.ports); err != nil {
		t.Fatalf("ports.json: %v in %s", err, b)
	}
	t.Cleanup(func() { s.stop(t) })
	return s
}

// stop asks the server to drain and wants exit code 0.
func (s *server) stop(t testing.TB) {
	t.Helper()
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("server did not end cleanly: %v\n%s", err, s.log)
	}
}

func (s *server) open(t testing.TB, params string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+s.ports["mysql"]+")/main?"+params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// shared is the server most tests use; it is started once.
var shared = sync.OnceValues(func() (*server, error) {
	dir, err := os.MkdirTemp("", "millrace-integration-")
	if err != nil {
		return nil, err
	}
	return start(outer{}, dir), nil
})

// outer lets start serve TestMain: failures end the run.
type outer struct{ testing.TB }

func (outer) Helper()                   {}
func (outer) Cleanup(func())            {}
func (outer) Fatal(a ...any)            { panic(fmt.Sprint(a...)) }
func (outer) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (outer) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := shared(); err == nil {
		s.stop(outer{})
		_ = os.RemoveAll(s.dir)
	}
	os.Exit(code)
}

func sharedServer(t testing.TB) *server {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client is an admin and producing client of the real broker.
func client(t testing.TB, opts ...kgo.Opt) (*kgo.Client, *kadm.Client) {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(env(t, "KAFKA_PLAINTEXT")), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl, kadm.NewClient(cl)
}

// topic makes a fresh topic and returns its name.
func topic(t testing.TB, adm *kadm.Client, partitions int32, config map[string]string) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + fmt.Sprintf("-%d", time.Now().UnixNano())
	c := map[string]*string{}
	for k, v := range config {
		c[k] = &v
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := adm.CreateTopic(ctx, partitions, 1, c, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, _ = adm.DeleteTopics(ctx, name)
	})
	return name
}

func produce(t testing.TB, cl *kgo.Client, rs ...*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// one runs a query that gives one row of one column.
func one[T any](t testing.TB, db *sql.DB, query string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRow(query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// until waits for a state that other systems reach in their own time.
func until(t testing.TB, what string, ok func() (bool, error)) {
	t.Helper()
	deadline := time.Now().Add(testkit.Patience)
	var last error
	for time.Now().Before(deadline) {
		done, err := ok()
		if done {
			return
		}
		last = err
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(errors.Join(t.Context().Err(), last))
		}
	}
	t.Fatalf("%s was not reached: %v", what, last)
}
