package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"millrace/internal/sqlerr"
)

// maxErrorText bounds the message of an ERR packet: an error may quote a statement of megabytes.
const maxErrorText = 8 << 10

// errorFor finds the error that a client is sent for err, which a statement with context ctx returned.
func errorFor(ctx context.Context, err error) *sqlerr.Error {
	if e, ok := sqlerr.As(err); ok {
		return e
	}
	// Whatever a statement fails with after its context has ended, the end is the reason: a write that fails, a fetch given up.
	if ctx.Err() != nil {
		if e, ok := sqlerr.As(context.Cause(ctx)); ok {
			return e
		}
	}
	if errors.Is(err, context.Canceled) {
		return sqlerr.New(sqlerr.Interrupted, "the statement was interrupted")
	}
	return sqlerr.New(sqlerr.Unexpected, "%w", err)
}

// fail answers with an error. Clients of which nothing is known yet get it without SQLSTATE: only 4.1 clients expect one.
func (c *connection) fail(e *sqlerr.Error) error {
	text := e.Error()
	if len(text) > maxErrorText {
		n := maxErrorText
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	return c.w.packet(func(b []byte) []byte {
		return appendError(b, e.Kind, text, c.capabilities&capProtocol41 != 0)
	})
}

func appendError(b []byte, k *sqlerr.Kind, text string, withState bool) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, headerErr), k.Errno)
	if withState {
		b = append(append(b, '#'), k.State...)
	}
	return append(b, text...)
}

// state asks the session, or tells what holds before there is one.
func (c *connection) state() (status, warnings uint16, db string) {
	if c.session == nil {
		return StatusAutocommit, 0, c.db
	}
	return c.session.State()
}

// ok sends an OK packet, or with headerEOF the one that ends a result set. A change of the database is reported to clients that
// track it, in the first OK packet after it.
func (c *connection) ok(header byte, affected, insertID uint64, info string, more uint16) error {
	status, warnings, db := c.state()
	status |= more
	track := header == headerOK && db != c.db && c.capabilities&capSessionTrack != 0
	if track {
		status |= statusStateChanged
		c.db = db
	}
	return c.w.packet(func(b []byte) []byte {
		b = appendLenenc(appendLenenc(append(b, header), affected), insertID)
		b = binary.LittleEndian.AppendUint16(b, status)
		b = binary.LittleEndian.AppendUint16(b, warnings)
		if info == "" && !track {
			return b
		}
		if c.capabilities&capSessionTrack == 0 {
			return append(b, info...)
		}
		b = appendString(b, info)
		if track {
			const trackSchema = 1
			entry := appendString(nil, db)
			b = appendString(b, appendString([]byte{trackSchema}, entry))
		}
		return b
	})
}

// end sends what ends a result set, or answers where the protocol wants an EOF: an EOF packet, or OK in its place.
func (c *connection) end(more uint16) error {
	if c.capabilities&capDeprecateEOF != 0 {
		return c.ok(headerEOF, 0, 0, "", more)
	}
	return c.w.packet(func(b []byte) []byte { return c.appendEOF(b, more) })
}

func (c *connection) appendEOF(b []byte, more uint16) []byte {
	status, warnings, _ := c.state()
	b = binary.LittleEndian.AppendUint16(append(b, headerEOF), warnings)
	return binary.LittleEndian.AppendUint16(b, status|more)
}
