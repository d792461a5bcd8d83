package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
)

func sendAll(t *testing.T, p *kafka.Producer, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := p.Send(t.Context(), &kafka.Outgoing{Topic: "a", Value: fmt.Append(nil, i), Partition: kafka.AnyPartition, Timestamp: -1}); err != nil {
			t.Fatal(err)
		}
	}
}

func begin(t *testing.T, p *kafka.Producer) {
	t.Helper()
	if err := p.Begin(); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, p *kafka.Producer, m *kafka.Mark) {
	t.Helper()
	if _, err := p.Commit(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func TestTransactionsLeaveTheirMarkWithTheirRecords(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 3, nil)
	o := kafka.ProducerOptions{TransactionalID: "f"}
	p := newProducer(t, b, o)
	marked := func(p *kafka.Producer, want int64) { // 0 for none
		t.Helper()
		for _, topic := range []string{"a", ""} { // the topic may not be known any more
			switch m, err := p.Marked(t.Context(), "g", topic); {
			case err != nil, (m == nil) != (want == 0):
				t.Errorf("topic '%s': marked %v, %v, want %d", topic, m, err, want)
			case m != nil && *m != (kafka.Mark{Group: "g", Topic: "a", Number: want, Note: fmt.Sprint("note ", want)}):
				t.Errorf("topic '%s': marked %v, want %d", topic, m, want)
			}
		}
	}
	marked(p, 0)
	begin(t, p)
	sendAll(t, p, 0, 10)
	commit(t, p, &kafka.Mark{Group: "g", Topic: "a", Number: 1, Note: "note 1"})
	marked(p, 1)

	begin(t, p)
	sendAll(t, p, 100, 110)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	marked(p, 1)
	begin(t, p)
	sendAll(t, p, 10, 20)
	commit(t, p, &kafka.Mark{Group: "g", Topic: "a", Number: 3, Note: "note 3"})
	marked(p, 3)

	// One that dies in the middle: whoever has the same id undoes what it left, and it can write no more.
	begin(t, p)
	sendAll(t, p, 200, 210)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := newProducer(t, b, o)
	marked(next, 3)
	if _, err := p.Commit(t.Context(), &kafka.Mark{Group: "g", Topic: "a", Number: 4, Note: "note 4"}); !sqlerr.HasKind(err, sqlerr.KafkaWriteFailed) {
		t.Errorf("the fenced producer commits: %v", err)
	}
	begin(t, next)
	sendAll(t, next, 20, 30)
	commit(t, next, &kafka.Mark{Group: "g", Topic: "a", Number: 4, Note: "note 4"})
	marked(next, 4)
	seen := map[string]int{}
	for _, r := range written(t, b, "a", 30) {
		seen[string(r.Value)]++
	}
	for i := range 30 {
		if seen[fmt.Sprint(i)] != 1 {
			t.Errorf("committed records: %v", seen)
			break
		}
	}
}

// An error of a record does not stay beyond the transaction that it was in.
func TestAnAbortedTransactionMakesRoomForAnother(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 1, nil)
	p := newProducer(t, b, kafka.ProducerOptions{TransactionalID: "f", BatchBytes: 4096})
	begin(t, p)
	sendAll(t, p, 0, 5)
	if err := p.Send(t.Context(), &kafka.Outgoing{Topic: "a", Value: make([]byte, 5000), Row: 5, Timestamp: -1}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Commit(t.Context(), nil); !sqlerr.HasKind(err, sqlerr.SinkRow) {
		t.Errorf("got %v", err)
	}
	if err := p.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin(t, p)
	sendAll(t, p, 5, 7)
	commit(t, p, nil)
	got := written(t, b, "a", 2)
	if string(got[0].Value) != "5" || string(got[1].Value) != "6" {
		t.Errorf("%s, %s", got[0].Value, got[1].Value)
	}
}

// kfake must hide what was aborted and what is open, or tests of transactions on it show nothing.
func TestTheEmbeddedBrokerHidesWhatIsNotCommitted(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 1, nil)
	p := newProducer(t, b, kafka.ProducerOptions{TransactionalID: "f"})
	begin(t, p)
	sendAll(t, p, 0, 5)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for iso, want := range map[kgo.IsolationLevel]int{kgo.ReadCommitted(): 0, kgo.ReadUncommitted(): 5} {
		cl := b.Client(t, kgo.ConsumeTopics("a"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(iso))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if n := cl.PollFetches(ctx).NumRecords(); n != want {
			t.Errorf("%d records of an open transaction are seen, want %d", n, want)
		}
		cancel()
	}
	if err := p.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A pool that is closed ends what an Abort has left to it.
func TestAnAbortThatNobodyWaitsForEndsWithThePool(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 1, nil)
	pool := kafka.NewPool(kafka.PoolOptions{})
	defer pool.Close()
	c, err := pool.Cluster(t.Context(), kafka.Config{Brokers: b.Addrs})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.NewProducer(t.Context(), kafka.ProducerOptions{TransactionalID: "f"})
	if err != nil {
		t.Fatal(err)
	}
	begin(t, p)
	sendAll(t, p, 0, 5)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if err := p.Abort(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	p.Close()
	pool.Close()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}
