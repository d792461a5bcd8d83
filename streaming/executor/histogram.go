package executor

import "time"

// Histogram counts durations by size, as Prometheus wants them. It belongs to a lock.
type Histogram struct {
	bounds []time.Duration
	counts []uint64
	sum    time.Duration
	count  uint64
}

// commitBounds are the sizes of commits, freshBounds those of the time from a record to its row.
var (
	commitBounds = []time.Duration{
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 10 * time.Second,
	}
	freshBounds = []time.Duration{
		5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2500 * time.Millisecond, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
	}
)

func newHistogram(bounds []time.Duration) Histogram {
	return Histogram{bounds: bounds, counts: make([]uint64, len(bounds))}
}

func (h *Histogram) observe(d time.Duration) {
	d = max(d, 0) // a producer's clock may be ahead of ours
	h.sum += d
	h.count++
	for i, b := range h.bounds {
		if d <= b {
			h.counts[i]++
			return
		}
	}
}

// Counts gives the number of durations, their sum in seconds, and how many are at most so many seconds.
func (h *Histogram) Counts() (count uint64, sum float64, atMost map[float64]uint64) {
	atMost = make(map[float64]uint64, len(h.bounds))
	below := uint64(0)
	for i, b := range h.bounds {
		below += h.counts[i]
		atMost[b.Seconds()] = below
	}
	return h.count, h.sum.Seconds(), atMost
}

// clone is a copy that nobody changes.
func (h *Histogram) clone() Histogram {
	c := *h
	c.counts = append([]uint64(nil), h.counts...)
	return c
}

// Latencies are how long things took since the process started.
type Latencies struct {
	// Commit is the time of commits in the store, Fresh the time from the timestamp of the oldest record of a commit until its row could be seen, of a table that follows
	// its topics; a backlog would say nothing but how old it is.
	Commit, Fresh Histogram
}

// Latencies gives what was measured.
func (t *Table) Latencies() Latencies {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Latencies{t.commits.clone(), t.fresh.clone()}
}
