// Package segment turns a column of up to a few hundred thousand rows into bytes and back.
//
// It knows no store: what it makes is a self-contained blob with a checksum, statistics that tell which rows may be in it, and on request a filter for
// single values. A store decides where the bytes lie.
//
//	blob     version · kind · encoding · compression · rows · payload length · payload · CRC-32C
//	payload  validity bitmap, where there are NULLs · values
//	values   integers   frames of 1,024, bit-packed against their least value or against their predecessors
//	         doubles    the integers that decimals are when a power of ten is taken out, as integers; or as they are
//	         views      a dictionary and packed codes; or lengths and bytes
//
// All numbers are little endian. The payload is compressed where that saves something: by s2 when a commit is waiting, by zstd where it
// is a quarter smaller and nobody waits.
package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"millrace/internal/column"
)

// ErrCorrupt is the cause of every error about bytes that are not what was written.
var ErrCorrupt = errors.New("corrupt")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

const (
	blobVersion = 1
	headerBytes = 12
	sumBytes    = 4
)

// Encodings of values.
const (
	encodeInts byte = iota + 1
	encodeFloats
	encodePlain
	encodeDictionary
	encodeDecimals // of doubles; since version 2 of the store
)

// Compressions of the payload.
const (
	compressNone byte = iota
	compressS2
	compressZstd
)

// Level says how hard to compress.
type Level uint8

const (
	// Fast is for commits that somebody waits for.
	Fast Level = iota
	// Dense is for work in the background.
	Dense
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the fixed part before the payload.
type header struct {
	kind              column.Kind
	encoding, packing byte
	rows, payload     int
}

// seal appends the blob of a payload to dst.
func (e *Encoder) seal(dst []byte, h header, payload []byte, level Level) []byte {
	start := len(dst)
	dst = append(dst, blobVersion, byte(h.kind), h.encoding, compressNone)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.rows))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	packing, packed := e.compress(payload, level)
	dst[start+3] = packing
	dst = append(dst, packed...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// compress packs a payload, if that saves an eighth: less is not worth the time to unpack.
func (e *Encoder) compress(payload []byte, level Level) (packing byte, packed []byte) {
	if len(payload) < 64 {
		return compressNone, payload
	}
	packing, packed = compressNone, payload
	if n := s2.MaxEncodedLen(len(payload)); cap(e.packed) < n {
		e.packed = make([]byte, n)
	}
	if p := s2.Encode(e.packed[:cap(e.packed)], payload); len(p) < len(payload)-len(payload)/8 {
		packing, packed = compressS2, p
	}
	if level == Dense {
		z := zstdEncoder()
		e.dense = z.EncodeAll(payload, e.dense[:0])
		if len(e.dense) < len(packed)-len(packed)/4 {
			packing, packed = compressZstd, e.dense
		}
	}
	return packing, packed
}

// zstd's coders are safe for use by many goroutines at once; with a concurrency of 1 they start none of their own for EncodeAll and DecodeAll.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // only options can be wrong
	}
	return z
})

var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return z
})

// open checks a blob and gives its header and what lies between that and the checksum.
func open(blob []byte) (h header, packed []byte, err error) {
	if len(blob) < headerBytes+sumBytes {
		return h, nil, corrupt("%d bytes are too few", len(blob))
	}
	body := blob[:len(blob)-sumBytes]
	if sum := binary.LittleEndian.Uint32(blob[len(body):]); sum != crc32.Checksum(body, castagnoli) {
		return h, nil, corrupt("checksum %08x, want %08x", crc32.Checksum(body, castagnoli), sum)
	}
	if body[0] != blobVersion {
		return h, nil, corrupt("version %d of the encoding, want %d", body[0], blobVersion)
	}
	h = header{column.Kind(body[1]), body[2], body[3], int(binary.LittleEndian.Uint32(body[4:])), int(binary.LittleEndian.Uint32(body[8:]))}
	return h, body[headerBytes:], nil
}

// unpack gives the payload, in buf where that is large enough, or packed itself when it is not compressed.
func unpack(h header, packed, buf []byte) ([]byte, error) {
	switch h.packing {
	case compressNone:
		if len(packed) != h.payload {
			return nil, corrupt("payload of %d bytes, want %d", len(packed), h.payload)
		}
		return packed, nil
	case compressS2:
		if n, err := s2.DecodedLen(packed); err != nil || n != h.payload {
			return nil, corrupt("s2 payload of %d bytes, want %d (%v)", n, h.payload, err)
		}
		out, err := s2.Decode(sized(buf, h.payload), packed)
		if err != nil {
			return nil, corrupt("%v", err)
		}
		return out, nil
	case compressZstd:
		// The frame of a small payload does not say how large it is; the decoder stops at the capacity.
		out, err := zstdDecoder().DecodeAll(packed, sized(buf, h.payload)[:0:h.payload])
		if err != nil || len(out) != h.payload {
			return nil, corrupt("zstd payload of %d bytes, want %d (%v)", len(out), h.payload, err)
		}
		return out, nil
	default:
		return nil, corrupt("compression %d", h.packing)
	}
}

// sized is a slice of n elements, buf where it is large enough.
func sized[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
