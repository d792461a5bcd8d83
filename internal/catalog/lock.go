package catalog

import (
	"fmt"
	"os"
	"path/filepath"
)

// LockDir takes the lock of a data directory, which is made if it is missing: one process at a time uses it.
func LockDir(dir string) (*DirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := lockDir(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("data directory %s is in use by another process: %w (when that is a server, connect to it with a MySQL client)", dir, err)
	}
	return lock, nil
}
