package pebblestore

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
	"millrace/streaming/store/segment"
)

// A segment ends when either is reached. Together they bound what a lane decodes at once.
const (
	fullRows  = 131072
	fullBytes = 16 << 20
	// chunkBytes is the most that one value holds of a blob. When a block of Pebble's fails its checksum, Pebble tries which flipped bit it was, for a time that
	// grows with the block: seconds at this size, minutes at that of a blob.
	chunkBytes = 256 << 10
	// filterRows is the size from which a segment has filters: smaller ones will be merged.
	filterRows = 16384
)

// writer encodes segments into a batch. It is for one goroutine at a time; the pool keeps its memory.
type writer struct {
	encoder segment.Encoder
	blob    []byte
	key     []byte
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// put encodes one column of a segment.
func (w *writer) put(b *pebble.Batch, t *table, e *entry, id uint32, v *column.Vector, rows segment.Rows, level segment.Level) error {
	var info segment.Encoded
	w.blob, info = w.encoder.Encode(w.blob[:0], v, rows, segment.Options{Level: level, Filter: rows.Len() >= filterRows})
	info.Stats.Bytes = int64(len(w.blob) + len(info.Filter))
	c := entryColumn{id: id, kind: v.Type.Kind, filter: info.Filter != nil, stats: info.Stats, memory: info.Memory}
	for rest := w.blob; len(rest) > 0; c.chunks++ {
		n := min(len(rest), chunkBytes)
		w.key = appendKey(w.key[:0], keyColumn, t.number, e.blob, uint64(id), uint64(c.chunks))
		if err := b.Set(w.key, rest[:n], nil); err != nil {
			return err
		}
		rest = rest[n:]
	}
	e.cols = append(e.cols, c)
	if info.Filter == nil {
		return nil
	}
	w.key = appendKey(w.key[:0], keyFilter, t.number, e.blob, uint64(id))
	return b.Set(w.key, info.Filter, nil)
}

// finish adds the entry of a segment whose columns are in the batch.
func (w *writer) finish(b *pebble.Batch, t *table, e *entry) error {
	w.key = appendKey(w.key[:0], keySegment, t.number, e.order)
	w.blob = e.encode(w.blob[:0])
	return b.Set(w.key, w.blob, nil)
}

// write encodes the live rows of a batch as segments of t.
func (s *Store) write(b *pebble.Batch, t *table, rows *column.Batch) (segments int, err error) {
	if err := fits(t, rows); err != nil {
		return 0, err
	}
	w := writers.Get().(*writer)
	defer writers.Put(w)
	for from, n := 0, rows.Live(); from < n; {
		k := segmentRows(rows, from)
		number, err := s.numbers.take(s.db, 1)
		if err != nil {
			return 0, s.failed("committing", err)
		}
		e := &entry{order: number, blob: number, rows: int64(k)}
		part := segment.Rows{From: from, N: k}
		if rows.Sel != nil {
			part = segment.Rows{Sel: rows.Sel[from : from+k]}
		}
		for i := range rows.Cols {
			if err := w.put(b, t, e, t.schema.Columns[i].ID, &rows.Cols[i], part, segment.Fast); err != nil {
				return 0, err
			}
		}
		if err := w.finish(b, t, e); err != nil {
			return 0, err
		}
		from += k
		segments++
	}
	return segments, nil
}

// segmentRows is how many live rows from one on make a segment, at least one.
func segmentRows(b *column.Batch, from int) int {
	most := min(b.Live()-from, fullRows)
	var fixed int
	var views []*column.Vector
	for i := range b.Cols {
		if v := &b.Cols[i]; v.Type.Kind.IsView() {
			views = append(views, v)
		}
		fixed += 8
	}
	if len(views) == 0 {
		return max(1, min(most, fullBytes/max(fixed, 1)))
	}
	size := 0
	for k := range most {
		i := from + k
		if b.Sel != nil {
			i = int(b.Sel[i])
		}
		size += fixed
		for _, v := range views {
			size += int(v.End[i] - v.Beg[i])
		}
		if size > fullBytes {
			return max(k, 1)
		}
	}
	return most
}

// fits checks rows against the schema.
func fits(t *table, rows *column.Batch) error {
	if len(rows.Cols) != len(t.schema.Columns) {
		return fmt.Errorf("store: rows of table %s have %d columns, want %d", t.id, len(rows.Cols), len(t.schema.Columns))
	}
	for i := range rows.Cols {
		v, c := &rows.Cols[i], &t.schema.Columns[i]
		if v.Type.Kind != c.Type.Kind {
			return fmt.Errorf("store: rows of table %s have %v for column '%s', which is %v", t.id, v.Type, c.Name, c.Type)
		}
		if c.Nullable || v.Valid == nil {
			continue
		}
		for k := range rows.Live() {
			r := k
			if rows.Sel != nil {
				r = int(rows.Sel[k])
			}
			if v.IsNull(r) {
				return sqlerr.New(sqlerr.NotNull, "column '%s' of table '%s' is NOT NULL", c.Name, t.id)
			}
		}
	}
	return nil
}

// constant is n rows of a value: what a column reads as in segments that are older than it.
func constant(t column.Type, v store.Value, n int) *column.Vector {
	vec := &column.Vector{Type: t}
	switch {
	case v.IsNull():
		vec.Valid = make([]uint64, (n+63)/64)
		switch {
		case t.Kind.IsView():
			vec.Beg, vec.End = make([]uint32, n), make([]uint32, n)
		case t.Kind == column.Float64:
			vec.Float = make([]float64, n)
		default:
			vec.Int = make([]int64, n)
		}
	case t.Kind.IsView():
		vec.Data = []byte(v.Bytes())
		vec.Beg, vec.End = make([]uint32, n), make([]uint32, n)
		for i := range vec.End {
			vec.End[i] = uint32(len(vec.Data))
		}
	default:
		for range n {
			v.AppendTo(vec)
		}
	}
	return vec
}

func encodeTime(micros int64, data []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(data)), uint64(micros)), data...)
}

// maxBatch is what one commit may come to; Pebble's batches end at 4 GiB.
const maxBatch = math.MaxInt32
