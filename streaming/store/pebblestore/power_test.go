package pebblestore

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"millrace/streaming/store"
)

// TestPowerCuts takes the disk away at random, with none, some or all of what was not synced, also in the middle of writes. What was acknowledged by a sync table is
// there; an async one may have lost its last commits, rows and positions alike.
func TestPowerCuts(t *testing.T) {
	for _, durability := range []store.Durability{store.Sync, store.Async} {
		t.Run(durability.String(), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			fs := vfs.NewCrashableMem()
			next := 0
			for range 40 {
				next = untilPowerCut(t, r, fs, durability, next)
				fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[r.IntN(3)], RNG: r})
			}
			if next == 0 {
				t.Error("nothing was left in the end")
			}
			t.Logf("%d rows survived", next)
		})
	}
}

// untilPowerCut opens a store that has lost power after at least acked rows were acknowledged, checks it, commits some more, and gives the number of rows
// acknowledged then. What is written after the cut goes to a disk that nobody looks at again.
func untilPowerCut(t *testing.T, r *rand.Rand, fs *vfs.MemFS, durability store.Durability, acked int) int {
	t.Helper()
	s, err := Open("store", Options{FS: fs, MemTableBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Schema(t.Context(), "t"); err != nil {
		spec := numbersTable("t")
		spec.Durability = durability
		if err := s.CreateTable(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.Checkpoint(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	next := int(c.Positions[store.Partition{}].Offset)
	if durability == store.Sync && next != acked || next > acked {
		t.Fatalf("%d rows were acknowledged, the position is %d", acked, next)
	}
	wantCount(t, s, "t", int64(next))
	l, err := s.AcquireWriter(t.Context(), "t", "test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for range r.IntN(30) {
		n := 1 + r.IntN(500)
		if err := insert(t, s, l, next, n); err != nil {
			t.Fatal(err)
		}
		next += n
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return next
}
