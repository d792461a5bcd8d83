package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// measurement is a row of the report: alternating pairs of a baseline and Millrace doing the same work.
type measurement struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Variant string  `json:"variant"`
	Against string  `json:"against"`
	Records int     `json:"records"`
	Bar     float64 `json:"bar"`      // least ratio, baseline time / Millrace time
	MaxWall float64 `json:"max_wall"` // most seconds, 0 for none
	// Either says that one of Bar and MaxWall is enough.
	Either bool `json:"either,omitempty"`
	// Bytes is how much was fetched and MaxBytes the most that may be, 0 for no bound.
	Bytes    int64 `json:"bytes,omitempty"`
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// MaxRSS is the most resident memory, in MiB, 0 for no bound.
	MaxRSS float64 `json:"max_rss,omitempty"`
	// CPUBar is the least ratio of CPU seconds, 0 for none, and MaxRSSRatio the most memory as a multiple of the baseline's.
	CPUBar      float64 `json:"cpu_bar,omitempty"`
	MaxRSSRatio float64 `json:"max_rss_ratio,omitempty"`
	// Note is shown beside the verdict.
	Note string  `json:"note,omitempty"`
	Base []usage `json:"base"`
	Own  []usage `json:"own"`
}

func (m *measurement) add(base, own usage) {
	m.Base = append(m.Base, base)
	m.Own = append(m.Own, own)
}

// ratios are the paired speed-ups, ascending.
func (m *measurement) ratios() []float64 {
	var rs []float64
	for i := range m.Base {
		rs = append(rs, m.Base[i].Wall/m.Own[i].Wall)
	}
	slices.Sort(rs)
	return rs
}

// cpuRatios are those of CPU seconds, ascending. Less than a clock tick is a tick.
func (m *measurement) cpuRatios() []float64 {
	const tick = 0.01
	var rs []float64
	for i := range m.Base {
		rs = append(rs, max(m.Base[i].CPU, tick)/max(m.Own[i].CPU, tick))
	}
	slices.Sort(rs)
	return rs
}

func median(of []usage, f func(usage) float64) float64 {
	var v []float64
	for _, u := range of {
		v = append(v, f(u))
	}
	return middle(v)
}

// barless: the measurement is for comparison only.
func (m *measurement) barless() bool {
	return m.Bar == 0 && m.MaxWall == 0 && m.MaxBytes == 0 && m.MaxRSS == 0 && m.CPUBar == 0 && m.MaxRSSRatio == 0
}

func (m *measurement) met() bool {
	rs := m.ratios()
	if m.MaxBytes > 0 && m.Bytes > m.MaxBytes {
		return false
	}
	if m.MaxRSS > 0 && median(m.Own, func(u usage) float64 { return u.RSS }) > m.MaxRSS {
		return false
	}
	cpu, rss := func(u usage) float64 { return u.CPU }, func(u usage) float64 { return u.RSS }
	if m.CPUBar > 0 && median(m.Base, cpu) < m.CPUBar*median(m.Own, cpu) {
		return false
	}
	if m.MaxRSSRatio > 0 && median(m.Own, rss) > m.MaxRSSRatio*median(m.Base, rss) {
		return false
	}
	fast := middle(rs) >= m.Bar
	quick := m.MaxWall == 0 || median(m.Own, func(u usage) float64 { return u.Wall }) <= m.MaxWall
	return fast && quick || m.Either && (fast || quick)
}

type report struct {
	Date         string        `json:"date"`
	Commit       string        `json:"commit"`
	Machine      string        `json:"machine"`
	Command      string        `json:"command"`
	Records      int           `json:"records"`
	Pairs        int           `json:"pairs"`
	Measurements []measurement `json:"measurements"`
	// Growth is how cost grows.
	Growth []growth `json:"growth,omitempty"`
	// Missing are the figures that could not be taken, and why.
	Missing []string `json:"missing,omitempty"`
}

func newReport(c *config) *report {
	commit, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	return &report{
		Date: time.Now().UTC().Format("2006-01-02 15:04"), Commit: strings.TrimSpace(string(commit)),
		Machine: fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Command: c.command(), Records: c.records, Pairs: c.pairs,
	}
}

func (r *report) add(m measurement) {
	r.Measurements = append(r.Measurements, m)
	fmt.Fprintln(os.Stderr, r.row(&m))
}

// missing notes figures that this machine cannot give.
func (r *report) missing(what string, why error) {
	text := fmt.Sprintf("%s: %v", what, why)
	r.Missing = append(r.Missing, text)
	fmt.Fprintln(os.Stderr, "missing:", text)
}

func (r *report) row(m *measurement) string {
	wall := func(u usage) float64 { return u.Wall }
	cpu := func(u usage) float64 { return u.CPU }
	rss := func(u usage) float64 { return u.RSS }
	rs := m.ratios()
	verdict := "met"
	if !m.met() {
		verdict = "**missed**"
	}
	if m.barless() {
		verdict = "no bar"
	}
	var bars []string
	if m.Bar > 0 {
		bars = append(bars, fmt.Sprintf("≥ %.2g×", m.Bar))
	}
	if m.CPUBar > 0 {
		bars = append(bars, fmt.Sprintf("≥ %.2g× CPU", m.CPUBar))
	}
	if m.MaxRSSRatio > 0 {
		bars = append(bars, fmt.Sprintf("≤ %.3g× memory", m.MaxRSSRatio))
	}
	if m.MaxWall > 0 {
		bars = append(bars, fmt.Sprintf("≤ %.0f ms", m.MaxWall*1000))
	}
	bar := strings.Join(bars, map[bool]string{false: ", ", true: " or "}[m.Either])
	if m.MaxRSS > 0 {
		bar = strings.TrimPrefix(fmt.Sprintf("%s, ≤ %.0f MiB", bar, m.MaxRSS), ", ")
	}
	if m.MaxBytes > 0 {
		bar += fmt.Sprintf(", ≤ %.1f MB", float64(m.MaxBytes)/1e6)
		verdict += fmt.Sprintf(", %.1f MB", float64(m.Bytes)/1e6)
	}
	if m.Note != "" {
		verdict += ", " + m.Note
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %.2f× | %.2f-%.2f | %s | %s | %.3f / %.3f | %.2f / %.2f | %.0f / %.0f |", m.ID, m.Title, m.Variant, m.Against, middle(rs), rs[0], rs[len(rs)-1],
		bar, verdict, median(m.Base, wall), median(m.Own, wall), median(m.Base, cpu), median(m.Own, cpu), median(m.Base, rss), median(m.Own, rss))
}

func (r *report) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmark results\n\n%s UTC, commit %s, %s. Command: `%s`.\n\n", r.Date, r.Commit, r.Machine, r.Command)
	b.WriteString("Ratios are baseline time / Millrace time of alternating pairs in one run, the median and the spread. Wall and CPU in seconds, peak resident memory in MiB,\nmedians, as baseline / Millrace. CPU and memory are those of the baseline's and the server's process; the broker runs in a third.\n\n")
	b.WriteString("| | work | variant | against | ratio | spread | bar | | wall s | CPU s | peak MiB |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range r.Measurements {
		b.WriteString(r.row(&r.Measurements[i]) + "\n")
	}
	if len(r.Growth) > 0 {
		b.WriteString("\n## How cost grows\n\nOne thing is doubled three times, the rest stays. A slope of 1 is twice the time at twice the size, 0 none. Medians, seconds.\n\n" +
			"| | size | wall s | slope | CPU s | slope |\n|---|---|---|---|---|---|\n")
	}
	for i := range r.Growth {
		b.WriteString(r.Growth[i].row() + "\n")
	}
	if len(r.Missing) > 0 {
		b.WriteString("\nMissing, because this machine could not give them:\n\n")
	}
	for _, text := range r.Missing {
		b.WriteString("* " + text + "\n")
	}
	if err := os.WriteFile(path+".md", []byte(b.String()), 0o644); err != nil {
		return err
	}
	j, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path+".json", append(j, '\n'), 0o644)
}
