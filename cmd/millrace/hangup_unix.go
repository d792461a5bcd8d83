//go:build !windows

package main

import (
	"os"
	"syscall"
)

var hangupSignals = []os.Signal{syscall.SIGHUP}
