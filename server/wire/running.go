package wire

import (
	"context"
	"sync"
)

// running is the state of the command under way, shared with those who may end it.
type running struct {
	mu sync.Mutex
	// cancel is nil between commands.
	cancel context.CancelCauseFunc
	// rows is true once the command has sent column definitions.
	rows bool
	// gone is true when the client has disconnected or said that it will.
	gone bool
	// ending is set when the connection must not run another command.
	ending bool
}

// begin makes the context of a command.
func (c *connection) begin() (context.Context, bool) {
	r := &c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel, r.rows = cancel, false
	return ctx, true
}

// finish ends the context and reports whether another command may follow.
func (c *connection) finish() bool {
	r := &c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel(nil)
	r.cancel = nil
	return !r.ending
}

// returnsRows is called when a statement sends column definitions: from here on it ends when the client goes.
func (c *connection) returnsRows() error {
	r := &c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = true
	if r.gone && r.cancel != nil {
		r.cancel(ErrClientGone)
		return ErrClientGone
	}
	return nil
}

func (c *connection) peerGone() {
	r := &c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	if r.rows && r.cancel != nil {
		r.cancel(ErrClientGone)
	}
}

func (c *connection) interrupt(cause error) {
	r := &c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		r.cancel(cause)
	}
}

// kill ends the connection at once.
func (c *connection) kill() {
	c.run.mu.Lock()
	c.run.ending = true
	c.run.mu.Unlock()
	c.interrupt(ErrKilled)
	_ = c.raw.Close() // unblocks reads and writes; there is nobody left to tell about an error
}

// stop ends the connection for a shutdown: at once between commands, else by cancelling the command, whose client still gets the error
// if it reads.
func (c *connection) stop() {
	r := &c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	if r.cancel == nil {
		_ = c.raw.Close() // unblocks reads; the connection ends either way
		return
	}
	r.cancel(ErrShutdown)
	c.w.hasten()
}
