package wire

import "sync/atomic"

// inbox holds the payloads that were read ahead, in the memory of the reader. One goroutine puts, one takes; at the end the taker
// closes quit. It is bounded: a client that sends more than it lets in waits, and is noticed only then if it leaves.
type inbox struct {
	waiting chan payload
	// bytes are those waiting. room gets a token when they become fewer.
	bytes   atomic.Int64
	room    chan struct{}
	quit    chan struct{}
	closing <-chan struct{}
}

func newInbox(closing <-chan struct{}) *inbox {
	return &inbox{waiting: make(chan payload, aheadPackets), room: make(chan struct{}, 1), quit: make(chan struct{}), closing: closing}
}

// put reports false when nobody takes any more.
func (in *inbox) put(p payload) bool {
	n := int64(len(p.data))
	for {
		held := in.bytes.Load()
		if held == 0 || held+n <= aheadBytes {
			break
		}
		select {
		case <-in.room:
		case <-in.quit:
			return false
		}
	}
	in.bytes.Add(n)
	select {
	case in.waiting <- p:
		return true
	case <-in.quit:
		return false
	}
}

func (in *inbox) take() payload { return in.taken(<-in.waiting) }

// takeUnlessClosing is take for the middle of a command, which must not hold up the shutdown of the server.
func (in *inbox) takeUnlessClosing() payload {
	select {
	case p := <-in.waiting:
		return in.taken(p)
	case <-in.closing:
		return payload{err: ErrShutdown}
	}
}

func (in *inbox) taken(p payload) payload {
	in.bytes.Add(-int64(len(p.data)))
	select {
	case in.room <- struct{}{}:
	default: // the token of an earlier take is still there
	}
	return p
}
