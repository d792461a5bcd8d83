package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"millrace/streaming/store"
	"millrace/streaming/store/storetest"
)

var backend = storetest.Backend{
	Open: func(name string) (store.Store, error) { return Open(name, Options{Failpoint: storetest.Failpoint}) },
	Name: func(t testing.TB) string { return t.TempDir() },
	Faulty: func(name string) (store.Store, func(), func(), error) {
		fs := &faultyFS{FS: vfs.Default}
		s, err := Open(name, Options{FS: fs})
		return s, func() { fs.full.Store(true) }, func() { fs.full.Store(false) }, err
	},
}

func TestMain(m *testing.M) { storetest.Main(m, backend) }

func TestConformance(t *testing.T) { storetest.Run(t, backend) }

func TestCrashesLoseAndDoubleNothing(t *testing.T) {
	storetest.Crash(t, backend, "commit.encoded", "commit.checked", "commit.applied", "merge.read", "merge.encoded", "merge.applied", "expire.applied",
		"truncate.applied")
}
