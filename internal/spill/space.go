// Package spill holds temporary files for what statements cannot keep in memory.
//
// A Space is a folder with a limit, one for a process. A File is one operator's: blocks are appended from any goroutine and read back by the Extents that
// Append gave, which hold a checksum each. The folder comes with the first file, and a file goes when it is closed; what a crash
// has left goes when the Space is opened again.
package spill

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"millrace/internal/sqlerr"
)

// Backing is what a file is made of: an *os.File.
type Backing interface {
	io.WriterAt
	io.ReaderAt
	io.Closer
}

// Options say where files are and how large they may become.
type Options struct {
	// Dir is the folder. What is in it under our names is removed. Empty is a folder of the system's for temporary files, which Close removes.
	Dir string
	// Limit bounds the bytes of all files, 0 for no bound.
	Limit int64
	// Create makes an empty file; nil takes one of the operating system. It is for tests of what disks can do.
	Create func(path string) (Backing, error)
}

// Space is a folder of temporary files.
type Space struct {
	options Options

	mu   sync.Mutex
	dir  string // "" until there is a file
	made bool   // the folder is ours to remove

	next          atomic.Int64
	used, written atomic.Int64
}

// prefix is how the names of our files begin.
const prefix = "spill-"

// Open prepares a space and removes what an earlier process has left.
func Open(o Options) (*Space, error) {
	if o.Create == nil {
		o.Create = func(path string) (Backing, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) }
	}
	s := &Space{options: o}
	if o.Dir == "" {
		return s, nil
	}
	entries, err := os.ReadDir(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("temporary files: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			if err := os.Remove(filepath.Join(o.Dir, e.Name())); err != nil {
				return nil, fmt.Errorf("temporary files of an earlier run: %w", err)
			}
		}
	}
	return s, nil
}

// Used is the size of all files now, and Written the bytes that were ever written to files.
func (s *Space) Used() int64    { return s.used.Load() }
func (s *Space) Written() int64 { return s.written.Load() }

// Close removes the folder, when it is none that was given. All files must be closed.
func (s *Space) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made {
		return nil
	}
	s.made = false
	return os.Remove(s.dir)
}

// folder gives the folder, which it makes when it is not there.
func (s *Space) folder() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.Dir != "" {
		return s.options.Dir, os.MkdirAll(s.options.Dir, 0o700)
	}
	if !s.made {
		dir, err := os.MkdirTemp("", "millrace-")
		if err != nil {
			return "", err
		}
		s.dir, s.made = dir, true
	}
	return s.dir, nil
}

// Create makes an empty file.
func (s *Space) Create() (*File, error) {
	dir, err := s.folder()
	if err != nil {
		return nil, failed("create", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s%d", prefix, s.next.Add(1)))
	b, err := s.options.Create(path)
	if err != nil {
		return nil, failed("create", err)
	}
	return &File{space: s, path: path, backing: b}, nil
}

// failed is the error of a statement whose temporary file is no good.
func failed(what string, err error) error {
	return sqlerr.New(sqlerr.TempSpace, "cannot %s a temporary file: %w", what, err).
		WithHint("the statement needs more memory than its budget and goes on on disk: make room there, filter more, or raise '--memory-limit'")
}

// File is a temporary file. Its methods may be called from any goroutine, Close once, when no other runs or follows.
type File struct {
	space   *Space
	path    string
	backing Backing
	end     atomic.Int64
}

// Extent is where a block is.
type Extent struct {
	at   int64
	size int
	sum  uint32
}

// Size is the number of bytes of the block.
func (e Extent) Size() int { return e.size }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append writes a block, which stays the caller's.
func (f *File) Append(block []byte) (Extent, error) {
	n := int64(len(block))
	s := f.space
	if now := s.used.Add(n); s.options.Limit > 0 && now > s.options.Limit {
		s.used.Add(-n)
		return Extent{}, sqlerr.New(sqlerr.TempSpace, "the temporary files of all statements need more than the %d bytes of '--temp-limit'", s.options.Limit).
			WithHint("filter more, ask for fewer rows or groups, or raise '--temp-limit' or '--memory-limit'")
	}
	e := Extent{at: f.end.Add(n) - n, size: len(block), sum: crc32.Checksum(block, castagnoli)}
	wrote, err := f.backing.WriteAt(block, e.at)
	if err == nil && wrote < len(block) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return Extent{}, failed("write to", err)
	}
	s.written.Add(n)
	return e, nil
}

// Read reads a block into buf, which grows when it must, and gives it.
func (f *File) Read(e Extent, buf []byte) ([]byte, error) {
	if cap(buf) < e.size {
		buf = make([]byte, e.size)
	}
	buf = buf[:e.size]
	if n, err := f.backing.ReadAt(buf, e.at); n < e.size {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, failed("read", err)
	}
	if got := crc32.Checksum(buf, castagnoli); got != e.sum {
		return nil, failed("read", fmt.Errorf("%s at %d: checksum is %08x, %08x was written", filepath.Base(f.path), e.at, got, e.sum))
	}
	return buf, nil
}

// Size is how much was written.
func (f *File) Size() int64 { return f.end.Load() }

// Close removes the file.
func (f *File) Close() error {
	err := f.backing.Close()
	f.space.used.Add(-f.end.Load())
	return errors.Join(err, os.Remove(f.path))
}
