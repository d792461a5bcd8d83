package export

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Dir is the folder that SQL may write to. The zero value lets it write nowhere.
type Dir struct{ Path string }

// errNone is the error for a server that lets SQL write nothing.
func errNone() *sqlerr.Error {
	return sqlerr.New(sqlerr.FilesRefused, "this server lets SQL write no files").WithHint("start it with --export-dir and a folder")
}

// Local gives a path that SQL names relative to the folder, and what is wrong with one that leaves it.
func (d Dir) Local(path string) (string, error) {
	if d.Path == "" {
		return "", errNone()
	}
	outside := sqlerr.New(sqlerr.FilesRefused, "'%s' is not below the server's --export-dir", option.Show(path)).WithHint("name it relative to that folder")
	local := filepath.Clean(path)
	if filepath.IsAbs(local) {
		base, err := filepath.Abs(d.Path)
		if err != nil {
			return "", outside.WithCause(err)
		}
		if local, err = filepath.Rel(base, local); err != nil {
			return "", outside.WithCause(err)
		}
	}
	if path == "" || local == "." || !filepath.IsLocal(local) {
		return "", outside
	}
	return local, nil
}

// File is a file that comes into being: it has its name once Commit has returned, and is gone after Abort. It counts the bytes that it takes.
type File struct {
	root      *os.Root
	file      *os.File
	shown     string // as the user named it
	name      string
	partial   string
	overwrite bool
	Bytes     int64
}

// Partial is what the names of files that are being written contain.
const Partial = ".partial-"

// Create begins the file at path below the folder. One that is there is an error unless it shall be overwritten: it then stays as it is until Commit.
func (d Dir) Create(path string, overwrite bool) (_ *File, err error) {
	local, err := d.Local(path)
	if err != nil {
		return nil, err
	}
	f := &File{shown: path, name: local, overwrite: overwrite}
	f.partial = filepath.Join(filepath.Dir(local), "."+filepath.Base(local)+Partial+strings.ToLower(rand.Text()[:8]))
	if f.root, err = os.OpenRoot(d.Path); err != nil {
		return nil, f.failed("opening --export-dir for", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.root.Close())
		}
	}()
	switch info, err := f.root.Lstat(local); {
	case err == nil && !info.Mode().IsRegular():
		return nil, sqlerr.New(sqlerr.FileExists, "'%s' exists and is not a regular file", option.Show(path))
	case err == nil && !overwrite:
		return nil, f.exists()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, f.failed("creating", err)
	}
	if f.file, err = f.root.OpenFile(f.partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640); err != nil {
		return nil, f.failed("creating", err)
	}
	return f, nil
}

func (f *File) exists() error {
	return sqlerr.New(sqlerr.FileExists, "file '%s' exists", option.Show(f.shown)).WithHint("EXPORT … OVERWRITE replaces it")
}

// failed is the error for a file that cannot be written.
func (f *File) failed(doing string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return sqlerr.New(sqlerr.ExportFailed, "the folder of '%s' does not exist below --export-dir", option.Show(f.shown)).WithCause(err)
	}
	cause := err
	var p *fs.PathError
	if errors.As(err, &p) {
		cause = p.Err // the path is one of the server's, and that of the partial file
	}
	return sqlerr.New(sqlerr.ExportFailed, "%s file '%s' failed: %v", doing, option.Show(f.shown), cause).WithCause(err)
}

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	f.Bytes += int64(n)
	if err != nil {
		err = f.failed("writing", err)
	}
	return n, err
}

// Commit makes the file durable and gives it its name, in one step. After an error there is nothing of it.
func (f *File) Commit() (err error) {
	err = f.file.Sync()
	err = errors.Join(err, f.file.Close())
	f.file = nil
	if err != nil {
		return errors.Join(f.failed("writing", err), f.Abort())
	}
	if f.overwrite {
		err = f.root.Rename(f.partial, f.name)
	} else {
		err = f.place()
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return errors.Join(f.exists(), f.Abort())
	case err != nil:
		return errors.Join(f.failed("naming", err), f.Abort())
	}
	if err = syncFolder(f.root, filepath.Dir(f.name)); err != nil {
		err = f.failed("naming", err)
	}
	return errors.Join(err, f.root.Close())
}

// place gives the file its name unless something has it by now. A link is what fails then; where there are none, a look before the renaming has to do.
func (f *File) place() error {
	err := f.root.Link(f.partial, f.name)
	if err == nil {
		return f.root.Remove(f.partial)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, there := f.root.Lstat(f.name); there == nil {
		return fs.ErrExist
	}
	return f.root.Rename(f.partial, f.name)
}

// Abort removes what was written. It is for a file that was not committed.
func (f *File) Abort() error {
	var err error
	if f.file != nil {
		err = f.file.Close()
		f.file = nil
	}
	if gone := f.root.Remove(f.partial); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err = errors.Join(err, f.root.Close()); err != nil {
		return f.failed("removing the partial", err)
	}
	return nil
}
