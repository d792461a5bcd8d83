package bad

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
	"millrace/test/script"
)

// one runs a query that gives one value.
func one[T any](t testing.TB, db *sql.DB, query string) T {
	t.Helper()
	var v T
	if err := db.QueryRow(query).Scan(&v); err != nil {
		t.Fatalf("%.200s: %v", query, err)
	}
	return v
}

// wantError wants a MySQL error of one of the numbers; a broken connection or anything else is wrong.
func wantError(t testing.TB, err error, numbers ...uint16) {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		t.Errorf("got %v, want an error of MySQL", err)
		return
	}
	for _, n := range numbers {
		if e.Number == n {
			return
		}
	}
	t.Errorf("got %v, want %v", e, numbers)
}

// metric reads a number from /metrics; labelled ones are added up.
func metric(t testing.TB, s *script.Server, name string) float64 {
	t.Helper()
	res, err := client.Get("http://" + s.HTTP + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	sum, found := 0.0, false
	for sc := bufio.NewScanner(res.Body); sc.Scan(); {
		rest, ok := strings.CutPrefix(sc.Text(), name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum, found = sum+v, true
	}
	if !found {
		t.Fatalf("/metrics has no %s", name)
	}
	return sum
}

// client keeps no connection, so that no goroutine outlives a test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// until waits for a state that others reach in their own time, and tells how long that took.
func until(t testing.TB, what string, ok func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for !ok() {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%s: not within 30 seconds", what)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begin)
}

// filled is a broker with a topic t of n records of about size bytes in each of its partitions.
func filled(t testing.TB, partitions int32, n, size int) *testkit.Broker {
	t.Helper()
	b := testkit.StartBroker(t)
	fill(t, b, "t", partitions, n, size)
	return b
}

func fill(t testing.TB, b *testkit.Broker, topic string, partitions int32, n, size int) {
	t.Helper()
	b.Topic(t, topic, partitions, nil)
	cl := b.Client(t, kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	padding := strings.Repeat("x", size)
	var first kgo.FirstErrPromise
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for p := range partitions {
		for i := range n {
			cl.Produce(ctx, &kgo.Record{Partition: p, Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, `{"id":%d,"pad":"%s"}`, i, padding)}, first.Promise())
		}
	}
	if err := first.Err(); err != nil {
		t.Fatal(err)
	}
}

// call is read_kafka of a topic of b.
func call(b *testkit.Broker, topic string) string {
	return "read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => '" + topic + "')"
}

// background runs a statement until it ends and hands over its error.
func background(db *sql.DB, ctx context.Context, statement string) <-chan error {
	done := make(chan error, 1)
	go func() {
		rows, err := db.QueryContext(ctx, statement)
		if err == nil {
			for rows.Next() {
			}
			err = errors.Join(rows.Err(), rows.Close())
		}
		done <- err
	}()
	return done
}
