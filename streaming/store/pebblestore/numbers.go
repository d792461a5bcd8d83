package pebblestore

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// reserve is how many numbers are taken at a time.
const reserve = 4096

// numbers gives out numbers for tables, segments and blobs, never the same twice, also after a crash: all below the bound that is on disk may have
// been given out. The bound is written before a number beyond it is, and earlier in the log, so whatever survives with such a number has the bound
// survive too.
type numbers struct {
	mu          sync.Mutex
	next, bound uint64
}

func (n *numbers) load(db *pebble.DB) error {
	v, closer, err := db.Get(key(keyNumbers))
	if errors.Is(err, pebble.ErrNotFound) {
		n.next, n.bound = 1, 1
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	n.next = binary.BigEndian.Uint64(v)
	n.bound = n.next
	return nil
}

// take gives the first of count numbers.
func (n *numbers) take(db *pebble.DB, count int) (uint64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next+uint64(count) > n.bound {
		bound := n.next + uint64(count) + reserve
		if err := db.Set(key(keyNumbers), binary.BigEndian.AppendUint64(nil, bound), pebble.NoSync); err != nil {
			return 0, err
		}
		n.bound = bound
	}
	first := n.next
	n.next += uint64(count)
	return first, nil
}
