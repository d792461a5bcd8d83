package kafka

import (
	"math"
	"sync"
	"sync/atomic"
)

// topicRef is a topic that a scan reads.
type topicRef struct {
	name string
	id   [16]byte
	at   place
}

// partition is a partition that a scan reads. Its tasks share it.
type partition struct {
	topic  *topicRef
	number int32
	at     place

	mu sync.Mutex
	// leader is where to fetch from, as far as is known.
	leader leader
	// replica is the follower near us that the leader wants us to fetch from, -1 for none; onlyLeader is set when a fetch failed, for good.
	replica    int32
	onlyLeader bool
	// touched is the lowest offset at which a fetch succeeded.
	touched int64
}

func (p *partition) leads() leader {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leader
}

// setLeader follows what a broker says of the leader, unless an epoch that is known already is newer: brokers learn of a new leader one after the other. Where topics
// have no ids it is followed always, for a topic that was created again counts its epochs from the start.
func (p *partition) setLeader(l leader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if hasID(p.topic.id) && l.epoch >= 0 && l.epoch < p.leader.epoch {
		return
	}
	p.leader = l
}

// source is the broker to fetch from.
func (p *partition) source() int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replica >= 0 {
		return p.replica
	}
	return p.leader.id
}

// redirect follows the leader's wish that a follower be fetched from; it reports whether that is another broker than the one that answered.
func (p *partition) redirect(to, from int32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to < 0 || to == from || p.onlyLeader {
		return false
	}
	p.replica = to
	return true
}

// leaderOnly gives followers up: one that lags behind must not make a scan fail.
func (p *partition) leaderOnly() {
	p.mu.Lock()
	p.replica, p.onlyLeader = -1, true
	p.mu.Unlock()
}

// wantsNear reports whether the leader may name a follower to fetch from.
func (p *partition) wantsNear() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.onlyLeader
}

// touch notes that a fetch at offset succeeded.
func (p *partition) touch(offset int64) {
	p.mu.Lock()
	p.touched = min(p.touched, offset)
	p.mu.Unlock()
}

// untouched reports whether nothing was fetched at or below offset.
func (p *partition) untouched(offset int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return offset < p.touched
}

// task is a split on its way. One lane reads it; another may take the upper half of what the reader has not claimed yet:
//
//	from ───────── next ────────────── end
//	      claimed        may be stolen
//
// The reader claims up to where the answer it holds reaches before it parses it, and asks for end at the same moment. So what it delivers and what
// a thief delivers never overlap.
type task struct {
	*partition
	earliest bool
	from     int64

	mu        sync.Mutex
	next, end int64
}

// claim moves next to upTo and gives the end.
func (t *task) claim(upTo int64) (end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = max(t.next, upTo)
	return t.end
}

func (t *task) bound() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
}

// halve gives the upper half of what is left to a new task, when that is at least least offsets.
func (t *task) halve(least int64) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.end - t.next
	if left < 2 || left < least {
		return nil
	}
	mid := t.next + (left+1)/2
	upper := &task{partition: t.partition, earliest: t.earliest, from: mid, next: mid, end: t.end}
	t.end = mid
	return upper
}

func (t *task) left() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end - t.next
}

// unit is what a lane takes at once: tasks to read one after the other, or (together) small ones to ask for in the same requests.
type unit struct {
	tasks    []*task
	together bool
}

// work hands out the tasks of a scan.
type work struct {
	ordered bool
	stolen  atomic.Int64

	mu      sync.Mutex
	queue   []unit
	running map[*task]bool
}

// A task of up to smallTask offsets is read together with others of the same leader, up to mostTogether of them.
const (
	smallTask    = 1000
	mostTogether = 500
)

// init queues tasks. When the scan is ordered, those of a partition go to one lane, in their order.
func (w *work) init(tasks []*task, ordered bool, lanes int) {
	w.ordered = ordered
	w.running = map[*task]bool{}
	var groups []unit
	for _, t := range tasks {
		if n := len(groups); ordered && n > 0 && groups[n-1].tasks[0].partition == t.partition {
			groups[n-1].tasks = append(groups[n-1].tasks, t)
			continue
		}
		groups = append(groups, unit{tasks: []*task{t}})
	}
	small := map[int32]int{} // leader → where its unit of small tasks is in the queue
	per := min(max(len(groups)/lanes, 2), mostTogether)
	for _, g := range groups {
		t := g.tasks[0]
		if len(g.tasks) > 1 || t.end-t.from > smallTask {
			w.queue = append(w.queue, g)
			continue
		}
		at, ok := small[t.leader.id]
		// A request names a partition once; the tasks of one follow each other.
		full := func(u unit) bool { n := len(u.tasks); return n >= per || u.tasks[n-1].partition == t.partition }
		if !ok || full(w.queue[at]) {
			small[t.leader.id] = len(w.queue)
			w.queue = append(w.queue, g)
			continue
		}
		w.queue[at].tasks = append(w.queue[at].tasks, t)
		w.queue[at].together = true
	}
}

// take gives the next unit; when the queue is empty, what can be stolen of a running task. bytesPerOffset is what the scan has seen so far, 0 for
// nothing; a task is worth stealing from when at least worth bytes are left.
func (w *work) take(bytesPerOffset float64, worth int64) (unit, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) > 0 {
		u := w.queue[0]
		w.queue = w.queue[1:]
		for _, t := range u.tasks {
			w.running[t] = !u.together && len(u.tasks) == 1
		}
		return u, true
	}
	if w.ordered || bytesPerOffset <= 0 {
		return unit{}, false
	}
	var largest *task
	most := int64(math.MinInt64)
	for t, may := range w.running {
		if n := t.left(); may && n > most {
			largest, most = t, n
		}
	}
	if largest == nil {
		return unit{}, false
	}
	upper := largest.halve(int64(float64(worth) / bytesPerOffset))
	if upper == nil {
		return unit{}, false
	}
	w.running[upper] = true
	w.stolen.Add(1)
	return unit{tasks: []*task{upper}}, true
}

func (w *work) finished(t *task) {
	w.mu.Lock()
	delete(w.running, t)
	w.mu.Unlock()
}
