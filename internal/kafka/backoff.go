package kafka

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff waits longer each time, with jitter so that lanes do not ask in step.
type backoff struct{ next time.Duration }

const (
	backoffFirst = 50 * time.Millisecond
	backoffMost  = time.Second
)

func newBackoff() backoff { return backoff{backoffFirst} }

// sleep waits, or returns ctx's error.
func (b *backoff) sleep(ctx context.Context) error {
	d := b.next/2 + rand.N(b.next/2+1)
	b.next = min(2*b.next, backoffMost)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
