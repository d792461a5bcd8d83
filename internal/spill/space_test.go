package spill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"millrace/internal/sqlerr"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	return must(filepath.Glob(filepath.Join(dir, "*")))
}

func TestBlocksComeBackAndFilesGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tmp")
	s := must(Open(Options{Dir: dir}))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("there is a folder before there is a file: %v", err)
	}
	f := must(s.Create())
	var extents [4][50]Extent
	var writers sync.WaitGroup
	for w := range extents {
		writers.Go(func() {
			for i := range extents[w] {
				extents[w][i] = must(f.Append(bytes.Repeat(fmt.Appendf(nil, "%d/%d,", w, i), i)))
			}
		})
	}
	writers.Wait()
	var buf []byte
	total := int64(0)
	for w := range extents {
		for i, e := range extents[w] {
			buf = must(f.Read(e, buf))
			if want := bytes.Repeat(fmt.Appendf(nil, "%d/%d,", w, i), i); !bytes.Equal(buf, want) {
				t.Fatalf("block %d of %d is %q", i, w, buf)
			}
			total += int64(e.Size())
		}
	}
	if s.Used() != total || f.Size() != total || s.Written() != total {
		t.Errorf("%d bytes are written, used are %d", total, s.Used())
	}
	if err := f.Close(); err != nil || len(files(t, dir)) != 0 || s.Used() != 0 {
		t.Errorf("after Close: %v, %v, %d bytes", err, files(t, dir), s.Used())
	}
}

func TestAFolderOfTheSystemIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := must(Open(Options{}))
	f := must(s.Create())
	dir := filepath.Dir(f.path)
	if err := errors.Join(f.Close(), s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

func TestWhatACrashHasLeftGoes(t *testing.T) {
	dir := t.TempDir()
	f := must(must(Open(Options{Dir: dir})).Create())
	must(f.Append([]byte("x")))
	other := filepath.Join(dir, "of somebody else")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := must(Open(Options{Dir: dir}))
	if left := files(t, dir); len(left) != 1 || left[0] != other || s.Used() != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestTheLimitIsForAllFiles(t *testing.T) {
	s := must(Open(Options{Dir: t.TempDir(), Limit: 10}))
	a, b := must(s.Create()), must(s.Create())
	must(a.Append(make([]byte, 6)))
	if _, err := b.Append(make([]byte, 5)); !sqlerr.HasKind(err, sqlerr.TempSpace) {
		t.Fatalf("beyond the limit: %v", err)
	}
	must(b.Append(make([]byte, 4)))
	if err := errors.Join(a.Close()); err != nil {
		t.Fatal(err)
	}
	must(b.Append(make([]byte, 6)))
	if err := b.Close(); err != nil || s.Used() != 0 {
		t.Fatalf("%v, %d bytes used", err, s.Used())
	}
}

// faulty is a file on a disk that fails.
type faulty struct {
	*os.File
	write func(b []byte, at int64) (int, error)
}

func (f faulty) WriteAt(b []byte, at int64) (int, error) { return f.write(b, at) }

func TestFaultsOfTheDiskAreErrorsOfTheStatement(t *testing.T) {
	open := func(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
	dir := t.TempDir()
	s := must(Open(Options{Dir: dir, Create: func(string) (Backing, error) { return nil, syscall.EROFS }}))
	if _, err := s.Create(); !sqlerr.HasKind(err, sqlerr.TempSpace) || !errors.Is(err, syscall.EROFS) {
		t.Errorf("a disk that cannot be written: %v", err)
	}
	for name, write := range map[string]func([]byte, int64) (int, error){
		"full":  func([]byte, int64) (int, error) { return 0, syscall.ENOSPC },
		"short": func(b []byte, _ int64) (int, error) { return len(b) / 2, nil },
	} {
		s := must(Open(Options{Dir: dir, Create: func(path string) (Backing, error) {
			f, err := open(path)
			return faulty{f, write}, err
		}}))
		f := must(s.Create())
		if _, err := f.Append([]byte("1234")); !sqlerr.HasKind(err, sqlerr.TempSpace) {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.Close(); err != nil || s.Used() != 0 || len(files(t, dir)) != 0 {
			t.Errorf("%s: %v, %d bytes used, %v left", name, err, s.Used(), files(t, dir))
		}
	}
}

func TestDamageIsFound(t *testing.T) {
	s := must(Open(Options{Dir: t.TempDir()}))
	f := must(s.Create())
	e := must(f.Append([]byte("some bytes")))
	must(f.backing.WriteAt([]byte("X"), 3))
	if _, err := f.Read(e, nil); !sqlerr.HasKind(err, sqlerr.TempSpace) {
		t.Errorf("changed bytes: %v", err)
	}
	e.at = 5
	if _, err := f.Read(e, nil); !sqlerr.HasKind(err, sqlerr.TempSpace) {
		t.Errorf("beyond the end: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
