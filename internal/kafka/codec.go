package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The compression codecs, as the low bits of a batch's attributes name them.
const (
	codecNone   = 0
	codecGzip   = 1
	codecSnappy = 2
	codecLZ4    = 3
	codecZstd   = 4
)

// tooLargeError says that a batch decompresses to more than is allowed.
type tooLargeError struct{ limit int }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the batch decompresses to more than %d bytes", e.limit)
}

// codecs decompresses record batches for one lane. The decoders are made when the first batch needs them and kept.
//
// The checks inside the formats (xxh32 of LZ4 frames, xxh64 of Zstandard) are left out: the batch's CRC covers the same bytes. No length that the
// data claims is allocated before it is plausible.
type codecs struct {
	limit int // bytes that one batch may decompress to

	zstd *zstd.Decoder
	gzip *gzip.Reader
	src  bytes.Reader
}

func (c *codecs) close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
}

// append decompresses src to the end of dst, as append does.
func (c *codecs) append(dst, src []byte, codec int) ([]byte, error) {
	start := len(dst)
	var err error
	switch codec {
	case codecNone:
		return append(dst, src...), nil
	case codecGzip:
		dst, err = c.appendGzip(dst, src)
	case codecSnappy:
		dst, err = appendSnappy(dst, src, c.limit)
	case codecLZ4:
		dst, err = appendLZ4(dst, src, c.limit)
	case codecZstd:
		dst, err = c.appendZstd(dst, src)
	default:
		return dst, fmt.Errorf("unknown compression codec %d", codec)
	}
	if err == nil && len(dst)-start > c.limit {
		err = &tooLargeError{c.limit}
	}
	return dst, err
}

func (c *codecs) appendGzip(dst, src []byte) ([]byte, error) {
	c.src.Reset(src)
	var err error
	if c.gzip == nil {
		c.gzip, err = gzip.NewReader(&c.src)
	} else {
		err = c.gzip.Reset(&c.src)
	}
	if err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	start := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(4<<10, min(len(dst)-start, 1<<20)))
		}
		n, err := c.gzip.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst)-start > c.limit:
			return dst, &tooLargeError{c.limit}
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, fmt.Errorf("gzip: %w", err)
		}
	}
}

// zstdExpands is the most that a byte of a Zstandard frame can stand for: a run-length block of three bytes and one more gives 128 KiB.
const zstdExpands = 32 << 10

func (c *codecs) appendZstd(dst, src []byte) ([]byte, error) {
	if c.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.IgnoreChecksum(true), zstd.WithDecoderMaxMemory(uint64(c.limit)))
		if err != nil {
			return dst, fmt.Errorf("zstd: %w", err)
		}
		c.zstd = d
	}
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return dst, fmt.Errorf("zstd: %w", err)
	}
	if h.HasFCS && h.FrameContentSize > uint64(c.limit) {
		return dst, &tooLargeError{c.limit}
	}
	if h.HasFCS && h.FrameContentSize > uint64(len(src))*zstdExpands {
		return dst, fmt.Errorf("zstd: %d bytes cannot hold the %d that the frame claims", len(src), h.FrameContentSize)
	}
	out, err := c.zstd.DecodeAll(src, dst)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return dst, &tooLargeError{c.limit}
	case err != nil:
		return dst, fmt.Errorf("zstd: %w", err)
	}
	return out, nil
}

// xerial is how snappy-java marks its stream format, which most Kafka producers use: blocks with a length before each, after 16 bytes of header.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

// appendSnappy decompresses one block of snappy, or the blocks of snappy-java's stream format.
func appendSnappy(dst, src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, xerial) || len(src) < 16 {
		return appendSnappyBlock(dst, src, limit)
	}
	start := len(dst)
	for src = src[16:]; len(src) > 0; {
		if len(src) < 4 {
			return dst, errors.New("snappy: the stream ends within a length")
		}
		n := binary.BigEndian.Uint32(src)
		if src = src[4:]; uint64(n) > uint64(len(src)) {
			return dst, fmt.Errorf("snappy: a block of %d bytes, %d are left", n, len(src))
		}
		var err error
		if dst, err = appendSnappyBlock(dst, src[:n], limit-(len(dst)-start)); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

// snappyExpands is more than a byte of a snappy block can stand for: three bytes copy at most 64.
const snappyExpands = 32

func appendSnappyBlock(dst, src []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	switch {
	case err != nil:
		return dst, fmt.Errorf("snappy: %w", err)
	case n > limit:
		return dst, &tooLargeError{limit}
	case n > len(src)*snappyExpands:
		return dst, fmt.Errorf("snappy: %d bytes cannot hold the %d that the block claims", len(src), n)
	}
	dst = slices.Grow(dst, n)
	if _, err := s2.Decode(dst[len(dst):len(dst)+n], src); err != nil {
		return dst, fmt.Errorf("snappy: %w", err)
	}
	return dst[:len(dst)+n], nil
}

// The parts of an LZ4 frame that matter here.
const (
	lz4Magic       = 0x184d2204
	lz4SkipMagic   = 0x184d2a50 // to ...5f
	lz4Window      = 64 << 10
	lz4Stored      = 1 << 31
	lz4BlockSum    = 1 << 4
	lz4ContentSize = 1 << 3
	lz4ContentSum  = 1 << 2
	lz4DictID      = 1
)

var errLZ4Short = errors.New("lz4: the frame ends early")

// appendLZ4 decompresses LZ4 frames block by block. Header and content checksums are passed over, also because producers of the first Kafka
// releases computed the former wrongly.
func appendLZ4(dst, src []byte, limit int) ([]byte, error) {
	start := len(dst)
	for len(src) > 0 {
		if len(src) < 7 {
			return dst, errLZ4Short
		}
		magic := binary.LittleEndian.Uint32(src)
		if magic&^0xf == lz4SkipMagic {
			if len(src) < 8 {
				return dst, errLZ4Short
			}
			n := binary.LittleEndian.Uint32(src[4:])
			if src = src[8:]; uint64(n) > uint64(len(src)) {
				return dst, errLZ4Short
			}
			src = src[n:]
			continue
		}
		if magic != lz4Magic {
			return dst, fmt.Errorf("lz4: no frame begins with %08x", magic)
		}
		flags, most := src[4], 0
		switch src[5] >> 4 & 7 {
		case 4:
			most = 64 << 10
		case 5:
			most = 256 << 10
		case 6:
			most = 1 << 20
		case 7:
			most = 4 << 20
		}
		if flags>>6 != 1 || most == 0 {
			return dst, fmt.Errorf("lz4: frame descriptor %02x %02x is not of version 1", flags, src[5])
		}
		head := 7
		if flags&lz4ContentSize != 0 {
			head += 8
		}
		if flags&lz4DictID != 0 {
			return dst, errors.New("lz4: the frame needs a dictionary")
		}
		if len(src) < head {
			return dst, errLZ4Short
		}
		var err error
		if dst, src, err = appendLZ4Blocks(dst, src[head:], flags, most, start, limit); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendLZ4Blocks decompresses the blocks of one frame and returns what follows it. A block may refer to the 64 KiB before it within the frame.
func appendLZ4Blocks(dst, src []byte, flags byte, most, start, limit int) (_, rest []byte, _ error) {
	frame := len(dst)
	for {
		if len(src) < 4 {
			return dst, nil, errLZ4Short
		}
		n := binary.LittleEndian.Uint32(src)
		src = src[4:]
		if n == 0 {
			break
		}
		size := int(n &^ lz4Stored)
		if size > len(src) {
			return dst, nil, errLZ4Short
		}
		switch {
		case size > most:
			return dst, nil, fmt.Errorf("lz4: a block of %d bytes, where %d are the most", size, most)
		case n&lz4Stored != 0:
			dst = append(dst, src[:size]...)
		default:
			// A byte of a block stands for 255 at most.
			dst = slices.Grow(dst, min(most, 255*size+64))
			end := len(dst)
			room := dst[end:min(cap(dst), end+most)]
			m, err := lz4.UncompressBlockWithDict(src[:size], room, dst[max(frame, end-lz4Window):end])
			if err != nil {
				return dst, nil, fmt.Errorf("lz4: %w", err)
			}
			dst = dst[:end+m]
		}
		if len(dst)-start > limit {
			return dst, nil, &tooLargeError{limit}
		}
		if src = src[size:]; flags&lz4BlockSum != 0 {
			if len(src) < 4 {
				return dst, nil, errLZ4Short
			}
			src = src[4:]
		}
	}
	if flags&lz4ContentSum != 0 {
		if len(src) < 4 {
			return dst, nil, errLZ4Short
		}
		src = src[4:]
	}
	return dst, src, nil
}

// legacyCodecs lets franz-go's reader of old message sets use the codecs with their limits.
type legacyCodecs struct{ *codecs }

func (l legacyCodecs) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec == kgo.CodecNone {
		return src, nil
	}
	return l.append(nil, src, int(codec))
}
