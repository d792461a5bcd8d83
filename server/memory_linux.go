package server

import (
	"bufio"
	"errors"
	"fmt"
	"os"
)

// totalMemory is the memory of the machine, or of the container when that is less.
func totalMemory() (total int64, err error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); n == 1 {
			total = kib << 10
			if limit, ok := containerMemory(); ok {
				total = min(total, limit)
			}
			return total, nil
		}
	}
	return 0, errors.Join(lines.Err(), errors.New("/proc/meminfo has no MemTotal"))
}
