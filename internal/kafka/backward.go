package kafka

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// backward is a scan that wants the newest records only. It reads windows from the end of the partitions backwards, each four times as large as
// the one before, and asks the sinks after each whether they have what they want. So the last n records cost n and not the topic; with a filter
// that few pass, windows grow until enough did or the start is reached.
//
// By offset a window is what lies between two offsets in every partition, so all records from the lower one on have been read:
//
//	partition 0   ──────────────────┤ 2 ├ 1 ┤
//	partition 1   ──────────────────┤ 2 ├───┤─ 1 ┤
//	                                T2  T1
//
// Once the sinks keep n rows, none below T can be among the n greatest, whatever ties.
//
// By timestamp a window is the last records of each partition. Once the sinks keep n rows, the least of their timestamps bounds what else can
// be among them, and the brokers know the first record at or after it: what lies between there and the windows is read last.
//
// Each window is an ordinary scan with the same sinks, so gaps, transactions, leaders that move and errors are dealt with in one place.
type backward struct {
	plan *planner // its extents are what is not read yet
	req  scan.Request
	all  []scan.Split

	mu       sync.Mutex
	window   *source // the running one
	past     scan.Stats
	warnings []string
}

// backwards reports whether req can be read from the end. A read that may end before it has seen everything cannot: it must start at the start.
func (p *planner) backwards(req scan.Request) bool {
	return req.Newest != nil && req.Newest.Rows > 0 && p.spec.MaxTime == 0 && p.spec.MaxRecords == 0 &&
		(req.Newest.By == scan.Offset || req.Newest.By == scan.Timestamp && p.spec.TimestampSkew != nil)
}

func newBackward(p *planner, req scan.Request) *backward {
	b := &backward{plan: p, req: req, warnings: p.warnings, past: p.peeked.Fetches()}
	p.warnings, p.peeked = nil, scan.Stats{}
	for _, e := range p.extents {
		b.all = append(b.all, scan.Split{Topic: e.topic.Name, Partition: e.part.Partition, Range: e.Range})
	}
	return b
}

const (
	// firstWindow is the least number of offsets in the first window; a batch has about as many, so fewer would save nothing.
	firstWindow = 64
	// windowGrowth is how much larger each window is than the one before.
	windowGrowth = 4
)

// Splits are all ranges that may be read.
func (b *backward) Splits() []scan.Split { return b.all }

// Run implements scan.Source. Its lanes are those of the windows: lane i of each pushes into sink i.
func (b *backward) Run(ctx context.Context, newSink func(lane int) (scan.Sink, error)) error {
	sinks := &windowSinks{open: newSink}
	for size := max(2*b.req.Newest.Rows, firstWindow); len(b.plan.extents) > 0; size = min(size*windowGrowth, math.MaxInt64/windowGrowth) {
		window := b.cut(size)
		if err := b.read(ctx, window, sinks); err != nil || sinks.stopped {
			return err
		}
		enough, err := b.enough(ctx, sinks)
		if err != nil {
			return err
		}
		if enough {
			if err := b.read(ctx, b.rest(), sinks); err != nil || sinks.stopped {
				return err
			}
		}
	}
	return sinks.finish(ctx)
}

// read reads one window.
func (b *backward) read(ctx context.Context, window []extent, sinks *windowSinks) error {
	if len(window) == 0 {
		return nil
	}
	p := *b.plan
	p.extents = window
	req := b.req
	req.Newest = nil
	if req.Limit = -1; length(window) <= smallLimit {
		req.Limit = length(window) // one lane, small fetches
	}
	s := newSource(&p, req)
	b.mu.Lock()
	b.window = s
	b.mu.Unlock()
	err := s.Run(ctx, sinks.sink)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past = b.past.Add(s.Stats())
	b.window = nil
	for _, w := range s.Warnings() {
		if !slices.Contains(b.warnings, w) {
			b.warnings = append(b.warnings, w)
		}
	}
	return err
}

func length(extents []extent) (n int64) {
	for _, e := range extents {
		n += e.To - e.From
	}
	return n
}

// cut takes the next window of about size offsets off what is left.
func (b *backward) cut(size int64) []extent {
	if b.req.Newest.By == scan.Offset {
		return b.above(b.threshold(size))
	}
	// The newest may be in any partition, so the window takes the same from each.
	left := map[*PartitionState]int64{}
	for _, e := range b.plan.extents {
		left[e.part] = 0
	}
	each := max(size/int64(len(left)), min(b.req.Newest.Rows, firstWindow))
	for part := range left {
		left[part] = each
	}
	// The extents of a partition ascend.
	var window, rest []extent
	for _, e := range slices.Backward(b.plan.extents) {
		n := min(left[e.part], e.To-e.From)
		left[e.part] -= n
		upper, lower := e, e
		upper.From, lower.To = e.To-n, e.To-n
		window, rest = appendExtent(window, upper), appendExtent(rest, lower)
	}
	slices.Reverse(window)
	slices.Reverse(rest)
	b.plan.extents = rest
	return window
}

func appendExtent(list []extent, e extent) []extent {
	if e.Empty() {
		return list
	}
	return append(list, e)
}

// threshold finds the greatest offset from which on at least size offsets are left, or all.
func (b *backward) threshold(size int64) int64 {
	low, high := int64(math.MaxInt64), int64(0)
	for _, e := range b.plan.extents {
		low, high = min(low, e.From), max(high, e.To)
	}
	for low < high-1 {
		mid := low + (high-low)/2
		n := int64(0)
		for _, e := range b.plan.extents {
			n += max(e.To-max(e.From, mid), 0)
		}
		if n >= size {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// above takes what lies at or above offset off what is left.
func (b *backward) above(offset int64) []extent {
	var window, rest []extent
	for _, e := range b.plan.extents {
		upper, lower := e, e
		upper.From, lower.To = max(e.From, offset), min(e.To, offset)
		window, rest = appendExtent(window, upper), appendExtent(rest, lower)
	}
	b.plan.extents = rest
	return window
}

// rest takes all that is left.
func (b *backward) rest() []extent {
	all := b.plan.extents
	b.plan.extents = nil
	return all
}

// enough reports whether the sinks keep what they want; then what is left is only what may still displace some of it.
func (b *backward) enough(ctx context.Context, sinks *windowSinks) (bool, error) {
	kept, ok := sinks.kept()
	n := b.req.Newest.Rows
	if !ok || int64(len(kept)) < n {
		return false, nil
	}
	if b.req.Newest.By == scan.Offset {
		b.plan.extents = nil
		return true, nil
	}
	slices.Sort(kept)
	bar := kept[int64(len(kept))-n]
	if bar < 0 { // no timestamp, which sorts last, or one that a broker cannot look up
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.plan.cluster.cfg.ConnectTimeout)
	defer cancel()
	return true, b.plan.since(ctx, scan.Bounds{MinTimestamp: bar, HasMinTimestamp: true})
}

// Stats implements scan.Source.
func (b *backward) Stats() scan.Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.window == nil {
		return b.past
	}
	return b.past.Add(b.window.Stats())
}

// Warnings implements scan.Source.
func (b *backward) Warnings() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.warnings)
}

// Close has nothing to do: windows hold clients only while they run.
func (b *backward) Close() {}

var _ scan.Source = (*backward)(nil)

// windowSinks hands the sinks of a scan to one window after the other, and finishes them after the last.
type windowSinks struct {
	open    func(lane int) (scan.Sink, error)
	sinks   []scan.Sink
	stopped bool
	mu      sync.Mutex // guards stopped
}

// sink is the newSink of a window.
func (w *windowSinks) sink(lane int) (scan.Sink, error) {
	if lane == len(w.sinks) {
		s, err := w.open(lane)
		if err != nil {
			return nil, err
		}
		w.sinks = append(w.sinks, s)
	}
	return &windowSink{w.sinks[lane], w}, nil
}

// kept gathers what the sinks keep; false when one cannot say.
func (w *windowSinks) kept() (values []int64, ok bool) {
	for _, s := range w.sinks {
		k, ok := s.(scan.Keeper)
		if !ok {
			return nil, false
		}
		values = k.Kept(values)
	}
	return values, true
}

func (w *windowSinks) finish(ctx context.Context) error {
	for _, s := range w.sinks {
		if err := s.Finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// windowSink is a sink for one window: that it ends is not the end of the scan.
type windowSink struct {
	scan.Sink
	all *windowSinks
}

// Push implements scan.Sink. A window that a sink stops ends without an error, so the scan must be told.
func (s *windowSink) Push(ctx context.Context, b *column.Batch) error {
	err := s.Sink.Push(ctx, b)
	if errors.Is(err, scan.Stop) {
		s.all.mu.Lock()
		s.all.stopped = true
		s.all.mu.Unlock()
	}
	return err
}

// Finish implements scan.Sink.
func (s *windowSink) Finish(context.Context) error { return nil }
