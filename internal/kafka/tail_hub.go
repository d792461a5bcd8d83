package kafka

import (
	"context"
	"sync"
)

// hub is where the tails of one cluster, identity and isolation level meet. It keeps one fetcher for each broker that leads a partition that somebody
// follows, and the connections for all of them: main for the long polls, side for partitions that joined while one is under way.
//
// One lock guards the hub, its fetchers and their partitions. It is never held while anything waits.
type hub struct {
	group *group
	iso   Isolation

	mu         sync.Mutex
	readers    int
	main, side *client
	fetchers   map[int32]*fetcher
	// running are the fetchers whose goroutine has not ended; some may have left fetchers already.
	running map[*fetcher]struct{}
}

// hub gives the hub of the group's tails under iso.
func (g *group) hub(iso Isolation) *hub {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tails == nil {
		g.tails = map[Isolation]*hub{}
	}
	h := g.tails[iso]
	if h == nil {
		h = &hub{group: g, iso: iso, fetchers: map[int32]*fetcher{}, running: map[*fetcher]struct{}{}}
		g.tails[iso] = h
	}
	return h
}

// subscription is a reader's wish for the records of one partition, from an offset on, as they come.
type subscription struct {
	inbox  *inbox
	reader *follow
	// from is where the deliveries begin. It lies above the offset that was asked for when the fetcher was ahead of it.
	from int64
	// next is the offset after what was delivered; guarded by the hub.
	next int64
	part *fetched
}

// enter counts a reader, and opens the connections for the first one.
func (h *hub) enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.main == nil {
		main, err := h.group.tailClient()
		if err != nil {
			return err
		}
		side, err := h.group.tailClient()
		if err != nil {
			main.kgo.Close()
			return err
		}
		h.main, h.side = main, side
	}
	h.readers++
	return nil
}

// leave ends what is left of a reader's subscriptions. With the last reader the fetchers end, which leave waits for, and the connections are closed.
func (h *hub) leave(subs []*subscription) {
	h.mu.Lock()
	for _, s := range subs {
		h.drop(s)
	}
	h.readers--
	if h.readers > 0 {
		h.mu.Unlock()
		return
	}
	main, side := h.main, h.side
	h.main, h.side = nil, nil
	clear(h.fetchers)
	var ending []*fetcher
	for f := range h.running {
		f.cancel()
		ending = append(ending, f)
	}
	h.mu.Unlock()
	for _, f := range ending {
		<-f.done
	}
	main.kgo.Close()
	side.kgo.Close()
}

// tailClient opens a client for tails, which is not among those that scans borrow: a long poll would hold them up.
func (g *group) tailClient() (*client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seeds := g.known
	if len(seeds) == 0 {
		seeds = g.cfg.Brokers
	}
	return g.open(seeds)
}

// join subscribes a reader that has entered to a partition: to everything from next on, or from where the fetcher is when that is later; the reader
// then reads what lies between by itself, while deliveries gather. Deliveries follow each other without gap, until one ends the subscription.
func (h *hub) join(f *follow, next int64, in *inbox) *subscription {
	at := f.leads()
	h.mu.Lock()
	defer h.mu.Unlock()
	fe := h.fetchers[at.id]
	if fe == nil {
		fe = newFetcher(h, at.id)
		h.fetchers[at.id] = fe
		h.running[fe] = struct{}{}
		go fe.run()
	}
	key := partitionKey{f.topic.name, f.topic.id, f.number}
	p := fe.parts[key]
	if p == nil {
		p = &fetched{fetcher: fe, key: key, epoch: at.epoch, next: next}
		fe.add(p)
	}
	p.epoch = max(p.epoch, at.epoch)
	if next > p.next && !p.atEnd {
		// The fetcher lags, in a burst or behind a reader that began far back: it goes on from here, and its other readers catch up by themselves.
		p.skip(next)
	}
	s := &subscription{inbox: in, reader: f, part: p, from: max(next, p.next), next: max(next, p.next)}
	p.subs = append(p.subs, s)
	return s
}

// drop removes a subscription; h.mu is held. A partition without any is fetched no more.
func (h *hub) drop(s *subscription) {
	p := s.part
	for i, o := range p.subs {
		if o == s {
			p.subs = append(p.subs[:i], p.subs[i+1:]...)
			break
		}
	}
	if len(p.subs) == 0 {
		p.fetcher.remove(p)
	}
}

// partitionKey names a partition. Two topics of the same name, one created after the other was deleted, differ by id.
type partitionKey struct {
	topic  string
	id     [16]byte
	number int32
}

// fetched is a partition that a fetcher follows. The hub's lock guards it.
type fetched struct {
	fetcher *fetcher
	key     partitionKey
	epoch   int32
	// next is the offset to ask for.
	next int64
	// atEnd says that the last answer reached the end of what may be read.
	atEnd bool
	// grown is how many times the bound on an answer was doubled, to make room for a batch that is larger.
	grown int
	// polled says that the partition is in a request under way.
	polled bool
	subs   []*subscription
}

// skip moves on to next and ends the subscriptions that have not come so far. The caller adds another.
func (p *fetched) skip(next int64) {
	p.next = next
	p.end(nil, func(s *subscription) bool { return s.next < next })
}

// deliver hands a chunk to everybody who waits for it, and never waits for anybody.
func (p *fetched) deliver(c chunk) {
	p.end(nil, func(s *subscription) bool {
		switch {
		case c.to <= s.next:
			return false
		case c.from > s.next, !s.inbox.put(delivery{sub: s, chunk: c}):
			return true
		}
		s.next = c.to
		return false
	})
	if len(p.subs) == 0 {
		p.fetcher.remove(p)
	}
}

// end ends the subscriptions that which selects.
func (p *fetched) end(cause error, which func(*subscription) bool) {
	left := p.subs[:0]
	for _, s := range p.subs {
		if which(s) {
			s.inbox.put(delivery{sub: s, ended: true, cause: cause})
		} else {
			left = append(left, s)
		}
	}
	clear(p.subs[len(left):])
	p.subs = left
}

// fail ends all subscriptions: the partition cannot be read here, for now or for good. Each reader finds out which.
func (p *fetched) fail(cause error) {
	p.end(cause, func(*subscription) bool { return true })
	p.fetcher.remove(p)
}

// newFetcher makes a fetcher that is not running yet.
func newFetcher(h *hub, broker int32) *fetcher {
	f := &fetcher{hub: h, broker: broker, main: h.main, side: h.side, parts: map[partitionKey]*fetched{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// closeTails closes the connections of the group's tails under way, which then fail.
func (g *group) closeTails() {
	g.mu.Lock()
	hubs := g.tails
	g.tails = nil
	g.mu.Unlock()
	for _, h := range hubs {
		h.mu.Lock()
		main, side := h.main, h.side
		h.mu.Unlock()
		if main != nil {
			main.kgo.Close()
			side.kgo.Close()
		}
	}
}
