package server

import (
	gometrics "runtime/metrics"
	"sync/atomic"

	"github.com/dolthub/go-mysql-server/sql"
)

// heap tells the engine how much memory the process has left, before it adds to one of its caches: groups, distinct values and results of subqueries
// that it computes itself. Nobody else counts those. What lives is known from the last run of the garbage collector, which
// runs often when memory is short.
type heap struct {
	limit uint64
	asked atomic.Uint32
	live  atomic.Uint64
}

// askEvery is how often what lives is read: the engine asks for each row.
const askEvery = 256

// newMemoryManager refuses the engine's caches when three quarters of limit live; 0 is no limit.
func newMemoryManager(limit int64) *sql.MemoryManager {
	return sql.NewMemoryManager(&heap{limit: uint64(limit) / 4 * 3})
}

// MaxMemory implements sql.Reporter.
func (h *heap) MaxMemory() uint64 { return h.limit }

// UsedMemory implements sql.Reporter.
func (h *heap) UsedMemory() uint64 {
	if h.asked.Add(1)%askEvery == 1 {
		sample := []gometrics.Sample{{Name: "/gc/heap/live:bytes"}}
		gometrics.Read(sample)
		h.live.Store(sample[0].Value.Uint64())
	}
	return h.live.Load()
}
