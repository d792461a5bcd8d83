//go:build integration

package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// brokers are three Apache Kafka processes that a test may end and start again.
type brokers struct {
	dir, addrs string
	adm        *kadm.Client
}

const brokersScript = "../../scripts/kafka/cluster"

func startBrokers(t *testing.T) *brokers {
	t.Helper()
	b := &brokers{dir: t.TempDir()}
	t.Cleanup(func() { b.run(t, "stop", b.dir) })
	b.run(t, "start", b.dir)
	text, err := os.ReadFile(filepath.Join(b.dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	_, b.addrs, _ = strings.Cut(strings.TrimSpace(string(text)), "=")
	cl := b.client(t)
	b.adm = kadm.NewClient(cl)
	return b
}

// anyPartition spreads records over the partitions that there are.
var anyPartition = kgo.RecordPartitioner(kgo.BasicConsistentPartitioner(func(string) func(*kgo.Record, int) int {
	return func(_ *kgo.Record, n int) int { return rand.IntN(n) }
}))

func (b *brokers) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(brokersScript, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", brokersScript, args, err, out)
	}
}

func (b *brokers) client(t *testing.T) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.addrs, ",")...), anyPartition, kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// end sends a signal to a node and waits until its process is gone.
func (b *brokers) end(t *testing.T, node int, how syscall.Signal) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, fmt.Sprint(node), "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, how); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the node", func() (bool, error) {
		err := syscall.Kill(pid, 0)
		return err == syscall.ESRCH, err //nolint:errorlint // an errno, as it is
	})
}

func (b *brokers) launch(t *testing.T, nodes ...int) {
	t.Helper()
	var wg sync.WaitGroup
	failed := make([]error, len(nodes))
	for i, n := range nodes {
		wg.Go(func() {
			if out, err := exec.Command(brokersScript, "node", b.dir, fmt.Sprint(n)).CombinedOutput(); err != nil {
				failed[i] = fmt.Errorf("node %d: %w\n%s", n, err, out)
			}
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// load produces records with ascending ids until it is stopped, whatever the brokers do.
type load struct {
	// sent counts what was acknowledged, next what may be there.
	sent, next atomic.Int64
	stop       func()
}

func startLoad(t *testing.T, cl *kgo.Client, topic string) *load {
	l := &load{}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			rs := make([]*kgo.Record, 1+rand.IntN(100))
			first := l.next.Add(int64(len(rs))) - int64(len(rs))
			for i := range rs {
				rs[i] = &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, `{"id":%d}`, first+int64(i))}
			}
			// Not under ctx: what has been handed over is waited for, so that all ids are there in the end.
			if err := cl.ProduceSync(context.WithoutCancel(ctx), rs...).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				return
			}
			l.sent.Add(int64(len(rs)))
			time.Sleep(5 * time.Millisecond) // the rate of a busy topic
		}
	})
	l.stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(l.stop)
	return l
}

// follows waits until the table has everything that has been acknowledged so far, and more has been than before.
func (l *load) follows(t *testing.T, db *sql.DB, what string) {
	t.Helper()
	before := l.sent.Load()
	until(t, what+": more records", func() (bool, error) { return l.sent.Load() > before+1000, nil })
	want := l.sent.Load()
	var rows int64
	until(t, what+": the rows of these records", func() (bool, error) {
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&rows)
		return rows >= want, errors.Join(err, fmt.Errorf("%d of %d: %v", rows, want, describe(db)))
	})
}

// describe is what a table says of itself, for messages.
func describe(db *sql.DB) string {
	var text strings.Builder
	for _, query := range []string{
		"SELECT concat_ws(' ', state, reason, lag) FROM information_schema.streaming_tables",
		"SELECT concat_ws(' ', topic, `partition`, next_offset, end_offset, leader_epoch) FROM information_schema.streaming_table_partitions",
		"SELECT concat_ws(' ', timestamp, event_type, message) FROM information_schema.streaming_event_log ORDER BY id DESC LIMIT 10",
	} {
		rows, err := db.Query(query)
		if err != nil {
			fmt.Fprintf(&text, "\n%v", err)
			continue
		}
		for rows.Next() {
			var line sql.NullString
			if err = rows.Scan(&line); err == nil {
				fmt.Fprintf(&text, "\n%s", line.String)
			}
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			fmt.Fprintf(&text, "\n%v", err)
		}
	}
	return text.String()
}

// exact wants every record once, positions that are the ends, and a table that runs.
func (l *load) exact(t *testing.T, db *sql.DB) {
	t.Helper()
	l.stop()
	n := l.sent.Load()
	until(t, "every row", func() (bool, error) {
		var rows int64
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&rows)
		return rows >= n, err
	})
	got := texts(t, db, "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM t", 4)
	if want := []string{fmt.Sprint(n), fmt.Sprint(n), "0", fmt.Sprint(n - 1)}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows, ids, least and greatest: %v, want %v", got, want)
	}
	until(t, "no lag and the state 'running'", func() (bool, error) {
		got := texts(t, db, "SELECT state, lag FROM information_schema.streaming_tables WHERE table_name = 't'", 2)
		return fmt.Sprint(got) == "[running 0]", fmt.Errorf("%v", got)
	})
}

// moveLeaders gives each partition another order of replicas, and makes the first one the leader.
func (b *brokers) moveLeaders(t *testing.T, topic string, partitions int32) {
	t.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	for p := range partitions {
		order := rand.Perm(3)
		req.Assign(topic, p, []int32{int32(order[0]) + 1, int32(order[1]) + 1, int32(order[2]) + 1})
	}
	if _, err := b.adm.AlterPartitionAssignments(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	until(t, "other leaders", func() (bool, error) {
		if _, err := b.adm.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, nil); err != nil {
			return false, err
		}
		details, err := b.adm.ListTopics(t.Context(), topic)
		if err != nil {
			return false, err
		}
		for _, p := range details[topic].Partitions {
			if len(p.Replicas) == 0 || p.Leader != p.Replicas[0] {
				return false, fmt.Errorf("partition %d: %+v", p.Partition, p)
			}
		}
		return len(details[topic].Partitions) > 0, details[topic].Err
	})
}

// TestAStreamingTableOutlivesItsBrokers ends brokers of a cluster in every way, moves leaders, trims what was read, adds partitions, and kills the server as well, all
// while a producer writes. In the end each record is there once.
func TestAStreamingTableOutlivesItsBrokers(t *testing.T) {
	b := startBrokers(t)
	topic := "faults"
	if _, err := b.adm.CreateTopic(t.Context(), 3, 3, map[string]*string{"min.insync.replicas": kadm.StringPtr("1")}, topic); err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, b.client(t), topic)
	dir := t.TempDir()
	s := start(t, dir)
	db := s.open(t, "")
	if _, err := db.Exec(fmt.Sprintf(`CREATE STREAMING TABLE t TBLPROPERTIES ('partition_discovery_interval' = '200 milliseconds') AS SELECT value:id::bigint AS id, partition, offset
		FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => '%s', startingOffsets => 'earliest')`, b.addrs, topic)); err != nil {
		t.Fatal(err)
	}
	step := func(what string, do func()) {
		begun := time.Now()
		do()
		l.follows(t, db, what)
		t.Logf("%s: %v, %d records", what, time.Since(begun).Round(time.Millisecond), l.sent.Load())
	}
	step("nothing happens", func() {})
	for range 8 {
		step("leaders move", func() { b.moveLeaders(t, topic, 3) })
	}
	for _, node := range []int{2, 3, 1} {
		step(fmt.Sprintf("node %d is stopped", node), func() { b.end(t, node, syscall.SIGTERM) })
		step(fmt.Sprintf("node %d is back", node), func() { b.launch(t, node) })
	}
	step("partitions are added", func() {
		if _, err := b.adm.UpdatePartitions(t.Context(), 5, topic); err != nil {
			t.Fatal(err)
		}
		until(t, "rows of the new partitions", func() (bool, error) {
			got := texts(t, db, "SELECT count(DISTINCT `partition`) FROM t", 1)
			return got[0] == "5", fmt.Errorf("of %v", got)
		})
	})
	for _, node := range []int{3, 2} { // the controller is node 1: without it nobody is elected
		step(fmt.Sprintf("node %d is killed", node), func() { b.end(t, node, syscall.SIGKILL) })
		step(fmt.Sprintf("node %d is back", node), func() { b.launch(t, node) })
	}
	step("what was read is trimmed", func() {
		positions, err := b.adm.ListEndOffsets(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		trim := kadm.Offsets{}
		positions.Each(func(o kadm.ListedOffset) { trim.AddOffset(topic, o.Partition, max(o.Offset-5000, 0), -1) })
		if _, err := b.adm.DeleteRecords(t.Context(), trim); err != nil {
			t.Fatal(err)
		}
	})
	step("all nodes are killed", func() {
		for node := 1; node <= 3; node++ {
			b.end(t, node, syscall.SIGKILL)
		}
		until(t, "the state 'stalled' with a reason", func() (bool, error) {
			got := texts(t, db, "SELECT state, reason IS NOT NULL, (SELECT count(*) FROM t) > 0 FROM information_schema.streaming_tables", 3)
			return fmt.Sprint(got) == "[stalled 1 1]", fmt.Errorf("%v", got)
		})
		b.launch(t, 1, 2, 3)
	})
	step("the server is killed while a node is down", func() {
		b.end(t, 2, syscall.SIGKILL)
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait() // it was killed
		s = start(t, dir)
		db = s.open(t, "")
		b.launch(t, 2)
	})
	l.exact(t, db)
}
