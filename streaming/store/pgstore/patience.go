package pgstore

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// patientConn gives up when the other side has been silent for too long: a server that is paused, or gone without a word, must not stop an executor
// for ever. Silence is when neither a read nor a write makes progress. Deadlines that are set from outside, which is how pgx cancels, hold as well.
type patientConn struct {
	net.Conn
	patience time.Duration
	wrote    atomic.Int64 // when the last write made progress, in nanoseconds

	mu          sync.Mutex
	read, write time.Time // set from outside
}

// SetDeadline implements net.Conn.
func (c *patientConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.write = t, t
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *patientConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = t
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *patientConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	return c.Conn.SetWriteDeadline(t)
}

// arm sets a deadline for one read or write, and reports whether it is one of patience.
func (c *patientConn) arm(outside *time.Time, set func(time.Time) error) (ours bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now().Add(c.patience)
	if !outside.IsZero() && outside.Before(at) {
		return false, set(*outside)
	}
	return true, set(at)
}

// Read implements net.Conn.
func (c *patientConn) Read(b []byte) (int, error) {
	for {
		ours, err := c.arm(&c.read, c.Conn.SetReadDeadline)
		if err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(b)
		if n == 0 && ours && errors.Is(err, os.ErrDeadlineExceeded) {
			c.mu.Lock()
			outside := !c.read.IsZero() && !time.Now().Before(c.read)
			c.mu.Unlock()
			// While rows are sent, the server has nothing to say.
			if !outside && time.Since(time.Unix(0, c.wrote.Load())) < c.patience {
				continue
			}
		}
		return n, err
	}
}

// Write implements net.Conn.
func (c *patientConn) Write(b []byte) (int, error) {
	if _, err := c.arm(&c.write, c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	if n > 0 {
		c.wrote.Store(time.Now().UnixNano())
	}
	return n, err
}
