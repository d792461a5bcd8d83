package bad

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"millrace/test/script"
)

// TestLargeResultsNeedLittleMemory reads 256 MB (a gigabyte in the nightly run) that the server makes from 4 MB, stops for a while in the
// middle so that the server waits for its client, and wants the heap flat. What the client holds is in the same heap: a row at a time.
func TestLargeResultsNeedLittleMemory(t *testing.T) {
	const rows, size = 1000, 4000
	b := filled(t, 1, rows, size)
	want := int64(256 << 20)
	if os.Getenv("NIGHTLY") != "" {
		want = 1 << 30
	}
	s := script.StartServer(t)
	for name, statement := range map[string]string{
		"a join, row by row": fmt.Sprintf("SELECT a.value, b.offset FROM %s a, %[1]s b", call(b, "t")),
		"batches":            "SELECT a.* FROM (SELECT value, concat(value, value, value, value) FROM " + call(b, "t") + ") a",
	} {
		t.Run(name, func(t *testing.T) {
			db := s.Login(t, "root", "")
			runtime.GC()
			base := heap()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result, err := db.QueryContext(ctx, statement)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = result.Close() }()
			columns, err := result.Columns()
			if err != nil {
				t.Fatal(err)
			}
			values, to := make([][]byte, len(columns)), make([]any, len(columns))
			for i := range values {
				to[i] = (*rawBytes)(&values[i])
			}
			var got, peak int64
			for n := 0; got < want && result.Next(); n++ {
				if err := result.Scan(to...); err != nil {
					t.Fatal(err)
				}
				for _, v := range values {
					got += int64(len(v))
				}
				if n == 500 {
					blocked(t, s)
				}
				if n%2000 == 0 {
					peak = max(peak, heap()-base)
				}
			}
			if err := result.Err(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d MB read, the heap grew by at most %d MB", got>>20, peak>>20)
			if peak > 128<<20 {
				t.Errorf("the heap grew by %d MB while %d MB were read", peak>>20, got>>20)
			}
		})
	}
}

// rawBytes takes a value without keeping it.
type rawBytes []byte

// Scan implements sql.Scanner.
func (r *rawBytes) Scan(v any) error {
	switch v := v.(type) {
	case []byte:
		*r = append((*r)[:0], v...)
	case string:
		*r = append((*r)[:0], v...)
	default:
		*r = fmt.Append((*r)[:0], v)
	}
	return nil
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// blocked waits until the server sends no more, which is when all buffers between it and its client are full: then what it allocates stands still.
func blocked(t *testing.T, s *script.Server) {
	last, since := metric(t, s, "go_memstats_mallocs_total"), time.Now()
	until(t, "a server that waits for its client", func() bool {
		now := metric(t, s, "go_memstats_mallocs_total")
		if now-last > 20_000 {
			since = time.Now()
		}
		last = now
		return time.Since(since) > 50*time.Millisecond
	})
}

// TestManyClientsAtOnce lets 64 clients run scans of all kinds and wants each answer right.
func TestManyClientsAtOnce(t *testing.T) {
	const partitions, n = 4, 2000
	b := filled(t, partitions, n, 50)
	fill(t, b, "small", 1, 10, 5)
	s := script.StartServer(t)
	k, small := call(b, "t"), call(b, "small")
	statements := []struct {
		text string
		want int64
	}{
		{"SELECT count(*) FROM " + k, partitions * n},
		{"SELECT sum(value:id::bigint) FROM " + k, partitions * n * (n - 1) / 2},
		{"SELECT count(*) FROM (SELECT key FROM " + k + " LIMIT 777) x", 777},
		{"SELECT count(*) FROM " + k + " WHERE partition = 2 AND offset >= 1500", 500},
		{"SELECT count(DISTINCT key) FROM " + k, n},
		{"SELECT max(offset) FROM " + k + " WHERE value:id::int % 7 = 3", 1998},
		{"SELECT count(*) FROM " + small + " a JOIN " + k + " b ON a.key = b.key", 10 * partitions},
		{"SELECT 42", 42},
	}
	var all sync.WaitGroup
	for c := range 64 {
		db := s.Login(t, "root", "")
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(c), 1))
			for range 4 {
				st := statements[rnd.IntN(len(statements))]
				var got int64
				if err := db.QueryRow(st.text).Scan(&got); err != nil || got != st.want {
					t.Errorf("%s: %d, %v, want %d", st.text, got, err, st.want)
				}
			}
		})
	}
	all.Wait()
	until(t, "no scan", func() bool { return metric(t, s, "millrace_scans_running") == 0 })
}

// TestManyStatementsShareConnections runs a hundred scans after each other, and wants no more goroutines and connections than after the first ten.
func TestManyStatementsShareConnections(t *testing.T) {
	b := filled(t, 8, 20, 5)
	s := script.StartServer(t)
	db := s.Login(t, "root", "")
	scans := func(n int) {
		for range n {
			if got := one[int](t, db, "SELECT count(*) FROM "+call(b, "t")+" WHERE length(value) > 0"); got != 160 {
				t.Fatalf("count is %d", got)
			}
		}
	}
	scans(10)
	before := runtime.NumGoroutine()
	scans(100)
	until(t, "as few goroutines as before", func() bool { return runtime.NumGoroutine() <= before+4 })
}

// TestBrokersThatNeverWere keeps one server busy with addresses that do not answer, and wants others to be served meanwhile.
func TestBrokersThatNeverWere(t *testing.T) {
	b := filled(t, 1, 10, 5)
	s := script.StartServer(t)
	var all sync.WaitGroup
	for i := range 20 {
		db := s.Login(t, "root", "")
		all.Go(func() {
			_, err := db.Query(fmt.Sprintf("SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:%d', subscribe => 't')", 1+i))
			wantError(t, err, 31010)
		})
	}
	if got := one[int](t, s.Login(t, "root", ""), "SELECT count(*) FROM "+call(b, "t")); got != 10 {
		t.Errorf("count is %d", got)
	}
	all.Wait()
}
