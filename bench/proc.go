package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// process is the id of a process whose cost is measured. Figures come from /proc; elsewhere they are 0 and the report leaves them out.
type process int

// cpu is the seconds that the process has computed so far, of user and system.
func (p process) cpu() float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100 // clock ticks of 10 ms
}

// resetPeak lets peak count from now on.
func (p process) resetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0) // not there on other systems: peak stays that of the process
}

func (p process) peak() float64     { return p.status("VmHWM:") }
func (p process) resident() float64 { return p.status("VmRSS:") }

// status is a line of /proc/PID/status that counts kB, in MiB.
func (p process) status(name string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, name); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
