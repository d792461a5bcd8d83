package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
)

var errEnough = errors.New("the test has seen enough")

// tailing is a tail that a test runs in the background.
type tailing struct {
	t      testing.TB
	src    scan.Source
	rows   chan testkit.Row
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error

	mu       sync.Mutex
	finished bool
}

// Push implements scan.Sink.
func (x *tailing) Push(ctx context.Context, b *column.Batch) error {
	for _, r := range testkit.Rows(b) {
		select {
		case x.rows <- r:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Finish implements scan.Sink.
func (x *tailing) Finish(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.finished = true
	return nil
}

// stop ends the tail and gives its error, nil when that is the one that ended it.
func (x *tailing) stop() error {
	x.cancel(errEnough)
	<-x.done
	if errors.Is(x.err, errEnough) {
		return nil
	}
	return x.err
}

// next waits for n rows.
func (x *tailing) next(n int) []testkit.Row {
	x.t.Helper()
	var out []testkit.Row
	timeout := time.After(testkit.Patience)
	for len(out) < n {
		select {
		case r := <-x.rows:
			out = append(out, r)
		case <-x.done:
			x.t.Fatalf("the tail ended after %d of %d rows: %v", len(out), n, x.err)
		case <-timeout:
			x.t.Fatalf("%d of %d rows came: %v; %+v", len(out), n, out, x.src.Stats())
		}
	}
	return out
}

// none checks that the rows so far are all.
func (x *tailing) none() {
	x.t.Helper()
	select {
	case r := <-x.rows:
		x.t.Fatalf("an unexpected row: %v", r)
	default:
	}
}

// ends waits for the tail to end by itself.
func (x *tailing) ends() error {
	x.t.Helper()
	select {
	case <-x.done:
	case <-time.After(testkit.Patience):
		x.t.Fatal("the tail does not end")
	}
	return x.err
}

func follow(t testing.TB, c *kafka.Cluster, spec kafka.ReadSpec, fields ...scan.Field) *tailing {
	t.Helper()
	return followWith(t, c, spec, scan.Request{Fields: fields, Limit: -1})
}

func followWith(t testing.TB, c *kafka.Cluster, spec kafka.ReadSpec, req scan.Request) *tailing {
	t.Helper()
	src, err := c.Tail(t.Context(), spec, req, kafka.TailOptions{DiscoveryInterval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, src)
}

func start(t testing.TB, src scan.Source) *tailing {
	x := &tailing{t: t, src: src, rows: make(chan testkit.Row, 4096), done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(context.Background())
	x.cancel = cancel
	go func() {
		defer close(x.done)
		x.err = src.Run(ctx, func(int) (scan.Sink, error) { return x, nil })
		src.Close()
	}()
	t.Cleanup(func() { _ = x.stop() })
	return x
}

// latest follows topics from their ends.
func latest(topics ...string) kafka.ReadSpec {
	return kafka.ReadSpec{
		Select: kafka.Selection{Topics: topics}, Start: kafka.Bound{Kind: kafka.AtLatest}, Isolation: kafka.ReadCommitted, FailOnDataLoss: true,
	}
}

func value(partition int32, s string) *kgo.Record {
	return &kgo.Record{Partition: partition, Value: []byte(s)}
}

// growTopic gives a topic n partitions in all.
func growTopic(t testing.TB, b *testkit.Broker, topic string, n int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, n
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(t.Context(), b.Client(t))
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestATailDeliversWhatIsAppended(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(3, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	testkit.Produce(t, cl, value(0, "before"), value(1, "before"))
	c := cluster(t, b)
	x := follow(t, c, latest("t"), scan.Value, scan.Topic, scan.Partition, scan.Offset)
	testkit.Produce(t, cl, value(1, "a"))
	if d := diff([]testkit.Row{{"a", "t", int64(1), int64(1)}}, x.next(1)); d != "" {
		t.Error(d)
	}
	testkit.Produce(t, cl, value(2, "b"))
	if d := diff([]testkit.Row{{"b", "t", int64(2), int64(0)}}, x.next(1)); d != "" {
		t.Error(d)
	}
	x.none()
	if got := fmt.Sprint(x.src.Splits()); !strings.Contains(got, "t/0 [1, ∞)") {
		t.Errorf("splits %s", got)
	}
	if err := x.stop(); err != nil {
		t.Error(err)
	}
	if s := x.src.Stats(); s.Records != 2 || s.OffsetsDone != 2 || s.BytesFetched == 0 {
		t.Errorf("%+v", s)
	}
}

// TestATailBeginsWhereItWasPlanned produces between plan and run.
func TestATailBeginsWhereItWasPlanned(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	src, err := cluster(t, b).Tail(t.Context(), latest("t"), scan.Request{Fields: []scan.Field{scan.Value}, Limit: -1}, kafka.TailOptions{})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Produce(t, cl, value(0, "a"))
	if got := start(t, src).next(1); got[0][0] != "a" {
		t.Errorf("got %v", got)
	}
}

func TestATailCatchesUpFromItsStart(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	numbered(t, b, "t", 1000, 10)
	c := cluster(t, b)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	for name, x := range map[string]struct {
		start kafka.Bound
		first int64
	}{
		"earliest": {kafka.Bound{Kind: kafka.AtEarliest}, 0},
		"offset":   {offsets("t", 995), 995},
		"time":     {at(990_000), 990},
	} {
		t.Run(name, func(t *testing.T) {
			n := b.PartitionInfo("t", 0).HighWatermark
			spec := latest("t")
			spec.Start = x.start
			y := follow(t, c, spec, scan.Offset)
			testkit.Produce(t, cl, value(0, "new"))
			for i, r := range y.next(int(n + 1 - x.first)) {
				if r[0] != x.first+int64(i) {
					t.Fatalf("offset %v at place %d", r[0], i)
				}
			}
		})
	}
}

func TestATailOfReadCommittedWaitsForTheTransaction(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	c := cluster(t, b)
	committed := follow(t, c, latest("t"), scan.Value)
	spec := latest("t")
	spec.Isolation = kafka.ReadUncommitted
	uncommitted := follow(t, c, spec, scan.Value)
	tx := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.TransactionalID("x"))
	in := func(commit kgo.TransactionEndTry, v string) {
		t.Helper()
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		testkit.Produce(t, tx, value(0, v))
		uncommitted.next(1)
		committed.none()
		if err := tx.EndTransaction(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
	}
	in(kgo.TryAbort, "aborted")
	in(kgo.TryCommit, "committed")
	testkit.Produce(t, cl, value(0, "plain"))
	if got := committed.next(2); got[0][0] != "committed" || got[1][0] != "plain" {
		t.Errorf("got %v", got)
	}
}

func TestNewPartitionsAndTopicsAreReadFromTheirFirstRecord(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "orders-a"))
	c := cluster(t, b)
	spec := latest()
	spec.Select = kafka.Selection{Pattern: regexp.MustCompile("orders-.*")}
	x := follow(t, c, spec, scan.Value, scan.Topic)
	b.Topic(t, "orders-b", 2, nil)
	b.Topic(t, "payments", 1, nil)
	cl := b.Client(t)
	testkit.Produce(t, cl, &kgo.Record{Topic: "payments", Value: []byte("no")}, &kgo.Record{Topic: "orders-b", Partition: 1, Value: []byte("1")})
	if got := x.next(1); got[0][0] != "1" || got[0][1] != "orders-b" {
		t.Errorf("got %v", got)
	}
	growTopic(t, b, "orders-a", 3)
	more := b.Client(t)
	testkit.Produce(t, more, &kgo.Record{Topic: "orders-a", Partition: 2, Value: []byte("2")})
	if got := x.next(1); got[0][0] != "2" || got[0][1] != "orders-a" {
		t.Errorf("got %v", got)
	}
}

func TestAMissingTopicIsAwaited(t *testing.T) {
	b := testkit.StartBroker(t)
	c := cluster(t, b)
	spec := latest("later")
	_, err := c.Tail(t.Context(), spec, scan.Request{}, kafka.TailOptions{})
	if !sqlerr.HasKind(err, sqlerr.KafkaTopicNotFound) {
		t.Errorf("got %v", err)
	}
	spec.Select.Missing = kafka.MissingAwaited
	x := follow(t, c, spec, scan.Value)
	b.Topic(t, "later", 1, nil)
	testkit.Produce(t, b.Client(t, kgo.DefaultProduceTopic("later")), value(0, "a"))
	if got := x.next(1); got[0][0] != "a" {
		t.Errorf("got %v", got)
	}
}

func TestATailEndsWhenItsTopicIsDeletedOrCreatedAgain(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "gone", "again"))
	c := cluster(t, b)
	gone, again := follow(t, c, latest("gone")), follow(t, c, latest("again"))
	if err := b.DeleteTopic("gone"); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteTopic("again"); err != nil {
		t.Fatal(err)
	}
	b.Topic(t, "again", 1, nil)
	if err := again.ends(); !sqlerr.HasKind(err, sqlerr.KafkaTopicRecreated) {
		t.Errorf("got %v", err)
	}
	if err := gone.ends(); !sqlerr.HasKind(err, sqlerr.KafkaTopicNotFound) || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("got %v", err)
	}
}

func TestPushedBoundsAreExactInATail(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(2, "t"))
	c := cluster(t, b)
	req := scan.Request{Fields: []scan.Field{scan.Partition, scan.Offset}, Limit: -1, Bounds: scan.Bounds{
		Partitions: []scan.Range{{From: 1, To: 2}}, Offsets: []scan.Range{{From: 1, To: 3}, {From: 5, To: 6}},
	}}
	spec := latest("t")
	spec.Start = kafka.Bound{Kind: kafka.AtEarliest}
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	for i := range 8 {
		testkit.Produce(t, cl, value(0, "x"), value(1, "x"))
		if i == 1 {
			x := followWith(t, c, spec, req)
			defer func() {
				want := []testkit.Row{{int64(1), int64(1)}, {int64(1), int64(2)}, {int64(1), int64(5)}}
				if d := diff(want, x.next(3)); d != "" {
					t.Error(d)
				}
				x.none()
			}()
		}
	}
}

func TestATailEndsWithItsBudget(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	numbered(t, b, "t", 10, 10)
	c := cluster(t, b)
	for name, set := range map[string]func(*kafka.ReadSpec){
		"time":    func(s *kafka.ReadSpec) { s.MaxTime = 100 * time.Millisecond },
		"records": func(s *kafka.ReadSpec) { s.MaxRecords = 7 },
	} {
		t.Run(name, func(t *testing.T) {
			spec := latest("t")
			spec.Start = kafka.Bound{Kind: kafka.AtEarliest}
			set(&spec)
			x := follow(t, c, spec, scan.Offset)
			if err := x.ends(); err != nil || !x.finished {
				t.Errorf("%v, finished %v", err, x.finished)
			}
			if n := len(x.rows); n != 10 && spec.MaxTime > 0 || n != 7 && spec.MaxRecords > 0 {
				t.Errorf("%d rows", n)
			}
			if w := x.src.Warnings(); len(w) != 1 || !strings.Contains(w[0], "the read ended after") {
				t.Errorf("warnings %q", w)
			}
		})
	}
}

func TestATailEndsWhenItsSinkSaysStop(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	numbered(t, b, "t", 10, 10)
	spec := latest("t")
	spec.Start = kafka.Bound{Kind: kafka.AtEarliest}
	src, err := cluster(t, b).Tail(t.Context(), spec, scan.Request{Limit: 5}, kafka.TailOptions{})
	if err != nil {
		t.Fatal(err)
	}
	col := testkit.Collector{OnPush: func(context.Context, int, *column.Batch) error { return scan.Stop }}
	if err := src.Run(t.Context(), col.Sink); err != nil {
		t.Error(err)
	}
}

// TestBoundsPassOverTheEndsOfTransactions has one answer hold an aborted transaction, then a committed one of the same producer, of which the predicate
// wants only the latter. A transaction that began before both holds them back until all come at once.
func TestBoundsPassOverTheEndsOfTransactions(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	c := cluster(t, b)
	x := followWith(t, c, latest("t"), scan.Request{Fields: []scan.Field{scan.Value}, Limit: -1, Bounds: scan.Bounds{Offsets: []scan.Range{{From: 3, To: 100}}}})
	first := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.TransactionalID("first"))
	second := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.TransactionalID("second"))
	in := func(tx *kgo.Client, v string) {
		t.Helper()
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		testkit.Produce(t, tx, value(0, v))
	}
	end := func(tx *kgo.Client, how kgo.TransactionEndTry) {
		t.Helper()
		if err := tx.EndTransaction(t.Context(), how); err != nil {
			t.Fatal(err)
		}
	}
	in(first, "0")
	in(second, "1")
	end(second, kgo.TryAbort)
	in(second, "3")
	end(second, kgo.TryCommit)
	end(first, kgo.TryCommit)
	if got := x.next(1); got[0][0] != "3" {
		t.Errorf("got %v", got)
	}
	x.none()
}

// passing is a Sink that notes how far it was told that partitions were read.
type passing struct {
	scan.Sink
	told chan int64
}

func (p passing) Passed(reached []scan.Reached) {
	for _, r := range reached {
		p.told <- r.Next
	}
}

func TestATailSaysHowFarItPassedOverMarkersOfTransactions(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	cl := b.Client(t, kgo.TransactionalID("x"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	testkit.Produce(t, cl, &kgo.Record{Topic: "t", Value: []byte("1")})
	if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	src, err := cluster(t, b).Tail(t.Context(), kafka.ReadSpec{Select: kafka.Selection{Topics: []string{"t"}}, Isolation: kafka.ReadCommitted}, scan.Request{Limit: -1}, kafka.TailOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sink := passing{new(discard), make(chan int64, 100)}
	ended := make(chan error, 1)
	go func() { ended <- src.Run(ctx, func(int) (scan.Sink, error) { return sink, nil }) }()
	for next := range sink.told {
		if next == 2 { // the record and the marker
			break
		}
	}
	cancel()
	<-ended
}
