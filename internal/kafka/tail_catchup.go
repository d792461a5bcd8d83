package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// quick is the time below which a scan has left a partition close enough behind its end to join.
const quick = 200 * time.Millisecond

// catchUp brings partitions from where they are to the end of their logs, by bounded scans, and lets them join the fetchers. It returns when all have
// joined. A scan that took its time is followed by another one: a partition that joined far behind would hold the fetcher back.
func (t *tail) catchUp(ctx context.Context, fs []*follow) error {
	if err := t.pause(ctx, fs); err != nil {
		return err
	}
	var todo, fresh []*follow
	for _, f := range fs {
		if f.atEnd {
			f.atEnd = false
			fresh = append(fresh, f)
		} else {
			todo = append(todo, f)
		}
	}
	if err := t.join(ctx, fresh); err != nil {
		return err
	}
	var (
		since time.Time // of the first failure since all partitions could be located
		wait  = newBackoff()
	)
	for len(todo) > 0 {
		located, later, cause, err := t.locate(ctx, todo)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := t.scan(ctx, located); err != nil {
			return err
		}
		todo = later
		var there []*follow
		for _, l := range located {
			if time.Since(began) < quick {
				there = append(there, l.follow)
			} else {
				todo = append(todo, l.follow)
			}
		}
		if err := t.join(ctx, there); err != nil {
			return err
		}
		if len(later) == 0 {
			since, wait = time.Time{}, newBackoff()
			continue
		}
		t.retries.Add(1)
		if since.IsZero() {
			since = time.Now()
		}
		if budget := t.cfg.FetchRetryTimeout; time.Since(since) > budget {
			if later, err = t.truncated(later); err != nil {
				return err
			}
			if len(later) > 0 {
				return keepsFailing(later[0], budget, cause)
			}
		}
		if wait.sleep(ctx) != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func keepsFailing(f *follow, budget time.Duration, cause error) error {
	return sqlerr.New(sqlerr.KafkaFetchFailed, "following partition %d of topic '%s' keeps failing for %v: %w", f.number, f.topic.name, budget, cause)
}

// pause waits before partitions whose subscriptions keep ending are tried again, longer each time.
func (t *tail) pause(ctx context.Context, fs []*follow) error {
	worst := slices.MaxFunc(fs, func(a, b *follow) int { return a.failing - b.failing })
	if worst.failing < 2 {
		return nil
	}
	t.retries.Add(1)
	if budget := t.cfg.FetchRetryTimeout; time.Since(worst.since) > budget {
		return keepsFailing(worst, budget, worst.cause)
	}
	if worst.wait.sleep(ctx) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// located is a partition as it is now.
type located struct {
	*follow
	topic TopicState
	part  PartitionState
}

// locate finds who leads the partitions and what their logs hold. later are those for which that cannot be said now, for the given cause.
func (t *tail) locate(ctx context.Context, todo []*follow) (_ []located, later []*follow, cause, _ error) {
	limited, cancel := context.WithTimeout(ctx, t.cfg.ConnectTimeout)
	defer cancel()
	failed := func(err error) ([]located, []*follow, error, error) {
		if ctx.Err() != nil {
			return nil, nil, nil, context.Cause(ctx)
		}
		if final := t.final(err); final != nil {
			return nil, nil, nil, final
		}
		return nil, todo, err, nil
	}
	cl, err := t.cluster.group.controlClient()
	if err != nil {
		return failed(err)
	}
	defer t.cluster.group.release(cl)
	if err := cl.connect(limited, t.cfg, true); err != nil {
		return failed(err)
	}
	var names []string
	for _, f := range todo {
		names = append(names, f.partition.topic.name)
	}
	slices.Sort(names)
	now, err := t.cluster.look(limited, cl, slices.Compact(names)...)
	if err != nil {
		return failed(err)
	}
	s := &Snapshot{cluster: t.cluster}
	var led []*follow
	for _, f := range todo {
		name := f.partition.topic.name
		l, err := f.leads(), error(nil)
		if l, err = f.standing(now[name]); err != nil {
			if t.final(err) != nil {
				return nil, nil, nil, err
			}
			later, cause = append(later, f), err
			continue
		}
		f.setLeader(l)
		led = append(led, f)
		s.Topics = append(s.Topics, TopicState{Name: name, ID: f.partition.topic.id, Partitions: []PartitionState{{Partition: f.number, Leader: l.id, LeaderEpoch: l.epoch}}})
	}
	if len(led) == 0 {
		return nil, later, cause, nil
	}
	if err := s.offsets(limited, cl); err != nil {
		return failed(err)
	}
	var out []located
	for i, f := range led {
		part := s.Topics[i].Partitions[0]
		f.setLeader(leader{part.Leader, part.LeaderEpoch}) // a newer one may have told the offsets
		if err := t.within(f, &part); err != nil {
			if t.final(err) != nil {
				return nil, nil, nil, err
			}
			f.end = part.HighWatermark
			later, cause = append(later, f), err
			continue
		}
		out = append(out, located{f, s.Topics[i], part})
	}
	return out, later, cause, nil
}

// final gives err when trying again cannot help.
func (t *tail) final(err error) error {
	e, ok := sqlerr.As(err)
	if !ok {
		return t.cluster.permanent(err)
	}
	switch e.Kind {
	case sqlerr.KafkaUnreachable, sqlerr.KafkaProtocol, sqlerr.KafkaFetchFailed:
		return nil // a broker that restarts gives all of them
	case sqlerr.KafkaAuth:
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
	}
	return e
}

// standing gives the partition's leader, or why there is none: an error that may pass, or that the topic is another one or gone.
func (f *follow) standing(now topicNow) (leader, error) {
	name := f.partition.topic.name
	if now.code == 0 && hasID(now.id) && hasID(f.partition.topic.id) && now.id != f.partition.topic.id {
		return leader{}, recreated(name)
	}
	if l, ok := now.leaders[f.number]; ok {
		f.gone = time.Time{}
		return l, nil
	}
	switch classify(now.code) {
	case codeDenied:
		return leader{}, topicNotAuthorized(name, "DESCRIBE")
	case codeMissing, codeIdentity:
		if f.gone.IsZero() {
			f.gone = time.Now()
		} else if time.Since(f.gone) > missingTopicWait {
			return leader{}, deleted(name, f.number)
		}
	}
	return leader{}, noLeader(name, f.number, nil)
}

// within brings the partition's position into its log. An error says that records are lost, or that the log ends before the position, which may pass.
func (t *tail) within(f *follow, p *PartitionState) error {
	switch {
	case f.next == fromFirst:
		f.next = p.LogStart
	case f.next < p.LogStart:
		gone := scan.Range{From: f.next, To: p.LogStart}
		why := fmt.Sprintf("the log starts at offset %d now", p.LogStart)
		switch {
		case f.earliest && !f.begun:
			t.warn(retentionWarning(f.partition, gone))
		case t.spec.FailOnDataLoss:
			return dataLoss(f.partition.topic.name, f.number, gone, why)
		default:
			t.warn(lossWarning(f.partition.topic.name, f.number, gone, why))
		}
		f.next = p.LogStart
	case f.next > p.HighWatermark:
		return sqlerr.New(sqlerr.KafkaUnreachable, "the log of partition %d of topic '%s' ends at offset %d, before %d, which was read", f.number, f.partition.topic.name, p.HighWatermark, f.next)
	}
	return nil
}

// truncated deals with partitions whose log has ended before their position for so long that no new leader is to blame. It gives the others.
func (t *tail) truncated(fs []*follow) (others []*follow, _ error) {
	for _, f := range fs {
		if f.end == 0 || f.end >= f.next {
			others = append(others, f)
			continue
		}
		gone := scan.Range{From: f.end, To: f.next}
		why := fmt.Sprintf("the log was truncated and ends at offset %d now", f.end)
		if t.spec.FailOnDataLoss {
			return nil, dataLoss(f.partition.topic.name, f.number, gone, why)
		}
		t.warn(lossWarning(f.partition.topic.name, f.number, gone, why))
		f.next = f.end
	}
	return others, nil
}

// scan reads what the partitions are behind of, as a bounded read does, into the tail's Sink.
func (t *tail) scan(ctx context.Context, parts []located) error {
	p := &planner{Snapshot: &Snapshot{cluster: t.cluster}, spec: t.spec}
	p.spec.MaxTime, p.spec.MaxRecords, p.spec.MinPartitions, p.spec.MaxRecordsPerPartition = 0, 0, 0, 0 // the tail's own affair
	for i := range parts {
		l := &parts[i]
		for _, r := range l.wanted(scan.Range{From: l.next, To: l.part.End(t.spec.Isolation)}) {
			p.extents = append(p.extents, extent{topic: &l.topic, part: &l.part, Range: r, earliest: l.earliest && !l.begun})
		}
	}
	if len(p.extents) > 0 {
		req, bytes := t.req, int32(catchUpBytes)
		req.Ordered, req.Lanes, req.Newest = true, catchUpLanes, nil
		if slices.ContainsFunc(parts, func(l located) bool { return l.slow }) {
			req.Lanes, bytes = 1, slowBytes // whoever does not read waits with what was fetched
		}
		src := newSource(p, req)
		if own := src.cfg.fetchBytes(); own == 0 || own > bytes {
			src.cfg.FetchMaxBytes = bytes
		}
		err := src.Run(ctx, func(int) (scan.Sink, error) { return forward{t}, nil })
		s := src.Stats()
		t.records.Add(s.Records)
		t.batches.Add(s.Batches)
		t.skipped.Add(s.BatchesSkipped)
		t.counted.Add(s.BatchesCounted)
		t.fetched.Add(s.BytesFetched)
		t.decoded.Add(s.BytesDecoded)
		t.requests.Add(s.Requests)
		t.retries.Add(s.Retries)
		for _, w := range src.Warnings() {
			t.warn(w)
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	for i := range parts {
		l := &parts[i]
		if end := l.part.End(t.spec.Isolation); end > l.next {
			t.passed.Add(end - l.next)
			l.next, l.begun, l.slow = end, true, false
		}
	}
	return nil
}

// catchUpLanes is how many partitions of a broker catch up at once, catchUpBytes how much each fetches at a time. A tail whose reader does not keep up
// has one lane and slowBytes: there may be many, and they may stay so.
const (
	catchUpLanes = 2
	catchUpBytes = 2 << 20
	slowBytes    = 256 << 10
)

// forward hands the batches of a scan to the goroutine that owns the tail, and waits until they are pushed.
type forward struct{ *tail }

func (s forward) Push(ctx context.Context, b *column.Batch) error {
	p := push{b, make(chan error, 1)}
	if err := s.tell(ctx, p); err != nil {
		return err
	}
	return <-p.done
}

func (s forward) Finish(context.Context) error { return nil }

// join subscribes partitions that are close to the end of their logs. Where the fetcher is ahead of one, what lies between is read while its deliveries
// gather.
func (t *tail) join(ctx context.Context, fs []*follow) error {
	var gaps []located
	for _, f := range fs {
		f.sub = t.hub.join(f, f.next, t.inbox)
		if f.sub.from > f.next {
			l := f.leads()
			part := PartitionState{Partition: f.number, Leader: l.id, LeaderEpoch: l.epoch, HighWatermark: f.sub.from, LastStable: f.sub.from}
			gaps = append(gaps, located{f, TopicState{Name: f.partition.topic.name, ID: f.partition.topic.id}, part})
			continue
		}
		if err := t.tell(ctx, caughtUp{f}); err != nil {
			return err
		}
	}
	if len(gaps) == 0 {
		return nil
	}
	if err := t.scan(ctx, gaps); err != nil {
		return err
	}
	for i := range gaps {
		if err := t.tell(ctx, caughtUp{gaps[i].follow}); err != nil {
			return err
		}
	}
	return nil
}
