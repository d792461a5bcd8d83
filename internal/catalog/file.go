package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file is a document in a file of the data directory. The directory's lock keeps others away, so the version need not be in the file: it counts from the
// opening on.
type file struct {
	path    string
	version int64
}

// OpenFile gives the document in the file catalog.json of dir, which exists and is locked.
func OpenFile(dir string) (Document, error) {
	f := &file{path: filepath.Join(dir, "catalog.json")}
	switch _, err := os.Stat(f.path); {
	case err == nil:
		f.version = 1
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return f, nil
}

// Read implements Document.
func (f *file) Read(_ context.Context, known int64) ([]byte, int64, error) {
	if f.version == 0 || f.version == known {
		return nil, f.version, nil
	}
	content, err := os.ReadFile(f.path)
	return content, f.version, err
}

// Replace implements Document. A crash at any point leaves the old file or the new one, whole: the new content is written beside it and forced to disk
// before the rename, and the rename is forced to disk before the change is reported as done.
func (f *file) Replace(_ context.Context, from int64, content []byte) error {
	if from != f.version {
		return ErrChanged
	}
	if err := replaceFile(f.path, content); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	f.version++
	return nil
}

// Where implements Document.
func (f *file) Where() string { return f.path }

// Close implements Document.
func (f *file) Close() error { return nil }

// Save writes a catalog with a content into a directory that has none, for a copy that another process will open.
func Save(dir string, s State) error {
	content, err := encode(s)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, "catalog.json"), content)
}

func replaceFile(path string, content []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
