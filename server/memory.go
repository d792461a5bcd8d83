package server

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"millrace/planner"
)

// parseMemory reads --memory-limit: a share of the machine (50%) or an amount (4GiB, 512MB, bytes). It gives bytes.
func parseMemory(text string) (int64, error) {
	bad := func(why string) error {
		return fmt.Errorf("'--memory-limit': '%s' %s; write a share of the machine such as 50%%, or an amount such as 4GiB", text, why)
	}
	t := strings.ToLower(strings.TrimSpace(text))
	if share, ok := strings.CutSuffix(t, "%"); ok {
		n, err := strconv.ParseFloat(share, 64)
		if err != nil || !(n > 0 && n <= 100) {
			return 0, bad("is not a share")
		}
		total, err := totalMemory()
		if err != nil {
			return 0, fmt.Errorf("'--memory-limit': the memory of the machine is unknown (%w): give an amount such as 4GiB", err)
		}
		return int64(float64(total) * n / 100), nil
	}
	factor := 1.0
	for _, unit := range []struct {
		suffix string
		factor float64
	}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}} {
		if number, ok := strings.CutSuffix(t, unit.suffix); ok {
			t, factor = strings.TrimSpace(number), unit.factor
			break
		}
	}
	n, err := strconv.ParseFloat(t, 64)
	if err != nil || math.IsNaN(n) || n <= 0 || n*factor > math.MaxInt64/2 {
		return 0, bad("is not an amount")
	}
	if n*factor < 64<<20 {
		return 0, bad("is too little: at least 64MiB are needed")
	}
	return int64(n * factor), nil
}

// containerMemory is the limit of the control group the process runs in, when it has one.
func containerMemory() (int64, bool) {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 && n < 1<<50 {
			return n, true
		}
	}
	return 0, false
}

// garbageShare is how much garbage, in percent of what lives, may pile up before it is collected, as long as the memory limit is far.
const garbageShare = 400

// collectLate makes limit the aim of the garbage collector. A scan allocates a buffer for each answer of a broker and keeps next to nothing, so at Go's
// default of 100 percent the collector runs every few megabytes: COUNT(*) over uncompressed records then takes twice the CPU. With a limit set,
// waiting longer costs memory that is there. GOGC in the environment wins.
func collectLate(limit int64) {
	debug.SetMemoryLimit(limit)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageShare)
	}
}

// scanBudgets are the parts of the memory limit that one scan may hold: a quarter for groups and sorted rows, and up to 64 MiB for rows that a
// statement reads again and again.
func scanBudgets(limit int64) planner.Options {
	return planner.Options{MemoryBytes: limit / 4, KeepBytes: min(64<<20, limit/16)}
}
