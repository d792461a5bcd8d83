package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"millrace/internal/column"
	"millrace/streaming/store"
)

func testSnapshots(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	family(t, s)
	var snaps []store.Snapshot
	const commits = 40
	for i := range commits {
		snap, err := s.Snapshot(ctx)
		must(t, err)
		snaps = append(snaps, snap)
		insert(t, s, "other", ints(i*3, 3))
	}
	sameRows(t, "rows", all(t, s, "other"), ints(0, 3*commits))
	for i, snap := range snaps {
		sameRows(t, fmt.Sprintf("rows of snapshot %d", i), allOf(t, snap, "other"), ints(0, 3*i))
		snap.Close()
		snap.Close()
	}
	snap, err := s.Snapshot(ctx)
	must(t, err)
	defer snap.Close()
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "later", Columns: []store.Column{col("id", column.Int64)}}))
	if _, err := snap.Schema("later"); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("a table created after the snapshot: %v", err)
	}
	if _, err := snap.Scan(ctx, store.ScanSpec{Table: "later", Limit: -1}); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("a scan of a table created after the snapshot: %v", err)
	}
}

// testIsolation has a writer commit numbered rows to two tables with their position while readers look: the rows of both tables, and the position, must always be of the
// same commit.
func testIsolation(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	family(t, s)
	lease := acquire(t, s, "t", "me")
	columns := []store.Column{col("id", column.Int64)}
	p := store.Partition{Topic: "topic"}
	const commits = 150
	var written atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		defer written.Store(true)
		var from *store.Position
		next := 0
		for i := range commits {
			n := i%7 + 1
			rows := batchOf(columns, ints(next, n))
			to := at(int64(next + n))
			_, err := s.Commit(ctx, &store.Commit{
				Table: "t", Lease: lease, Moves: []store.Move{{Partition: p, From: from, To: to}},
				Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: rows}, {Table: "t$errors", SchemaVersion: 1, Rows: rows}},
			})
			if err != nil {
				t.Error(err)
				return
			}
			from, next = to, next+n
		}
	})
	for range 2 {
		group.Go(func() {
			for last := false; !last; {
				last = written.Load()
				snap, err := s.Snapshot(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				c, err1 := snap.Checkpoint("t")
				main, err2 := read(ctx, snap, store.ScanSpec{Table: "t", Columns: []int{0}, Limit: -1})
				side, err3 := read(ctx, snap, store.ScanSpec{Table: "t$errors", Columns: []int{0}, Limit: -1})
				snap.Close()
				if err := errors.Join(err1, err2, err3); err != nil {
					t.Error(err)
					return
				}
				want := int(c.Positions[p].Offset)
				for _, rows := range [][]row{main, side} {
					ns := numbers(rows)
					if len(ns) != want || want > 0 && ns[want-1] != int64(want-1) {
						t.Errorf("%d rows at position %d", len(ns), want)
						return
					}
				}
			}
		})
	}
	group.Wait()
}
