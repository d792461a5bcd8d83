package kafka_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
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

// checkedTail checks the order of what a tail delivers: within each partition offsets ascend, and without transactions none is left out.
type checkedTail struct {
	t     *testing.T
	slow  func()
	dense bool

	mu   sync.Mutex
	last map[int64]int64
	rows int
	seen chan struct{}
}

func (x *checkedTail) Push(_ context.Context, b *column.Batch) error {
	if x.slow != nil {
		x.slow()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range b.N {
		p, o := b.Cols[0].Int[i], b.Cols[1].Int[i]
		before, ok := x.last[p]
		if ok && (o <= before || x.dense && o != before+1) {
			return fmt.Errorf("offset %d of partition %d after %d", o, p, before)
		}
		x.last[p] = o
	}
	x.rows += b.N
	select {
	case x.seen <- struct{}{}:
	default:
	}
	return nil
}

func (x *checkedTail) Finish(context.Context) error { return nil }

// position is the offset after the last one of a partition.
func (x *checkedTail) position(p int64) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if last, ok := x.last[p]; ok {
		return last + 1
	}
	return 0
}

// reaches waits until the partition's last offset was delivered.
func (x *checkedTail) reaches(p, end int64, done <-chan struct{}) error {
	timeout := time.After(testkit.Patience)
	for x.position(p) < end {
		select {
		case <-x.seen:
		case <-done:
			return fmt.Errorf("the tail ended at offset %d of partition %d, before %d", x.position(p), p, end)
		case <-timeout:
			return fmt.Errorf("partition %d is at offset %d, not %d", p, x.position(p), end)
		}
	}
	return nil
}

// sees waits for n rows more.
func (x *checkedTail) sees(n int, done <-chan struct{}) error {
	count := func() int {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.rows
	}
	timeout := time.After(testkit.Patience)
	for want := count() + n; count() < want; {
		select {
		case <-x.seen:
		case <-done:
			return fmt.Errorf("the tail ended after %d rows, before %d", count(), want)
		case <-timeout:
			return fmt.Errorf("%d rows came, not %d", count(), want)
		}
	}
	return nil
}

// TestTailsNeitherLoseNorRepeat has readers come and go, some fast and some slow, from ends and from the beginning, while producers write, leaders move
// and the topic grows. Every reader sees the offsets of each partition without a gap; those that stay see all of them.
func TestTailsNeitherLoseNorRepeat(t *testing.T) {
	first := seed(t)
	t.Logf("MILLRACE_TEST_SEED=%d", first)
	for i := range max(2, histories(t)/5) {
		s := first + uint64(i)
		t.Run(fmt.Sprint(s), func(t *testing.T) { randomTails(t, s) })
	}
}

func randomTails(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	b := testkit.StartBroker(t, kfake.NumBrokers(3), kfake.SeedTopics(3, "t"))
	c := cluster(t, b)
	partitions := atomic.Int32{}
	partitions.Store(3)
	producing, stopProducing := context.WithCancel(context.Background())
	var producers sync.WaitGroup
	for p := range 2 {
		rnd := rand.New(rand.NewPCG(seed, uint64(100+p)))
		cl := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(testkit.Codecs[rnd.IntN(len(testkit.Codecs))]))
		producers.Go(func() {
			for producing.Err() == nil {
				var records []*kgo.Record
				partition := rnd.Int32N(3)
				for range 1 + rnd.IntN(20) {
					records = append(records, &kgo.Record{Partition: partition, Value: make([]byte, rnd.IntN(300))})
				}
				if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	type reader struct {
		*checkedTail
		cancel context.CancelCauseFunc
		done   chan struct{}
		err    error
	}
	var all []*reader
	begin := func() *reader {
		x := &reader{checkedTail: &checkedTail{t: t, dense: true, last: map[int64]int64{}, seen: make(chan struct{}, 1)}, done: make(chan struct{})}
		spec := latest("t")
		spec.Isolation = kafka.Isolation(rnd.IntN(2))
		if rnd.IntN(3) == 0 {
			spec.Start = kafka.Bound{Kind: kafka.AtEarliest}
		}
		if rnd.IntN(3) == 0 {
			wait := time.Duration(rnd.IntN(3000)) * time.Microsecond
			x.slow = func() { <-time.After(wait) } // a reader that takes its time
		}
		src, err := c.Tail(t.Context(), spec, scan.Request{Fields: []scan.Field{scan.Partition, scan.Offset, scan.Value}, Limit: -1}, kafka.TailOptions{DiscoveryInterval: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		x.cancel = cancel
		go func() {
			defer close(x.done)
			x.err = src.Run(ctx, func(int) (scan.Sink, error) { return x, nil })
		}()
		all = append(all, x)
		return x
	}
	end := func(x *reader) {
		x.cancel(errEnough)
		<-x.done
		if x.err != errEnough { //nolint:errorlint // it comes back as it was given
			t.Errorf("seed %d: %v", seed, x.err)
		}
	}
	stay := []*reader{begin()}
	for range 25 {
		switch rnd.IntN(6) {
		case 0, 1:
			begin()
		case 2:
			if len(all) > len(stay) {
				i := rnd.IntN(len(all))
				if !slices.Contains(stay, all[i]) {
					end(all[i])
					all = slices.Delete(all, i, i+1)
				}
			}
		case 3, 4:
			if err := b.MoveTopicPartition("t", rnd.Int32N(3), rnd.Int32N(3)); err != nil {
				t.Error(err)
			}
		case 5:
			growTopic(t, b, "t", partitions.Add(1))
		}
		// The next step comes when the first reader has seen so many records more: the histories differ by it.
		if err := stay[0].sees(rnd.IntN(1000), stay[0].done); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	stay = all
	stopProducing()
	producers.Wait()
	// The partitions that came late have records, too: they must be read from the first.
	late := b.Client(t, kgo.DefaultProduceTopic("t"))
	for p := int32(3); p < partitions.Load(); p++ {
		testkit.Produce(t, late, value(p, "late"))
	}
	for _, x := range stay {
		for _, info := range b.PartitionInfos("t") {
			if n := info.HighWatermark; n > 0 {
				if err := x.reaches(int64(info.Partition), n, x.done); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		}
		end(x)
	}
}

// TestTailsOverTransactionsAgreeWithAScan compares what tails deliver, while transactions are committed and aborted, with a bounded read afterwards.
func TestTailsOverTransactionsAgreeWithAScan(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(2, "t"))
	c := cluster(t, b)
	x := follow(t, c, latest("t"), scan.Partition, scan.Offset, scan.Value)
	rnd := rand.New(rand.NewPCG(seed(t), 4))
	var txs []*kgo.Client
	for i := range 3 {
		txs = append(txs, b.Client(t, kgo.DefaultProduceTopic("t"), kgo.TransactionalID(fmt.Sprintf("tx%d", i))))
	}
	late := []*tailing{}
	for i := range 60 {
		tx := txs[rnd.IntN(3)]
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for range 1 + rnd.IntN(3) {
			testkit.Produce(t, tx, value(rnd.Int32N(2), fmt.Sprint(i)))
		}
		if err := tx.EndTransaction(t.Context(), kgo.TransactionEndTry(rnd.IntN(2) == 0)); err != nil {
			t.Fatal(err)
		}
		if i%20 == 10 {
			spec := latest("t")
			spec.Start = kafka.Bound{Kind: kafka.AtEarliest}
			late = append(late, follow(t, c, spec, scan.Partition, scan.Offset, scan.Value))
		}
	}
	want := testkit.Collect(t, plan(t, c, all(kafka.ReadCommitted, "t"), scan.Partition, scan.Offset, scan.Value))
	order := func(a, b testkit.Row) int {
		if d := a[0].(int64) - b[0].(int64); d != 0 {
			return int(d)
		}
		return int(a[1].(int64) - b[1].(int64))
	}
	slices.SortFunc(want, order)
	for i, y := range append(late, x) {
		got := y.next(len(want))
		slices.SortFunc(got, order)
		if d := diff(want, got); d != "" {
			t.Errorf("tail %d (-want +got):\n%s", i, d)
		}
		y.none()
	}
}

// TestASlowTailHoldsNobodyBack has one reader that does not read at all while more is appended than it may hold.
func TestASlowTailHoldsNobodyBack(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	c := cluster(t, b)
	block := make(chan struct{})
	slow := &checkedTail{t: t, dense: true, last: map[int64]int64{}, seen: make(chan struct{}, 1), slow: func() { <-block }}
	src, err := c.Tail(t.Context(), latest("t"), scan.Request{Fields: []scan.Field{scan.Partition, scan.Offset, scan.Value}, Limit: -1}, kafka.TailOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = src.Run(ctx, func(int) (scan.Sink, error) { return slow, nil })
	}()
	defer func() { cancel(); <-done }()
	fast := follow(t, c, latest("t"), scan.Offset)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	const n = 400
	for range n {
		testkit.Produce(t, cl, &kgo.Record{Value: make([]byte, 10_000)})
		fast.next(1)
	}
	close(block)
	if err := slow.reaches(0, n, done); err != nil {
		t.Error(err)
	}
}

// TestATailSurvivesABroker takes a broker away for a while.
func TestATailSurvivesABroker(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(2, "t"))
	for p := range int32(2) {
		if err := b.MoveTopicPartition("t", p, p); err != nil {
			t.Fatal(err)
		}
	}
	c := cluster(t, b)
	x := follow(t, c, latest("t"), scan.Value)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	testkit.Produce(t, cl, value(0, "a"), value(1, "b"))
	x.next(2)
	if err := b.RemoveNode(1); err != nil {
		t.Fatal(err)
	}
	other := b.Client(t, kgo.DefaultProduceTopic("t"))
	testkit.Produce(t, other, value(0, "c"), value(1, "d"))
	x.next(2)
	if _, _, err := b.AddNode(1, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.MoveTopicPartition("t", 0, 1); err != nil {
		t.Fatal(err)
	}
	again := b.Client(t, kgo.DefaultProduceTopic("t"))
	testkit.Produce(t, again, value(0, "e"), value(1, "f"))
	x.next(2)
	x.none()
}

// TestATailFailsWhenABrokerStaysAway has every fetch fail.
func TestATailFailsWhenABrokerStaysAway(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	c := cluster(t, b, func(cfg *kafka.Config) { cfg.FetchRetryTimeout = 300 * time.Millisecond })
	x := follow(t, c, latest("t"), scan.Value)
	b.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		return nil, fmt.Errorf("cut"), true
	})
	if err := x.ends(); !sqlerr.HasKind(err, sqlerr.KafkaFetchFailed) {
		t.Errorf("got %v", err)
	}
}

func TestRetentionPassesATail(t *testing.T) {
	for _, fail := range []bool{true, false} {
		t.Run(fmt.Sprintf("failOnDataLoss %v", fail), func(t *testing.T) {
			b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
			numbered(t, b, "t", 100, 10)
			c := cluster(t, b)
			spec := latest("t")
			spec.Start, spec.FailOnDataLoss = offsets("t", 50), fail
			src, err := c.Tail(t.Context(), spec, scan.Request{Fields: []scan.Field{scan.Offset}, Limit: -1}, kafka.TailOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.DeleteRecords("t", 0, 80); err != nil {
				t.Fatal(err)
			}
			x := start(t, src)
			if fail {
				if err := x.ends(); !sqlerr.HasKind(err, sqlerr.KafkaDataLoss) {
					t.Errorf("got %v", err)
				}
				return
			}
			if got := x.next(20); got[0][0] != int64(80) {
				t.Errorf("got %v", got[0])
			}
			if w := src.Warnings(); len(w) != 1 {
				t.Errorf("warnings %q", w)
			}
		})
	}
}

func TestATailEndsWithItsPool(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	pool := kafka.NewPool(kafka.PoolOptions{})
	defer pool.Close()
	c, err := pool.Cluster(t.Context(), kafka.Config{Brokers: b.Addrs})
	if err != nil {
		t.Fatal(err)
	}
	x := follow(t, c, latest("t"), scan.Value)
	testkit.Produce(t, b.Client(t, kgo.DefaultProduceTopic("t")), value(0, "a"))
	x.next(1)
	pool.Close()
	if err := x.ends(); !sqlerr.HasKind(err, sqlerr.ServerGone) {
		t.Errorf("got %v", err)
	}
}

// TestATruncatedLogIsLoss has the broker say that the log ends before what was read, as after an unclean election.
func TestATruncatedLogIsLoss(t *testing.T) {
	for _, fail := range []bool{true, false} {
		t.Run(fmt.Sprintf("failOnDataLoss %v", fail), func(t *testing.T) {
			b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
			numbered(t, b, "t", 100, 10)
			c := cluster(t, b, func(cfg *kafka.Config) { cfg.FetchRetryTimeout = 200 * time.Millisecond })
			spec := latest("t")
			spec.FailOnDataLoss = fail
			x := follow(t, c, spec, scan.Offset)
			testkit.Produce(t, b.Client(t, kgo.DefaultProduceTopic("t")), value(0, "x"))
			x.next(1)
			// From here on the log ends at offset 60, and a fetch at 101 is out of range, once.
			b.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				b.KeepControl()
				req := kreq.(*kmsg.ListOffsetsRequest)
				resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
				for _, rt := range req.Topics {
					st := kmsg.NewListOffsetsResponseTopic()
					st.Topic = rt.Topic
					for _, rp := range rt.Partitions {
						sp := kmsg.NewListOffsetsResponseTopicPartition()
						sp.Partition = rp.Partition
						if rp.Timestamp == -1 {
							sp.Offset = 60
						}
						st.Partitions = append(st.Partitions, sp)
					}
					resp.Topics = append(resp.Topics, st)
				}
				return resp, nil, true
			})
			b.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				req := kreq.(*kmsg.FetchRequest)
				resp := req.ResponseKind().(*kmsg.FetchResponse)
				st := kmsg.NewFetchResponseTopic()
				st.Topic, st.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
				sp := kmsg.NewFetchResponseTopicPartition()
				sp.ErrorCode = kerr.OffsetOutOfRange.Code
				st.Partitions = append(st.Partitions, sp)
				resp.Topics = append(resp.Topics, st)
				return resp, nil, true
			})
			if fail {
				if err := x.ends(); !sqlerr.HasKind(err, sqlerr.KafkaDataLoss) {
					t.Errorf("got %v", err)
				}
				return
			}
			if got := x.next(1); got[0][0] != int64(60) {
				t.Errorf("got %v", got)
			}
			if w := x.src.Warnings(); len(w) != 1 {
				t.Errorf("warnings %q", w)
			}
		})
	}
}
