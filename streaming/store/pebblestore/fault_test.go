package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// faultyFS is a disk that can be full, or read-only.
type faultyFS struct {
	vfs.FS
	full     atomic.Bool // writes fail, after half of what they were to write
	low      atomic.Bool // little space is left
	readOnly atomic.Bool
}

func (f *faultyFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if f.low.Load() {
		return vfs.DiskUsage{AvailBytes: 1 << 20, TotalBytes: 1 << 40}, nil
	}
	return vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40}, nil
}

func (f *faultyFS) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f}, nil
}

func (f *faultyFS) refuse(name string) error {
	switch {
	case f.full.Load():
		return &os.PathError{Op: "create", Path: name, Err: syscall.ENOSPC}
	case f.readOnly.Load():
		return &os.PathError{Op: "create", Path: name, Err: syscall.EROFS}
	default:
		return nil
	}
}

func (f *faultyFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.refuse(name); err != nil {
		return nil, err
	}
	return f.wrap(f.FS.Create(name, c))
}

func (f *faultyFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.refuse(newname); err != nil {
		return nil, err
	}
	return f.wrap(f.FS.ReuseForWrite(oldname, newname, c))
}

func (f *faultyFS) Lock(name string) (io.Closer, error) {
	if err := f.refuse(name); err != nil {
		return nil, err
	}
	return f.FS.Lock(name)
}

type faultyFile struct {
	vfs.File
	fs *faultyFS
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if f.fs.readOnly.Load() {
		return 0, &os.PathError{Op: "write", Path: "file", Err: syscall.EROFS}
	}
	if !f.fs.full.Load() {
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:len(p)/2])
	if err != nil {
		return n, err
	}
	return n, &os.PathError{Op: "write", Path: "file", Err: syscall.ENOSPC}
}

func numbersTable(id store.TableID) store.TableSpec {
	return store.TableSpec{ID: id, Columns: []store.Column{{Field: column.Field{Name: "id", Type: column.Type{Kind: column.Int64}}}, {Field: column.Field{Name: "text", Type: column.Type{Kind: column.Text}}}}}
}

func openTest(t *testing.T, dir string, o Options, tables ...store.TableID) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, id := range tables {
		if err := s.CreateTable(t.Context(), numbersTable(id)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// textOf is the text of row n.
func textOf(n int) string { return strconv.FormatUint(uint64(n)*0x9e3779b97f4a7c15, 36) }

// insert commits n rows from one on, and their position.
func insert(t *testing.T, s *Store, l store.Lease, from, n int) error {
	b := &column.Batch{N: n, Cols: make([]column.Vector, 2)}
	b.Cols[0].Type.Kind, b.Cols[1].Type.Kind = column.Int64, column.Text
	for i := range n {
		b.Cols[0].AppendInt(int64(from + i))
		b.Cols[1].AppendBytes([]byte(textOf(from + i)))
	}
	c := &store.Commit{Table: l.Table, Lease: l, Writes: []store.Write{{Table: l.Table, SchemaVersion: 1, Rows: b}}}
	m := store.Move{To: &store.Position{Offset: int64(from + n)}}
	if from > 0 {
		m.From = &store.Position{Offset: int64(from)}
	}
	c.Moves = append(c.Moves, m)
	_, err := s.Commit(t.Context(), c)
	return err
}

func acquire(t *testing.T, s *Store, id store.TableID) store.Lease {
	t.Helper()
	l, err := s.AcquireWriter(t.Context(), id, "test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// count scans all of a table and gives the number of rows.
func count(t *testing.T, s *Store, id store.TableID, columns ...int) (int64, error) {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	src, err := snap.Scan(t.Context(), store.ScanSpec{Table: id, Columns: columns, Limit: -1})
	if err != nil {
		return 0, err
	}
	err = src.Run(t.Context(), func(int) (scan.Sink, error) { return nopSink{}, nil })
	return src.Stats().Records, err
}

func wantCount(t *testing.T, s *Store, id store.TableID, want int64) {
	t.Helper()
	if n, err := count(t, s, id, 0, 1); err != nil || n != want {
		t.Errorf("%s has %d rows, %v, want %d", id, n, err, want)
	}
}

func TestCommitsAreRefusedBeforeTheDiskIsFull(t *testing.T) {
	fs := &faultyFS{FS: vfs.Default}
	s := openTest(t, t.TempDir(), Options{FS: fs}, "t", "u")
	l := acquire(t, s, "t")
	if err := insert(t, s, l, 0, 100); err != nil {
		t.Fatal(err)
	}
	fs.low.Store(true)
	s.space.checked = time.Time{}
	err := insert(t, s, l, 100, 100)
	if !sqlerr.HasKind(err, sqlerr.StoreFull) || errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatalf("committing with little space: %v", err)
	}
	wantCount(t, s, "t", 100)
	if err := s.CreateTable(t.Context(), numbersTable("v")); !sqlerr.HasKind(err, sqlerr.StoreFull) {
		t.Errorf("creating a table with little space: %v", err)
	}
	if err := s.DropTable(t.Context(), "u"); err != nil {
		t.Errorf("dropping a table, which gives space back: %v", err)
	}
	fs.low.Store(false)
	s.space.checked = time.Time{}
	if err := insert(t, s, l, 100, 100); err != nil {
		t.Errorf("committing with space again: %v", err)
	}
	wantCount(t, s, "t", 200)
}

// A disk that is full in the middle of a write: nobody waits for ever, nothing that was acknowledged is lost, and everything goes on when there is space.
func TestFullDiskStallsAndGoesOn(t *testing.T) {
	fs := &faultyFS{FS: vfs.Default}
	dir := t.TempDir()
	s := openTest(t, dir, Options{FS: fs}, "t", "u")
	l := acquire(t, s, "t")
	if err := insert(t, s, l, 0, 100); err != nil {
		t.Fatal(err)
	}
	fs.full.Store(true)
	if err := insert(t, s, l, 100, 100); !errors.Is(err, store.ErrUnknownOutcome) || !sqlerr.HasKind(err, sqlerr.StoreFull) {
		t.Fatalf("committing to a full disk: %v", err)
	}
	if err := insert(t, s, store.Lease{Table: "u"}, 0, 1); err == nil || errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatalf("another commit to a full disk: %v", err)
	}
	if n, err := count(t, s, "t", 0, 1); err != nil || n < 100 {
		t.Errorf("reading while the disk is full: %d, %v", n, err)
	}
	if err := s.Close(); !sqlerr.HasKind(err, sqlerr.StoreFull) {
		t.Errorf("closing while the disk is full: %v", err)
	}
	fs.full.Store(false)
	// The commit is under way and will be done; whoever made it finds out by the checkpoint.
	var c *store.Checkpoint
	for c == nil || c.Number < 2 {
		var err error
		if c, err = s.Checkpoint(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
	}
	if c.Epoch != l.Epoch || c.Positions[store.Partition{}].Offset != 200 {
		t.Errorf("the checkpoint is %+v", c)
	}
	for {
		err := insert(t, s, l, 200, 100)
		if err == nil {
			break
		}
		if !sqlerr.HasKind(err, sqlerr.StoreFull) {
			t.Fatal(err)
		}
	}
	wantCount(t, s, "t", 300)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, dir, Options{FS: fs})
	wantCount(t, s, "t", 300)
}

func TestFullDiskWhileMemoryIsFlushed(t *testing.T) {
	fs := &faultyFS{FS: vfs.Default}
	s := openTest(t, t.TempDir(), Options{FS: fs}, "t")
	l := acquire(t, s, "t")
	if err := insert(t, s, l, 0, 1000); err != nil {
		t.Fatal(err)
	}
	fs.full.Store(true)
	var flush sync.WaitGroup
	flush.Go(func() {
		if err := s.db.Flush(); err != nil {
			t.Error(err)
		}
	})
	<-s.space.stall()
	if err := insert(t, s, l, 1000, 1000); !sqlerr.HasKind(err, sqlerr.StoreFull) {
		t.Errorf("committing while a flush waits for space: %v", err)
	}
	wantCount(t, s, "t", 1000)
	fs.full.Store(false)
	flush.Wait()
	wantCount(t, s, "t", 1000)
}

func TestReadOnlyDirectoryIsAClearError(t *testing.T) {
	fs := &faultyFS{FS: vfs.Default}
	fs.readOnly.Store(true)
	dir := t.TempDir()
	_, err := Open(dir, Options{FS: fs})
	if !sqlerr.HasKind(err, sqlerr.StoreFailed) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("opening a store on a read-only disk: %v", err)
	}
}

// A disk that becomes read-only, as it does when its file system finds a fault: commits are refused with that reason, reading goes on, and writing does when the disk can be written again.
func TestReadOnlyDiskStallsAndGoesOn(t *testing.T) {
	fs := &faultyFS{FS: vfs.Default}
	s := openTest(t, t.TempDir(), Options{FS: fs}, "t")
	l := acquire(t, s, "t")
	if err := insert(t, s, l, 0, 100); err != nil {
		t.Fatal(err)
	}
	fs.readOnly.Store(true)
	if err := insert(t, s, l, 100, 100); !errors.Is(err, store.ErrUnknownOutcome) || !strings.Contains(err.Error(), "read-only") {
		t.Fatalf("committing to a read-only disk: %v", err)
	}
	if err := insert(t, s, l, 100, 100); !sqlerr.HasKind(err, sqlerr.StoreFailed) || !strings.Contains(err.Error(), "is read-only") {
		t.Errorf("another commit: %v", err)
	}
	if n, err := count(t, s, "t", 0, 1); err != nil || n < 100 {
		t.Errorf("reading meanwhile: %d, %v", n, err)
	}
	fs.readOnly.Store(false)
	var c *store.Checkpoint
	for c == nil || c.Number < 2 { // the commit is under way
		var err error
		if c, err = s.Checkpoint(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
	}
	for {
		err := insert(t, s, l, 200, 100)
		if err == nil {
			break
		}
		if !sqlerr.HasKind(err, sqlerr.StoreFailed) {
			t.Fatal(err)
		}
	}
	wantCount(t, s, "t", 300)
}

// A store is not opened on a full disk, and says so: nobody would know why it waits.
func TestOpeningOnAFullDiskIsAnError(t *testing.T) {
	fs := &faultyFS{FS: vfs.Default}
	dir := t.TempDir()
	if err := openTest(t, dir, Options{FS: fs}, "t").Close(); err != nil {
		t.Fatal(err)
	}
	fs.full.Store(true)
	if _, err := Open(dir, Options{FS: fs}); err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), dir) {
		t.Errorf("it opens: %v", err)
	}
	fs.full.Store(false)
	openTest(t, dir, Options{FS: fs})
}

func TestSecondOpenIsRefused(t *testing.T) {
	dir := t.TempDir()
	openTest(t, dir, Options{})
	if _, err := Open(dir, Options{}); !sqlerr.HasKind(err, sqlerr.StoreLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("opening a store twice: %v", err)
	}
}

func TestNewerFormatIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	if err := s.db.Set(key(keyFormat), binary.BigEndian.AppendUint64(nil, 7), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !sqlerr.HasKind(err, sqlerr.StoreFormat) || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("opening a store of a newer format: %v", err)
	}
}

// textBlob gives the key and the blob of the second column of a table's last segment.
func textBlob(t *testing.T, s *Store, id store.TableID) (k, blob []byte) {
	t.Helper()
	table, err := s.lookup(id)
	if err != nil {
		t.Fatal(err)
	}
	var e *entry
	if err := segments(s.db, table, 0, func(x *entry) (bool, error) { e = x; return true, nil }); err != nil {
		t.Fatal(err)
	}
	k = key(keyColumn, table.number, e.blob, uint64(table.schema.Columns[1].ID), 0)
	v, closer, err := s.db.Get(k)
	if err != nil {
		t.Fatal(err)
	}
	blob = bytes.Clone(v)
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	return k, blob
}

func TestCorruptColumnIsNamedAndTheRestIsRead(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{}, "t", "u")
	for _, id := range []store.TableID{"t", "u"} {
		if err := insert(t, s, acquire(t, s, id), 0, 100); err != nil {
			t.Fatal(err)
		}
	}
	k, blob := textBlob(t, s, "t")
	bad := append([]byte(nil), blob...)
	bad[len(bad)/2] ^= 4
	if err := s.db.Set(k, bad, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	_, err := count(t, s, "t", 0, 1)
	if !sqlerr.HasKind(err, sqlerr.StoreCorrupt) || !strings.Contains(err.Error(), "'t'") || !strings.Contains(err.Error(), "'text'") || !strings.Contains(err.Error(), "segment") {
		t.Errorf("reading a corrupt column: %v", err)
	}
	if n, err := count(t, s, "t", 0); err != nil || n != 100 {
		t.Errorf("reading another column: %d, %v", n, err)
	}
	wantCount(t, s, "u", 100)
	if err := s.db.Delete(k, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err = count(t, s, "t", 1); !sqlerr.HasKind(err, sqlerr.StoreCorrupt) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("reading a column that is missing: %v", err)
	}
	if err := s.TruncateTable(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	wantCount(t, s, "t", 0)
}

// Bytes flipped in a file of Pebble's: what lies in it cannot be read, what lies elsewhere can.
func TestCorruptFileConcernsOnlyWhatIsInIt(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, Options{}, "t", "u")
	for _, id := range []store.TableID{"t", "u"} {
		if err := errors.Join(insert(t, s, acquire(t, s, id), 0, 20000), s.db.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	_, blob := textBlob(t, s, "t")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(content, blob); at >= 0 {
			content[at+20] ^= 1 // near the beginning, where Pebble looks for flipped bits first
			flipped++
			if err := os.WriteFile(f, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if flipped == 0 {
		t.Fatalf("none of %v holds the column", files)
	}
	s = openTest(t, dir, Options{})
	_, err = count(t, s, "t", 0, 1)
	if !sqlerr.HasKind(err, sqlerr.StoreCorrupt) || !strings.Contains(err.Error(), "'t'") {
		t.Errorf("reading from a corrupt file: %v", err)
	}
	wantCount(t, s, "u", 20000)
	if err := insert(t, s, acquire(t, s, "u"), 20000, 10); err != nil {
		t.Errorf("committing beside a corrupt file: %v", err)
	}
}
