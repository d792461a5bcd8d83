package pebblestore

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"millrace/streaming/store"
	"millrace/streaming/store/segment"
)

// blobReader reads columns of segments. It is for one goroutine at a time and keeps its memory.
type blobReader struct {
	key, joined []byte
	scratch     segment.Scratch
}

// decode reads a column that is stored in chunks and gives how many bytes that were.
func (r *blobReader) decode(db pebble.Reader, into *segment.Column, t *table, blob uint64, c *store.Column, chunks, rows int) (n int, err error) {
	r.joined = r.joined[:0]
	for i := range chunks {
		r.key = appendKey(r.key[:0], keyColumn, t.number, blob, uint64(c.ID), uint64(i))
		v, closer, err := db.Get(r.key)
		if err != nil {
			return 0, err
		}
		if chunks == 1 { // the usual case: no copy
			return len(v), errors.Join(into.Decode(v, c.Type, rows, &r.scratch), closer.Close())
		}
		r.joined = append(r.joined, v...)
		if err := closer.Close(); err != nil {
			return 0, err
		}
	}
	return len(r.joined), into.Decode(r.joined, c.Type, rows, &r.scratch)
}
