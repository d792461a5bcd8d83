package pebblestore

import (
	"encoding/binary"
	"fmt"

	"millrace/internal/column"
	"millrace/streaming/store"
	"millrace/streaming/store/segment"
)

// entry describes a segment: the value of its key, whose last number is its place in the order of the table. A merged segment takes the place of the first of
// its sources.
type entry struct {
	order uint64 // from the key
	blob  uint64
	rows  int64
	cols  []entryColumn
}

type entryColumn struct {
	id     uint32
	kind   column.Kind
	filter bool
	// chunks is the number of values that the blob is stored in.
	chunks int
	stats  store.ColumnStats // Bytes are those of blob and filter
	// memory is about what the column takes decoded.
	memory int64
}

// find gives the column with an ID; nil when the segment is older than it.
func (e *entry) find(id uint32) *entryColumn {
	for i := range e.cols {
		if e.cols[i].id == id {
			return &e.cols[i]
		}
	}
	return nil
}

// bytes is what the segment takes on disk.
func (e *entry) bytes() (n int64) {
	for i := range e.cols {
		n += e.cols[i].stats.Bytes
	}
	return n
}

// memory is about what it takes decoded.
func (e *entry) memory() (n int64) {
	for i := range e.cols {
		n += e.cols[i].memory
	}
	return n
}

const (
	entryVersion = 1
	flagBounded  = 1
	flagNaN      = 2
	flagFilter   = 4
)

func (e *entry) encode(b []byte) []byte {
	b = append(b, entryVersion)
	b = binary.AppendUvarint(b, e.blob)
	b = binary.AppendUvarint(b, uint64(e.rows))
	b = binary.AppendUvarint(b, uint64(len(e.cols)))
	for i := range e.cols {
		c := &e.cols[i]
		var flags byte
		if c.stats.Bounded {
			flags |= flagBounded
		}
		if c.stats.NaN {
			flags |= flagNaN
		}
		if c.filter {
			flags |= flagFilter
		}
		b = append(b, byte(c.kind), flags)
		for _, x := range []uint64{uint64(c.id), uint64(c.chunks), uint64(c.stats.Nulls), uint64(c.stats.Bytes), uint64(c.memory)} {
			b = binary.AppendUvarint(b, x)
		}
		if c.stats.Bounded {
			b = c.stats.Min.AppendBinary(b)
			b = c.stats.Max.AppendBinary(b)
		}
	}
	return b
}

// decodeEntry reads an entry. It keeps nothing of b.
func decodeEntry(order uint64, b []byte) (*entry, error) {
	bad := fmt.Errorf("%w: the entry of segment %d", segment.ErrCorrupt, order)
	if len(b) == 0 || b[0] != entryVersion {
		return nil, bad
	}
	b = b[1:]
	ok := true
	number := func() uint64 {
		x, w := binary.Uvarint(b)
		if w <= 0 {
			ok = false
			return 0
		}
		b = b[w:]
		return x
	}
	e := &entry{order: order, blob: number(), rows: int64(number())}
	count := number()
	if !ok || count > uint64(len(b)) {
		return nil, bad
	}
	e.cols = make([]entryColumn, count)
	for i := range e.cols {
		c := &e.cols[i]
		if len(b) < 2 {
			return nil, bad
		}
		flags := b[1]
		c.kind, b = column.Kind(b[0]), b[2:]
		c.id, c.chunks, c.stats.Nulls, c.stats.Bytes, c.memory = uint32(number()), int(number()), int64(number()), int64(number()), int64(number())
		c.stats.Bounded, c.stats.NaN, c.filter = flags&flagBounded != 0, flags&flagNaN != 0, flags&flagFilter != 0
		if c.stats.Bounded {
			for _, v := range []*store.Value{&c.stats.Min, &c.stats.Max} {
				var fits bool
				if *v, b, fits = store.DecodeValue(b); !fits || !v.Fits(c.kind) {
					return nil, bad
				}
			}
		}
		if !ok {
			return nil, bad
		}
	}
	if len(b) > 0 {
		return nil, bad
	}
	return e, nil
}
