package catalog

import "syscall"

// DirLock is the lock of a data directory: a file opened without sharing; the system closes it when the process ends, however it ends.
type DirLock struct{ h syscall.Handle }

func lockDir(path string) (*DirLock, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return &DirLock{h}, nil
}

// Close gives the lock back.
func (l *DirLock) Close() error { return syscall.CloseHandle(l.h) }

// syncDir does nothing: Windows cannot open a directory for writing, and its rename is journalled with the file.
func syncDir(string) error { return nil }
