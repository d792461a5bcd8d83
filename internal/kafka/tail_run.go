package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// event is what a helper tells the goroutine that owns the tail. Handling it may find partitions that have to catch up.
type event interface {
	handle(ctx context.Context, t *tail) (behind []*follow, _ error)
}

// Run implements scan.Source.
func (t *tail) Run(ctx context.Context, newSink func(lane int) (scan.Sink, error)) (err error) {
	sink, err := newSink(0)
	if err != nil {
		return err
	}
	if err := t.hub.enter(); err != nil {
		return err
	}
	t.budget.start()
	t.sink = t.budget.sink(sink)
	t.follower, _ = sink.(scan.Follower)
	t.parser = newParserOf(tailRows, tailScratch, t.req.Fields, t.names, &t.cfg, t.req.Bounds, t.sink)
	run, cancel := context.WithCancelCause(ctx)
	helpers := &helpers{tail: t, ctx: run, cancel: cancel}
	defer func() {
		cancel(nil)
		helpers.wg.Wait()
		t.budget.stop()
		t.parser.close()
		t.hub.leave(t.subscriptions())
	}()
	err = t.loop(run, helpers)
	switch {
	case errors.Is(err, scan.Stop):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == errSpent: //nolint:errorlint // nothing wraps it
		return t.finish(ctx)
	}
	return err
}

// finish ends a read whose time or number of records is spent.
func (t *tail) finish(ctx context.Context) error {
	t.warn(t.spentWarning())
	if err := t.parser.flush(ctx); err != nil && !errors.Is(err, scan.Stop) {
		return err
	}
	return t.sink.Finish(ctx)
}

// spentWarning says how the read ended, and which partitions it was still behind of.
func (t *tail) spentWarning() string {
	text := fmt.Sprintf("the read ended after %s", t.budget.why)
	var behind []string
	for _, f := range t.follows {
		if !f.live {
			behind = append(behind, f.String())
		}
	}
	if len(behind) > 0 {
		text += fmt.Sprintf("; records of %s may not have been read, which had not caught up", some(behind))
	}
	return text
}

func (f *follow) String() string { return fmt.Sprintf("%s/%d", f.topic.name, f.number) }

// subscriptions lists those that have not ended.
func (t *tail) subscriptions() []*subscription {
	var out []*subscription
	for _, f := range t.follows {
		if f.sub != nil {
			out = append(out, f.sub)
		}
	}
	return out
}

// helpers are the goroutines of one Run. The first error of one ends all.
type helpers struct {
	tail   *tail
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

func (h *helpers) start(work func(context.Context) error) {
	h.wg.Go(func() {
		if err := work(h.ctx); err != nil {
			h.cancel(err)
		}
	})
}

// catchUp gives partitions to helpers, one for each broker, so that one that is away does not hold up the others.
func (h *helpers) catchUp(behind []*follow) {
	byLeader := map[int32][]*follow{}
	for _, f := range behind {
		f.live = false
		byLeader[f.leads().id] = append(byLeader[f.leads().id], f)
	}
	for _, group := range byLeader {
		h.start(func(ctx context.Context) error { return h.tail.catchUp(ctx, group) })
	}
}

// loop delivers until something ends it, which is never nil.
func (t *tail) loop(ctx context.Context, h *helpers) error {
	h.start(t.discover)
	h.catchUp(t.follows)
	var deliveries []delivery
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.budget.spent:
			return errSpent
		case <-t.inbox.ready:
			deliveries = t.inbox.take(deliveries)
			var behind []*follow
			for _, d := range deliveries {
				var err error
				if behind, err = t.deliver(ctx, d, behind); err != nil {
					return err
				}
			}
			clear(deliveries)
			h.catchUp(behind)
		case e := <-t.events:
			behind, err := e.handle(ctx, t)
			if err != nil {
				return err
			}
			h.catchUp(behind)
		}
		// Whoever waits for rows gets them before we wait.
		if err := t.parser.flush(ctx); err != nil {
			return err
		}
		t.report()
	}
}

// moves notes that a partition was read on, from a leader of this epoch. What it notes stays true while a helper has the partition again.
func (t *tail) moves(f *follow, epoch int32) {
	f.reached, f.epoch = f.next, max(f.epoch, epoch)
	if t.follower != nil && !f.moving {
		f.moving = true
		t.moved = append(t.moved, f)
	}
}

// report tells a follower how far partitions were read. What they were read up to must have been pushed.
func (t *tail) report() {
	if t.follower == nil {
		return
	}
	t.reached = t.reached[:0]
	for _, f := range t.moved {
		f.moving = false
		t.reached = append(t.reached, scan.Reached{Topic: f.partition.topic.name, Partition: f.number, Next: f.reached, LeaderEpoch: f.epoch})
	}
	t.moved = t.moved[:0]
	t.follower.Passed(t.reached)
}

// deliver takes a delivery. A partition whose subscription has ended is added to behind.
func (t *tail) deliver(ctx context.Context, d delivery, behind []*follow) ([]*follow, error) {
	f := d.sub.reader
	if !f.live || f.sub != d.sub {
		f.held = append(f.held, d) // a helper reads what lies before, or is about to say that it did
		return behind, nil
	}
	if d.ended {
		f.ended(d.cause)
		return append(behind, f), nil
	}
	err := t.read(ctx, f, d.chunk)
	t.inbox.release(len(d.data))
	return behind, err
}

// ended notes the end of a partition's subscription.
func (f *follow) ended(cause error) {
	f.sub = nil
	if f.slow = cause == nil; f.slow {
		return // nothing is wrong
	}
	if time.Since(f.joined) > lasting || f.failing == 0 {
		f.failing, f.since, f.wait = 0, time.Now(), newBackoff()
	}
	f.failing++
	f.cause = cause
}

// lasting is the time after which a subscription that ends has been a good one.
const lasting = 5 * time.Second

// read parses the part of a chunk that the partition has not seen.
func (t *tail) read(ctx context.Context, f *follow, c chunk) error {
	if c.to <= f.next {
		return nil
	}
	f.failing, f.begun = 0, true
	t.fetched.Add(int64(len(c.data)))
	for _, r := range f.wanted(scan.Range{From: max(f.next, c.from), To: c.to}) {
		var aborted aborts
		if t.spec.Isolation == ReadCommitted {
			aborted = abortsOf(c.aborted)
			if err := t.parser.passOver(c.data, r.From, aborted); err != nil {
				return corruptIn(f.partition, err)
			}
		}
		if err := t.parser.parse(ctx, f.at, c.data, r.From, r.To, aborted); err != nil {
			return corruptIn(f.partition, err)
		}
	}
	if err := t.parser.detach(ctx); err != nil {
		return err
	}
	t.passed.Add(c.to - f.next)
	f.next = c.to
	t.moves(f, c.epoch)
	t.count()
	return nil
}

// passOver takes note of the ends of transactions in the batches before to, which are not parsed.
func (p *parser) passOver(in []byte, to int64, aborted aborts) error {
	for len(aborted) > 0 {
		frame, rest, last, ok, err := nextFrame(in)
		if err != nil || !ok || last >= to {
			return err
		}
		in = rest
		if frame[frameMagic] < 2 {
			continue
		}
		b, err := parseBatch(frame, last)
		if err != nil {
			return err
		}
		if b.control() {
			if err := p.control(&b, aborted); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted gives the parts of r that the predicates want.
func (f *follow) wanted(r scan.Range) []scan.Range {
	if f.ranges == nil {
		return []scan.Range{r}
	}
	var out []scan.Range
	for _, w := range f.ranges {
		if x := w.Intersect(r); !x.Empty() {
			out = append(out, x)
		}
	}
	return out
}

// count moves the parser's counters to the tail's.
func (t *tail) count() {
	s := &t.parser.stats
	t.records.Add(s.records)
	t.batches.Add(s.batches)
	t.skipped.Add(s.skipped)
	t.counted.Add(s.counted)
	t.decoded.Add(s.decoded)
	*s = parserStats{}
}

// push is the event of a batch that a helper has read. The helper waits for done, because the batch is its own.
type push struct {
	batch *column.Batch
	done  chan error
}

func (p push) handle(ctx context.Context, t *tail) ([]*follow, error) {
	err := t.sink.Push(ctx, p.batch)
	p.done <- err
	return nil, err
}

// caughtUp is the event of a partition that has caught up: what its subscription brought meanwhile follows.
type caughtUp struct{ *follow }

func (j caughtUp) handle(ctx context.Context, t *tail) (behind []*follow, _ error) {
	f := j.follow
	f.live, f.joined = true, time.Now()
	t.moves(f, f.leads().epoch) // the helper read up to what this leader had
	held := f.held
	f.held = nil
	for _, d := range held {
		var err error
		if behind, err = t.deliver(ctx, d, behind); err != nil {
			return nil, err
		}
	}
	return behind, nil
}

// found is the event of partitions that have come to be.
type found struct{ topics []TopicState }

func (e found) handle(_ context.Context, t *tail) (behind []*follow, _ error) {
	for i := range e.topics {
		ts := &e.topics[i]
		if known := t.topics[ts.Name]; known != nil && hasID(ts.ID) && hasID(known.id) && ts.ID != known.id {
			return nil, recreated(ts.Name)
		}
		topic := t.topic(ts.Name, ts.ID)
		for j := range ts.Partitions {
			if p := &ts.Partitions[j]; topic.partitions[p.Partition] == nil {
				behind = append(behind, t.add(topic, p, t.startOf(ts.Name, p.Partition), true))
			}
		}
	}
	t.parser.topics = t.names
	return behind, nil
}

// startOf is where a partition begins that came to be during the read: at its first record, or where the user has said.
func (t *tail) startOf(topic string, number int32) int64 {
	if o, ok := t.spec.Start.Offsets[topic][number]; ok && o >= 0 {
		return o
	}
	return fromFirst
}

// fromFirst is the position of a partition that is read from the first record that its log holds.
const fromFirst = -1

// tell gives an event to the goroutine that owns the tail.
func (t *tail) tell(ctx context.Context, e event) error {
	select {
	case t.events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
