package wire

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// flushSize is the amount of collected packets that is sent without waiting for more.
	flushSize = 64 << 10
	// idleFlush is how long a packet may lie in the buffer of a running statement.
	idleFlush = time.Millisecond
	// writeChunk is what must go out within one write timeout: a large value to a slow but steady reader is many chunks.
	writeChunk = 256 << 10
	// lastWrite is the write timeout once the server ends.
	lastWrite = time.Second
)

// writer collects packets in one buffer and sends them when flushSize is reached, on flush, or, in a running statement, when idleFlush
// has passed. Packets are built in place: begin reserves the header, the caller appends the payload, end fills the header in.
//
// Two goroutines use it, the one of the statement and the timer's; mu guards everything below it. A sender holds mu while the socket
// is full: that is the back pressure that keeps memory bounded. Hence nothing that must not wait (kill, shutdown) takes mu.
type writer struct {
	mu      sync.Mutex
	conn    net.Conn
	timeout time.Duration
	buf     []byte
	start   int // of the packet being built, the length of buf between packets
	seq     byte
	// err is the first failed write. After it everything is thrown away.
	err error
	// failed is called once, with mu held, when err is set.
	failed   func(error)
	compress *deflater
	// hurry, set without mu, shortens the write timeout: the server is about to end.
	hurry atomic.Bool

	timer   *time.Timer
	armed   bool
	closed  bool
	flushes int // since the timer was armed
	// firing counts the armed timer, so that close can wait for a tick under way.
	firing sync.WaitGroup
}

func newWriter(conn net.Conn, timeout time.Duration) *writer {
	w := &writer{conn: conn, timeout: timeout}
	w.timer = time.AfterFunc(time.Hour, w.tick)
	w.timer.Stop()
	return w
}

// arm makes sure that what lies in the buffer is sent within about idleFlush; mu is held.
func (w *writer) arm() {
	if w.armed || w.closed || len(w.buf) == 0 {
		return
	}
	w.armed, w.flushes = true, 0
	w.firing.Add(1)
	w.timer.Reset(idleFlush)
}

func (w *writer) tick() {
	defer w.firing.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	if w.flushes > 0 { // rows come fast: what lies there is younger than a millisecond
		w.arm()
		return
	}
	w.send()
}

// close stops the timer and waits for a tick under way; nothing is sent any more.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.disarm()
	w.mu.Unlock()
	w.firing.Wait()
}

// reply sets the numbers that the next packets carry: those after the packet they answer.
func (w *writer) reply(p payload) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq = p.seq + 1
	if w.compress != nil {
		w.compress.frame = p.frame + 1
	}
}

// packet adds one packet whose payload fill appends.
func (w *writer) packet(fill func([]byte) []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(fill(w.begin()))
	return w.err
}

// flush sends everything collected. The timer, which has nothing left to do, is stopped: statements come faster than it fires, and each time it
// fires costs a goroutine.
func (w *writer) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send()
	w.disarm()
	return w.err
}

// disarm stops the timer if it has not fired yet; mu is held.
func (w *writer) disarm() {
	if w.armed && w.timer.Stop() {
		w.armed = false
		w.firing.Done()
	}
}

// begin starts a packet; mu is held until end.
func (w *writer) begin() []byte {
	w.start = len(w.buf)
	return append(w.buf, 0, 0, 0, 0)
}

// end finishes the packet in b, which begin gave and the caller appended to.
func (w *writer) end(b []byte) {
	n := len(b) - w.start - 4
	if n < maxPayload {
		b[w.start], b[w.start+1], b[w.start+2], b[w.start+3] = byte(n), byte(n>>8), byte(n>>16), w.seq
		w.seq++
	} else {
		b = w.split(b, n)
	}
	w.buf = b
	if len(b) >= flushSize {
		w.send()
	}
}

// split inserts the headers that a payload of 16 MB and more needs, moving the parts from the last to the first. A payload that is a
// multiple of the largest packet ends with an empty one.
func (w *writer) split(b []byte, n int) []byte {
	parts := n/maxPayload + 1
	b = append(b, make([]byte, 4*(parts-1))...)
	for p := parts - 1; p >= 0; p-- {
		from, size := w.start+4+p*maxPayload, min(maxPayload, n-p*maxPayload)
		to := from + 4*p
		copy(b[to:to+size], b[from:from+size])
		b[to-4], b[to-3], b[to-2], b[to-1] = byte(size), byte(size>>8), byte(size>>16), w.seq+byte(p)
	}
	w.seq += byte(parts)
	return b
}

// send writes the buffer out; mu is held.
func (w *writer) send() {
	if len(w.buf) == 0 {
		return
	}
	w.flushes++
	if w.err == nil && !w.closed {
		if err := w.transmit(); err != nil {
			w.err = err
			if w.failed != nil {
				w.failed(err)
			}
		}
	}
	if cap(w.buf) > 4*flushSize {
		w.buf = nil
	}
	w.buf = w.buf[:0]
}

// transmit may run on the timer's goroutine, where a panic of a compressor would end the process.
func (w *writer) transmit() (err error) {
	if w.compress == nil {
		return w.write(w.buf)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while compressing: %v", p)
		}
	}()
	return w.compress.write(w.buf, w.write)
}

// write gives each chunk its own deadline: what counts is that the client reads on, not how long it takes for the whole.
func (w *writer) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), writeChunk)
		if err := w.conn.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
			return err
		}
		if w.hurry.Load() { // looked at after the deadline is set, or hasten's could be overwritten
			if err := w.conn.SetWriteDeadline(time.Now().Add(min(w.timeout, lastWrite))); err != nil {
				return err
			}
		}
		if _, err := w.conn.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// hasten gives a write under way, and those to come, only a moment. It does not take mu, which a blocked write holds.
func (w *writer) hasten() {
	w.hurry.Store(true)
	_ = w.conn.SetWriteDeadline(time.Now().Add(min(w.timeout, lastWrite))) // fails on closed sockets only
}
