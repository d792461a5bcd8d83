package ops

import (
	"context"
	"sync"

	"millrace/internal/column"
	"millrace/internal/memory"
)

// queue carries output batches from the lanes to the one consumer.
//
// Each lane fills a batch of its own, which lies in a slot between two pushes. A full batch goes into the queue; when that holds
// limit bytes, the lane waits. A consumer that finds the queue empty takes a batch from a slot, full or not. So rows never wait
// for a batch to fill, and under load batches are full. Rows of a lane stay in order: its queued batches are older than its slot,
// and only an empty queue lets the consumer look there.
//
//	lane 0  take ─▶ append rows ─▶ give ──▶ slot 0 ─ ─ ┐ (queue empty)
//	                                 └ full ▶ queue ───┴──▶ next ──▶ consumer ──▶ free ──▶ take
type queue struct {
	fields []column.Field
	limit  int // bytes in full
	keep   int // a batch above this many bytes is not used again

	mu      sync.Mutex
	changed sync.Cond
	full    []*column.Batch
	sizes   []int
	held    int // sum of sizes
	memory  memory.Account
	slots   []*column.Batch
	free    []*column.Batch
	ended   bool
	err     error
}

func newQueue(fields []column.Field, limit, keep int) *queue {
	q := &queue{fields: fields, limit: limit, keep: keep}
	q.changed.L = &q.mu
	return q
}

// addLane gives the number of a new lane.
func (q *queue) addLane() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slots = append(q.slots, nil)
	return len(q.slots) - 1
}

// take gives the lane the batch it is filling.
func (q *queue) take(lane int) *column.Batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b := q.slots[lane]; b != nil {
		q.slots[lane] = nil
		return b
	}
	return q.empty()
}

// empty gives a batch without rows. q.mu is held.
func (q *queue) empty() *column.Batch {
	b := &column.Batch{}
	if n := len(q.free); n > 0 {
		b, q.free = q.free[n-1], q.free[:n-1]
	}
	b.Reset(q.fields)
	return b
}

// give puts the batch of a lane into its slot, or into the queue when it is full: then give waits while the queue is full, until
// ctx is done.
func (q *queue) give(ctx context.Context, lane int, b *column.Batch, full bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !full {
		if b.N > 0 {
			q.slots[lane] = b
			q.changed.Broadcast()
		} else {
			q.free = append(q.free, b)
		}
		return nil
	}
	size := b.Bytes()
	if !q.room(size) {
		defer context.AfterFunc(ctx, q.wake)()
		for !q.room(size) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			q.changed.Wait()
		}
	}
	q.full, q.sizes, q.held = append(q.full, b), append(q.sizes, size), q.held+size
	q.changed.Broadcast()
	return nil
}

// room takes the memory for a batch of size bytes, if there is room: for one there always is. q.mu is held.
func (q *queue) room(size int) bool {
	if q.held == 0 {
		q.memory.Force(int64(size))
		return true
	}
	return q.held+size <= q.limit && q.memory.Set(int64(q.held+size))
}

// close gives back the memory of what nobody took.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.memory.Close()
}

func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// end says that no lane will give any more; err is what the consumer gets after the last batch.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended, q.err = true, err
	q.changed.Broadcast()
}

// next waits for a batch. At the end it returns nil and the error of end. It returns at once when ctx is done, or run, whose
// owner calls wake then.
func (q *queue) next(ctx, run context.Context) (*column.Batch, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := false
	for {
		if q.ended && q.none() {
			return nil, q.err
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case run.Err() != nil:
			return nil, context.Cause(run)
		}
		if b := q.pop(); b != nil {
			return b, nil
		}
		if !waiting {
			waiting = true
			defer context.AfterFunc(ctx, q.wake)()
		}
		q.changed.Wait()
	}
}

// none reports whether there is nothing to pop. q.mu is held.
func (q *queue) none() bool {
	for _, b := range q.slots {
		if b != nil {
			return false
		}
	}
	return len(q.full) == 0
}

// pop takes the oldest batch, or nil. q.mu is held.
func (q *queue) pop() *column.Batch {
	if len(q.full) > 0 {
		b := q.full[0]
		q.full = q.full[:copy(q.full, q.full[1:])]
		q.held -= q.sizes[0]
		q.memory.Force(int64(q.held))
		q.sizes = q.sizes[:copy(q.sizes, q.sizes[1:])]
		q.changed.Broadcast()
		return b
	}
	for i, b := range q.slots {
		if b != nil {
			q.slots[i] = nil
			return b
		}
	}
	return nil
}

// recycle takes back a batch that the consumer is done with.
func (q *queue) recycle(b *column.Batch) {
	if b == nil || b.Bytes() > q.keep {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free = append(q.free, b)
}
