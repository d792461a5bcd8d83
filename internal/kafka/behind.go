package kafka

import (
	"context"
	"sync"
)

// behind runs what nobody waits for any more but its pool, which ends it. The zero value is not ready to use.
type behind struct {
	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func newBehind() *behind {
	b := new(behind)
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// run calls do on a goroutine of its own, with a context that ends with the pool: at once, when that is closed.
func (b *behind) run(do func(life context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		do(b.life)
		return
	}
	b.wg.Go(func() { do(b.life) })
}

// close ends what runs and waits for it.
func (b *behind) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.end()
	b.wg.Wait()
}
