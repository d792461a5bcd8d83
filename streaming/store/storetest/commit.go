package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// family creates a table t and one that it owns, each of one number.
func family(t *testing.T, s store.Store) {
	t.Helper()
	columns := []store.Column{col("id", column.Int64)}
	must(t, s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: columns}, store.TableSpec{ID: "t$errors", Owner: "t", Columns: columns},
		store.TableSpec{ID: "other", Columns: columns}))
}

func at(offset int64) *store.Position { return &store.Position{Offset: offset, LeaderEpoch: -1} }

func testAtomic(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	family(t, s)
	lease := acquire(t, s, "t", "me")
	p := store.Partition{Topic: "topic", Partition: 3}
	commit := func(from, to *store.Position, writes ...store.Write) error {
		_, err := s.Commit(ctx, &store.Commit{Table: "t", Lease: lease, Writes: writes, Moves: []store.Move{{Partition: p, From: from, To: to}}, Progress: fmt.Append(nil, to), Event: []byte("e")})
		return err
	}
	must(t, commit(nil, at(2), write(t, s, "t", ints(0, 2)), write(t, s, "t$errors", ints(0, 1))))
	notNull := write(t, s, "t", ints(2, 2))
	notNull.Rows.Cols[0].Type.Kind = column.Text
	for what, err := range map[string]error{
		"a wrong position":         commit(at(1), at(4), write(t, s, "t", ints(2, 2)), write(t, s, "t$errors", ints(2, 1))),
		"another kind":             commit(at(2), at(4), write(t, s, "t$errors", ints(2, 1)), notNull),
		"a table of somebody else": commit(at(2), at(4), write(t, s, "t", ints(2, 2)), write(t, s, "other", ints(2, 1))),
		"an unknown table":         commit(at(2), at(4), write(t, s, "t", ints(2, 2)), store.Write{Table: "x", SchemaVersion: 1}),
		"an unknown version":       commit(at(2), at(4), write(t, s, "t", ints(2, 2)), store.Write{Table: "t$errors", SchemaVersion: 2}),
	} {
		if err == nil {
			t.Errorf("%s: committed", what)
		}
	}
	sameRows(t, "rows", all(t, s, "t"), ints(0, 2))
	sameRows(t, "rows of the owned table", all(t, s, "t$errors"), ints(0, 1))
	c, err := s.Checkpoint(ctx, "t")
	must(t, err)
	if c.Positions[p] != *at(2) || c.Number != 1 || string(c.Progress) != fmt.Sprint(at(2)) {
		t.Errorf("after commits that failed, the checkpoint is %+v", c)
	}
	if events, err := s.Events(ctx, "t", 0, 10); err != nil || len(events) != 1 {
		t.Errorf("after commits that failed, events are %v, %v", events, err)
	}
}

func testCheckpoint(t *testing.T, b Backend) {
	name := b.Name(t)
	s, err := b.Open(name)
	must(t, err)
	ctx := t.Context()
	family(t, s)
	c, err := s.Checkpoint(ctx, "t")
	must(t, err)
	if c.Number != 0 || c.Epoch != 0 || len(c.Positions) != 0 || c.Progress != nil {
		t.Errorf("a new table has the checkpoint %+v", c)
	}
	lease := acquire(t, s, "t", "me")
	parts := []store.Partition{{Topic: "a"}, {Topic: "a", Partition: 1 << 30}, {Topic: "ab", Partition: -1}, {Source: "s", Topic: "a"}}
	want := map[store.Partition]store.Position{}
	for i := range 5 {
		moves := []store.Move{}
		for k, p := range parts {
			m := store.Move{Partition: p, To: &store.Position{Offset: int64(i*10 + k), LeaderEpoch: int32(i), TopicID: [16]byte{byte(i), 15: byte(k)}}}
			if old, ok := want[p]; ok {
				m.From = &old
			}
			want[p] = *m.To
			moves = append(moves, m)
		}
		cm := &store.Commit{Table: "t", Lease: lease, Moves: moves}
		if i%2 == 0 {
			cm.Progress = fmt.Append(nil, i)
		}
		n, err := s.Commit(ctx, cm)
		must(t, err)
		if n != int64(i+1) {
			t.Errorf("commit %d has number %d", i, n)
		}
	}
	gone := want[parts[2]]
	_, err = s.Commit(ctx, &store.Commit{Table: "t", Lease: lease, Moves: []store.Move{{Partition: parts[2], From: &gone}}})
	must(t, err)
	delete(want, parts[2])
	for _, when := range []string{"before", "after"} {
		c, err = s.Checkpoint(ctx, "t")
		must(t, err)
		if c.Number != 6 || c.Epoch != lease.Epoch || string(c.Progress) != "4" || fmt.Sprint(c.Positions) != fmt.Sprint(want) {
			t.Errorf("%s reopening, the checkpoint is %+v, want %v", when, c, want)
		}
		if when == "before" {
			must(t, s.Close())
			s = reopen(t, b, name)
		}
	}
	again := acquire(t, s, "t", "somebody else")
	if again.Epoch <= lease.Epoch {
		t.Errorf("the epoch after reopening is %d, before %d", again.Epoch, lease.Epoch)
	}
	n, err := s.Commit(ctx, &store.Commit{Table: "t", Lease: again})
	must(t, err)
	if n != 7 {
		t.Errorf("the commit after reopening has number %d", n)
	}
}

func testLeases(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	family(t, s)
	commit := func(l store.Lease) error {
		_, err := s.Commit(ctx, &store.Commit{Table: "t", Lease: l, Writes: []store.Write{write(t, s, "t", ints(0, 1))}})
		return err
	}
	first := acquire(t, s, "t", "first")
	var held *store.HeldError
	if _, err := s.AcquireWriter(ctx, "t", "second", time.Minute); !errors.As(err, &held) || held.Owner != "first" {
		t.Errorf("acquiring a table that is held: %v", err)
	}
	must(t, commit(first))
	again := acquire(t, s, "t", "first")
	if err := commit(first); !errors.Is(err, store.ErrFenced) {
		t.Errorf("committing after having acquired anew: %v", err)
	}
	if err := s.RenewWriter(ctx, first, time.Minute); !errors.Is(err, store.ErrFenced) {
		t.Errorf("renewing a lease that was lost: %v", err)
	}
	must(t, s.ReleaseWriter(ctx, first)) // does nothing
	must(t, commit(again))
	must(t, s.ReleaseWriter(ctx, again))
	if err := commit(again); !errors.Is(err, store.ErrFenced) {
		t.Errorf("committing after release: %v", err)
	}
	// A lease that has run out is up for grabs.
	short, err := s.AcquireWriter(ctx, "t", "short", time.Nanosecond)
	must(t, err)
	last := acquire(t, s, "t", "last")
	if err := commit(short); !errors.Is(err, store.ErrFenced) {
		t.Errorf("committing after the lease ran out and was taken: %v", err)
	}
	must(t, commit(last))
	must(t, s.RenewWriter(ctx, last, time.Minute))
	must(t, commit(last))
	if err := commit(store.Lease{}); !errors.Is(err, store.ErrFenced) {
		t.Errorf("committing without a lease to a table that has a writer: %v", err)
	}
	forged := last
	forged.Owner = "forged"
	if err := commit(forged); !errors.Is(err, store.ErrFenced) {
		t.Errorf("committing as somebody else: %v", err)
	}
	if _, err := s.AcquireWriter(ctx, "t$errors", "x", time.Minute); err == nil {
		t.Error("an owned table was acquired")
	}
	if _, err := s.AcquireWriter(ctx, "nobody", "x", time.Minute); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("acquiring what does not exist: %v", err)
	}
	if n := len(all(t, s, "t")); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
}

func testPositions(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	family(t, s)
	lease := acquire(t, s, "t", "me")
	move := func(p store.Partition, from, to *store.Position) error {
		_, err := s.Commit(ctx, &store.Commit{Table: "t", Lease: lease, Moves: []store.Move{{Partition: p, From: from, To: to}}})
		return err
	}
	a, z := store.Partition{Topic: "a"}, store.Partition{Topic: "z"}
	must(t, move(a, nil, &store.Position{TopicID: [16]byte{1}, Offset: 5, LeaderEpoch: 2}))
	for what, from := range map[string]*store.Position{
		"none":           nil,
		"another offset": {TopicID: [16]byte{1}, Offset: 4, LeaderEpoch: 2},
		"another topic":  {TopicID: [16]byte{2}, Offset: 5, LeaderEpoch: 2},
		"another epoch":  {TopicID: [16]byte{1}, Offset: 5, LeaderEpoch: 3},
	} {
		if err := move(a, from, at(9)); !errors.Is(err, store.ErrFenced) {
			t.Errorf("moving from %s: %v", what, err)
		}
	}
	if err := move(z, at(0), at(1)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("moving a partition that has no position: %v", err)
	}
	must(t, move(a, &store.Position{TopicID: [16]byte{1}, Offset: 5, LeaderEpoch: 2}, at(9)))
	must(t, move(a, at(9), nil))
	must(t, move(a, nil, at(1)))
}

func testPlainTables(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	columns := []store.Column{{Field: column.Field{Name: "id", Type: column.Type{Kind: column.Int64}}}, col("name", column.Text)}
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: columns}))
	const each, writers = 25, 4
	done := make(chan error, writers)
	for w := range writers {
		go func() {
			var err error
			for i := range each {
				if err != nil {
					break
				}
				_, err = s.Commit(ctx, &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: batchOf(columns, rowsOf(row{store.Int(int64(w*each + i)), store.Text("x")}))}}})
			}
			done <- err
		}()
	}
	for range writers {
		must(t, <-done)
	}
	got := numbers(all(t, s, "t"))
	for i := range each * writers {
		if len(got) != each*writers || got[i] != int64(i) {
			t.Fatalf("rows are %v", got)
		}
	}
	if _, err := s.Commit(ctx, &store.Commit{Table: "t", Moves: []store.Move{{To: at(1)}}}); err == nil {
		t.Error("a position moved without a lease")
	}
	_, err := s.Commit(ctx, &store.Commit{Table: "t", Writes: []store.Write{write(t, s, "t", rowsOf(row{{}, store.Text("x")}))}})
	if !sqlerr.HasKind(err, sqlerr.NotNull) {
		t.Errorf("NULL in a column that is NOT NULL: %v", err)
	}
	n, err := s.Commit(ctx, &store.Commit{Table: "t", Writes: []store.Write{write(t, s, "t", nil)}})
	if err != nil || n != 0 {
		t.Errorf("a commit of no rows: %d, %v", n, err)
	}
}

func testEvents(t *testing.T, b Backend) {
	name := b.Name(t)
	s, err := b.Open(name)
	must(t, err)
	ctx := t.Context()
	family(t, s)
	lease := acquire(t, s, "t", "me")
	start := time.Now().Add(-time.Second)
	for i := range store.MaxEvents + 10 {
		data := fmt.Append(nil, "event ", i+1)
		if i%100 != 0 {
			_, err = s.Commit(ctx, &store.Commit{Table: "t", Lease: lease, Event: data})
		} else {
			err = s.AppendEvent(ctx, "t", data)
		}
		must(t, err)
	}
	must(t, s.Close())
	s = reopen(t, b, name)
	must(t, s.AppendEvent(ctx, "t", []byte("event 1011")))
	events, err := s.Events(ctx, "t", 0, 5000)
	must(t, err)
	if len(events) != store.MaxEvents {
		t.Fatalf("%d events, want %d", len(events), store.MaxEvents)
	}
	for i, e := range events {
		n := int64(i + 12)
		if e.Number != n || string(e.Data) != fmt.Sprint("event ", n) || e.Time.Before(start) || e.Time.After(time.Now().Add(time.Second)) {
			t.Fatalf("event %d is %+v", n, e)
		}
	}
	events, err = s.Events(ctx, "t", 1000, 3)
	must(t, err)
	if len(events) != 3 || events[0].Number != 1001 {
		t.Errorf("events after 1000 are %v", events)
	}
}

// testUnknownOutcome does what a writer has to do: after ErrUnknownOutcome it acquires the table anew, looks at the checkpoint, and commits again or not.
func testUnknownOutcome(t *testing.T, b Backend) {
	if b.Faulty == nil {
		t.Skip("the store has no such fault")
	}
	s, fail, mend, err := b.Faulty(b.Name(t))
	must(t, err)
	defer func() { must(t, s.Close()) }()
	ctx := t.Context()
	family(t, s)
	lease := acquire(t, s, "t", "me")
	p := store.Partition{Topic: "topic"}
	next, number := 0, int64(0)
	for round := range 5 {
		// Two commits that succeed, then one that nobody knows of.
		for i := range 3 {
			if i == 2 {
				fail()
			}
			c := &store.Commit{Table: "t", Lease: lease, Writes: []store.Write{write(t, s, "t", ints(next, 10))}, Moves: []store.Move{{Partition: p, To: at(int64(next + 10))}}}
			if next > 0 {
				c.Moves[0].From = at(int64(next))
			}
			n, err := s.Commit(ctx, c)
			if i < 2 {
				must(t, err)
				next, number = next+10, n
				continue
			}
			if !errors.Is(err, store.ErrUnknownOutcome) {
				t.Fatalf("round %d: the commit ended with %v", round, err)
			}
			mend()
			former := lease
			for lease, err = s.AcquireWriter(ctx, "t", "me", time.Minute); err != nil; lease, err = s.AcquireWriter(ctx, "t", "me", time.Minute) {
				if e, ok := sqlerr.As(err); !ok || !e.Kind.Retry {
					t.Fatal(err)
				}
			}
			point, err := s.Checkpoint(ctx, "t")
			must(t, err)
			if point.Epoch == former.Epoch && point.Number == number+1 {
				next, number = next+10, point.Number
			}
			if got := point.Positions[p].Offset; got != int64(next) || point.Number != number {
				t.Fatalf("round %d: the checkpoint is %+v, want number %d and position %d", round, point, number, next)
			}
			if _, err := s.Commit(ctx, &store.Commit{Table: "t", Lease: former}); !errors.Is(err, store.ErrFenced) {
				t.Fatalf("round %d: a commit under the former lease: %v", round, err)
			}
		}
		sameRows(t, "rows", all(t, s, "t"), ints(0, next))
	}
}
