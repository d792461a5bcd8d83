package pebblestore

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"millrace/streaming/store"
)

func TestBackupWhileCommitsGoOnIsAStoreOfItsOwn(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{}, "t")
	l := acquire(t, s, "t")
	const before = 20
	for i := range before {
		if err := insert(t, s, l, i*100, 100); err != nil {
			t.Fatal(err)
		}
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := before; i < 3*before; i++ {
			if err := insert(t, s, l, i*100, 100); err != nil {
				t.Error(err)
				return
			}
		}
	})
	dir := filepath.Join(t.TempDir(), "backup")
	if err := s.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	writer.Wait()
	if err := s.Backup(t.Context(), dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a backup to a directory that exists: %v", err)
	}
	copied := openTest(t, dir, Options{})
	c, err := copied.Checkpoint(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	next := c.Positions[store.Partition{}].Offset
	if next < before*100 {
		t.Errorf("the backup ends at %d", next)
	}
	wantCount(t, copied, "t", next)
	wantCount(t, s, "t", 3*before*100)
	if err := insert(t, copied, acquire(t, copied, "t"), int(next), 10); err != nil {
		t.Error(err)
	}
}
