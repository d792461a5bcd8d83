package server

import (
	"syscall"
	"unsafe"
)

var globalMemoryStatusEx = syscall.NewLazyDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// totalMemory is the memory of the machine.
func totalMemory() (int64, error) {
	var status struct {
		length, load                                                        uint32
		totalPhys, availPhys, totalPage, availPage, totalVirt, availVirt, x uint64
	}
	status.length = uint32(unsafe.Sizeof(status))
	if ok, _, err := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0, err
	}
	return int64(status.totalPhys), nil
}
