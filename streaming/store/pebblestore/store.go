// Package pebblestore keeps streaming tables on the local disk: immutable column segments in Pebble, an LSM tree.
//
// docs/adr/0009-segments-on-pebble.md has the layout of keys, what happens in which order, and why.
//
//	Commit    encode rows (segment) ── lock of the family ── check lease, versions, positions ── one Pebble batch
//	Snapshot  a Pebble snapshot + the tables that belong to it ── Scan: list and prune segments ── lanes decode, cache, push
//	growth    a goroutine merges small segments; another makes async commits durable within a second
//
// The package has no other state than what is on disk but for caches, leases and the list of tables. A process that dies at any point leaves a
// store that opens.
package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// FormatVersion is the version of the layout on disk that this code writes. Who raises it keeps reading the former ones: TestOlderFormatsAreRead has a store of each.
//
// Version 2 may have columns of doubles that are encoded as decimals. What version 1 has written is read as it is, so there is nothing to do but to say that an older program could
// not read what follows.
const FormatVersion = 2

// pebbleFormat is the version of Pebble's own files. It only ever goes up, and an older Millrace cannot open what it was raised in: raise it on purpose.
const pebbleFormat = pebble.FormatTableFormatV6

// Options of Open. A zero field takes its default.
type Options struct {
	// CacheBytes bounds decoded columns and filters that are kept for the next scan (64 MiB).
	CacheBytes int64
	// BlockCacheBytes bounds what Pebble caches of its files (16 MiB); the operating system caches them too.
	BlockCacheBytes int64
	// MemTableBytes is how much Pebble collects in memory before it writes a file (16 MiB). Up to four such tables may wait.
	MemTableBytes uint64
	// ReserveBytes of free disk space are left alone: commits are refused below (64 MiB).
	ReserveBytes uint64
	// FS is the file system, the machine's by default.
	FS vfs.FS
	// Log gets changes of state and faults. Nothing by default.
	Log *slog.Logger
	// Failpoint, when not nil, is called at points of interest by their name, for tests that crash there: commit.encoded, commit.checked,
	// commit.applied, merge.read, merge.encoded, merge.applied, expire.applied, truncate.applied, drop.applied.
	Failpoint func(name string)
}

func (o Options) withDefaults() Options {
	if o.CacheBytes <= 0 {
		o.CacheBytes = 64 << 20
	}
	if o.BlockCacheBytes <= 0 {
		o.BlockCacheBytes = 16 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 16 << 20
	}
	if o.ReserveBytes == 0 {
		o.ReserveBytes = 64 << 20
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string) {}
	}
	return o
}

// Store implements store.Store.
type Store struct {
	dir     string
	options Options
	log     *slog.Logger
	db      *pebble.DB
	space   *space
	cache   *cache
	numbers numbers

	// mu orders changes of the list of tables and snapshots: who takes a snapshot under it gets the tables that belong to it. It is held for moments; a
	// family's lock is taken before it.
	mu     sync.RWMutex
	tables map[store.TableID]*table // replaced, never changed
	ddl    sync.Mutex               // one change of the list at a time; taken before any family's lock

	// life is held for reading by each call, and by each commit until it is applied, also when its caller has given up waiting.
	life   sync.RWMutex
	closed bool
	lock   *pebble.Lock

	closing  chan struct{}
	work     sync.WaitGroup // goroutines of the store's own
	grow     chan *table    // tables that may have segments to merge
	unsynced chan struct{}  // async commits that are not durable yet

	counters counters
}

var _ store.Store = (*Store)(nil)

// Open opens the store in dir, which it creates. One process may have it open.
func Open(dir string, options Options) (_ *Store, err error) {
	o := options.withDefaults()
	s := &Store{
		dir: dir, options: o, log: o.Log, cache: newCache(o.CacheBytes), closing: make(chan struct{}),
		grow: make(chan *table, 1024), unsynced: make(chan struct{}, 1),
	}
	s.space = newSpace(o.FS, dir, o.ReserveBytes)
	blocks := pebble.NewCache(o.BlockCacheBytes)
	defer blocks.Unref()
	po := &pebble.Options{
		FS: &patientFS{o.FS, s.space}, Cache: blocks, MemTableSize: o.MemTableBytes, MemTableStopWritesThreshold: 4, FormatMajorVersion: pebbleFormat,
		Logger: logger{s.log}, LBaseMaxBytes: 256 << 20, L0CompactionThreshold: 4,
	}
	// By default Pebble ends the process when it reads a corrupt block. Here that is an error of the statement that needs it.
	po.EventListener = &pebble.EventListener{DataCorruption: func(i pebble.DataCorruptionInfo) {
		s.log.Error("store: a file is corrupt", "path", i.Path, "error", i.Details)
	}}
	// Columns are compressed already.
	for i := range po.Levels {
		po.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	if po.Lock, err = lockDirectory(o.FS, dir); err != nil {
		return nil, err
	}
	s.lock = po.Lock
	if err := s.space.writable(); err != nil {
		return nil, errors.Join(openError(dir, err), s.lock.Close())
	}
	db, err := pebble.Open(dir, po)
	if err != nil {
		return nil, errors.Join(openError(dir, err), s.lock.Close())
	}
	s.db = db
	if err := s.load(); err != nil {
		return nil, errors.Join(err, db.Close(), s.lock.Close())
	}
	s.work.Go(s.growLoop)
	s.work.Go(s.syncLoop)
	for _, t := range s.list() {
		s.mayGrow(t)
	}
	return s, nil
}

// lockDirectory keeps other processes out: two of them would number the same segments.
func lockDirectory(fs vfs.FS, dir string) (*pebble.Lock, error) {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return nil, openError(dir, err)
	}
	lock, err := pebble.LockDirectory(dir, fs)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist), vfs.IsNoSpaceError(err), strings.Contains(err.Error(), "read-only"):
		return nil, openError(dir, err)
	default:
		return nil, sqlerr.New(sqlerr.StoreLocked, "the store in '%s' is open elsewhere", dir).WithCause(err).
			WithHint("stop the other process, or use another data directory")
	}
}

func openError(dir string, err error) error {
	switch {
	case pebble.IsCorruptionError(err):
		return sqlerr.New(sqlerr.StoreCorrupt, "the store in '%s' cannot be opened: %w", dir, err)
	default:
		return sqlerr.New(sqlerr.StoreFailed, "the store in '%s' cannot be opened: %w", dir, err)
	}
}

// load reads what is kept in memory: the version, the bound of numbers, tables and leases.
func (s *Store) load() error {
	if err := s.checkFormat(); err != nil {
		return err
	}
	if err := s.numbers.load(s.db); err != nil {
		return s.failed("opening", err)
	}
	s.tables = map[store.TableID]*table{}
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: key(keyTable), UpperBound: key(keyTable + 1)})
	if err != nil {
		return s.failed("opening", err)
	}
	defer iter.Close()
	for valid := iter.First(); valid; valid = iter.Next() {
		t, err := decodeTable(last(iter.Key()), iter.Value())
		if err != nil {
			return sqlerr.New(sqlerr.StoreCorrupt, "the store in '%s' cannot be opened: %w", s.dir, err)
		}
		s.tables[t.id] = t
	}
	if err := iter.Error(); err != nil {
		return s.failed("opening", err)
	}
	for _, t := range s.tables {
		if t.owner != "" {
			continue
		}
		t.family = &family{number: t.number, events: -1}
		if err := s.loadLease(t.family); err != nil {
			return s.failed("opening", err)
		}
	}
	for _, t := range s.tables {
		if t.owner == "" {
			continue
		}
		o := s.tables[t.owner]
		if o == nil || o.family == nil {
			return sqlerr.New(sqlerr.StoreCorrupt, "the store in '%s' cannot be opened: table '%s' is owned by '%s', which does not exist", s.dir, t.id, t.owner)
		}
		t.family = o.family
	}
	return nil
}

func (s *Store) checkFormat() error {
	v, closer, err := s.db.Get(key(keyFormat))
	if errors.Is(err, pebble.ErrNotFound) {
		return s.setFormat()
	}
	if err != nil {
		return s.failed("opening", err)
	}
	defer closer.Close()
	if len(v) != 8 {
		return sqlerr.New(sqlerr.StoreCorrupt, "the store in '%s' cannot be opened: its version has %d bytes", s.dir, len(v))
	}
	switch got := binary.BigEndian.Uint64(v); {
	case got < FormatVersion:
		return s.setFormat()
	case got > FormatVersion:
		return sqlerr.New(sqlerr.StoreFormat, "the store in '%s' has format version %d, this Millrace knows versions up to %d", s.dir, got, FormatVersion).
			WithHint("start the newer Millrace that wrote it")
	}
	return nil
}

func (s *Store) setFormat() error {
	return s.failed("opening", s.db.Set(key(keyFormat), binary.BigEndian.AppendUint64(nil, FormatVersion), pebble.Sync))
}

// enter begins a call, which ends with leave when enter succeeds. Close waits for it. A call must not enter twice.
func (s *Store) enter(ctx context.Context) error {
	s.life.RLock()
	err := context.Cause(ctx)
	if s.closed {
		err = store.ErrClosed
	}
	if err != nil {
		s.life.RUnlock()
	}
	return err
}

func (s *Store) leave() { s.life.RUnlock() }

// lookup finds a table as it is now.
func (s *Store) lookup(id store.TableID) (*table, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.tables[id]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%w: %s", store.ErrNoTable, id)
}

// Close implements store.Store. Where a write waits for disk space it gives the error and leaves the store as it is, because what waits cannot be
// taken back.
func (s *Store) Close() error {
	select {
	case <-s.space.stall():
		return s.space.stalledBy()
	default:
	}
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.closing)
	s.work.Wait()
	err := s.failed("closing", errors.Join(s.db.Flush(), s.db.Close(), s.lock.Close()))
	close(s.space.closing)
	return err
}

// syncLoop makes async commits durable, at most a second after them.
func (s *Store) syncLoop() {
	for {
		select {
		case <-s.closing:
			return
		case <-s.unsynced:
		}
		select {
		case <-s.closing:
			return // Close flushes
		case <-time.After(time.Second):
		}
		if err := s.db.LogData(nil, pebble.Sync); err != nil {
			s.log.Error("making commits durable failed", "error", err)
		}
	}
}

// logger passes on what Pebble has to say.
type logger struct{ log *slog.Logger }

func (l logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) {
	l.log.Warn("store: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return: Pebble does not know what is on the disk any more. The process ends; what was acknowledged is safe.
func (l logger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log.Error("store: " + text)
	panic("pebblestore: " + text)
}
