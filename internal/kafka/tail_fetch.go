package kafka

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// tailWait is how long a broker holds an answer back when there is nothing new.
	tailWait = 500 * time.Millisecond
	// joinWait is the same for the polls of partitions that joined while a long poll is under way. It is short so that they join that soon.
	joinWait = 20 * time.Millisecond
	// tailBytes bounds an answer, tailPartitionBytes the part of one partition.
	tailBytes          = 8 << 20
	tailPartitionBytes = 512 << 10
	tailLeastBytes     = 16 << 10
	// mostGrown is how often the bound for a partition is doubled before its answers are held for corrupt; answers without a byte double it emptyGrown
	// times at most, for they may come from a gap that compaction left.
	mostGrown  = 16
	emptyGrown = 6
	// spinning is the time below which an answer without anything new came too early, and spinPause the wait before the next request then.
	spinning  = 5 * time.Millisecond
	spinPause = 10 * time.Millisecond

	// Where many partitions get a few records each, an answer costs as much for one record as for ten, and so does whoever takes it. So requests for more than gatherFrom
	// partitions that bring little wait a moment for more: gatherEach for each partition, gatherMost at most. Little is less than gatherBytes a partition.
	gatherFrom  = 32
	gatherEach  = 100 * time.Microsecond
	gatherMost  = 20 * time.Millisecond
	gatherBytes = 1 << 10
)

// fetcher follows the partitions that one broker leads: one goroutine, and one long poll at a time that names each partition once, at the newest
// position that a reader has reached.
//
//	join a, b     ┌──────── main: a b ────────┐┌────────── main: a b c ──────…
//	join c            └ side: c ┘└ side: c ┘
//
// A partition that joins while a poll is under way cannot wait for it, nor can its request share the connection: a broker answers the requests of a
// connection one after the other. It is polled beside, shortly, and becomes part of the next long poll.
type fetcher struct {
	hub        *hub
	broker     int32
	main, side *client
	ctx        context.Context
	cancel     context.CancelFunc
	wake       chan struct{} // a partition has joined
	done       chan struct{} // run has ended

	parts map[partitionKey]*fetched // guarded by hub.mu
	order []*fetched                // the same; guarded by hub.mu
}

// add and remove keep the set of partitions; hub.mu is held.
func (f *fetcher) add(p *fetched) {
	f.parts[p.key] = p
	f.order = append(f.order, p)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *fetcher) remove(p *fetched) {
	if f.parts[p.key] != p {
		return
	}
	delete(f.parts, p.key)
	f.order = slices.DeleteFunc(f.order, func(o *fetched) bool { return o == p })
}

// poll is a request under way, or its answer once done is closed.
type poll struct {
	parts []polledPart
	sent  time.Time
	done  chan struct{}
	resp  *kmsg.FetchResponse
	err   error
}

type polledPart struct {
	*fetched
	from  int64
	epoch int32
	bytes int32
}

// wait is the channel of p's answer, nil without a poll.
func (p *poll) wait() chan struct{} {
	if p == nil {
		return nil
	}
	return p.done
}

// run polls until no partition is left or the hub cancels it.
func (f *fetcher) run() {
	var main, side *poll
	defer func() {
		f.cancel()
		for _, p := range []*poll{main, side} {
			if p != nil {
				<-p.done
			}
		}
		f.hub.mu.Lock()
		delete(f.hub.running, f)
		f.hub.mu.Unlock()
		close(f.done)
	}()
	var pause time.Duration
	for f.ctx.Err() == nil {
		if main == nil && side == nil {
			parts := f.unpolled(true)
			if len(parts) == 0 {
				return
			}
			main = f.send(f.main, parts, tailWait, pause)
		}
		if main != nil && side == nil {
			if parts := f.unpolled(false); len(parts) > 0 {
				side = f.send(f.side, parts, joinWait, pause)
			}
		}
		select {
		case <-f.ctx.Done():
		case <-f.wake:
		case <-main.wait():
			pause = f.receive(main)
			main = nil
		case <-side.wait():
			pause = f.receive(side)
			side = nil
		}
	}
}

// unpolled takes the partitions that are in no request. With retire, a fetcher without any takes itself off the hub: whoever joins later starts another.
func (f *fetcher) unpolled(retire bool) []polledPart {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	if retire && len(f.order) == 0 && f.hub.fetchers[f.broker] == f {
		delete(f.hub.fetchers, f.broker)
	}
	// Another partition first each time: a broker that runs out of space fills answers from the front.
	if n := len(f.order); n > 1 {
		f.order = append(f.order[1:n:n], f.order[0])
	}
	each := max(min(tailBytes/max(len(f.order), 1), tailPartitionBytes), tailLeastBytes)
	var out []polledPart
	for _, p := range f.order {
		if !p.polled {
			p.polled = true
			out = append(out, polledPart{p, p.next, p.epoch, int32(min(each<<p.grown, math.MaxInt32))})
		}
	}
	return out
}

// send starts a request after a pause.
func (f *fetcher) send(c *client, parts []polledPart, wait, pause time.Duration) *poll {
	p := &poll{parts: parts, done: make(chan struct{})}
	cfg := f.hub.group.cfg
	wait = min(wait, max(cfg.RequestTimeout/2, time.Millisecond))
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(wait / time.Millisecond)
	req.MinBytes, req.MaxBytes = 1, math.MaxInt32
	req.IsolationLevel = int8(f.hub.iso)
	req.SessionID, req.SessionEpoch = 0, -1
	at := map[partitionKey]int{}
	for _, part := range parts {
		topic := part.key
		topic.number = 0
		i, ok := at[topic]
		if !ok {
			i = len(req.Topics)
			at[topic] = i
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = topic.topic, topic.id
			req.Topics = append(req.Topics, t)
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.CurrentLeaderEpoch, rp.FetchOffset, rp.PartitionMaxBytes = part.key.number, part.epoch, part.from, part.bytes
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	go func() {
		defer close(p.done)
		if pause > 0 {
			t := time.NewTimer(pause)
			defer t.Stop()
			select {
			case <-t.C:
			case <-f.ctx.Done():
			}
		}
		ctx, cancel := context.WithTimeout(f.ctx, wait+cfg.RequestTimeout)
		defer cancel()
		if p.err = c.connect(ctx, cfg, false); p.err != nil {
			return
		}
		p.sent = time.Now()
		resp, err := c.kgo.Broker(int(f.broker)).Request(ctx, req)
		if err != nil {
			p.err = err
			c.forget()
			return
		}
		p.resp = resp.(*kmsg.FetchResponse)
		if p.resp.ErrorCode != 0 {
			p.err = kerr.ErrorForCode(p.resp.ErrorCode)
		}
	}()
	return p
}

// forget has the client look for its brokers again before it is used: they may have other addresses.
func (c *client) forget() {
	c.ready.Lock()
	c.isReady = false
	c.ready.Unlock()
}

// receive hands on what a poll has brought. It gives the time to wait before the next request, when the broker answers at once and has nothing new.
func (f *fetcher) receive(p *poll) (pause time.Duration) {
	answers := p.answers()
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	news, size := false, 0
	for _, part := range p.parts {
		part.polled = false
		if f.parts[part.key] != part.fetched {
			continue // everybody has left
		}
		switch a := answers[part.key]; {
		case p.err != nil:
			part.fail(p.err)
		case a == nil:
			part.fail(errLeftOut)
		case a.ErrorCode != 0:
			part.fail(kerr.ErrorForCode(a.ErrorCode))
		default:
			size += len(a.RecordBatches)
			if f.take(part, a, len(p.parts) > 1) {
				news = true
			}
		}
	}
	if !news && p.err == nil && time.Since(p.sent) < spinning {
		return spinPause
	}
	if n := len(f.order); n > gatherFrom && size < n*gatherBytes {
		return min(time.Duration(n)*gatherEach, gatherMost)
	}
	return 0
}

// take deals with the answer for one partition and reports whether there is something new.
func (f *fetcher) take(part polledPart, a *kmsg.FetchResponseTopicPartition, shared bool) bool {
	p := part.fetched
	to, err := position(a.RecordBatches, part.from)
	if err != nil {
		p.fail(err) // a reader that reads by itself meets the same and says where
		return true
	}
	bound := logEnd(a, f.hub.iso)
	if to == part.from {
		// Either nothing is there, or not even one batch fits.
		switch {
		case len(a.RecordBatches) > 0 && p.grown < mostGrown, bound > to && p.grown < emptyGrown:
			p.grown++
		case len(a.RecordBatches) > 0:
			p.fail(fmt.Errorf("an answer of %d bytes holds no batch at or after offset %d", len(a.RecordBatches), to))
		}
		p.atEnd = bound <= p.next
		return len(a.RecordBatches) > 0
	}
	p.grown = 0
	if to > p.next {
		p.next, p.atEnd = to, to >= bound
	}
	c := chunk{from: part.from, to: to, data: a.RecordBatches, epoch: part.epoch, aborted: a.AbortedTransactions}
	if shared {
		c.data = bytes.Clone(c.data) // else the chunk would keep the whole answer
	}
	p.deliver(c)
	return true
}

// answers finds the answer for each partition asked for.
func (p *poll) answers() map[partitionKey]*kmsg.FetchResponseTopicPartition {
	if p.err != nil {
		return nil
	}
	byID, byName := map[[16]byte]partitionKey{}, map[string]partitionKey{}
	for _, part := range p.parts {
		byName[part.key.topic] = part.key
		if hasID(part.key.id) {
			byID[part.key.id] = part.key
		}
	}
	out := make(map[partitionKey]*kmsg.FetchResponseTopicPartition, len(p.parts))
	for i := range p.resp.Topics {
		t := &p.resp.Topics[i]
		key, ok := byID[t.TopicID]
		if !ok {
			key = byName[t.Topic]
		}
		for j := range t.Partitions {
			key.number = t.Partitions[j].Partition
			out[key] = &t.Partitions[j]
		}
	}
	return out
}
