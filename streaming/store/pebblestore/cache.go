package pebblestore

import (
	"container/list"
	"sync"

	"millrace/streaming/store/segment"
)

// cacheKey names a column or filter of a segment. Blobs never change and their numbers are not used again, so what is cached is never stale.
type cacheKey struct {
	table, blob uint64
	id          uint32
	filter      bool
}

type cached struct {
	key    cacheKey
	column *segment.Column
	filter []byte
	bytes  int64

	zoned sync.Once
	zones []zone
}

// bounds gives the zones of a column of numbers, made when they are first wanted; nil for others.
func (x *cached) bounds() []zone {
	x.zoned.Do(func() { x.zones = zonesOf(&x.column.Vector) })
	return x.zones
}

// cache keeps decoded columns and checked filters, the least recently used go first. What it has handed out lives on while it is used: that is bounded by a
// segment for each lane.
type cache struct {
	budget int64

	mu           sync.Mutex
	used         int64
	entries      map[cacheKey]*list.Element
	order        list.List // front is the most recent
	hits, misses int64
}

func newCache(budget int64) *cache {
	return &cache{budget: budget, entries: map[cacheKey]*list.Element{}}
}

// share is how much of the cache a scan may take that decodes about so many bytes; few says that it hopes to get by with a few of them. One that decodes more than there is room
// for keeps a part, always the same one, and leaves some to others; when that would hardly help it keeps nothing, so as not to push out all else.
func (c *cache) share(bytes int64, few bool) int64 {
	switch {
	case bytes <= c.budget:
		return c.budget
	case few || bytes <= 4*c.budget:
		return c.budget / 4 * 3
	default:
		return 0
	}
}

func (c *cache) get(k cacheKey) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[k]
	if e == nil {
		c.misses++
		return nil
	}
	c.hits++
	c.order.MoveToFront(e)
	return e.Value.(*cached)
}

// entryOverhead is about what an entry takes besides its content.
const entryOverhead = 300

// put keeps x, unless it is more than a quarter of all there is room for.
func (c *cache) put(x *cached) {
	x.bytes += entryOverhead
	if x.bytes > c.budget/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[x.key] != nil {
		return // another lane was faster
	}
	c.entries[x.key] = c.order.PushFront(x)
	c.used += x.bytes
	for c.used > c.budget {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(e *list.Element) {
	x := e.Value.(*cached)
	c.order.Remove(e)
	delete(c.entries, x.key)
	c.used -= x.bytes
}

// forget drops what is known of a segment that is no more.
func (c *cache) forget(table uint64, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range e.cols {
		for _, filter := range []bool{false, true} {
			if x := c.entries[cacheKey{table, e.blob, e.cols[i].id, filter}]; x != nil {
				c.remove(x)
			}
		}
	}
}

func (c *cache) stats() (used, hits, misses int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, c.hits, c.misses
}
