package testkit

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// Disk is a small file system of its own, in memory, that can really be full or read-only.
type Disk struct{ Dir string }

// MountDisk mounts a disk of so many bytes until the test ends. Where the process may not mount, the test is skipped.
func MountDisk(t testing.TB, bytes int) Disk {
	t.Helper()
	d := Disk{t.TempDir()}
	if err := syscall.Mount("tmpfs", d.Dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("a file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.Dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// ReadOnly makes the disk refuse all writing, or take it again. A disk that a file is open for writing on cannot become read-only.
func (d Disk) ReadOnly(t testing.TB, on bool) {
	t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if on {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("tmpfs", d.Dir, "tmpfs", flags, ""); err != nil {
		t.Fatal(err)
	}
}

// Resize changes the size of the disk.
func (d Disk) Resize(t testing.TB, bytes int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", d.Dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Fatal(err)
	}
}

// Free is the number of bytes that are left.
func (d Disk) Free(t testing.TB) uint64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.Dir, &s); err != nil {
		t.Fatal(err)
	}
	return s.Bavail * uint64(s.Bsize)
}

// Fill writes a file that takes all space but leave bytes; removing it makes room again.
func (d Disk) Fill(t testing.TB, leave uint64) (remove func()) {
	t.Helper()
	path := d.Dir + "/filling"
	if free := d.Free(t); free > leave {
		if err := os.WriteFile(path, make([]byte, free-leave), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}
}
