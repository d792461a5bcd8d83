package server

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/internal/memory"
	"millrace/internal/spill"
	"millrace/planner"
)

// parseMemory reads --memory-limit: a share of the machine (50%) or an amount. It gives bytes.
func parseMemory(text string) (int64, error) {
	bad := func(why string) error {
		return fmt.Errorf("'--memory-limit': '%s' %s; write a share of the machine such as 50%%, or an amount such as 4GiB", text, why)
	}
	t := strings.TrimSpace(text)
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
	n, ok := parseBytes(t)
	switch {
	case !ok || n == 0:
		return 0, bad("is not an amount")
	case n < 64<<20:
		return 0, bad("is too little: at least 64MiB are needed")
	}
	return n, nil
}

// parseBytes reads an amount of bytes: 4GiB, 512MB, 1000.
func parseBytes(text string) (int64, bool) {
	t, factor := strings.ToLower(strings.TrimSpace(text)), 1.0
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
	if err != nil || math.IsNaN(n) || n < 0 || n*factor > math.MaxInt64/2 {
		return 0, false
	}
	return int64(n * factor), true
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
//
// An eighth is left for what the collector does not count, the pages of the binary first of all, so that the process as a whole keeps to the limit.
func collectLate(limit int64) {
	debug.SetMemoryLimit(limit - limit/8)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageShare)
	}
}

// scanBudgets are the parts of the memory limit that statements may hold: half of it all of them, a quarter each of them, and of that up to 64 MiB for rows
// that are read again and again. What nobody counts takes the rest: the engine's own rows, values on their way to clients, garbage that is not collected yet.
func scanBudgets(limit int64, temp *spill.Space) planner.Options {
	return planner.Options{Memory: memory.New(limit / 2), MemoryBytes: limit / 4, KeepBytes: min(64<<20, limit/16), Temp: temp}
}

// openTemp is where statements go on that need more memory than they may have. It removes what a server that died has left there.
func openTemp(cfg Config) (*spill.Space, error) {
	dir := ""
	if cfg.DataDir != "" {
		dir = filepath.Join(cfg.DataDir, "tmp")
	}
	return spill.Open(spill.Options{Dir: dir, Limit: cfg.temp})
}

// memoryMetrics shows what statements hold.
func (m *metrics) memoryMetrics(held *memory.Budget, temp *spill.Space) {
	m.gauge("millrace_memory_bytes", "Memory that statements hold: what they read ahead, groups, rows that are sorted, kept or wait.", func() float64 { return float64(held.Used()) })
	m.gauge("millrace_memory_limit_bytes", "The most that statements may hold together.", func() float64 { return float64(held.Limit()) })
	m.gauge("millrace_temp_bytes", "Size of the temporary files of statements.", func() float64 { return float64(temp.Used()) })
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "millrace_spilled_bytes_total", Help: "Bytes that statements wrote to temporary files for want of memory.",
	}, func() float64 { return float64(temp.Written()) }))
}
