package wire

import (
	"io"

	"millrace/internal/sqlerr"
)

const (
	// maxPayload is the largest payload of one packet; longer ones go in several.
	maxPayload = 1<<24 - 1
	// loginPacket bounds what a peer may send before it has logged in.
	loginPacket = 1 << 20
	// keepBuffer is the largest read buffer that is kept for another packet.
	keepBuffer = 64 << 10
	// aheadPackets and aheadBytes bound what is read ahead of the command under way; one larger payload is always let in.
	aheadPackets = 16
	aheadBytes   = 1 << 20
)

// packetReader joins packets to payloads. Until login ends src is the bare connection, read exactly as far as needed, so that a TLS
// hello sent along with the request for TLS stays in the socket.
type packetReader struct {
	src io.Reader
	// max bounds a payload.
	max int
	// frame, when the connection is compressed, is the number of the last compressed frame read.
	frame *byte
	// Payloads take turns in the buffers: one is being worked on, some wait, one is being read.
	buf  [aheadPackets + 2][]byte
	turn int
	head [4]byte
}

// payload is one command or one answer in a login exchange.
type payload struct {
	// data is valid until aheadPackets+2 more payloads have been read.
	data []byte
	// seq and frame are the numbers that the answer continues from.
	seq, frame byte
	err        error
}

func (r *packetReader) next() payload {
	b := r.buf[r.turn][:0]
	if cap(b) > keepBuffer {
		b = nil
	}
	p := payload{}
	for {
		if _, p.err = io.ReadFull(r.src, r.head[:]); p.err != nil {
			return p
		}
		n := int(r.head[0]) | int(r.head[1])<<8 | int(r.head[2])<<16
		more := n == maxPayload
		p.seq = r.head[3]
		if r.frame != nil {
			p.frame = *r.frame
		}
		if len(b)+n > r.max {
			p.err = sqlerr.New(sqlerr.PacketTooBig, "packet of %d bytes or more is larger than 'max_allowed_packet' (%d)", len(b)+n, r.max)
			return p
		}
		if b, p.err = appendFrom(b, r.src, n); p.err != nil {
			return p
		}
		if !more {
			if r.frame != nil {
				p.frame = *r.frame
			}
			r.buf[r.turn] = b
			r.turn = (r.turn + 1) % len(r.buf)
			p.data = b
			return p
		}
	}
}

// appendFrom reads n bytes from src. The buffer grows with the bytes that arrive, not with the length that was announced.
func appendFrom(b []byte, src io.Reader, n int) ([]byte, error) {
	for n > 0 {
		if len(b) == cap(b) {
			grown := make([]byte, len(b), max(512, min(2*cap(b), len(b)+n)))
			copy(grown, b)
			b = grown
		}
		step := min(n, cap(b)-len(b))
		at := len(b)
		b = b[:at+step]
		if _, err := io.ReadFull(src, b[at:]); err != nil {
			return b[:at], err
		}
		n -= step
	}
	return b, nil
}
