package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"millrace/server"
)

// progressBar shows on the last line of a terminal how far a statement has come:
//
//	[#########...........] 45.0 %, 540000 records, 12.3 MB/s, 8s left
//
// Whatever else is written to the terminal goes through a writer of above, which takes the bar away first; the bar comes back with the next tick.
// A goroutine draws it; close ends that and takes the bar away.
type progressBar struct {
	out  io.Writer
	read func() (server.Progress, bool)
	stop chan struct{}
	done chan struct{}

	mu    sync.Mutex // guards the terminal
	shown bool
	// quiet is set while output stands on the last line that does not end it.
	quiet bool
}

const (
	// progressEvery is how often the bar is drawn, progressAfter how long a statement runs before it is: most end sooner.
	progressEvery = 100 * time.Millisecond
	progressAfter = 300 * time.Millisecond
	progressWidth = 20
	// eraseLine goes to the begin of the line and erases it.
	eraseLine = "\r\x1b[K"
)

// startProgress draws the progress that read gives to out, a terminal, at each tick.
func startProgress(out io.Writer, tick <-chan time.Time, read func() (server.Progress, bool)) *progressBar {
	b := &progressBar{out: out, read: read, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(b.done)
		for {
			select {
			case <-b.stop:
				return
			case <-tick:
				b.draw()
			}
		}
	}()
	return b
}

// close stops drawing and takes the bar away.
func (b *progressBar) close() {
	close(b.stop)
	<-b.done
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
}

// draw shows the present state. That the terminal cannot be written to is no reason to stop the statement.
func (b *progressBar) draw() {
	p, reads := b.read()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !reads || b.quiet {
		b.erase()
		return
	}
	if p.Elapsed < progressAfter {
		return
	}
	_, _ = io.WriteString(b.out, eraseLine+barLine(p))
	b.shown = true
}

func (b *progressBar) erase() {
	if b.shown {
		_, _ = io.WriteString(b.out, eraseLine)
		b.shown = false
	}
}

// barLine is the bar, short enough for a terminal of 80 columns.
func barLine(p server.Progress) string {
	if p.Endless {
		return p.String()
	}
	filled := int(p.Percent() / 100 * progressWidth)
	line := fmt.Sprintf("[%s%s] %s", strings.Repeat("#", filled), strings.Repeat(".", progressWidth-filled), p)
	const most = 79
	if len(line) > most {
		line = line[:most]
	}
	return line
}

// above gives a writer to w, which may be the same terminal: the bar makes way for what is written.
func (b *progressBar) above(w io.Writer) io.Writer { return aboveBar{b, w} }

type aboveBar struct {
	bar *progressBar
	w   io.Writer
}

// Write implements io.Writer.
func (a aboveBar) Write(p []byte) (int, error) {
	a.bar.mu.Lock()
	defer a.bar.mu.Unlock()
	a.bar.erase()
	n, err := a.w.Write(p)
	if n > 0 {
		a.bar.quiet = p[n-1] != '\n'
	}
	return n, err
}
