//go:build integration

package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// tail gives the values of a STREAM read as they come, and what ends it. The statement has begun when tail returns.
func tail(t *testing.T, query string) (next func() string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	rows, err := sharedServer(t).open(t, "").QueryContext(ctx, query)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	values, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(values)
		for rows.Next() {
			var v sql.NullString
			if err := rows.Scan(&v); err != nil {
				failed <- errors.Join(err, rows.Close())
				return
			}
			select {
			case values <- v.String:
			case <-ctx.Done():
			}
		}
		failed <- errors.Join(rows.Err(), rows.Close())
	}()
	var ended error
	stop = func() error {
		cancel()
		for range values { //nolint:revive // until it is closed
		}
		if err := <-failed; ended == nil {
			ended = err
		}
		failed <- ended
		if errors.Is(ended, context.Canceled) {
			return nil
		}
		return ended
	}
	t.Cleanup(func() { _ = stop() })
	return func() string {
		t.Helper()
		select {
		case v, ok := <-values:
			if !ok {
				t.Fatalf("the statement ended: %v", stop())
			}
			return v
		case <-time.After(testkit.Patience):
			t.Fatal("no row comes")
		}
		return ""
	}, stop
}

// TestTailFollowsATopic has a live tail on a real broker see single records within 50 ms, transactions when they are committed, and a partition that comes later.
func TestTailFollowsATopic(t *testing.T) {
	cl, adm := client(t, kgo.ProducerLinger(0))
	name := topic(t, adm, 2, nil)
	produce(t, cl, &kgo.Record{Topic: name, Value: []byte("before")})
	next, stop := tail(t, "SELECT value::string FROM STREAM "+readKafka(t, name, "partitionDiscoveryInterval => '200ms'"))
	const n = 300
	took := make([]time.Duration, n)
	for i := range took {
		v := fmt.Sprint(i)
		produce(t, cl, &kgo.Record{Topic: name, Partition: int32(i % 2), Value: []byte(v)})
		acknowledged := time.Now()
		if got := next(); got != v {
			t.Fatalf("got %s, want %s", got, v)
		}
		took[i] = time.Since(acknowledged)
	}
	slices.Sort(took)
	t.Logf("p50 %v, p99 %v, most %v", took[n/2], took[n*99/100], took[n-1])
	if p99 := took[n*99/100]; p99 > 50*time.Millisecond {
		t.Errorf("p99 is %v", p99)
	}
	transact(t, name, "abort", 3)
	transact(t, name, "commit", 2)
	for i := range 2 {
		if got, want := next(), fmt.Sprintf("commit-%d", i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, err := adm.UpdatePartitions(t.Context(), 3, name); err != nil {
		t.Fatal(err)
	}
	until(t, "the new partition", func() (bool, error) {
		topics, err := adm.ListTopics(t.Context(), name)
		return err == nil && len(topics[name].Partitions) == 3, err
	})
	later, _ := client(t)
	produce(t, later, &kgo.Record{Topic: name, Partition: 2, Value: []byte("late")})
	if got := next(); got != "late" {
		t.Errorf("got %s", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestTailEndsWhenItsTopicIsDeleted is what a real broker says of a topic that is gone.
func TestTailEndsWhenItsTopicIsDeleted(t *testing.T) {
	cl, adm := client(t)
	name := topic(t, adm, 1, nil)
	rows, err := sharedServer(t).open(t, "").Query("SELECT value::string FROM STREAM " + readKafka(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	produce(t, cl, &kgo.Record{Topic: name, Value: []byte("a")})
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if _, err := adm.DeleteTopics(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if rows.Next() {
		t.Error("a row of a topic that is gone")
	}
	var e *mysql.MySQLError
	if !errors.As(rows.Err(), &e) || e.Number != 31016 {
		t.Errorf("got %v", rows.Err())
	}
}
