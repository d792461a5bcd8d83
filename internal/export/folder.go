package export

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Folder is a folder that comes into being: it has its name once Commit has returned, and is gone after Abort. Until then others fill it at Path.
type Folder struct {
	// Path is where the folder is while it is filled.
	Path    string
	root    *os.Root
	shown   string // as the user named it
	name    string
	partial string
}

// CreateFolder begins the folder at path below Dir. One that is there must be empty.
func (d Dir) CreateFolder(path string) (_ *Folder, err error) {
	local, err := d.Local(path)
	if err != nil {
		return nil, err
	}
	f := &Folder{shown: path, name: local, partial: filepath.Join(filepath.Dir(local), "."+filepath.Base(local)+Partial+strings.ToLower(rand.Text()[:8]))}
	if f.root, err = os.OpenRoot(d.Path); err != nil {
		return nil, f.Failed(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.root.Close())
		}
	}()
	if err := f.free(); err != nil {
		return nil, err
	}
	if err := f.root.Mkdir(f.partial, 0o700); err != nil {
		return nil, f.Failed(err)
	}
	// Who fills the folder does so by its path, so symbolic links on the way are resolved now, when they have been found to stay inside.
	if f.Path, err = filepath.EvalSymlinks(filepath.Join(d.Path, f.partial)); err == nil {
		f.Path, err = filepath.Abs(f.Path)
	}
	if err != nil {
		return nil, errors.Join(f.Failed(err), f.root.Remove(f.partial))
	}
	return f, nil
}

// free wants the name to be free, or that of an empty folder.
func (f *Folder) free() error {
	exists := func(what string) error {
		return sqlerr.New(sqlerr.FileExists, "'%s' exists and is %s", option.Show(f.shown), what).WithHint("name a folder that does not exist yet")
	}
	switch info, err := f.root.Lstat(f.name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return f.Failed(err)
	case !info.IsDir():
		return exists("no folder")
	}
	folder, err := f.root.Open(f.name)
	if err != nil {
		return f.Failed(err)
	}
	names, err := folder.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, folder.Close()); err != nil {
		return f.Failed(err)
	}
	if len(names) > 0 {
		return exists("not empty")
	}
	return nil
}

// Failed is the error for a folder that cannot be written.
func (f *Folder) Failed(err error) error {
	if err == nil {
		return nil
	}
	cause := err
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		cause = p.Err // the paths are those of the server
	case errors.As(err, &l):
		cause = l.Err
	}
	return sqlerr.New(sqlerr.ExportFailed, "writing folder '%s' failed: %v", option.Show(f.shown), cause).WithCause(err)
}

// Bytes sums up the files of the folder.
func (f *Folder) Bytes() (total int64, err error) {
	err = filepath.WalkDir(f.Path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, f.Failed(err)
}

// Commit gives the folder, whose files must be durable, its name in one step. After an error there is nothing of it.
func (f *Folder) Commit() error {
	err := syncFolder(f.root, f.partial)
	if err == nil {
		err = f.free()
	}
	if err == nil {
		if gone := f.root.Remove(f.name); !errors.Is(gone, fs.ErrNotExist) { // an empty one: not every system renames over it
			err = gone
		}
	}
	if err == nil {
		err = f.root.Rename(f.partial, f.name)
	}
	if err != nil {
		if _, ours := sqlerr.As(err); !ours {
			err = f.Failed(err)
		}
		return errors.Join(err, f.Abort())
	}
	return errors.Join(f.Failed(syncFolder(f.root, filepath.Dir(f.name))), f.root.Close())
}

// Abort removes what was written. It is for a folder that was not committed.
func (f *Folder) Abort() error {
	return f.Failed(errors.Join(f.root.RemoveAll(f.partial), f.root.Close()))
}

// syncFolder makes the names in a folder durable.
func syncFolder(root *os.Root, path string) error {
	folder, err := root.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) { // not every system syncs folders
		err = nil
	}
	return errors.Join(err, folder.Close())
}

// Remove removes a folder in the folder, for it to be written again.
func (f *Folder) Remove(name string) error {
	return f.Failed(f.root.RemoveAll(filepath.Join(f.partial, name)))
}
