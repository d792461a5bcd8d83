package kafka_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/testkit"
)

// extremes are the number of rows of a partition and what MIN(offset), MAX(offset) and MAX(timestamp) are.
type extremes struct{ n, least, greatest, newest int64 }

func (e *extremes) add(offset, millis int64) {
	if e.n == 0 {
		*e = extremes{0, offset, offset, millis}
	}
	e.n++
	e.least, e.greatest, e.newest = min(e.least, offset), max(e.greatest, offset), max(e.newest, millis)
}

// TestExtremesOfHistories: answers from headers are those of the records, whatever transactions, compaction and the bounds of the read leave.
func TestExtremesOfHistories(t *testing.T) {
	first := seed(t)
	t.Logf("MILLRACE_TEST_SEED=%d", first)
	for i := range histories(t) {
		s := first + uint64(i)
		t.Run(strconv.FormatUint(s, 10), func(t *testing.T) {
			b := testkit.StartBroker(t, kfake.NumBrokers(2))
			h := testkit.NewHistory(t, b, s)
			rnd := rand.New(rand.NewPCG(s, 4))
			c := cluster(t, b)
			for _, iso := range []kafka.Isolation{kafka.ReadUncommitted, kafka.ReadCommitted} {
				spec := all(iso, h.Topic)
				from, to := bounds(b, h, &spec, rnd)
				want := map[int64]extremes{}
				for _, r := range h.Read(t, int8(iso)) {
					if p := int64(r.Partition); r.Offset >= from[p] && r.Offset < to[p] {
						e := want[p]
						e.add(r.Offset, r.Timestamp.UnixMilli())
						want[p] = e
					}
				}
				req := scan.Request{Fields: []scan.Field{scan.Partition, scan.Offset, scan.Timestamp}, Limit: -1, Lanes: 1 + rnd.IntN(3), Extremes: true}
				src, err := c.Plan(t.Context(), spec, req)
				if err != nil {
					t.Fatal(err)
				}
				got := map[int64]extremes{}
				for _, r := range testkit.Collect(t, src) {
					e := got[r[0].(int64)]
					e.add(r[1].(int64), r[2].(int64)/1000)
					got[r[0].(int64)] = e
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("isolation %d: got %v, want %v", iso, got, want)
				}
			}
		})
	}
}

func TestExtremesDecodeNothing(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	for batch := range 10 {
		var records []*kgo.Record
		for i := range 50 {
			records = append(records, &kgo.Record{Value: []byte("v"), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(batch*50+i*7%50))})
		}
		testkit.Produce(t, cl, records...)
	}
	c := cluster(t, b)
	src, err := c.Plan(t.Context(), all(kafka.ReadCommitted, "t"), scan.Request{Fields: []scan.Field{scan.Timestamp, scan.Offset}, Limit: -1, Extremes: true})
	if err != nil {
		t.Fatal(err)
	}
	var e extremes
	for _, r := range testkit.Collect(t, src) {
		e.add(r[1].(int64), r[0].(int64)/1000)
	}
	if want := (extremes{500, 0, 499, 1_700_000_000_499}); e != want {
		t.Errorf("got %v, want %v", e, want)
	}
	if s := src.Stats(); s.BatchesCounted != s.Batches || s.BytesDecoded != 0 {
		t.Errorf("%+v", s)
	}
}

// timed is a topic of one partition with a record for each time, in milliseconds after the base, each in a batch of its own.
const timedBase = 1_700_000_000_000

func timed(t *testing.T, times ...int64) *kafka.Cluster {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"))
	for i, at := range times {
		testkit.Produce(t, cl, &kgo.Record{Value: fmt.Append(nil, i), Timestamp: time.UnixMilli(timedBase + at)})
	}
	return cluster(t, b)
}

func offsetsOf(t *testing.T, c *kafka.Cluster, spec kafka.ReadSpec, b scan.Bounds) string {
	t.Helper()
	src, err := c.Plan(t.Context(), spec, scan.Request{Fields: []scan.Field{scan.Offset}, Bounds: b, Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, r := range testkit.Collect(t, src) {
		out += fmt.Sprint(r[0], " ")
	}
	return out
}

// TestUpperBoundOfTimeEndsNothingUntilItIsTrusted: a late record lies behind an early one.
func TestUpperBoundOfTimeEndsNothingUntilItIsTrusted(t *testing.T) {
	c := timed(t, 0, 100, 50, 200, 120, 300, 400)
	below := func(ms int64) scan.Bounds { return scan.Bounds{MaxTimestamp: timedBase + ms, HasMaxTimestamp: true} }
	for _, k := range []struct {
		name string
		skew time.Duration
		b    scan.Bounds
		want string
	}{
		{"no skew", -1, below(100), "0 1 2 3 4 5 6 "},
		{"in order, as asserted", 0, below(100), "0 "},
		{"a skew of 100 ms", 100 * time.Millisecond, below(100), "0 1 2 "},
		{"less than a millisecond is one", 99*time.Millisecond + time.Nanosecond, below(100), "0 1 2 "},
		{"beyond the last record", 0, below(401), "0 1 2 3 4 5 6 "},
		{"beyond all times", math.MaxInt64, below(math.MaxInt64 - timedBase), "0 1 2 3 4 5 6 "},
		{"before all times", 0, below(-timedBase - 5), ""},
		{"between", 100 * time.Millisecond, scan.Bounds{MinTimestamp: timedBase + 60, HasMinTimestamp: true, MaxTimestamp: timedBase + 121, HasMaxTimestamp: true}, "1 3 4 "},
	} {
		spec := all(kafka.ReadCommitted, "t")
		if k.skew >= 0 {
			spec.TimestampSkew = &k.skew
		}
		if got := offsetsOf(t, c, spec, k.b); got != k.want {
			t.Errorf("%s: got %s, want %s", k.name, got, k.want)
		}
	}
}

// TestAppendTimeTellsOfEveryRecord: where the log's time is that of all records of a batch, a batch that is too late is skipped, whatever follows it.
func TestAppendTimeTellsOfEveryRecord(t *testing.T) {
	const append, create = 0x08, 0
	var in []byte
	for i, b := range []struct {
		attrs int16
		at    int64
	}{{append, 100}, {append, 300}, {create, 300}, {append, 200}, {append, 199}} {
		in = slices.Concat(in, testkit.Batch{First: int64(i), Attrs: b.attrs, BaseTime: timedBase, MaxTime: timedBase + b.at, Records: []kmsg.Record{{}}}.Encode(t))
	}
	var c testkit.Collector
	sink, err := c.Sink(0)
	if err != nil {
		t.Fatal(err)
	}
	p := kafka.NewParser([]scan.Field{scan.Offset}, kafka.Config{}, scan.Bounds{MaxTimestamp: timedBase + 200, HasMaxTimestamp: true}, sink)
	defer p.Close()
	if _, err := p.Parse(in, 0, 10, nil); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.All()); got != "[[0] [2] [4]]" {
		t.Errorf("got %s", got)
	}
}

// TestMarkersOfTransactionsAreNoRecords: the marker behind the first transaction has the time of today. A read that ended there would lose all others,
// although records are in the order that the user asserts.
func TestMarkersOfTransactionsAreNoRecords(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.TransactionalID("x"))
	transaction := func(times ...int64) {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, at := range times {
			testkit.Produce(t, cl, &kgo.Record{Timestamp: time.UnixMilli(timedBase + at)})
		}
		if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
	}
	transaction(0)
	transaction(50)
	transaction(100, 150)
	c := cluster(t, b)
	spec := all(kafka.ReadCommitted, "t")
	spec.TimestampSkew = new(time.Duration)
	below := func(ms int64) scan.Bounds { return scan.Bounds{MaxTimestamp: timedBase + ms, HasMaxTimestamp: true} }
	if got := offsetsOf(t, c, spec, below(100)); got != "0 2 " {
		t.Errorf("got %s", got)
	}
	// Nothing but markers there, as far as is looked: the end stays.
	if got := offsetsOf(t, c, spec, below(1000)); got != "0 2 4 5 " {
		t.Errorf("got %s", got)
	}
	for range 40 {
		transaction(160)
	}
	transaction(900)
	if got := offsetsOf(t, c, spec, below(900)); !strings.HasPrefix(got, "0 2 4 5 7 ") || !strings.HasSuffix(got, " 87 ") {
		t.Errorf("got %s", got)
	}
}

// TestLowerBoundOfTimeWhereRecordsWereDeleted: a broker finds nothing when the first segment that held a late record has lost it.
func TestLowerBoundOfTimeWhereRecordsWereDeleted(t *testing.T) {
	for name, opts := range map[string][]kfake.Opt{"today": nil, "2.8": {kfake.MaxVersions(kversion.V2_8_0())}} {
		b := testkit.StartBroker(t, opts...)
		b.Topic(t, "t", 1, map[string]string{"segment.bytes": "200"})
		cl := b.Client(t, kgo.DefaultProduceTopic("t"))
		for i := range 12 {
			at := int64(timedBase + i)
			if i == 0 {
				at = timedBase + 1_000_000
			}
			testkit.Produce(t, cl, &kgo.Record{Value: []byte("v"), Timestamp: time.UnixMilli(at)})
		}
		if err := b.DeleteRecords("t", 0, 1); err != nil {
			t.Fatal(err)
		}
		c := cluster(t, b)
		got := offsetsOf(t, c, all(kafka.ReadCommitted, "t"), scan.Bounds{MinTimestamp: timedBase + 8, HasMinTimestamp: true})
		for _, offset := range []string{"8 ", "9 ", "10 ", "11 "} {
			if !strings.Contains(got, offset) {
				t.Errorf("%s: %sis missing in %s", name, offset, got)
			}
		}
		if got := offsetsOf(t, c, all(kafka.ReadCommitted, "t"), scan.Bounds{MinTimestamp: timedBase + 2_000_000, HasMinTimestamp: true}); got != "" {
			t.Errorf("%s: beyond all times: %s", name, got)
		}
	}
}
