package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// The environment of a child: the store to write, the seed of what it writes, and at which call of which failpoint it kills itself.
const (
	envStore = "MILLRACE_STORETEST_STORE"
	envSeed  = "MILLRACE_STORETEST_SEED"
	envPoint = "MILLRACE_STORETEST_POINT"
)

// Main runs the tests of a package, looking for leaked goroutines, or what a child process of Crash does.
func Main(m *testing.M, b Backend) {
	if name := os.Getenv(envStore); name != "" {
		err := child(b, name)
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

var pointCalls atomic.Int64

// Failpoint kills this process, if it is a child that is to die here. A store calls it at its points of interest.
func Failpoint(name string) {
	point, n, _ := strings.Cut(os.Getenv(envPoint), ":")
	if point != name || point == "" {
		return
	}
	if at, _ := strconv.ParseInt(n, 10, 64); pointCalls.Add(1) != at {
		return
	}
	die()
}

func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until the signal is here
}

const crashParts = 3

// truncating is what a child says before it truncates: from then on no row is promised.
const truncating = "truncating"

func crashPartition(i int) store.Partition {
	return store.Partition{Topic: "topic", Partition: int32(i)}
}

func crashColumns() []store.Column {
	return []store.Column{col("id", column.Int64), col("text", column.Text), col("part", column.Int32)}
}

// child commits numbered rows until it is killed, and now and then truncates the table: row n goes to partition n%crashParts, whose position counts its rows. After each commit it prints how many rows
// there are.
func child(b Backend, name string) error {
	seed, err := strconv.ParseUint(os.Getenv(envSeed), 10, 64)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	s, err := b.Open(name)
	if err != nil {
		return err
	}
	if _, err := s.Schema(ctx, "t"); errors.Is(err, store.ErrNoTable) {
		side := store.TableSpec{ID: "t$side", Owner: "t", Columns: []store.Column{col("id", column.Int64), col("ts", column.Timestamp)}}
		err = s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: crashColumns(), Cluster: []string{"part"}}, side)
		if err != nil {
			return err
		}
	}
	lease, err := s.AcquireWriter(ctx, "t", "child", time.Minute)
	if err != nil {
		return err
	}
	c, err := s.Checkpoint(ctx, "t")
	if err != nil {
		return err
	}
	next := 0
	for i := range crashParts {
		next += int(c.Positions[crashPartition(i)].Offset)
	}
	for {
		n := 1 + r.IntN([]int{3, 50, 3000}[r.IntN(3)])
		var rows, side []row
		to := map[int]int64{}
		for i := range crashParts {
			to[i] = c.Positions[crashPartition(i)].Offset
		}
		for k := range n {
			rows = append(rows, row{store.Int(int64(next + k)), store.Text(crashText(next + k)), store.Int(int64((next + k) % crashParts))})
			side = append(side, row{store.Int(int64(next + k)), store.Int(int64(next + k))})
			to[(next+k)%crashParts]++
		}
		cm := &store.Commit{
			Table: "t", Lease: lease, Progress: strconv.AppendInt(nil, int64(next+n), 10),
			Writes: []store.Write{
				{Table: "t", SchemaVersion: 1, Rows: batchOf(crashColumns(), rows)},
				{Table: "t$side", SchemaVersion: 1, Rows: batchOf([]store.Column{col("id", column.Int64), col("ts", column.Timestamp)}, side)},
			},
		}
		for i := range crashParts {
			m := store.Move{Partition: crashPartition(i), To: &store.Position{Offset: to[i]}}
			if from, ok := c.Positions[m.Partition]; ok {
				m.From = &from
			}
			cm.Moves = append(cm.Moves, m)
			c.Positions[m.Partition] = *m.To
		}
		if _, err := s.Commit(ctx, cm); err != nil {
			return err
		}
		next += n
		fmt.Println("ack", next)
		if r.IntN(60) == 0 {
			fmt.Println(truncating)
			if err := s.TruncateTable(ctx, "t"); err != nil {
				return err
			}
			if lease, err = s.AcquireWriter(ctx, "t", "child", time.Minute); err != nil {
				return err
			}
			if c, err = s.Checkpoint(ctx, "t"); err != nil {
				return err
			}
			next = 0
			continue
		}
		if r.IntN(10) == 0 {
			if _, err := s.Expire(ctx, "t$side", "ts", int64(next/2)); err != nil {
				return err
			}
		}
	}
}

func crashText(n int) string { return strings.Repeat(fmt.Sprint("row ", n, ";"), 1+n%5) }

// Kills is the number of children that Crash kills: 20, and 60 in CI.
func Kills() int {
	if os.Getenv("CI") != "" {
		return 60
	}
	return 20
}

// Crash kills children at random and at the failpoints named, one after the other on one store, and checks after each that every acknowledged commit is there,
// nothing is there twice, and rows, positions and progress are of one commit.
func Crash(t *testing.T, b Backend, points ...string) {
	name := b.Name(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	acked := 0
	for i := range Kills() {
		point := ""
		if len(points) > 0 && i%3 != 0 {
			point = fmt.Sprintf("%s:%d", points[i%len(points)], 1+r.IntN(4))
		}
		acked = runChild(t, name, r.Uint64(), point, 1+r.IntN(30), acked)
		acked = checkCrashed(t, b, name, acked, point)
	}
	t.Logf("%d rows survived %d kills", acked, Kills())
}

// runChild runs a child until it dies, or has acknowledged so many commits, and gives the number of rows it has acknowledged.
func runChild(t *testing.T, name string, seed uint64, point string, commits, acked int) int {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), envStore+"="+name, fmt.Sprintf("%s=%d", envSeed, seed), envPoint+"="+point)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); {
		if lines.Text() == truncating {
			acked = 0
		}
		if rows, ok := strings.CutPrefix(lines.Text(), "ack "); ok {
			if acked, err = strconv.Atoi(rows); err != nil {
				t.Errorf("child says %q", lines.Text())
			}
			// A child that is to die at a failpoint has time to come there, but not for ever: merging may have nothing to do.
			if n++; n == commits && point == "" || n == 200 {
				must(t, cmd.Process.Kill())
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v\n%s", err, stderr.String())
	}
	return acked
}

func checkCrashed(t *testing.T, b Backend, name string, acked int, point string) int {
	t.Helper()
	s, err := b.Open(name)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	snap, err := s.Snapshot(t.Context())
	must(t, err)
	defer snap.Close()
	if _, err := snap.Schema("t"); errors.Is(err, store.ErrNoTable) && acked == 0 {
		return 0 // killed before it had created them
	}
	c, err := snap.Checkpoint("t")
	must(t, err)
	total := 0
	for i := range crashParts {
		total += int(c.Positions[crashPartition(i)].Offset)
	}
	if total < acked {
		t.Fatalf("killed at %q: %d rows were acknowledged, positions say %d", point, acked, total)
	}
	if total > 0 && string(c.Progress) != strconv.Itoa(total) {
		t.Fatalf("killed at %q: progress is %s, positions say %d", point, c.Progress, total)
	}
	rows, err := read(t.Context(), snap, store.ScanSpec{Table: "t", Columns: []int{0, 1, 2}, Limit: -1})
	must(t, err)
	if len(rows) != total {
		t.Fatalf("killed at %q: %d rows, positions say %d", point, len(rows), total)
	}
	seen := make([]bool, total)
	for _, r := range rows {
		n := int(r[0].Int64())
		if n >= total || seen[n] || r[1].Bytes() != crashText(n) || int(r[2].Int64()) != n%crashParts {
			t.Fatalf("killed at %q: of %d rows, one is %v", point, total, r)
		}
		seen[n] = true
	}
	// Of the side table the older half may have expired; the newer one is complete.
	side, err := read(t.Context(), snap, store.ScanSpec{Table: "t$side", Columns: []int{0}, Limit: -1})
	must(t, err)
	for i, ns := 0, numbers(side); i < len(ns); i++ {
		if want := int64(total - len(ns) + i); ns[i] != want {
			t.Fatalf("killed at %q: row %d of %d in the side table is %d, want %d", point, i, len(ns), ns[i], want)
		}
	}
	if len(side) < total/2 {
		t.Fatalf("killed at %q: %d of %d rows in the side table", point, len(side), total)
	}
	return total
}
