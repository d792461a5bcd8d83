package kafka_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/testkit"
)

// arrivals notes when rows come.
type arrivals chan time.Time

func (a arrivals) Push(_ context.Context, b *column.Batch) error {
	now := time.Now()
	for range b.N {
		a <- now
	}
	return nil
}

func (a arrivals) Finish(context.Context) error { return nil }

// lags produces n records one by one and gives, sorted, how long after its acknowledgement each was delivered.
func lags(tb testing.TB, n int) []time.Duration {
	b := testkit.StartBroker(tb, kfake.SeedTopics(4, "t"))
	src, err := cluster(tb, b).Tail(tb.Context(), latest("t"), scan.Request{Fields: []scan.Field{scan.Value}, Limit: -1}, kafka.TailOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	came := make(arrivals, n)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = src.Run(ctx, func(int) (scan.Sink, error) { return came, nil })
	}()
	defer func() { cancel(); <-done }()
	cl := b.Client(tb, kgo.DefaultProduceTopic("t"))
	out := make([]time.Duration, n)
	for i := range out {
		testkit.Produce(tb, cl, value(int32(i%4), "x"))
		acknowledged := time.Now()
		select {
		case at := <-came:
			out[i] = max(at.Sub(acknowledged), 0)
		case <-time.After(testkit.Patience):
			tb.Fatalf("record %d does not come", i)
		}
	}
	slices.Sort(out)
	return out
}

// TestRowsComeWithinMilliseconds is the bar of 50 ms at the 99th percentile, from the acknowledgement of a record to its delivery, on loopback. The
// first records come while the tail is still joining.
func TestRowsComeWithinMilliseconds(t *testing.T) {
	const n = 1000
	l := lags(t, n)
	t.Logf("p50 %v, p99 %v, most %v", l[n/2], l[n*99/100], l[n-1])
	if p99 := l[n*99/100]; p99 > 50*time.Millisecond {
		t.Errorf("p99 is %v", p99)
	}
}

func BenchmarkTailLatency(b *testing.B) {
	l := lags(b, max(b.N, 100))
	b.ReportMetric(float64(l[len(l)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(l[len(l)*99/100].Microseconds()), "p99-µs")
}

// TestTailsAreCheap is the bar of 1 MB a tail, with all columns and while records come.
func TestTailsAreCheap(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(4, "t"))
	c := cluster(t, b)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	produce := func() {
		for i, r := range testkit.JSONRecords(2000, 1) {
			testkit.Produce(t, cl, &kgo.Record{Partition: int32(i % 4), Key: r.Key, Value: r.Value})
		}
	}
	produce()
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // what the first one made free
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	before := heap()
	const tails = 100
	sinks := make([]*checkedTail, tails)
	for i := range sinks {
		src, err := c.Tail(t.Context(), latest("t"), scan.Request{Fields: append([]scan.Field{scan.Partition, scan.Offset}, allFields...), Limit: -1}, kafka.TailOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sinks[i] = &checkedTail{t: t, dense: true, last: map[int64]int64{}, seen: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = src.Run(ctx, func(int) (scan.Sink, error) { return sinks[i], nil })
		}()
		defer func() { cancel(); <-done }()
	}
	produce()
	for _, x := range sinks {
		for p := range int64(4) {
			if err := x.reaches(p, b.PartitionInfo("t", int32(p)).HighWatermark, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	each := (heap() - before) / tails
	t.Logf("%d KiB a tail", each>>10)
	if each > 1<<20 {
		t.Errorf("%d bytes a tail", each)
	}
}
