package kafka

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"millrace/internal/scan"
)

// TailOptions are what a tail decides beside its ReadSpec. The zero value is ready to use.
type TailOptions struct {
	// DiscoveryInterval is how often new partitions, and topics that are awaited or match a pattern, are looked for; 0 for 5 s.
	DiscoveryInterval time.Duration
}

const defaultDiscoveryInterval = 5 * time.Second

// Tail plans a read without an end: it begins where spec.Start says and delivers what is appended as it comes, with ascending offsets within each
// partition, in one lane. spec.End means nothing. Where it begins is fixed when Tail returns: everything appended later is delivered.
//
// The source's splits have no end. Run returns when the Sink says Stop, ctx ends, spec.MaxTime or spec.MaxRecords is spent (then it finishes the Sink
// and returns nil), or something fails for good: a topic that is deleted or created again, records lost under spec.FailOnDataLoss, a broker that stays
// away for longer than Config.FetchRetryTimeout, an ACL. Partitions that come to be during the read are read from their first record.
//
// Tails of one cluster, identity and isolation level share one long poll for each broker. None waits for another: one that does not keep up reads what
// it has missed by itself, by bounded scans, and joins the others again.
func (c *Cluster) Tail(ctx context.Context, spec ReadSpec, req scan.Request, o TailOptions) (scan.Source, error) {
	sel := spec.Select
	if sel.Missing == MissingAwaited {
		sel.Missing = MissingSkipped
	}
	snapshot, err := c.SnapshotFor(ctx, sel)
	if err != nil {
		return nil, err
	}
	return snapshot.Tail(ctx, spec, req, o)
}

// Tail is Cluster.Tail on what s has seen: spec.Start is resolved there, and a topic that was created again since then ends the read. Records that came
// after s was taken are read.
func (s *Snapshot) Tail(ctx context.Context, spec ReadSpec, req scan.Request, o TailOptions) (scan.Source, error) {
	if o.DiscoveryInterval <= 0 {
		o.DiscoveryInterval = defaultDiscoveryInterval
	}
	spec.End = Bound{Kind: AtLatest}
	c, sel := s.cluster, spec.Select
	var err error
	t := &tail{
		cluster: c, cfg: c.cfg, spec: spec, req: req, interval: o.DiscoveryInterval, budget: newBudget(spec), hub: c.group.hub(spec.Isolation),
		topics: map[string]*tailTopic{}, inbox: newInbox(tailQueueBytes), events: make(chan event), matches: func(string) bool { return true },
	}
	if sel.Pattern != nil {
		if t.matches, err = whole(sel.Pattern); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	if err := t.begin(ctx, &planner{Snapshot: s, spec: spec}); err != nil {
		return nil, err
	}
	return t, nil
}

// A tail holds little: batches of up to tailRows rows, a scratch buffer of up to tailScratch bytes between batches, and up to tailQueueBytes of
// answers that wait to be parsed, which it may share with other tails.
const (
	tailRows       = 512
	tailScratch    = 128 << 10
	tailQueueBytes = 512 << 10
)

// tail is a scan.Source without an end.
//
// One goroutine, that of Run, owns the partitions, the parser and the Sink. It takes chunks from the inbox, which the hub's fetchers fill, and events
// from helpers that Run starts and waits for: one that looks for new partitions, and one for each group of partitions that have to catch up. A helper
// that catches up owns its partitions until it says that they joined; the batches it reads go through Run's goroutine, too, so that the Sink sees one
// stream with each partition's offsets ascending.
type tail struct {
	cluster  *Cluster
	cfg      Config
	spec     ReadSpec
	req      scan.Request
	interval time.Duration
	budget   *budget
	hub      *hub
	matches  func(topic string) bool
	inbox    *inbox
	events   chan event

	follows []*follow
	topics  map[string]*tailTopic
	names   []byte // the topics' names, one after the other; what is there stays as it is
	sink    scan.Sink
	// follower is the Sink that wants to know how far each partition was read, nil when it does not; moved are those that were read on since it was told.
	follower scan.Follower
	moved    []*follow
	reached  []scan.Reached
	parser   *parser
	splits   []scan.Split

	records, batches, skipped, counted, fetched, decoded, requests, retries, passed atomic.Int64

	mu       sync.Mutex
	warnings []string
}

// tailTopic is a topic that a tail follows.
type tailTopic struct {
	topicRef
	partitions map[int32]*follow
}

// follow is a partition of a tail.
type follow struct {
	*partition
	// ranges are the offsets that are wanted, nil for all.
	ranges []scan.Range
	// next is the offset after the last one that was read or need not be read, -1 for the first of the log, whichever that is.
	next int64
	// earliest: the user asked for what the log holds, so retention that takes some of it away before anything was read is no loss.
	earliest, begun bool
	// atEnd: next was the end of the log a moment ago. slow: the last subscription ended because its reader did not keep up.
	atEnd, slow bool

	// sub is the subscription, nil while there is none. Until live is set, its deliveries are held: a helper still reads what lies before.
	sub  *subscription
	live bool
	held []delivery
	// moving is set while the partition is among tail.moved; reached is what next was when it was last noted there, epoch the newest that its records may have.
	moving  bool
	reached int64
	epoch   int32
	// joined is when sub began. failing counts the subscriptions in a row that ended before they had lasted or brought anything, since is when that began.
	joined  time.Time
	failing int
	since   time.Time
	cause   error
	wait    backoff
	gone    time.Time // since when the topic is missing
	end     int64     // where a log ends that seems to be truncated
}

// begin resolves where each partition starts.
func (t *tail) begin(ctx context.Context, p *planner) error {
	if err := p.sameNames(p.spec.Start, "starting"); err != nil {
		return err
	}
	for ti := range p.Topics {
		topic := &p.Topics[ti]
		for pi := range topic.Partitions {
			if t.wants(topic.Name, topic.Partitions[pi].Partition) {
				p.extents = append(p.extents, extent{topic: topic, part: &topic.Partitions[pi]})
			}
		}
	}
	if err := p.ends(ctx); err != nil {
		return err
	}
	if err := p.starts(ctx); err != nil {
		return err
	}
	for i := range p.extents {
		e := &p.extents[i]
		asked := e.From
		if err := p.check(e); err != nil {
			return err
		}
		// Beyond the last stable offset there is nothing to read yet, but a start that was asked for there stays.
		if asked <= e.part.HighWatermark {
			e.From = max(e.From, asked)
		}
		t.add(t.topic(e.topic.Name, e.topic.ID), e.part, e.From, e.earliest).atEnd = e.From >= e.To
		t.splits = append(t.splits, scan.Split{Topic: e.topic.Name, Partition: e.part.Partition, Range: scan.Range{From: e.From, To: math.MaxInt64}})
	}
	t.warnings = p.warnings
	if len(p.Missing) > 0 && t.spec.Select.Missing == MissingSkipped {
		t.warn(skipped(p.Missing))
	}
	return nil
}

// wants reports whether a partition may hold rows that the predicates want.
func (t *tail) wants(topic string, number int32) bool {
	b := &t.req.Bounds
	within := func(r scan.Range) bool { return r.From <= int64(number) && int64(number) < r.To }
	return b.HoldsTopic(topic) && (b.Partitions == nil || slices.ContainsFunc(b.Partitions, within))
}

// topic gives the topic of that name, and notes it when it is new.
func (t *tail) topic(name string, id [16]byte) *tailTopic {
	topic := t.topics[name]
	if topic == nil {
		topic = &tailTopic{topicRef: topicRef{name: name, id: id}, partitions: map[int32]*follow{}}
		topic.at.nameBeg = uint32(len(t.names))
		t.names = append(t.names, name...)
		topic.at.nameEnd = uint32(len(t.names))
		t.topics[name] = topic
	}
	return topic
}

// add begins to follow a partition at next.
func (t *tail) add(topic *tailTopic, p *PartitionState, next int64, earliest bool) *follow {
	part := &partition{topic: &topic.topicRef, number: p.Partition, at: topic.at, touched: math.MaxInt64, replica: -1, leader: leader{p.Leader, p.LeaderEpoch}}
	part.at.partition = p.Partition
	f := &follow{partition: part, ranges: t.req.Bounds.Offsets, next: next, earliest: earliest, epoch: -1}
	topic.partitions[p.Partition] = f
	t.follows = append(t.follows, f)
	return f
}

// Splits implements scan.Source. Partitions that come to be later are not among them.
func (t *tail) Splits() []scan.Split { return t.splits }

// Stats implements scan.Source. Offsets counts those that are read: there is no end to measure progress by.
func (t *tail) Stats() scan.Stats {
	n := t.passed.Load()
	return scan.Stats{
		Splits: int64(len(t.splits)), Offsets: n, OffsetsDone: n,
		Records: t.records.Load(), Batches: t.batches.Load(), BatchesSkipped: t.skipped.Load(), BatchesCounted: t.counted.Load(),
		BytesFetched: t.fetched.Load(), BytesDecoded: t.decoded.Load(), Requests: t.requests.Load(), Retries: t.retries.Load(),
	}
}

// Warnings implements scan.Source.
func (t *tail) Warnings() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.warnings)
}

func (t *tail) warn(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text != "" && !slices.Contains(t.warnings, text) {
		t.warnings = append(t.warnings, text)
	}
}

// Close implements scan.Source. It has nothing to do: a tail holds connections only while Run runs.
func (t *tail) Close() {}

var _ scan.Source = (*tail)(nil)
