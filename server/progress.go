package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"millrace/streaming"
	"millrace/streaming/executor"
)

// Progress is how far the scans of a statement have come.
type Progress struct {
	// Running is the number of scans that have not ended.
	Running int
	// Endless is set when one of them follows its topics and has no end.
	Endless bool
	// Records were delivered, Bytes came over the network.
	Records, Bytes int64
	// Offsets is how many offsets the scans have to pass, OffsetsDone how many of them they have. A statement may open more scans later.
	Offsets, OffsetsDone int64
	// Elapsed is the time since the first of the scans began.
	Elapsed time.Duration
	// Table is the state of the streaming table that the statement waits for, empty for other statements.
	Table string
}

// Percent is the share of the planned range that was read, from 0 to 100.
func (p Progress) Percent() float64 { return percent(p.OffsetsDone, p.Offsets) }

func percent(done, all int64) float64 {
	if all <= 0 {
		return 100
	}
	return 100 * float64(min(done, all)) / float64(all)
}

// Rate is the number of bytes a second.
func (p Progress) Rate() float64 { return rate(p.Bytes, p.Elapsed) }

func rate(bytes int64, over time.Duration) float64 {
	if over <= 0 {
		return 0
	}
	return float64(bytes) / over.Seconds()
}

// Left estimates the time to the end; known is false while nothing has been read, and when there is no end.
func (p Progress) Left() (left time.Duration, known bool) {
	if p.OffsetsDone <= 0 || p.Endless {
		return 0, false
	}
	rest := float64(max(p.Offsets-p.OffsetsDone, 0)) / float64(p.OffsetsDone)
	return time.Duration(rest * float64(p.Elapsed)), true
}

// String is what SHOW PROCESSLIST and the progress bar show: 45.0 %, 540000 records, 12.3 MB/s, 8s left.
func (p Progress) String() string {
	parts := []string{fmt.Sprintf("%d records", p.Records), fmt.Sprintf("%.1f MB/s", p.Rate()/1e6)}
	if !p.Endless {
		parts = slices.Insert(parts, 0, fmt.Sprintf("%.1f %%", p.Percent()))
	}
	if left, known := p.Left(); known {
		if left < 10*time.Second {
			left = left.Round(100 * time.Millisecond)
		} else {
			left = left.Round(time.Second)
		}
		parts = append(parts, left.String()+" left")
	}
	if p.Table == string(executor.Stalled) {
		parts = append(parts, "the table is stalled")
	}
	return strings.Join(parts, ", ")
}

// progressOf adds up the scans of one statement.
func progressOf(scans []scanRecord, now time.Time) Progress {
	var p Progress
	var first time.Time
	for _, r := range scans {
		if r.finished.IsZero() {
			p.Running++
			p.Endless = p.Endless || r.endless
		}
		p.Records += r.stats.Records
		p.Bytes += r.stats.BytesFetched
		p.Offsets += r.stats.Offsets
		p.OffsetsDone += r.stats.OffsetsDone
		if first.IsZero() || r.started.Before(first) {
			first = r.started
		}
	}
	if !first.IsZero() {
		p.Elapsed = now.Sub(first)
	}
	return p
}

// statementProgress is how far the statement with the engine's process id has come, when it reads.
func (e *engine) statementProgress(statement uint64) (Progress, bool) {
	if l, ok := e.loads.Load(statement); ok {
		p := l.(*streaming.Load).Progress()
		return Progress{Running: 1, Records: p.Records, Bytes: p.Bytes, Offsets: p.Offsets, OffsetsDone: p.Done, Elapsed: p.Elapsed, Table: string(p.State)}, true
	}
	p := progressOf(e.scans.list(func(r *scanRecord) bool { return r.statement == statement }), time.Now())
	return p, p.Running > 0
}

// Progress is how far the statement of Query that runs now has come; false when it reads nothing.
func (s *Server) Progress() (Progress, bool) {
	var newest uint64
	for _, r := range s.engine.scans.list(func(r *scanRecord) bool { return r.user == localUser && r.finished.IsZero() }) {
		newest = max(newest, r.statement)
	}
	if newest == 0 {
		return Progress{}, false
	}
	return s.engine.statementProgress(newest)
}
