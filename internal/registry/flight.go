package registry

import (
	"context"
	"sync"
	"time"
)

// flights runs at most one request for a key at a time, whoever asks for it. The request belongs to all who wait: it goes on when the first of them
// gives up and ends when the last does.
type flights[K comparable, V any] struct {
	mu     sync.Mutex
	flying map[K]*flight[V]
}

type flight[V any] struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

// do returns what fetch gives for key. fetch runs in a goroutine that running counts; its context ends with base.
func (f *flights[K, V]) do(ctx, base context.Context, running *sync.WaitGroup, key K, fetch func(context.Context) (V, error)) (V, error) {
	f.mu.Lock()
	if f.flying == nil {
		f.flying = map[K]*flight[V]{}
	}
	c := f.flying[key]
	if c == nil {
		fetching, cancel := context.WithCancel(base)
		c = &flight[V]{cancel: cancel, done: make(chan struct{})}
		f.flying[key] = c
		running.Go(func() {
			defer cancel()
			c.value, c.err = fetch(fetching)
			f.mu.Lock()
			if f.flying[key] == c {
				delete(f.flying, key)
			}
			f.mu.Unlock()
			close(c.done)
		})
	}
	c.waiting++
	f.mu.Unlock()

	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		f.mu.Lock()
		if c.waiting--; c.waiting == 0 {
			c.cancel()
			if f.flying[key] == c { // who comes now starts anew
				delete(f.flying, key)
			}
		}
		f.mu.Unlock()
		var none V
		return none, context.Cause(ctx)
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
