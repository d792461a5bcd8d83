package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// chunk is what one answer brought for one partition: every batch with offsets in [from, to). Readers share it and must not change it.
type chunk struct {
	from, to int64
	data     []byte
	// epoch is the one that the leader was asked under, -1 for none: no batch has a newer one.
	epoch   int32
	aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction
}

// delivery is a chunk for one subscription, or its end.
type delivery struct {
	sub *subscription
	chunk
	// ended says that nothing more comes by this subscription; cause is why, nil when the reader was too slow for it.
	ended bool
	cause error
}

// inbox carries what fetchers read to the one goroutine of a tail. It holds so many bytes and no more: a fetcher never waits for a reader, it ends the
// subscription of one that does not keep up.
type inbox struct {
	limit int
	// ready holds a token when there may be deliveries.
	ready chan struct{}

	mu    sync.Mutex
	queue []delivery
	bytes int // of chunks that were put and not yet released
}

func newInbox(limit int) *inbox {
	return &inbox{limit: limit, ready: make(chan struct{}, 1)}
}

// put adds a delivery. It reports false, and adds nothing, when a chunk does not fit; one chunk always does.
func (b *inbox) put(d delivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(d.data); n > 0 {
		if b.bytes > 0 && b.bytes+n > b.limit {
			return false
		}
		b.bytes += n
	}
	b.queue = append(b.queue, d)
	select {
	case b.ready <- struct{}{}:
	default:
	}
	return true
}

// take gives all deliveries, in their order, and uses the memory of old for those to come.
func (b *inbox) take(old []delivery) []delivery {
	clear(old)
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.queue
	b.queue = old[:0]
	return out
}

// release makes room: n bytes of chunks are read.
func (b *inbox) release(n int) {
	b.mu.Lock()
	b.bytes -= n
	b.mu.Unlock()
}
