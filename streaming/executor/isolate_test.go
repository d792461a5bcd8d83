package executor

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/streaming/checkpoint"
	"millrace/streaming/store"
)

// offsetsQuery gives the offsets of records, and fails on those that are bad.
type offsetsQuery struct {
	bad  map[int64]bool
	runs int
}

var offsetField = []column.Field{{Name: "offset", Type: column.Type{Kind: column.Int64}}}

func (q *offsetsQuery) Columns() []column.Field { return offsetField }
func (q *offsetsQuery) Checks() []Check         { return nil }
func (q *offsetsQuery) Read() Read              { return Read{} }
func (q *offsetsQuery) Close()                  {}

func (q *offsetsQuery) Run(ctx context.Context, open Open, take func(*column.Batch) error) (*column.Batch, error) {
	q.runs++
	src, err := open(ctx, scan.Request{Fields: []scan.Field{scan.ValueLength, scan.Offset}})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	lanes := make(chan *column.Batch, 100)
	err = src.Run(ctx, func(int) (scan.Sink, error) { return offsetsSink{q, lanes}, nil })
	close(lanes)
	for b := range lanes {
		if err := take(b); err != nil {
			return nil, err
		}
	}
	return nil, err
}

type offsetsSink struct {
	query *offsetsQuery
	out   chan<- *column.Batch
}

func (s offsetsSink) Push(_ context.Context, b *column.Batch) error {
	out := new(column.Batch)
	out.Reset(offsetField)
	for k := range b.Live() {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		if s.query.bad[b.Cols[1].Int[i]] {
			return sqlerr.New(sqlerr.BadValue, "record %d is bad", b.Cols[1].Int[i])
		}
		out.Cols[0].AppendInt(b.Cols[1].Int[i])
		out.N++
	}
	s.out <- out
	return nil
}

func (s offsetsSink) Finish(context.Context) error { return nil }

// gathered makes records with offsets from 0 to n, pushed in batches of per.
func gathered(n, per int) *records {
	r := newRecords(recordFields)
	for from := 0; from < n; from += per {
		b := new(column.Batch)
		b.Reset(columnsOf(recordFields))
		for i := from; i < min(n, from+per); i++ {
			b.Cols[atKey].AppendNull()
			b.Cols[atValue].AppendBytes([]byte("value"))
			b.Cols[atTopic].AppendBytes([]byte("t"))
			b.Cols[atPartition].AppendInt(0)
			b.Cols[atOffset].AppendInt(int64(i))
			b.Cols[atTimestamp].AppendInt(int64(i) * 1000)
			b.Cols[atTimestamp+1].AppendInt(0)
			b.N++
		}
		r.add(b)
	}
	return r
}

func TestIsolateFindsExactlyTheBadRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(rt, "records")
		q := &offsetsQuery{bad: map[int64]bool{}}
		for _, i := range rapid.SliceOfN(rapid.Int64Range(0, int64(n-1)), 0, 20).Draw(rt, "bad") {
			q.bad[i] = true
		}
		r := gathered(n, rapid.IntRange(1, 100).Draw(rt, "batch"))
		x := &Table{columns: offsetField}
		x.begins()
		bad, err := x.isolate(t.Context(), q, r)
		if err != nil {
			rt.Fatal(err)
		}
		if bad.N != len(q.bad) || x.rows.N != n-len(q.bad) {
			rt.Fatalf("%d bad records and %d rows of %d records, %d of them bad", bad.N, x.rows.N, n, len(q.bad))
		}
		for _, offset := range bad.Cols[2].Int {
			if !q.bad[offset] {
				rt.Fatalf("record %d is good", offset)
			}
		}
		got := slices.Clone(x.rows.Cols[0].Int)
		slices.Sort(got)
		for i := 1; i < len(got); i++ {
			if got[i] == got[i-1] || q.bad[got[i]] {
				rt.Fatalf("row %d", got[i])
			}
		}
	})
}

func TestIsolateCostsFewRuns(t *testing.T) {
	r := gathered(20_000, 500)
	q := &offsetsQuery{bad: map[int64]bool{12_345: true}}
	x := &Table{columns: offsetField}
	x.begins()
	if _, err := x.isolate(t.Context(), q, r); err != nil {
		t.Fatal(err)
	}
	if q.runs > 60 {
		t.Errorf("%d runs for one bad record of 20,000", q.runs)
	}
}

// gatheringEnds: what is pushed bounds what is held, and positions follow records and gaps.
func TestAGatheringIsBoundedAndKnowsHowFarItIs(t *testing.T) {
	g := newGathering(recordFields, 100, 1<<20)
	pushed := make(chan error, 1)
	go func() {
		for _, p := range gathered(250, 250).pieces {
			if err := g.Push(t.Context(), p); err != nil {
				pushed <- err
				return
			}
		}
		g.Passed([]scan.Reached{{Topic: "t", Next: 260, LeaderEpoch: 7}})
		pushed <- nil
	}()
	part := store.Partition{Topic: "t"}
	total := 0
	for total < 250 {
		<-g.ready
		r := g.take()
		if r == nil {
			continue // amidst a step
		}
		if r.rows > 100 {
			t.Fatalf("%d records at once", r.rows)
		}
		if total += r.rows; r.rows > 0 && total < 250 && r.reached[part].next != int64(total) {
			t.Fatalf("after %d records at %d", total, r.reached[part].next)
		}
	}
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
	if r := g.take(); r.rows > 0 {
		t.Errorf("%d records more", r.rows)
	}
}

// A table that committed records of a new leader with the epoch of the old one was later said to have lost them: their offsets lie beyond the end of that epoch.
func TestPositionsHaveTheEpochsOfTheirRecords(t *testing.T) {
	g := newGathering(recordFields, 100, 1<<20)
	part := store.Partition{Topic: "t"}
	at := map[store.Partition]store.Position{part: {Offset: 0, LeaderEpoch: 7}}
	commits := func() store.Position {
		t.Helper()
		r := g.take()
		moves := positionsOf(at, r)
		g.reuse(r) // the next ones begin with its memory, and nothing of what was in it
		if len(moves) != 1 {
			t.Fatalf("%d moves", len(moves))
		}
		at = checkpoint.Apply(at, moves)
		return at[part]
	}
	push := func(from, n int) {
		t.Helper()
		b := gathered(n, n).pieces[0]
		for i := range b.N {
			b.Cols[atOffset].Int[i] += int64(from)
		}
		if err := g.Push(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	push(0, 10)
	if r := g.take(); r != nil {
		t.Fatalf("%d records were taken before their epoch was told", r.rows)
	}
	g.Passed([]scan.Reached{{Topic: "t", Next: 10, LeaderEpoch: 8}})
	if p := commits(); p.Offset != 10 || p.LeaderEpoch != 8 {
		t.Errorf("at %+v", p)
	}
	push(10, 5)
	g.Passed(nil) // a partition that has not caught up yet
	if p := commits(); p.Offset != 15 || p.LeaderEpoch != -1 {
		t.Errorf("at %+v", p)
	}
	g.Passed([]scan.Reached{{Topic: "t", Next: 15, LeaderEpoch: 9}})
	if p := commits(); p.Offset != 15 || p.LeaderEpoch != 9 {
		t.Errorf("at %+v", p)
	}
}

func TestFaultsThatMayPass(t *testing.T) {
	for _, c := range []struct {
		err              error
		passes, ofRecord bool
	}{
		{sqlerr.New(sqlerr.KafkaUnreachable, "x"), true, false},
		{sqlerr.New(sqlerr.KafkaNotAuthorized, "x"), true, false},
		{sqlerr.New(sqlerr.KafkaDataLoss, "x"), false, false},
		{sqlerr.New(sqlerr.KafkaCorrupt, "x"), false, false},
		{sqlerr.New(sqlerr.BadRecord, "x"), false, false},
		{sqlerr.New(sqlerr.Unexpected, "x"), false, false},
		{sqlerr.New(sqlerr.NoConnection, "x"), false, true},
		{sqlerr.New(sqlerr.StoreFull, "x"), true, false},
		{sqlerr.New(sqlerr.BadValue, "x"), false, true},
		{sqlerr.New(sqlerr.OutOfRange, "x"), false, true},
		{store.ErrRetry, true, false},
		{&store.HeldError{}, true, false},
		{errors.New("a value of the engine's own"), true, true},
		{context.Canceled, true, false},
	} {
		if mayPass(c.err) != c.passes || ofRecord(c.err) != c.ofRecord {
			t.Errorf("%v: passes %v, of a record %v", c.err, mayPass(c.err), ofRecord(c.err))
		}
	}
}
