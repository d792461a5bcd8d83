package kafka_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/testkit"
)

// histories is how many random histories the tests compare: 10, 50 under CI=true, or MILLRACE_TEST_HISTORIES.
func histories(t *testing.T) int {
	if s := os.Getenv("MILLRACE_TEST_HISTORIES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if os.Getenv("CI") == "true" {
		return 50
	}
	return 10
}

// seed is where the random histories start; MILLRACE_TEST_SEED repeats a run.
func seed(t *testing.T) uint64 {
	s := os.Getenv("MILLRACE_TEST_SEED")
	if s == "" {
		return rand.Uint64N(1 << 40)
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func lengthOrNil(b []byte) any {
	if b == nil {
		return nil
	}
	return int64(len(b))
}

func textOrNil(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

// expected is the row of allFields for r.
func expected(r *kgo.Record) testkit.Row {
	return testkit.Row{
		textOrNil(r.Key), textOrNil(r.Value), r.Topic, int64(r.Partition), r.Offset, r.Timestamp.UnixMilli() * 1000, int64(r.Attrs.TimestampType()),
		testkit.HeadersJSON(r), lengthOrNil(r.Key), lengthOrNil(r.Value),
		lastHeader(r, "__key_schema_id"), lastHeader(r, "__value_schema_id"),
	}
}

// lastHeader is the value of the last header of a name that has one.
func lastHeader(r *kgo.Record, name string) any {
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == name && h.Value != nil {
			return string(h.Value)
		}
	}
	return nil
}

func byOffset(a, b testkit.Row) int {
	return cmp.Or(cmp.Compare(a[2].(string), b[2].(string)), cmp.Compare(a[3].(int64), b[3].(int64)), cmp.Compare(a[4].(int64), b[4].(int64)))
}

// TestHistories is promise 1: whatever a log holds, a bounded read ends and returns exactly the records of its range. Leaders move while it reads.
func TestHistories(t *testing.T) {
	first := seed(t)
	t.Logf("MILLRACE_TEST_SEED=%d", first)
	for i := range histories(t) {
		s := first + uint64(i)
		t.Run(strconv.FormatUint(s, 10), func(t *testing.T) {
			compareHistory(t, s, kfake.NumBrokers(3))
		})
	}
}

func TestHistoriesOnOldBrokers(t *testing.T) {
	first := seed(t)
	t.Logf("MILLRACE_TEST_SEED=%d", first)
	for name, v := range map[string]*kversion.Versions{"2.8, topic ids but none in fetches": kversion.V2_8_0(), "2.7, no topic ids": kversion.V2_7_0()} {
		t.Run(name, func(t *testing.T) {
			for i := range max(1, histories(t)/5) {
				compareHistory(t, first+uint64(i), kfake.NumBrokers(3), kfake.MaxVersions(v))
			}
		})
	}
}

func compareHistory(t *testing.T, seed uint64, opts ...kfake.Opt) {
	b := testkit.StartBroker(t, opts...)
	h := testkit.NewHistory(t, b, seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	for _, iso := range []kafka.Isolation{kafka.ReadUncommitted, kafka.ReadCommitted} {
		var want []testkit.Row
		for _, r := range h.Read(t, int8(iso)) {
			want = append(want, expected(r))
		}
		for _, ranges := range []int{1, 2, 5, 17} {
			c := cluster(t, b, func(cfg *kafka.Config) {
				if rnd.IntN(3) > 0 {
					cfg.PartitionMaxBytes = int32(1 + rnd.IntN(8<<10))
				}
			})
			spec := all(iso, h.Topic)
			spec.MinPartitions = ranges * int(h.Partitions)
			from, to := bounds(b, h, &spec, rnd)
			var inRange []testkit.Row
			for _, r := range want {
				if p, o := r[3].(int64), r[4].(int64); o >= from[p] && o < to[p] {
					inRange = append(inRange, r)
				}
			}
			req := scan.Request{Fields: allFields, Limit: -1, Lanes: 1 + rnd.IntN(4), Ordered: rnd.IntN(4) == 0}
			moves := rand.New(rand.NewPCG(seed, uint64(ranges)))
			rows := run(t, c, spec, req, func() { h.ShuffleLeaders(t, moves) })
			slices.SortFunc(rows, byOffset)
			if d := diff(inRange, rows); d != "" {
				t.Fatalf("seed %d, isolation %d, %d ranges, request %+v, offsets %v to %v, %d rows, want %d (-want +got):\n%s", seed, iso, ranges, req, from, to, len(rows), len(inRange), d)
			}
			for _, fields := range [][]scan.Field{nil, {scan.Partition, scan.TimestampType}, {scan.ValueLength}} {
				req := scan.Request{Fields: fields, Limit: -1, Lanes: 1 + rnd.IntN(4)}
				if n := count(t, c, spec, req); n != len(inRange) {
					t.Fatalf("seed %d, isolation %d, %d ranges: %d rows with columns %v, want %d", seed, iso, ranges, n, fields, len(inRange))
				}
			}
		}
	}
}

// bounds leaves spec as it is, or gives it random offsets within the log. It returns what it then reads, by partition.
func bounds(b *testkit.Broker, h *testkit.History, spec *kafka.ReadSpec, rnd *rand.Rand) (from, to map[int64]int64) {
	from, to = map[int64]int64{}, map[int64]int64{}
	starts, ends := map[int32]int64{}, map[int32]int64{}
	for _, p := range b.PartitionInfos(h.Topic) {
		end := p.HighWatermark
		if spec.Isolation == kafka.ReadCommitted {
			end = p.LastStableOffset
		}
		end = max(end, p.LogStartOffset)
		x := p.LogStartOffset + rnd.Int64N(end-p.LogStartOffset+1)
		y := x + rnd.Int64N(end-x+1)
		starts[p.Partition], ends[p.Partition] = x, y
		from[int64(p.Partition)], to[int64(p.Partition)] = p.LogStartOffset, end
	}
	if rnd.IntN(2) == 0 {
		spec.Start = kafka.Bound{Kind: kafka.AtOffsets, Offsets: map[string]map[int32]int64{h.Topic: starts}}
		spec.End = kafka.Bound{Kind: kafka.AtOffsets, Offsets: map[string]map[int32]int64{h.Topic: ends}}
		for p := range starts {
			from[int64(p)], to[int64(p)] = starts[p], ends[p]
		}
	}
	return from, to
}

// run collects a scan's rows and checks what every scan must keep to. between is called between batches.
func run(t *testing.T, c *kafka.Cluster, spec kafka.ReadSpec, req scan.Request, between func()) []testkit.Row {
	t.Helper()
	src, err := c.Plan(t.Context(), spec, req)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var mu sync.Mutex // lanes push at the same time
	col := testkit.Collector{OnPush: func(context.Context, int, *column.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		between()
		return nil
	}}
	if err := src.Run(t.Context(), col.Sink); err != nil {
		t.Fatal(err)
	}
	rows := col.All()
	s := src.Stats()
	if s.Splits != s.SplitsDone || s.Offsets != s.OffsetsDone || int(s.Records) != len(rows) {
		t.Errorf("%d rows, but the counters say %+v", len(rows), s)
	}
	if req.Ordered {
		for _, lane := range col.Lanes {
			last := map[int64]int64{}
			for _, r := range lane {
				p, o := r[3].(int64), r[4].(int64)
				if before, ok := last[p]; ok && o <= before {
					t.Fatalf("ordered scan: offset %d of partition %d after %d", o, p, before)
				}
				last[p] = o
			}
		}
	}
	return rows
}

// count runs a scan and adds up the rows of its batches.
func count(t *testing.T, c *kafka.Cluster, spec kafka.ReadSpec, req scan.Request) int {
	t.Helper()
	return len(run(t, c, spec, req, func() {}))
}
