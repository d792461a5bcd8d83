package pebblestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"millrace/internal/sqlerr"
)

// space watches the free space of the disk.
//
// Pebble cannot go on after a write that failed. So commits are refused while there is still room for what it has under way, and a
// write that finds the disk full all the same, or read-only, waits here until it can be done, instead of failing: the store is then stalled, commits are refused, and
// who waits for one gives up waiting.
type space struct {
	fs      vfs.FS
	dir     string
	reserve uint64
	closing chan struct{}

	mu      sync.Mutex
	checked time.Time
	written uint64 // since checked
	free    uint64
	waiting int           // writes that found the disk full, or read-only
	cause   error         // of the last of them
	stalled chan struct{} // closed while waiting > 0
}

const (
	checkEvery = 250 * time.Millisecond
	checkBytes = 8 << 20
	tryEvery   = 50 * time.Millisecond
	// openBytes is the space that opening a store needs, about.
	openBytes = 4 << 20
)

func newSpace(fs vfs.FS, dir string, reserve uint64) *space {
	return &space{fs: fs, dir: dir, reserve: reserve, closing: make(chan struct{}), stalled: make(chan struct{})}
}

// writable finds out whether a store can be opened: its first writes would wait for space, and nobody would know why.
func (s *space) writable() error {
	if usage, err := s.fs.GetDiskUsage(s.dir); err == nil && usage.AvailBytes < openBytes {
		return &os.PathError{Op: "write", Path: s.dir, Err: syscall.ENOSPC}
	}
	path := s.fs.PathJoin(s.dir, "probe")
	f, err := s.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), s.fs.Remove(path))
}

// admit refuses a commit of about n bytes for which there is no room.
func (s *space) admit(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting > 0 {
		return s.refusal()
	}
	s.written += uint64(n)
	if now := time.Now(); s.written > checkBytes || now.Sub(s.checked) > checkEvery {
		usage, err := s.fs.GetDiskUsage(s.dir)
		if err != nil {
			return nil // not known on this file system: the write will tell
		}
		s.checked, s.written, s.free = now, uint64(n), usage.AvailBytes
	}
	// Twice the size: a commit is written to the log and again when memory is flushed.
	if s.free < s.reserve+2*s.written {
		s.checked = time.Time{} // look again next time
		return s.full(s.free)
	}
	return nil
}

// moving refuses what would have to wait for a write that waits for space.
func (s *space) moving() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting > 0 {
		return s.refusal()
	}
	return nil
}

// stalledBy is the error for what is refused while writes wait.
func (s *space) stalledBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal()
}

// refusal is stalledBy for who holds mu.
func (s *space) refusal() error {
	if errors.Is(s.cause, syscall.EROFS) {
		return sqlerr.New(sqlerr.StoreFailed, "the disk of the store in '%s' is read-only", s.dir).WithCause(s.cause).WithHint("look at the system's log for why, and make it writable; writing goes on by itself then")
	}
	return s.full(0)
}

// mayBeMended reports whether a write that failed can be done later.
func mayBeMended(err error) bool { return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EROFS) }

func (s *space) full(free uint64) error {
	return sqlerr.New(sqlerr.StoreFull, "the disk of the store in '%s' is full: %d MiB are free, the last %d MiB are held back", s.dir, free>>20, s.reserve>>20).
		WithHint("free some space; writing goes on by itself then")
}

// stall gives a channel that is closed when a write waits for space.
func (s *space) stall() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stalled
}

// retry calls write until it does not fail for want of space, or the store is closed.
func (s *space) retry(write func() error) error {
	err := write()
	if !mayBeMended(err) {
		return err
	}
	s.mu.Lock()
	s.cause = err
	if s.waiting++; s.waiting == 1 {
		close(s.stalled)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting--; s.waiting == 0 {
			s.stalled = make(chan struct{})
			s.checked = time.Time{}
		}
	}()
	for tick := time.NewTicker(tryEvery); ; {
		select {
		case <-s.closing:
			tick.Stop()
			return err
		case <-tick.C:
		}
		if err = write(); !mayBeMended(err) {
			tick.Stop()
			return err
		}
	}
}

// patientFS is a file system whose writes in the folder of the store wait for space. Those elsewhere, of a backup, do not: the disk may be another one.
type patientFS struct {
	vfs.FS
	space *space
}

// elsewhere reports whether a path is not one of the store's.
func (f *patientFS) elsewhere(name string) bool {
	return name != f.space.dir && !strings.HasPrefix(name, f.space.dir+string(filepath.Separator))
}

func (f *patientFS) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if f.elsewhere(name) {
		return open()
	}
	var file vfs.File
	err := f.space.retry(func() (err error) {
		file, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &patientFile{file, f.space}, nil
}

func (f *patientFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

func (f *patientFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.file(name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, opts...) })
}

func (f *patientFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(newname, func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, c) })
}

func (f *patientFS) MkdirAll(dir string, perm os.FileMode) error {
	if f.elsewhere(dir) {
		return f.FS.MkdirAll(dir, perm)
	}
	return f.space.retry(func() error { return f.FS.MkdirAll(dir, perm) })
}

func (f *patientFS) Rename(oldname, newname string) error {
	if f.elsewhere(newname) {
		return f.FS.Rename(oldname, newname)
	}
	return f.space.retry(func() error { return f.FS.Rename(oldname, newname) })
}

func (f *patientFS) Unwrap() vfs.FS { return f.FS }

type patientFile struct {
	vfs.File
	space *space
}

// Write implements io.Writer. What was written before the disk was full is not written again.
func (f *patientFile) Write(p []byte) (n int, err error) {
	err = f.space.retry(func() error {
		k, err := f.File.Write(p[n:])
		n += max(k, 0)
		return err
	})
	return n, err
}

func (f *patientFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.space.retry(func() error {
		k, err := f.File.WriteAt(p[n:], off+int64(n))
		n += max(k, 0)
		return err
	})
	return n, err
}

func (f *patientFile) Preallocate(offset, length int64) error {
	return f.space.retry(func() error { return f.File.Preallocate(offset, length) })
}
