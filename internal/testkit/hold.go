package testkit

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// HoldFetches makes the broker keep every fetch waiting until release is called, as one does that is stuck, while it answers all other
// requests. asked is closed at the first fetch. release may be called again; the end of the test calls it too.
//
// kfake loses its main loop when it is closed while a request that slept goes on. So release returns only when all of them have gone on.
func (b *Broker) HoldFetches(t testing.TB) (asked <-chan struct{}, release func()) {
	t.Helper()
	var (
		first    = make(chan struct{})
		once     sync.Once
		open     = make(chan struct{})
		mu       sync.Mutex
		waiting  sync.WaitGroup
		released bool
	)
	b.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		once.Do(func() { close(first) })
		mu.Lock()
		if released {
			mu.Unlock()
			return nil, nil, false
		}
		waiting.Add(1)
		mu.Unlock()
		defer waiting.Done()
		b.SleepControl(func() { <-open })
		return nil, nil, false
	})
	release = func() {
		mu.Lock()
		if !released {
			released = true
			close(open)
		}
		mu.Unlock()
		waiting.Wait()
	}
	t.Cleanup(release)
	return first, release
}
