package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"millrace/internal/sqlerr"
)

const (
	// frameHeader is the size of a compressed frame's header: length, number, length when inflated (0: stored).
	frameHeader = 7
	// frameSize bounds what one frame of ours holds. It is as large as the length field allows, less what incompressible data
	// grows by: there are clients (mysql-connector-python) that look for a packet in two frames and no more, as MySQL sends them.
	frameSize = maxPayload - 64<<10
	// keepFrame is the largest buffer for frames that is kept.
	keepFrame = 1 << 20
	// compressFrom is the smallest frame worth compressing, as in MySQL.
	compressFrom = 50
)

// inflater turns compressed frames into the stream of packets inside. Packets and frames end where they like.
type inflater struct {
	src   *bufio.Reader
	zstd  bool
	frame byte // number of the last frame
	body  []byte
	out   []byte
	rest  []byte // of the current frame, into body or out
	z     io.ReadCloser
	d     *zstd.Decoder
}

func (f *inflater) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		if err := f.load(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// load reads one frame whole: a decoder of its own must not hold bytes of the next.
func (f *inflater) load() error {
	var h [frameHeader]byte
	if _, err := io.ReadFull(f.src, h[:]); err != nil {
		return err
	}
	size := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
	inflated := int(h[4]) | int(h[5])<<8 | int(h[6])<<16
	f.frame = h[3]
	if cap(f.body) > keepFrame {
		f.body = nil
	}
	if cap(f.out) > keepFrame {
		f.out = nil
	}
	var err error
	if f.body, err = appendFrom(f.body[:0], f.src, size); err != nil {
		return err
	}
	if inflated == 0 {
		f.rest = f.body
		return nil
	}
	if f.zstd {
		err = f.inflateZstd(inflated)
	} else {
		err = f.inflateZlib(inflated)
	}
	if err == nil && len(f.out) != inflated {
		err = fmt.Errorf("%d bytes instead of %d", len(f.out), inflated)
	}
	if err != nil {
		return sqlerr.New(sqlerr.Malformed, "compressed frame %d cannot be read: %w", f.frame, err)
	}
	f.rest = f.out
	return nil
}

func (f *inflater) inflateZstd(size int) (err error) {
	if f.d == nil {
		f.d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<24), zstd.WithDecoderLowmem(true))
		if err != nil {
			return err
		}
	}
	var h zstd.Header
	if err := h.Decode(f.body); err != nil {
		return err
	}
	if h.HasFCS && h.FrameContentSize != uint64(size) {
		return fmt.Errorf("%d bytes announced inside, %d outside", h.FrameContentSize, size)
	}
	f.out, err = f.d.DecodeAll(f.body, f.out[:0])
	return err
}

func (f *inflater) inflateZlib(size int) (err error) {
	src := bytes.NewReader(f.body)
	if f.z == nil {
		f.z, err = zlib.NewReader(src)
	} else {
		err = f.z.(zlib.Resetter).Reset(src, nil)
	}
	if err != nil {
		return err
	}
	out := bytes.NewBuffer(f.out[:0])
	_, err = io.Copy(out, io.LimitReader(f.z, int64(size)+1))
	f.out = out.Bytes()
	return err
}

func (f *inflater) close() {
	if f.d != nil {
		f.d.Close()
	}
}

// deflater wraps buffers full of packets into compressed frames. It is part of a writer and guarded by its lock.
type deflater struct {
	frame byte // number of the next frame
	out   bytes.Buffer
	z     *zlib.Writer
	s     *zstd.Encoder
	// scratch is where zstd builds a frame.
	scratch []byte
}

// newDeflater makes a deflater for zlib, or for zstd at the level the client asked for.
func newDeflater(useZstd bool, level int) (*deflater, error) {
	d := &deflater{}
	var err error
	if useZstd {
		// A client must not be able to ask for the levels that take seconds a megabyte.
		speed := min(zstd.EncoderLevelFromZstd(level), zstd.SpeedDefault)
		d.s, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(speed), zstd.WithLowerEncoderMem(true))
	} else {
		d.z, err = zlib.NewWriterLevel(&d.out, zlib.BestSpeed)
	}
	return d, err
}

// write sends b in frames through write.
func (d *deflater) write(b []byte, write func([]byte) error) error {
	for len(b) > 0 {
		n := min(len(b), frameSize)
		if err := d.fill(b[:n]); err != nil {
			return err
		}
		if err := write(d.out.Bytes()); err != nil {
			return err
		}
		b = b[n:]
	}
	if d.out.Cap() > keepFrame {
		d.out = bytes.Buffer{}
	}
	if cap(d.scratch) > keepFrame {
		d.scratch = nil
	}
	return nil
}

func (d *deflater) fill(b []byte) error {
	d.out.Reset()
	d.out.Write(make([]byte, frameHeader))
	inflated := 0
	if len(b) >= compressFrom {
		if d.s != nil {
			d.scratch = d.s.EncodeAll(b, d.scratch[:0])
			d.out.Write(d.scratch)
		} else {
			d.z.Reset(&d.out)
			if _, err := d.z.Write(b); err != nil {
				return err
			}
			if err := d.z.Close(); err != nil {
				return err
			}
		}
		inflated = len(b)
	}
	if inflated == 0 || d.out.Len()-frameHeader >= len(b) {
		inflated = 0
		d.out.Truncate(frameHeader)
		d.out.Write(b)
	}
	h, size := d.out.Bytes(), d.out.Len()-frameHeader
	h[0], h[1], h[2], h[3] = byte(size), byte(size>>8), byte(size>>16), d.frame
	h[4], h[5], h[6] = byte(inflated), byte(inflated>>8), byte(inflated>>16)
	d.frame++
	return nil
}

func (d *deflater) close() error {
	if d.s != nil {
		return d.s.Close()
	}
	return nil
}
