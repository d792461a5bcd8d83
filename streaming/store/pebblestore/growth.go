package pebblestore

import (
	"sync/atomic"
)

// fanIn is how many segments of about one size are merged: a row is then rewritten about once for each factor of fanIn between the size of a commit
// and that of a full segment.
const fanIn = 8

// mostSources bounds a merge; where there are more, it is followed by another.
const mostSources = 1024

// growth is what the merging of a table's segments remembers.
type growth struct {
	// fresh is the number of segments written since the table was last looked at.
	fresh  atomic.Int64
	queued atomic.Bool
	// from is the order below which there is nothing to merge. It is of the goroutine that merges.
	from uint64
	// stopped: a segment cannot be read. Others must not be hidden behind error after error.
	stopped atomic.Bool
}

// added counts new segments and says whether it is time to look.
func (g *growth) added(n int) bool { return g.fresh.Add(int64(n)) >= fanIn }

// mayGrow has a table looked at. When too many wait it does nothing: the table's next commit asks again.
func (s *Store) mayGrow(t *table) {
	if t.grown.stopped.Load() || t.grown.queued.Swap(true) {
		return
	}
	select {
	case s.grow <- t:
	default:
		t.grown.queued.Store(false)
	}
}

func (s *Store) growLoop() {
	for {
		select {
		case <-s.closing:
			return
		case t := <-s.grow:
			s.growTable(t)
		}
	}
}

// growTable merges as long as there is something to merge.
func (s *Store) growTable(t *table) {
	g := t.grown
	g.queued.Store(false)
	g.fresh.Store(0)
	for {
		select {
		case <-s.closing:
			return
		default:
		}
		if s.space.admit(fullBytes) != nil {
			return // merging needs space before it gives some back
		}
		merged, err := s.growOnce(t)
		if err != nil {
			g.stopped.Store(true)
			s.counters.failed.Add(1)
			s.log.Warn("merging of segments stopped until the next start", "table", string(t.id), "error", err)
			return
		}
		if !merged {
			return
		}
	}
}

func (s *Store) growOnce(t *table) (merged bool, err error) {
	t.family.maintain.Lock()
	defer t.family.maintain.Unlock()
	snap := s.snapshot()
	defer snap.Close()
	current := snap.tables[t.id]
	if current == nil || current.number != t.number {
		return false, nil
	}
	var run []*entry
	var sources []*entry
	err = segments(snap.db, current, t.grown.from, func(e *entry) (bool, error) {
		if e.fill() >= 0.5 {
			run = run[:0]
			return true, nil
		}
		if run = append(run, e); len(run) >= fanIn || total(run) >= 0.5 {
			sources = choose(run)
		}
		return sources == nil || len(run) < mostSources && total(sources) < 0.5, nil
	})
	if err != nil {
		return false, s.failed("merging", err)
	}
	if len(run) > 0 {
		t.grown.from = run[0].order
	}
	if sources == nil {
		return false, nil
	}
	return s.merge(snap, current, sources)
}

// fill is how much of a full segment e is.
func (e *entry) fill() float64 {
	return max(float64(e.rows)/fullRows, float64(e.memory())/fullBytes)
}

func total(run []*entry) (sum float64) {
	for _, e := range run {
		sum += e.fill()
	}
	return sum
}

// choose picks what to merge of a run of neighbours, none of them half full: its beginning, when that makes a segment that is at least half
// full; else its end, when there are fanIn of about one size, with the smaller ones between them. Few of many sizes wait for more: at most fanIn of each
// remain.
func choose(run []*entry) []*entry {
	sum := 0.0
	for i, e := range run {
		if sum += e.fill(); sum >= 0.5 && i > 0 {
			return run[:i+1]
		}
	}
	for size := 0.5 / (fanIn * fanIn * fanIn * fanIn * fanIn); size <= 0.5; size *= fanIn {
		n, ofSize := 0, 0
		for n < len(run) && run[len(run)-1-n].fill() <= size {
			if n++; run[len(run)-n].fill() > size/fanIn {
				ofSize++
			}
		}
		if ofSize >= fanIn {
			return run[len(run)-n:]
		}
	}
	return nil
}
