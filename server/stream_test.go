package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// tailed is a live tail as a client sees it: the values of its first column as they come.
type tailed struct {
	values chan string
	// columns is closed when the column definitions are there, done when the statement has ended, for the reason err.
	columns, done chan struct{}
	err           error
	cancel        context.CancelFunc
}

// tail runs a statement on a connection of its own.
func tail(t testing.TB, r *running, query string, args ...any) *tailed {
	t.Helper()
	db := r.root(t)
	ctx, cancel := context.WithCancel(context.Background())
	x := &tailed{values: make(chan string, 10_000), columns: make(chan struct{}), done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(x.done)
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			x.err = err
			return
		}
		close(x.columns)
		names, err := rows.Columns()
		if err != nil {
			x.err = errors.Join(err, rows.Close())
			return
		}
		var v sql.NullString
		into := []any{&v}
		for range names[1:] {
			into = append(into, new(sql.RawBytes))
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				x.err = errors.Join(err, rows.Close())
				return
			}
			x.values <- v.String
		}
		x.err = errors.Join(rows.Err(), rows.Close())
	}()
	t.Cleanup(func() { cancel(); <-x.done })
	return x
}

// started waits for the column definitions.
func (x *tailed) started(t testing.TB) *tailed {
	t.Helper()
	select {
	case <-x.columns:
	case <-x.done:
		t.Fatalf("the statement ended: %v", x.err)
	case <-time.After(testkit.Patience):
		t.Fatal("there are no column definitions")
	}
	return x
}

func (x *tailed) next(t testing.TB) string {
	t.Helper()
	select {
	case v := <-x.values:
		return v
	case <-x.done:
		if len(x.values) > 0 {
			return <-x.values
		}
		t.Fatalf("the statement ended: %v", x.err)
	case <-time.After(testkit.Patience):
		t.Fatal("no row comes")
	}
	return ""
}

func (x *tailed) ended(t testing.TB) error {
	t.Helper()
	select {
	case <-x.done:
	case <-time.After(testkit.Patience):
		t.Fatal("the statement does not end")
	}
	return x.err
}

func TestATailOverTheWire(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(2, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	r := start(t)
	from := "FROM STREAM read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 't')"
	text := tail(t, r, "SELECT value::string "+from).started(t)
	prepared := tail(t, r, "SELECT value FROM STREAM read_kafka(bootstrapServers => ?, subscribe => ?) WHERE partition = ?", b.Addrs[0], "t", 1).started(t)
	byEngine := tail(t, r, "SELECT concat(upper(value::string), sleep(0)) "+from+" WHERE uuid() <> ''").started(t)
	limited := tail(t, r, "SELECT value::string:n "+from+" WHERE value::string:n::int > 1 LIMIT 2").started(t)
	for i := range 4 {
		v := fmt.Sprintf(`{"n": %d}`, i)
		testkit.Produce(t, cl, &kgo.Record{Partition: int32(i % 2), Value: []byte(v)})
		if got := text.next(t); got != v {
			t.Errorf("got %s, want %s", got, v)
		}
		if got := byEngine.next(t); got != strings.ToUpper(v)+"0" {
			t.Errorf("got %s", got)
		}
		if i%2 == 1 {
			if got := prepared.next(t); got != v {
				t.Errorf("got %s, want %s", got, v)
			}
		}
	}
	if err := limited.ended(t); err != nil {
		t.Error(err)
	}
	if a, b := limited.next(t), limited.next(t); a != "2" || b != "3" {
		t.Errorf("got %s and %s", a, b)
	}
}

func TestATailEndsByKillDisconnectAndDrain(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	r := start(t, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
	other := r.root(t)
	query := "SELECT value FROM STREAM read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 't')"
	running := "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT value FROM STREAM%'"
	until := func(n string) {
		t.Helper()
		for deadline := time.Now().Add(testkit.Patience); ; {
			got, err := rows(other, running)
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("%s, %v; want %s", got, err, n)
			}
			if got == "count(*)\n"+n {
				return
			}
		}
	}
	killed := tail(t, r, query).started(t)
	id, err := rows(other, "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT value FROM STREAM%'")
	if err != nil {
		t.Fatal(err)
	}
	do(t, other, "KILL QUERY "+strings.TrimPrefix(id, "id\n"))
	wantError(t, killed.ended(t), 1317, "70100", "interrupted")
	gone := tail(t, r, query).started(t)
	until("1")
	gone.cancel()
	until("0")
	drained := tail(t, r, query).started(t)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if err := drained.ended(t); err == nil {
		t.Error("the statement ended well")
	}
}

// TestRowsOfATailReachTheClient measures from the acknowledgement of a record to the row in the client's hands: the bar is 50 ms at the 99th percentile.
func TestRowsOfATailReachTheClient(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	x := tail(t, start(t), "SELECT value FROM STREAM read_kafka(bootstrapServers => '"+b.Addrs[0]+"', subscribe => 't')").started(t)
	const n = 1000
	took := make([]time.Duration, n)
	for i := range took {
		testkit.Produce(t, cl, &kgo.Record{Value: []byte("x")})
		acknowledged := time.Now()
		x.next(t)
		took[i] = time.Since(acknowledged)
	}
	slices.Sort(took)
	t.Logf("p50 %v, p99 %v, most %v", took[n/2], took[n*99/100], took[n-1])
	if p99 := took[n*99/100]; p99 > 50*time.Millisecond {
		t.Errorf("p99 is %v", p99)
	}
}

// TestAHundredTails is the bar of 1 MB a tail; here the clients are in the same heap.
func TestAHundredTails(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(4, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	r := start(t)
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // what the first one made free
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	query := "SELECT value::string, t.* FROM STREAM read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 't', includeHeaders => true) t"
	tail(t, r, query).started(t)
	before := heap()
	const tails = 100
	all := make([]*tailed, tails)
	for i := range all {
		all[i] = tail(t, r, query).started(t)
	}
	for i := range 400 {
		testkit.Produce(t, cl, &kgo.Record{Partition: int32(i % 4), Key: []byte("k"), Value: fmt.Appendf(nil, "%0200d", i)})
	}
	for _, x := range all {
		for range 400 {
			x.next(t)
		}
	}
	each := (heap() - before) / tails
	t.Logf("%d KiB a tail, with its client", each>>10)
	if each > 1<<20 {
		t.Errorf("%d bytes a tail", each)
	}
}
