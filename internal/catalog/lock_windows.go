package catalog

import "syscall"

// dirLock is a file opened without sharing; the system closes it when the process ends, however it ends.
type dirLock struct{ h syscall.Handle }

func lockDir(path string) (*dirLock, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return &dirLock{h}, nil
}

func (l *dirLock) unlock() error { return syscall.CloseHandle(l.h) }

// syncDir does nothing: Windows cannot open a directory for writing, and its rename is journalled with the file.
func syncDir(string) error { return nil }
