//go:build unix

package crash

import (
	"bufio"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/failpoint"
	"millrace/internal/testkit"
	"millrace/server"
)

// The environment by which the test binary knows that it is the child: the data directory, the store, and where to die: a point and how often it may be passed.
const (
	envData  = "CRASH_DATA"
	envStore = "CRASH_STORE"
	envPoint = "CRASH_POINT"
)

var (
	kills = flag.Int("kills", 0, "how often to kill; 0 for 20, or 200 in CI, and on a given broker for 8, or 40 in CI")
	given = flag.String("broker", "", "the address of a broker that runs, such as an Apache Kafka; without one an embedded broker is started")
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envData); dir != "" {
		if err := serve(dir, os.Getenv(envStore), os.Getenv(envPoint)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve is the child.
func serve(dir, store, point string) error {
	if name, count, ok := strings.Cut(point, "/"); ok {
		n, err := strconv.Atoi(count)
		if err != nil {
			return err
		}
		var left atomic.Int64
		left.Store(int64(n))
		failpoint.Set(func(hit string) {
			if hit == name && left.Add(-1) < 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing comes after it
				select {}
			}
		})
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := server.New(server.Config{
		Listen: "127.0.0.1:0", DataDir: dir, Store: store, DrainTimeout: 5 * time.Second, MemoryLimit: "512MiB", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Announce: func(name, address string) { fmt.Println(name, address) },
	})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx)
}

// child is a running server.
type child struct {
	cmd  *exec.Cmd
	log  *strings.Builder
	addr string
	done chan struct{}
}

// place is where a server keeps its data.
type place struct {
	dir string
	// store is the URL of a database, or empty for a store in dir.
	store string
	// points are where a server may die on purpose.
	points []string
}

func embedded(t *testing.T) place { return place{dir: t.TempDir(), points: points} }

// launch starts a server that dies at a point, or lives. ok is false when it died before it was ready.
func (p place) launch(t *testing.T, point string) (*child, bool) {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0]), log: new(strings.Builder), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), envData+"="+p.dir, envStore+"="+p.store, envPoint+"="+point)
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stderr = c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(ready)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if addr, ok := strings.CutPrefix(lines.Text(), "mysql "); ok {
				ready <- addr
			}
		}
		_, _ = io.Copy(io.Discard, out) // until it is dead
	})
	go func() {
		defer close(c.done)
		reading.Wait()
		_ = c.cmd.Wait() // it is killed
	}()
	addr, ok := <-ready
	c.addr = addr
	return c, ok
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may be dead
	<-c.done
}

// cluster is where the records come from.
type cluster struct {
	addr, topic string
	// client makes a client for the length of the test that sends each record to the partition it names.
	client func(t testing.TB) *kgo.Client
}

// connect makes a topic at the broker that was given, or at an embedded one.
func connect(t *testing.T) cluster {
	if *given == "" {
		b := testkit.StartBroker(t)
		b.Topic(t, "t", partitions, nil)
		return cluster{b.Addrs[0], "t", func(t testing.TB) *kgo.Client { return b.Client(t) }}
	}
	c := cluster{addr: *given, topic: fmt.Sprintf("crash-%d", time.Now().UnixNano())}
	c.client = func(t testing.TB) *kgo.Client { return (&testkit.Broker{Addrs: []string{c.addr}}).Client(t) }
	adm := kadm.NewClient(c.client(t))
	if _, err := adm.CreateTopic(t.Context(), partitions, 1, nil, c.topic); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := adm.DeleteTopic(context.WithoutCancel(t.Context()), c.topic); err != nil {
			t.Errorf("deleting topic %s: %v", c.topic, err)
		}
	})
	return c
}

func (c *child) open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+c.addr+")/main")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// producer writes records with ascending ids until it is stopped.
type producer struct {
	stop chan struct{}
	done sync.WaitGroup
	sent atomic.Int64
}

const partitions = 3

// busy is the pause between the records of a busy topic, steady that of one whose records are also written and read again by the test.
const (
	busy   = time.Millisecond
	steady = 20 * time.Millisecond
)

// produce writes up to 200 records after each pause, until it is stopped.
func produce(t *testing.T, b cluster, pause time.Duration) *producer {
	p := &producer{stop: make(chan struct{})}
	cl := b.client(t)
	p.done.Go(func() {
		for {
			select {
			case <-p.stop:
				return
			default:
			}
			var records []*kgo.Record
			for range 1 + rand.IntN(200) {
				id := p.sent.Load() + int64(len(records))
				records = append(records, &kgo.Record{Topic: b.topic, Partition: int32(rand.IntN(partitions)), Value: fmt.Appendf(nil, `{"id":%d,"text":"%d"}`, id, id*id)})
			}
			if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				return
			}
			p.sent.Add(int64(len(records)))
			time.Sleep(pause)
		}
	})
	return p
}

// points are those of an embedded store.
var points = []string{"executor.gathered", "executor.computed", "commit.before", "commit.after", "store.commit.encoded", "store.commit.checked", "store.commit.applied"}

func howOften() int {
	ci := os.Getenv("CI") != ""
	switch {
	case *kills > 0:
		return *kills
	case *given == "" && ci:
		return 200
	case *given == "":
		return 20
	case ci:
		return 40
	default:
		return 8
	}
}

func TestEveryRecordIsThereOnceWhateverIsKilled(t *testing.T) { killed(t, embedded(t), howOften()) }

// create makes the streaming table.
func (c *child) create(t *testing.T, b cluster) {
	t.Helper()
	if _, err := c.open(t).Exec(b.definition("")); err != nil {
		t.Fatal(err)
	}
}

// definition is the statement that makes the streaming table, with clauses of its own.
func (b cluster) definition(clauses string) string {
	return fmt.Sprintf(`CREATE STREAMING TABLE t (id BIGINT NOT NULL, text STRING, CONSTRAINT even EXPECT (id %% 2 = 0)) %s AS SELECT value:id::bigint AS id, value:text AS text FROM STREAM read_kafka(
		bootstrapServers => '%s', subscribe => '%s', startingOffsets => 'earliest')`, clauses, b.addr, b.topic)
}

// started is a server that must start.
func (p place) started(t *testing.T) *child {
	t.Helper()
	c, ok := p.launch(t, "")
	if !ok {
		t.Fatalf("the server does not start: %s", c.log)
	}
	return c
}

// kill lets n servers die at one place, one after the other: every second one at one of the points, the others at any moment. It counts how many died by themselves at which point.
func (p place) kill(t *testing.T, n int) map[string]int {
	t.Helper()
	died := map[string]int{}
	for i := range n {
		point := ""
		if i%2 == 0 {
			point = fmt.Sprintf("%s/%d", p.points[i/2%len(p.points)], rand.IntN(4))
		}
		c, ok := p.launch(t, point)
		if ok {
			most := time.Duration(rand.IntN(300)) * time.Millisecond
			if point != "" {
				most = 5 * time.Second // it comes there by itself
			}
			select {
			case <-c.done:
			case <-time.After(most):
			}
		}
		select {
		case <-c.done:
			died[strings.Split(point, "/")[0]]++
			if point == "" {
				t.Fatalf("the server ended by itself: %s", c.log)
			}
		default:
		}
		c.kill()
	}
	return died
}

// killed kills servers at one place n times under load, and looks what is there in the end.
func killed(t *testing.T, at place, n int) {
	b := connect(t)
	p := produce(t, b, busy)
	stop := sync.OnceFunc(func() { close(p.stop); p.done.Wait() })
	defer stop()
	c := at.started(t)
	c.create(t, b)
	c.kill()
	died := at.kill(t, n)
	stop()
	t.Logf("%d kills; died at %v; %d records", n, died, p.sent.Load())
	c = at.started(t)
	defer c.kill()
	c.check(t, p.sent.Load())
}

// check wants a server to have every record once, and positions that are the ends.
func (c *child) check(t *testing.T, sent int64) {
	t.Helper()
	db := c.open(t)
	deadline := time.Now().Add(testkit.Patience)
	var rows, distinct, wrong, next int64
	for {
		err := db.QueryRow("SELECT count(*) FROM t").Scan(&rows)
		if err == nil && rows >= sent {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d rows, %v\n%s", rows, sent, err, c.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
	var passed, failed int64
	for passed+failed != sent { // expectations count each row once; one that stands by learns it from time to time
		err := db.QueryRow("SELECT passed_records, failed_records FROM information_schema.streaming_table_expectations").Scan(&passed, &failed)
		if time.Now().After(deadline) {
			t.Fatalf("an expectation counts %d and %d of %d rows, %v", passed, failed, sent, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if passed != (sent+1)/2 {
		t.Errorf("an expectation counts %d even ids of %d", passed, sent)
	}
	if err := db.QueryRow("SELECT count(*), count(DISTINCT id), count(CASE WHEN text <> concat(id * id, '') THEN 1 END) FROM t WHERE id >= 0 AND id < ?", sent).Scan(&rows, &distinct, &wrong); err != nil {
		t.Fatal(err)
	}
	if rows != sent || distinct != sent || wrong != 0 {
		t.Errorf("%d rows with %d ids, %d of them wrong, of %d records", rows, distinct, wrong, sent)
	}
	for next != sent { // one that stands by learns them from time to time
		err := db.QueryRow("SELECT sum(next_offset) FROM information_schema.streaming_table_partitions").Scan(&next)
		if time.Now().After(deadline) {
			t.Fatalf("positions add up to %d, %v", next, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
