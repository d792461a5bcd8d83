package wire

import (
	"bytes"
	"encoding/binary"
	"math"
)

// appendLenenc appends a length-encoded integer.
func appendLenenc(b []byte, n uint64) []byte {
	switch {
	case n < 251:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(b, 0xfe), n)
}

// appendString appends a string with its length before it.
func appendString[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(appendLenenc(b, uint64(len(s))), s...)
}

// cursor reads the fields of a packet. A read beyond the end gives a zero value and sets bad, and so does every read after it: callers
// read a whole structure and look at bad once.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad, c.b = true, nil
		return nil
	}
	r := c.b[:n:n]
	c.b = c.b[n:]
	return r
}

// uint reads a little-endian integer of n bytes.
func (c *cursor) uint(n int) uint64 {
	var v uint64
	for i, x := range c.bytes(n) {
		v |= uint64(x) << (8 * i)
	}
	return v
}

func (c *cursor) lenenc() uint64 {
	switch f := c.uint(1); f {
	case 0xfc:
		return c.uint(2)
	case 0xfd:
		return c.uint(3)
	case 0xfe:
		return c.uint(8)
	case 0xfb, 0xff:
		c.bad, c.b = true, nil
		return 0
	default:
		return f
	}
}

func (c *cursor) lenencBytes() []byte {
	n := c.lenenc()
	if n > math.MaxInt32 {
		c.bad, c.b = true, nil
		return nil
	}
	return c.bytes(int(n))
}

// cstring reads up to a zero byte, or to the end: clients leave out the last terminator of a packet.
func (c *cursor) cstring() string {
	i := bytes.IndexByte(c.b, 0)
	if i < 0 {
		s := string(c.b)
		c.b = nil
		return s
	}
	s := string(c.b[:i])
	c.b = c.b[i+1:]
	return s
}
