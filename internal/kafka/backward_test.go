package kafka_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/testkit"
)

// newestSink keeps what passes its filter and says so.
type newestSink struct {
	by     scan.Field
	passes func(testkit.Row) bool
	rows   []testkit.Row
	pushed int
}

// newestFields are the columns of the tests below.
var newestFields = []scan.Field{scan.Topic, scan.Partition, scan.Offset, scan.Timestamp, scan.Value}

func (s *newestSink) Push(_ context.Context, b *column.Batch) error {
	for _, r := range testkit.Rows(b) {
		s.pushed++
		if s.passes(r) {
			s.rows = append(s.rows, r)
		}
	}
	return nil
}

func (s *newestSink) Finish(context.Context) error { return nil }

func (s *newestSink) key(r testkit.Row) int64 {
	if s.by == scan.Offset {
		return r[2].(int64)
	}
	if r[3] == nil {
		return math.MinInt64
	}
	return r[3].(int64) / 1000
}

func (s *newestSink) Kept(values []int64) []int64 {
	for _, r := range s.rows {
		values = append(values, s.key(r))
	}
	return values
}

// newest runs a scan for the n newest rows that pass. It gives their keys, descending, and how many rows it took to find them.
func newest(t *testing.T, c *kafka.Cluster, spec kafka.ReadSpec, by scan.Field, n int64, bounds scan.Bounds, passes func(testkit.Row) bool) (keys []int64, rows []testkit.Row, pushed int, stats scan.Stats) {
	t.Helper()
	src, err := c.Plan(t.Context(), spec, scan.Request{Fields: newestFields, Bounds: bounds, Limit: -1, Newest: &scan.Newest{By: by, Rows: n}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var sinks []*newestSink
	err = src.Run(t.Context(), func(int) (scan.Sink, error) {
		s := &newestSink{by: by, passes: passes}
		sinks = append(sinks, s)
		return s, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sinks {
		pushed += s.pushed
		rows = append(rows, s.rows...)
	}
	by2 := &newestSink{by: by}
	slices.SortStableFunc(rows, func(a, b testkit.Row) int { return cmp.Compare(by2.key(b), by2.key(a)) })
	seen := map[string]bool{}
	for _, r := range rows {
		k := fmt.Sprint(r[:3])
		if seen[k] {
			t.Errorf("%s came twice", k)
		}
		seen[k] = true
		keys = append(keys, by2.key(r))
	}
	if spec.MaxRecords == 0 && int64(pushed) != src.Stats().Records {
		t.Errorf("%d rows were pushed, the counters say %+v", pushed, src.Stats())
	}
	return keys, rows, pushed, src.Stats()
}

// TestNewestOfHistories: of any log, the newest rows are those that a sort of everything puts first, with all that tie for the last place.
func TestNewestOfHistories(t *testing.T) {
	first := seed(t)
	t.Logf("MILLRACE_TEST_SEED=%d", first)
	for i := range histories(t) {
		s := first + uint64(i)
		t.Run(strconv.FormatUint(s, 10), func(t *testing.T) {
			b := testkit.StartBroker(t, kfake.NumBrokers(2))
			h := testkit.NewHistory(t, b, s)
			rnd := rand.New(rand.NewPCG(s, 3))
			c := cluster(t, b)
			for _, iso := range []kafka.Isolation{kafka.ReadUncommitted, kafka.ReadCommitted} {
				spec := all(iso, h.Topic)
				spec.TimestampSkew = new(time.Duration)
				from, to := bounds(b, h, &spec, rnd)
				records := h.Read(t, int8(iso))
				for range 6 {
					by := []scan.Field{scan.Offset, scan.Timestamp}[rnd.IntN(2)]
					mod := int64(1 + rnd.IntN(20))
					n := int64(1 + rnd.IntN(60))
					passes := func(r testkit.Row) bool { return r[2].(int64)%mod == 0 }
					var bound scan.Bounds
					if rnd.IntN(3) == 0 {
						bound.Offsets = []scan.Range{{From: 5, To: 60}, {From: 90, To: 200}}
					}
					var want []int64
					for _, r := range records {
						p := int64(r.Partition)
						in := bound.Offsets == nil || slices.ContainsFunc(bound.Offsets, func(x scan.Range) bool { return x.From <= r.Offset && r.Offset < x.To })
						if in && r.Offset%mod == 0 && r.Offset >= from[p] && r.Offset < to[p] {
							if by == scan.Offset {
								want = append(want, r.Offset)
							} else {
								want = append(want, r.Timestamp.UnixMilli())
							}
						}
					}
					slices.Sort(want)
					slices.Reverse(want)
					got, _, _, _ := newest(t, c, spec, by, n, bound, passes)
					ties := min(int(n), len(want))
					for ties < len(want) && want[ties] == want[ties-1] {
						ties++
					}
					if len(got) < ties || !slices.Equal(got[:ties], want[:ties]) {
						t.Fatalf("isolation %d, newest %d by %v, one in %d, %+v: got\n%v\nwant\n%v", iso, n, by, mod, bound, got, want[:ties])
					}
				}
			}
		})
	}
}

// TestNewestCostsWhatIsWanted: the last rows of a large topic take a few batches, whatever the partitions hold.
func TestNewestCostsWhatIsWanted(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 4, nil)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for batch := range 200 {
		var records []*kgo.Record
		for i := range 100 {
			n := batch*100 + i
			records = append(records, &kgo.Record{Partition: int32(batch % 4), Value: fmt.Appendf(nil, "%d", n), Timestamp: base.Add(time.Duration(n) * time.Millisecond)})
		}
		testkit.Produce(t, cl, records...)
	}
	c := cluster(t, b)
	spec := all(kafka.ReadCommitted, "t")
	everything := func(testkit.Row) bool { return true }
	keys, _, pushed, stats := newest(t, c, spec, scan.Offset, 10, scan.Bounds{}, everything)
	if len(keys) < 10 || keys[0] != 4999 || pushed > 200 || stats.BytesFetched > 100_000 {
		t.Errorf("by offset: %d rows to find %v, %+v", pushed, keys, stats)
	}
	skew := time.Duration(0)
	spec.TimestampSkew = &skew
	keys, rows, pushed, _ := newest(t, c, spec, scan.Timestamp, 10, scan.Bounds{}, everything)
	if len(keys) < 10 || rows[0][4] != "19999" || rows[9][4] != "19990" || pushed > 1000 {
		t.Errorf("by timestamp: %d rows to find %v", pushed, rows[:10])
	}
	// Few rows pass: windows grow until they are found.
	keys, _, pushed, _ = newest(t, c, spec, scan.Offset, 3, scan.Bounds{}, func(r testkit.Row) bool { return r[2].(int64)%1000 == 7 })
	if len(keys) < 3 || keys[0] != 4007 || pushed > 15_000 {
		t.Errorf("with a filter: %d rows to find %v", pushed, keys)
	}
	// None does: everything is read, once.
	if keys, _, pushed, _ = newest(t, c, spec, scan.Offset, 3, scan.Bounds{}, func(testkit.Row) bool { return false }); len(keys) > 0 || pushed != 20_000 {
		t.Errorf("none pass: %d rows, %v", pushed, keys)
	}
}

func TestNewestIsReadForwardsWhereItMustBe(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	for i := range 30 {
		testkit.Produce(t, cl, &kgo.Record{Value: fmt.Appendf(nil, "%d", i), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i))})
	}
	c := cluster(t, b)
	everything := func(testkit.Row) bool { return true }
	for name, change := range map[string]func(*kafka.ReadSpec){
		"by timestamp without a skew": func(*kafka.ReadSpec) {},
		"with a number of records":    func(s *kafka.ReadSpec) { s.TimestampSkew, s.MaxRecords = new(time.Duration), 5 },
		"with a time":                 func(s *kafka.ReadSpec) { s.TimestampSkew, s.MaxTime = new(time.Duration), time.Minute },
	} {
		spec := all(kafka.ReadCommitted, "t")
		change(&spec)
		_, rows, _, _ := newest(t, c, spec, scan.Timestamp, 2, scan.Bounds{}, everything)
		if !slices.ContainsFunc(rows, func(r testkit.Row) bool { return r[4] == "0" }) {
			t.Errorf("%s: the first record was not read", name)
		}
	}
}
