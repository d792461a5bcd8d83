//go:build !windows

package catalog

import (
	"errors"
	"os"
	"syscall"
)

// DirLock is the lock of a data directory: an advisory lock on a file; the system drops it when the process ends, however it ends.
type DirLock struct{ f *os.File }

func lockDir(path string) (*DirLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &DirLock{f}, nil
}

// Close gives the lock back.
func (l *DirLock) Close() error { return l.f.Close() }

// syncDir forces a rename in dir to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
