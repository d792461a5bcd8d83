package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// budget is what the user lets a read take in all: time and records. A read that has spent it ends like one that has reached its end: lanes push
// what they hold and finish their sinks, so that aggregates see every record that was delivered.
type budget struct {
	spec ReadSpec
	// spent is closed when the budget is.
	spent chan struct{}
	once  sync.Once
	why   string
	timer *time.Timer
	// records are those that may still be delivered, withheld those that were fetched and not delivered.
	records, withheld atomic.Int64

	mu sync.Mutex
	// cut are the partitions of which records were withheld.
	cut []string
}

// errSpent ends a lane's work on a task.
var errSpent = errors.New("kafka: the budget of the read is spent")

func newBudget(spec ReadSpec) *budget {
	b := &budget{spec: spec, spent: make(chan struct{})}
	b.records.Store(spec.MaxRecords)
	return b
}

// start starts the clock. The caller calls stop when the read has ended.
func (b *budget) start() {
	if b.spec.MaxTime > 0 {
		b.timer = time.AfterFunc(b.spec.MaxTime, func() { b.end(fmt.Sprintf("%v, as 'maxReadTimeSeconds' says", b.spec.MaxTime)) })
	}
}

func (b *budget) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}

func (b *budget) end(why string) {
	b.once.Do(func() {
		b.why = why
		close(b.spent)
	})
}

// over reports whether nothing more is to be read.
func (b *budget) over() bool {
	select {
	case <-b.spent:
		return true
	default:
		return false
	}
}

// sink bounds what s is pushed, when records are bounded.
func (b *budget) sink(s scan.Sink) scan.Sink {
	if b.spec.MaxRecords <= 0 {
		return s
	}
	return &boundedSink{Sink: s, budget: b}
}

// boundedSink passes on the records that the budget has room for.
type boundedSink struct {
	scan.Sink
	budget *budget
}

// Push implements scan.Sink. Records beyond the budget are left out silently: the lane asks the budget before it fetches more.
func (s *boundedSink) Push(ctx context.Context, batch *column.Batch) error {
	b := s.budget
	n := int64(batch.Live())
	room := b.records.Add(-n) + n // what was left before
	if room <= n {
		b.end(fmt.Sprintf("%d records, as 'maxNumRecords' says", b.spec.MaxRecords))
	}
	if room >= n {
		return s.Sink.Push(ctx, batch)
	}
	room = max(room, 0)
	b.withheld.Add(n - room)
	if room == 0 {
		return nil
	}
	batch.N = int(room) // the parser pushes batches without a selection
	for i := range batch.Cols {
		shorten(&batch.Cols[i], batch.N)
	}
	return s.Sink.Push(ctx, batch)
}

// shorten cuts v to n rows. Its bitmap may stay longer.
func shorten(v *column.Vector, n int) {
	if v.Int != nil {
		v.Int = v.Int[:n]
	}
	if v.Beg != nil {
		v.Beg, v.End = v.Beg[:n], v.End[:n]
	}
}

// parsed notes that records of a partition were parsed; when some were withheld, the partition is named in the warning.
func (b *budget) parsed(t *task) {
	if b.withheld.Load() == 0 {
		return
	}
	name := fmt.Sprintf("%s/%d", t.topic.name, t.number)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.cut, name) {
		b.cut = append(b.cut, name)
	}
}

// warning says what a read that spent its budget has not read, "" when that is nothing. left are the ranges that no lane has reached.
func (b *budget) warning(left []scan.Split) string {
	if !b.over() {
		return ""
	}
	var parts []string
	if n := b.withheld.Load(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records of %s that came in the same answers", n, some(b.cut)))
	}
	if len(left) > 0 {
		var offsets int64
		names := make([]string, len(left))
		for i, s := range left {
			offsets += s.Range.To - s.Range.From
			names[i] = s.String()
		}
		parts = append(parts, fmt.Sprintf("%d offsets, %s", offsets, some(names)))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("the read ended after %s; not read: %s", b.why, strings.Join(parts, ", and "))
}

// await waits for the answer to c. It gives the call up, by cancel, when the budget is spent first.
func (l *lane) await(c *call, cancel context.CancelFunc) error {
	select {
	case <-c.done:
		return nil
	case <-l.src.budget.spent:
		cancel()
		<-c.done
		return errSpent
	}
}

// left lists the ranges of tasks that were not read, by topic, partition and offset.
func (w *work) left() []scan.Split {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []scan.Split
	add := func(t *task) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.next < t.end {
			out = append(out, scan.Split{Topic: t.topic.name, Partition: t.number, Range: scan.Range{From: t.next, To: t.end}})
		}
	}
	for _, u := range w.queue {
		for _, t := range u.tasks {
			add(t)
		}
	}
	for t := range w.running {
		add(t)
	}
	slices.SortFunc(out, func(a, b scan.Split) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		if a.Range.From < b.Range.From {
			return -1
		}
		return 1
	})
	return joined(out)
}

// joined makes one of ranges that follow each other: a partition that was cut for several lanes is named once.
func joined(splits []scan.Split) []scan.Split {
	var out []scan.Split
	for _, s := range splits {
		if n := len(out); n > 0 && out[n-1].Topic == s.Topic && out[n-1].Partition == s.Partition && out[n-1].Range.To == s.Range.From {
			out[n-1].Range.To = s.Range.To
			continue
		}
		out = append(out, s)
	}
	return out
}
