package main

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/server"
)

// screen is a terminal of one line and what scrolled away above it.
type screen struct {
	mu    sync.Mutex
	above []string
	line  string
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := string(p); rest != ""; {
		switch {
		case strings.HasPrefix(rest, eraseLine):
			s.line, rest = "", rest[len(eraseLine):]
		case rest[0] == '\n':
			s.above, s.line, rest = append(s.above, s.line), "", rest[1:]
		default:
			s.line, rest = s.line+rest[:1], rest[1:]
		}
	}
	return len(p), nil
}

func (s *screen) shows(above, line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.above, "|") == above && s.line == line
}

func TestProgressBarIsDrawnMakesWayAndGoes(t *testing.T) {
	var s screen
	var p server.Progress
	reads := false
	b := startProgress(&s, nil, func() (server.Progress, bool) { return p, reads }) // no tick comes: the test draws
	out, draw := b.above(&s), b.draw
	check := func(when, above, line string) {
		t.Helper()
		if !s.shows(above, line) {
			t.Errorf("%s: the terminal shows %q and %q, want %q and %q", when, s.above, s.line, above, line)
		}
	}
	draw()
	check("nothing is read", "", "")
	p, reads = server.Progress{Running: 1, Offsets: 1000, Elapsed: 10 * time.Millisecond}, true
	draw()
	check("it has just begun", "", "")
	p = server.Progress{Running: 1, Offsets: 1000, OffsetsDone: 450, Records: 440, Bytes: 90e6, Elapsed: 9 * time.Second}
	draw()
	const bar = "[#########...........] 45.0 %, 440 records, 10.0 MB/s, 11s left"
	check("half way", "", bar)
	if _, err := io.WriteString(out, "a row\n"); err != nil {
		t.Fatal(err)
	}
	check("a row is written", "a row", "")
	draw()
	check("after the row", "a row", bar)
	if _, err := io.WriteString(out, "half a "); err != nil {
		t.Fatal(err)
	}
	draw()
	check("a line is not ended", "a row", "half a ")
	if _, err := io.WriteString(out, "row\n"); err != nil {
		t.Fatal(err)
	}
	draw()
	check("it is", "a row|half a row", bar)
	p.OffsetsDone, p.Records, p.Elapsed = 1000, 1e18, 1e9*time.Second
	draw()
	if s.mu.Lock(); len(s.line) > 79 || !strings.HasPrefix(s.line, "[####################] 100.0 %") {
		t.Errorf("the bar is %q", s.line)
	}
	s.mu.Unlock()
	b.close()
	check("the end", "a row|half a row", "")
}

func TestQueryDrawsNoBarWithoutATerminal(t *testing.T) {
	var o, e bytes.Buffer
	if code := run(t.Context(), []string{"query", "SELECT sleep(0.5)"}, nil, &streams{out: &o, err: &e}); code != 0 || e.Len() > 0 {
		t.Errorf("code %d, %q on the error stream", code, e.String())
	}
}
