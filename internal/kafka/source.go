package kafka

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"millrace/internal/scan"
)

// source is a planned scan.
type source struct {
	cluster *Cluster
	cfg     Config
	spec    ReadSpec
	req     scan.Request
	names   []byte // the topics' names, one after the other
	splits  []scan.Split
	lanes   int
	work    work
	budget  *budget
	stats   counters
	peeked  scan.Stats // by the planner

	mu       sync.Mutex
	warnings []string
}

// counters are scan.Stats while a scan runs.
type counters struct {
	splitsDone, offsets, offsetsDone, records, batches, skipped, counted, fetched, decoded, requests, retries, memory atomic.Int64
	// spanned counts the offsets that fetched bytes hold, also those beyond the end of a range.
	spanned atomic.Int64
}

// A lane waits for the broker while another parses, so there are more lanes than processors; each has a connection, and a broker serves a scan's
// connections one by one or side by side, as it can.
const (
	lanesPerProcessor = 2
	mostLanes         = 16
)

func newSource(p *planner, req scan.Request) *source {
	if n := p.spec.MaxRecords; n > 0 && (req.Limit < 0 || n < req.Limit) {
		req.Limit = n
	}
	s := &source{cluster: p.cluster, cfg: p.cluster.cfg, spec: p.spec, req: req, warnings: p.warnings, budget: newBudget(p.spec), peeked: p.peeked}
	s.lanes = req.Lanes
	if s.lanes <= 0 {
		s.lanes = min(lanesPerProcessor*runtime.GOMAXPROCS(0), mostLanes)
	}
	if req.Limit >= 0 && req.Limit <= smallLimit {
		s.lanes = 1
	}
	cuts := cut(p.extents, s.lanes, p.spec, req)
	topics := map[*TopicState]*topicRef{}
	parts := map[*PartitionState]*partition{}
	var tasks []*task
	for _, e := range cuts {
		t := topics[e.topic]
		if t == nil {
			t = &topicRef{name: e.topic.Name, id: e.topic.ID}
			t.at.nameBeg = uint32(len(s.names))
			s.names = append(s.names, e.topic.Name...)
			t.at.nameEnd = uint32(len(s.names))
			topics[e.topic] = t
		}
		part := parts[e.part]
		if part == nil {
			part = &partition{topic: t, number: e.part.Partition, at: t.at, touched: math.MaxInt64, replica: -1, leader: leader{e.part.Leader, e.part.LeaderEpoch}}
			part.at.partition = e.part.Partition
			parts[e.part] = part
		}
		tasks = append(tasks, &task{partition: part, earliest: e.earliest, from: e.From, next: e.From, end: e.To})
		s.splits = append(s.splits, scan.Split{Topic: e.topic.Name, Partition: e.part.Partition, Range: e.Range})
		s.stats.offsets.Add(e.To - e.From)
	}
	s.work.init(tasks, req.Ordered, s.lanes)
	s.lanes = max(1, min(s.lanes, len(s.work.queue)))
	return s
}

// smallLimit is the LIMIT up to which one lane is enough.
const smallLimit = 10_000

// smallestSplit is the number of offsets below which a partition is not cut for the sake of lanes: each split fetches a batch that straddles its begin.
const smallestSplit = 8192

// mostSplits bounds what the hints can ask for.
const mostSplits = 10_000

// cut cuts extents by offsets so that every lane finds work, and further as the hints ask. Lanes that run dry steal, so a few splits are enough.
func cut(extents []extent, lanes int, spec ReadSpec, req scan.Request) []extent {
	var total int64
	for _, e := range extents {
		total += e.To - e.From
	}
	if req.Ordered || total == 0 {
		return extents
	}
	ceil := func(a, b int64) int64 { return (a-1)/b + 1 }
	most := int64(math.MaxInt64)
	if lanes > 1 {
		most = max(ceil(total, int64(lanes)), smallestSplit)
	}
	if spec.MinPartitions > len(extents) {
		most = min(most, ceil(total, int64(spec.MinPartitions)))
	}
	if spec.MaxRecordsPerPartition > 0 {
		most = min(most, spec.MaxRecordsPerPartition)
	}
	most = max(most, ceil(total, mostSplits))
	var out []extent
	for _, e := range extents {
		n := e.To - e.From
		parts := ceil(n, most)
		step, rest := n/parts, n%parts
		from := e.From
		for i := range parts {
			part := e
			part.From, part.To = from, from+step
			if i < rest {
				part.To++
			}
			from = part.To
			out = append(out, part)
		}
	}
	return out
}

func (s *source) Splits() []scan.Split { return s.splits }

func (s *source) Stats() scan.Stats {
	c := &s.stats
	return scan.Stats{
		Splits: int64(len(s.splits)) + s.work.stolen.Load(), SplitsDone: c.splitsDone.Load(),
		Offsets: c.offsets.Load(), OffsetsDone: c.offsetsDone.Load(),
		Records: c.records.Load(), Batches: c.batches.Load(), BatchesSkipped: c.skipped.Load(), BatchesCounted: c.counted.Load(),
		BytesFetched: c.fetched.Load(), BytesDecoded: c.decoded.Load(),
		Requests: c.requests.Load(), Retries: c.retries.Load(), MemoryBytes: c.memory.Load(),
	}.Add(s.peeked.Fetches())
}

func (s *source) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.warnings)
}

func (s *source) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.warnings, text) {
		s.warnings = append(s.warnings, text)
	}
}

// Close has nothing to do: lanes hold a client only while Run runs.
func (s *source) Close() {}

// Run reads every split. The first error of a lane cancels the others; that of a lane that was cancelled does not count.
func (s *source) Run(ctx context.Context, newSink func(lane int) (scan.Sink, error)) error {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		once  sync.Once
		first error
		wg    sync.WaitGroup
	)
	fail := func(err error) {
		if err != nil {
			once.Do(func() { first = err; cancel() })
		}
	}
	s.budget.start()
	defer s.budget.stop()
	for i := range s.lanes {
		sink, err := newSink(i)
		if err != nil {
			fail(err)
			break
		}
		sink = s.budget.sink(sink)
		wg.Go(func() {
			l := newLane(s, sink)
			defer l.close()
			fail(l.run(run))
		})
	}
	wg.Wait()
	if w := s.budget.warning(s.work.left()); w != "" && first == nil {
		s.warn(w)
	}
	switch {
	case first == nil, errors.Is(first, scan.Stop):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return first
	}
}

var _ scan.Source = (*source)(nil)
