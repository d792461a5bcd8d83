package kafka

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The layout of a record batch (magic 2). The first 17 bytes have the same lengths and places in the message sets of old (magic 0 and 1).
//
//	 0 base offset    int64     21 attributes         int16     43 producer id    int64
//	 8 length         int32     23 last offset delta  int32     51 producer epoch int16
//	12 leader epoch   int32     27 base timestamp     int64     53 base sequence  int32
//	16 magic          int8      35 max timestamp      int64     57 records        int32
//	17 crc32c of 21…  uint32                                    61 records
const (
	frameHead  = 12 // base offset and length; the length counts from here
	frameMagic = 16
	batchHead  = 61
)

// Bits of a batch's attributes, above the codec.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// corruptError says that bytes from a broker are not what the protocol says, at which offset.
type corruptError struct {
	offset int64
	err    error
}

func (e *corruptError) Error() string { return fmt.Sprintf("offset %d: %v", e.offset, e.err) }
func (e *corruptError) Unwrap() error { return e.err }

func corrupt(offset int64, format string, args ...any) error {
	return &corruptError{offset, fmt.Errorf(format, args...)}
}

// batch is the header of a record batch, and its bytes.
type batch struct {
	first, last         int64
	attrs               uint16
	baseTime, maxTime   int64
	producer            int64
	records             int
	crc                 uint32
	covered, compressed []byte // what the CRC covers; the records
}

// nextFrame splits the first batch or message off in. ok is false at the end and at a batch that the broker cut short, as it does to keep to the
// size asked for. last is the offset of the last record that the frame may hold.
func nextFrame(in []byte) (frame, rest []byte, last int64, ok bool, err error) {
	if len(in) <= frameMagic {
		return nil, nil, 0, false, nil
	}
	first := int64(binary.BigEndian.Uint64(in))
	length := int64(int32(binary.BigEndian.Uint32(in[8:])))
	magic := in[frameMagic]
	switch {
	case first < 0:
		return nil, nil, 0, false, corrupt(first, "a batch begins at a negative offset")
	case magic > 2:
		return nil, nil, 0, false, corrupt(first, "batch format (magic) %d is not known", magic)
	case magic == 2 && length < batchHead-frameHead, length < 14:
		return nil, nil, 0, false, corrupt(first, "a batch of %d bytes is shorter than its header", length)
	case length > int64(len(in)-frameHead):
		return nil, nil, 0, false, nil
	}
	frame, rest = in[:frameHead+length], in[frameHead+length:]
	last = first
	if magic == 2 {
		delta := int32(binary.BigEndian.Uint32(frame[23:]))
		if last += int64(delta); delta < 0 || last < first {
			return nil, nil, 0, false, corrupt(first, "a batch ends %d offsets after its begin", delta)
		}
	}
	return frame, rest, last, true, nil
}

// position is the offset after the last whole batch of in, at least from.
func position(in []byte, from int64) (int64, error) {
	for {
		_, rest, last, ok, err := nextFrame(in)
		if err != nil || !ok {
			return from, err
		}
		from = max(from, last+1)
		in = rest
	}
}

// parseBatch reads the header of a frame of magic 2.
func parseBatch(frame []byte, last int64) (batch, error) {
	b := batch{
		first:      int64(binary.BigEndian.Uint64(frame)),
		last:       last,
		crc:        binary.BigEndian.Uint32(frame[17:]),
		attrs:      binary.BigEndian.Uint16(frame[21:]),
		baseTime:   int64(binary.BigEndian.Uint64(frame[27:])),
		maxTime:    int64(binary.BigEndian.Uint64(frame[35:])),
		producer:   int64(binary.BigEndian.Uint64(frame[43:])),
		records:    int(int32(binary.BigEndian.Uint32(frame[57:]))),
		covered:    frame[21:],
		compressed: frame[batchHead:],
	}
	// Compaction leaves fewer records than offsets, never more.
	if b.records < 0 || int64(b.records) > b.last-b.first+1 {
		return b, corrupt(b.first, "a batch of offsets %d to %d claims %d records", b.first, b.last, b.records)
	}
	return b, nil
}

func (b *batch) codec() int          { return int(b.attrs & attrCodec) }
func (b *batch) control() bool       { return b.attrs&attrControl != 0 }
func (b *batch) transactional() bool { return b.attrs&attrTransactional != 0 }

func (b *batch) checkCRC() error {
	if got := crc32.Checksum(b.covered, castagnoli); got != b.crc {
		return corrupt(b.first, "checksum is %08x, the batch says %08x", got, b.crc)
	}
	return nil
}

// aborts knows, for the batches of one answer, which belong to transactions that were aborted. The broker lists each with its producer and the
// offset it began at; it ends at the producer's next abort marker. The zero value holds none.
type aborts map[int64][]int64

// abortsOf sorts what the broker lists: some brokers give a producer's transactions in another order than that of their begin.
func abortsOf(listed []kmsg.FetchResponseTopicPartitionAbortedTransaction) aborts {
	if len(listed) == 0 {
		return nil
	}
	a := aborts{}
	for _, t := range listed {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, begins := range a {
		slices.Sort(begins)
	}
	return a
}

// covers reports whether b belongs to an aborted transaction.
func (a aborts) covers(b *batch) bool {
	if len(a) == 0 || !b.transactional() {
		return false
	}
	begins := a[b.producer]
	return len(begins) > 0 && b.first >= begins[0]
}

// ended takes note of an abort marker of producer.
func (a aborts) ended(producer int64) {
	if begins := a[producer]; len(begins) > 0 {
		a[producer] = begins[1:]
	}
}
