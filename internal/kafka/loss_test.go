package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// numbered fills partition 0 of topic with n records in batches of per, a second apart.
func numbered(t testing.TB, b *testkit.Broker, topic string, n, per int) {
	t.Helper()
	cl := b.Client(t, kgo.DefaultProduceTopic(topic))
	for i := 0; i < n; i += per {
		var records []*kgo.Record
		for j := i; j < min(n, i+per); j++ {
			records = append(records, &kgo.Record{Value: fmt.Appendf(nil, "%d", j), Timestamp: time.UnixMilli(int64(j) * 1000)})
		}
		testkit.Produce(t, cl, records...)
	}
}

func offsets(topic string, byPartition ...int64) kafka.Bound {
	m := map[int32]int64{}
	for p, o := range byPartition {
		m[int32(p)] = o
	}
	return kafka.Bound{Kind: kafka.AtOffsets, Offsets: map[string]map[int32]int64{topic: m}}
}

func at(ms int64) kafka.Bound { return kafka.Bound{Kind: kafka.AtTimestamp, Timestamp: ms} }

// TestBounds goes through the ways to give start and end, within the log [20, 100) and outside.
func TestBounds(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	numbered(t, b, "t", 100, 10)
	if err := b.DeleteRecords("t", 0, 20); err != nil {
		t.Fatal(err)
	}
	c := cluster(t, b)
	latest, earliest := kafka.Bound{Kind: kafka.AtLatest}, kafka.Bound{Kind: kafka.AtEarliest}
	const loss, bad = "KAFKA_DATA_LOSS", "KAFKA_BAD_OFFSETS"
	strict := func(k kafka.Bound) kafka.Bound { k.NoMatchError = true; return k }
	for name, x := range map[string]struct {
		start, end kafka.Bound
		from, to   int64
		strict     string // the kind of error with FailOnDataLoss
		says       string
		lenient    string // the kind of error without
	}{
		"all":                          {start: earliest, end: latest, from: 20, to: 100},
		"from latest":                  {start: latest, end: latest},
		"to earliest":                  {start: earliest, end: earliest},
		"offsets":                      {start: offsets("t", 30), end: offsets("t", 40), from: 30, to: 40},
		"special offsets":              {start: offsets("t", -2), end: offsets("t", -1), from: 20, to: 100},
		"start equals end":             {start: offsets("t", 30), end: offsets("t", 30)},
		"start at the end of the log":  {start: offsets("t", 100), end: latest},
		"start before the log":         {start: offsets("t", 5), end: offsets("t", 40), from: 20, to: 40, strict: loss, says: "[5, 20)"},
		"start and end before the log": {start: offsets("t", 5), end: offsets("t", 10), strict: loss, says: "[5, 10)"},
		"end before the log":           {start: earliest, end: offsets("t", 10), strict: loss, says: "[0, 10)"},
		"end beyond the log":           {start: offsets("t", 90), end: offsets("t", 140), from: 90, to: 100, strict: loss, says: "[100, 140)"},
		"start beyond the log":         {start: offsets("t", 120), end: latest, strict: loss, says: "[100, 120)"},
		"start after end":              {start: offsets("t", 40), end: offsets("t", 30), strict: bad, says: "start at offset 40", lenient: bad},
		"start after end before log":   {start: offsets("t", 12), end: offsets("t", 10), strict: bad, says: "start at offset 12", lenient: bad},
		"not an offset":                {start: offsets("t", -3), end: latest, strict: bad, says: "-3", lenient: bad},
		"partition left out":           {start: kafka.Bound{Kind: kafka.AtOffsets, Offsets: map[string]map[int32]int64{"t": {}}}, end: latest, strict: bad, says: "t/0", lenient: bad},
		"partition too many":           {start: offsets("t", 30, 30), end: latest, strict: bad, says: "t/1", lenient: bad},
		"topic too many":               {start: earliest, end: kafka.Bound{Kind: kafka.AtTimestamps, Timestamps: map[string]map[int32]int64{"t": {0: 1}, "u": {7: 1}}}, strict: bad, says: "u/7", lenient: bad},
		"times":                        {start: at(30_000), end: at(40_000), from: 30, to: 40},
		"times between records":        {start: at(30_001), end: at(39_999), from: 31, to: 40},
		"old start":                    {start: at(-5), end: latest, from: 20, to: 100},
		"start time after all":         {start: at(1e9), end: latest},
		"start time after all, strict": {start: strict(at(1e9)), end: latest, strict: bad, says: "timestamp of 1000000000 or later", lenient: bad},
		"end time after all":           {start: offsets("t", 95), end: at(1e9), from: 95, to: 100},
		"time by partition":            {start: kafka.Bound{Kind: kafka.AtTimestamps, Timestamps: map[string]map[int32]int64{"t": {0: 97_000}}}, end: latest, from: 97, to: 100},
		"start offset after end time":  {start: offsets("t", 50), end: at(40_000), strict: bad, says: "start at offset 50", lenient: bad},
	} {
		for _, fail := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, failOnDataLoss %v", name, fail), func(t *testing.T) {
				spec := kafka.ReadSpec{Select: kafka.Selection{Topics: []string{"t"}}, Start: x.start, End: x.end, FailOnDataLoss: fail}
				src, err := c.Plan(t.Context(), spec, scan.Request{Fields: []scan.Field{scan.Offset}, Limit: -1})
				kind := x.lenient
				if fail {
					kind = x.strict
				}
				if kind != "" {
					if e, ok := sqlerr.As(err); !ok || e.Kind.Symbol != kind || !strings.Contains(e.Msg, x.says) {
						t.Fatalf("got %v, want %s with %q", err, kind, x.says)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got := testkit.Collect(t, src)
				var want []testkit.Row
				for o := x.from; o < x.to; o++ {
					want = append(want, testkit.Row{o})
				}
				if d := diff(want, got); d != "" {
					t.Error(d)
				}
				if w := src.Warnings(); (x.strict == loss) != (len(w) == 1) || len(w) == 1 && !strings.Contains(w[0], x.says) {
					t.Errorf("warnings %q, want %q", w, x.says)
				}
			})
		}
	}
}

func TestPushedBoundsAreExact(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	b.Topic(t, "u", 3, nil)
	numbered(t, b, "t", 100, 10)
	numbered(t, b, "u", 10, 10)
	c := cluster(t, b)
	for name, x := range map[string]struct {
		bounds scan.Bounds
		splits string
		rows   int
	}{
		"none":         {scan.Bounds{}, "[t/0 [0, 100) u/0 [0, 10)]", 110},
		"topic":        {scan.Bounds{Topics: []string{"u"}}, "[u/0 [0, 10)]", 10},
		"no topic":     {scan.Bounds{Topics: []string{}}, "[]", 0},
		"partition":    {scan.Bounds{Partitions: []scan.Range{{From: 1, To: 9}}}, "[]", 0},
		"offsets":      {scan.Bounds{Offsets: []scan.Range{{From: 5, To: 7}, {From: 90, To: 1000}}}, "[t/0 [5, 7) t/0 [90, 100) u/0 [5, 7)]", 14},
		"time":         {scan.Bounds{HasMinTimestamp: true, MinTimestamp: 42_500}, "[t/0 [43, 100)]", 57},
		"time, at all": {scan.Bounds{HasMinTimestamp: true, MinTimestamp: -42_500}, "[t/0 [0, 100) u/0 [0, 10)]", 110},
		"time, after":  {scan.Bounds{HasMinTimestamp: true, MinTimestamp: 1e10}, "[]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := c.Plan(t.Context(), all(kafka.ReadCommitted, "t", "u"), scan.Request{Limit: -1, Lanes: 1, Bounds: x.bounds})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(src.Splits()); got != x.splits {
				t.Errorf("splits %s, want %s", got, x.splits)
			}
			if got := len(testkit.Collect(t, src)); got != x.rows {
				t.Errorf("%d rows, want %d", got, x.rows)
			}
		})
	}
}

func TestOffsetsHeldBackByOpenTransactionsAreWarnedOf(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	testkit.Produce(t, cl, &kgo.Record{Value: []byte("before")})
	tx := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.TransactionalID("x"))
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	testkit.Produce(t, tx, &kgo.Record{Value: []byte("open")})
	testkit.Produce(t, cl, &kgo.Record{Value: []byte("after")})
	c := cluster(t, b)
	src := plan(t, c, all(kafka.ReadCommitted, "t"), scan.Value)
	if got := testkit.Collect(t, src); len(got) != 1 || got[0][0] != "before" {
		t.Errorf("got %v", got)
	}
	if w := src.Warnings(); len(w) != 1 || !strings.Contains(w[0], "2 offsets at the end of t/0 are held back by open transactions") {
		t.Errorf("warnings %q", w)
	}
	if got := testkit.Collect(t, plan(t, c, all(kafka.ReadUncommitted, "t"), scan.Value)); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

// duringScan runs a scan of topic t with tiny fetches and calls between once, after the first batch.
func duringScan(t *testing.T, c *kafka.Cluster, spec kafka.ReadSpec, between func()) ([]testkit.Row, scan.Source, error) {
	t.Helper()
	src, err := c.Plan(t.Context(), spec, scan.Request{Fields: []scan.Field{scan.Offset}, Limit: -1, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	col := testkit.Collector{OnPush: func(context.Context, int, *column.Batch) error { once.Do(between); return nil }}
	err = src.Run(t.Context(), col.Sink)
	return col.All(), src, err
}

func tiny(cfg *kafka.Config) { cfg.PartitionMaxBytes = 1 }

func TestRetentionDuringAScanIsReported(t *testing.T) {
	for _, fail := range []bool{true, false} {
		t.Run(fmt.Sprintf("failOnDataLoss %v", fail), func(t *testing.T) {
			b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
			numbered(t, b, "t", 40_000, 10_000)
			numbered(t, b, "t", 100, 10)
			c := cluster(t, b, tiny)
			spec := all(kafka.ReadCommitted, "t")
			spec.FailOnDataLoss = fail
			rows, src, err := duringScan(t, c, spec, func() {
				if err := b.DeleteRecords("t", 0, 40_050); err != nil {
					t.Error(err)
				}
			})
			if fail {
				if !sqlerr.HasKind(err, sqlerr.KafkaDataLoss) || !strings.Contains(err.Error(), "40050") {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if w := src.Warnings(); len(w) != 1 || !strings.Contains(w[0], "40050)") {
				t.Errorf("warnings %q", w)
			}
			if last := rows[len(rows)-1][0]; last != int64(40_099) {
				t.Errorf("the last offset is %v", last)
			}
		})
	}
}

func TestRetentionBeforeTheFirstFetchOfEarliestIsAWarning(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	numbered(t, b, "t", 100, 10)
	src := plan(t, cluster(t, b), all(kafka.ReadCommitted, "t"), scan.Offset)
	if err := b.DeleteRecords("t", 0, 30); err != nil {
		t.Fatal(err)
	}
	if got := testkit.Collect(t, src); len(got) != 70 {
		t.Errorf("%d rows", len(got))
	}
	if w := src.Warnings(); len(w) != 1 || !strings.Contains(w[0], "retention removed 30 offsets") {
		t.Errorf("warnings %q", w)
	}
}

func TestRecreatedAndDeletedTopicsAreErrors(t *testing.T) {
	for _, again := range []bool{true, false} {
		b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
		numbered(t, b, "t", 100, 10)
		src := plan(t, cluster(t, b), all(kafka.ReadCommitted, "t"), scan.Offset)
		if err := b.DeleteTopic("t"); err != nil {
			t.Fatal(err)
		}
		want := sqlerr.KafkaTopicNotFound
		if again {
			want = sqlerr.KafkaTopicRecreated
			b.Topic(t, "t", 1, nil)
			numbered(t, b, "t", 100, 10)
		}
		var col testkit.Collector
		if err := src.Run(t.Context(), col.Sink); !sqlerr.HasKind(err, want) || !strings.Contains(err.Error(), "'t'") {
			t.Errorf("got %v, want %s", err, want.Symbol)
		}
	}
}

func TestPassingTroubleIsOvercome(t *testing.T) {
	for _, e := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.LeaderNotAvailable, kerr.KafkaStorageError, kerr.RequestTimedOut,
		kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.OffsetOutOfRange, kerr.OffsetNotAvailable,
	} {
		t.Run(e.Message, func(t *testing.T) {
			t.Parallel()
			b := testkit.StartBroker(t, kfake.SeedTopics(2, "t"))
			numbered(t, b, "t", 100, 10)
			c := cluster(t, b, tiny)
			if e != kerr.UnknownTopicID && e != kerr.OffsetOutOfRange {
				b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "t", Err: e, Count: 2})
			}
			src := plan(t, c, all(kafka.ReadCommitted, "t"), scan.Offset)
			b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Err: e, Count: 3})
			if got := testkit.Collect(t, src); len(got) != 100 {
				t.Errorf("%d rows", len(got))
			}
			if s := src.Stats(); s.Retries < 3 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestLastingTroubleEndsTheScan(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	numbered(t, b, "t", 100, 10)
	c := cluster(t, b, func(cfg *kafka.Config) { cfg.FetchRetryTimeout = 200 * time.Millisecond })
	for e, want := range map[*kerr.Error]*sqlerr.Kind{
		kerr.NotLeaderForPartition: sqlerr.KafkaFetchFailed, kerr.TopicAuthorizationFailed: sqlerr.KafkaNotAuthorized,
		kerr.CorruptMessage: sqlerr.KafkaCorrupt, kerr.UnsupportedCompressionType: sqlerr.KafkaFetchFailed,
	} {
		src := plan(t, c, all(kafka.ReadCommitted, "t"), scan.Offset)
		f := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Err: e, Count: -1})
		var col testkit.Collector
		if err := src.Run(t.Context(), col.Sink); !sqlerr.HasKind(err, want) || !strings.Contains(err.Error(), "topic 't'") {
			t.Errorf("%s: got %v, want %s", e.Message, err, want.Symbol)
		}
		f.Remove()
	}
}

// TestCancelReachesAWaitingFetch also proves, with goleak in TestMain, that nothing is left behind.
func TestCancelReachesAWaitingFetch(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(2, "t"))
	numbered(t, b, "t", 100, 10)
	src := plan(t, cluster(t, b), all(kafka.ReadCommitted, "t"), scan.Offset)
	asked, _ := b.HoldFetches(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("killed")
	done := make(chan error)
	go func() {
		var col testkit.Collector
		done <- src.Run(ctx, col.Sink)
	}()
	<-asked
	began := time.Now()
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(began); d > 100*time.Millisecond {
		t.Errorf("it took %v", d)
	}
}

func TestASinkEndsTheScan(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(2, "t"))
	numbered(t, b, "t", 100_000, 5000)
	c := cluster(t, b, tiny)
	fault := errors.New("disk full")
	for _, e := range []error{scan.Stop, fault} {
		src := plan(t, c, all(kafka.ReadCommitted, "t"), scan.Offset)
		col := testkit.Collector{OnPush: func(context.Context, int, *column.Batch) error { return e }}
		err := src.Run(t.Context(), col.Sink)
		if e == scan.Stop && err != nil || e == fault && err != fault {
			t.Errorf("%v gives %v", e, err)
		}
		if s := src.Stats(); s.OffsetsDone > 50_000 {
			t.Errorf("%+v", s)
		}
	}
}

// TestIdleLanesSteal gives four lanes one partition whose first half is read slowly.
func TestIdleLanesSteal(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	const n = 40_000
	numbered(t, b, "t", n, 100)
	c := cluster(t, b, func(cfg *kafka.Config) { cfg.PartitionMaxBytes = 2000 })
	src, err := c.Plan(t.Context(), all(kafka.ReadCommitted, "t"), scan.Request{Fields: []scan.Field{scan.Partition, scan.Offset}, Limit: -1, Lanes: 4})
	if err != nil {
		t.Fatal(err)
	}
	planned := len(src.Splits())
	// The lane that gets offset 0 waits until the others have stolen from it.
	col := testkit.Collector{OnPush: func(ctx context.Context, _ int, b *column.Batch) error {
		if b.Cols[1].Int[0] > 0 {
			return nil
		}
		for src.Stats().Splits == int64(planned) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
		return nil
	}}
	if err := src.Run(t.Context(), col.Sink); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, r := range col.All() {
		got = append(got, r[1].(int64))
	}
	slices.Sort(got)
	for i, o := range got {
		if int64(i) != o {
			t.Fatalf("offset %d at place %d", o, i)
		}
	}
	if s := src.Stats(); len(got) != n || s.Splits <= int64(planned) || s.SplitsDone != s.Splits || s.OffsetsDone != n {
		t.Errorf("%d rows, %d splits planned, %+v", len(got), planned, s)
	}
}

func TestSmallLimitsFetchLittle(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(4, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(10_000))
	var records []*kgo.Record
	for i := range 20_000 {
		records = append(records, &kgo.Record{Partition: int32(i % 4), Value: []byte(strings.Repeat("x", 200))})
	}
	testkit.Produce(t, cl, records...)
	src, err := cluster(t, b).Plan(t.Context(), all(kafka.ReadCommitted, "t"), scan.Request{Fields: []scan.Field{scan.Value}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	col := testkit.Collector{OnPush: func(context.Context, int, *column.Batch) error { return scan.Stop }}
	if err := src.Run(t.Context(), col.Sink); err != nil {
		t.Fatal(err)
	}
	if s := src.Stats(); s.BytesFetched > 80<<10 || s.Requests != 1 {
		t.Errorf("%+v", s)
	}
}

func TestManyPartitionsCostFewRequests(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1000, "t"))
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	var records []*kgo.Record
	for i := range 10_000 {
		records = append(records, &kgo.Record{Partition: int32(i % 1000), Value: fmt.Appendf(nil, "%d", i)})
	}
	testkit.Produce(t, cl, records...)
	src := plan(t, cluster(t, b), all(kafka.ReadCommitted, "t"), scan.Value, scan.Partition)
	if got := testkit.Collect(t, src); len(got) != 10_000 {
		t.Errorf("%d rows", len(got))
	}
	if s := src.Stats(); s.Requests > 20 {
		t.Errorf("%+v", s)
	}
}
