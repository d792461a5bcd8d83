package server

import "golang.org/x/sys/unix"

// totalMemory is the memory of the machine.
func totalMemory() (int64, error) {
	n, err := unix.SysctlUint64("hw.memsize")
	return int64(n), err
}
