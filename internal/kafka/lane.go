package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/memory"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// lane reads splits one after the other, with a client and a Sink of its own. One goroutine runs it; a second one waits for the fetch ahead.
type lane struct {
	src    *source
	sink   scan.Sink
	parser *parser
	client *client // nil until there is work
	memory memory.Account
	held   int64 // what the lane has told the scan's count of memory
	ahead  int64 // of it, what the fetch that is on its way may bring
	pace   pace
}

func newLane(s *source, sink scan.Sink) *lane {
	l := &lane{src: s, sink: sink, memory: s.req.Memory.Account(), pace: newPace(&s.cfg, s.req.Limit, s.req.Memory.Limit()/int64(s.lanes)), parser: newParser(s.req.Fields, s.names, &s.cfg, s.req.Bounds, sink)}
	l.parser.extremes = s.req.Extremes && s.spec.MaxRecords == 0 // of a batch that is cut short, extremes are not those of what is left
	return l
}

func (l *lane) close() {
	l.parser.close()
	l.count() // of an answer that was left in its midst, because no more rows are wanted
	l.release()
	if l.client != nil {
		l.src.cluster.group.release(l.client)
	}
}

// run reads until nothing is left to take or to steal.
func (l *lane) run(ctx context.Context) error {
	s := l.src
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if s.budget.over() {
			break
		}
		u, ok := s.work.take(s.perOffset(), l.worthStealing())
		if !ok {
			break
		}
		if l.client == nil {
			if err := l.connect(ctx); err != nil {
				return err
			}
		}
		alone := u.tasks
		if u.together {
			var err error
			if alone, err = l.readTogether(ctx, u.tasks); err != nil {
				return err
			}
		}
		for _, t := range alone {
			err := l.read(ctx, t)
			if err == errSpent { //nolint:errorlint // read wraps nothing around it
				break
			}
			if err != nil {
				return err
			}
			l.done(t)
		}
	}
	if err := l.parser.flush(ctx); err != nil {
		return err
	}
	return l.sink.Finish(ctx)
}

// connect borrows a client. Where the cap on connections is reached a lane shares one.
func (l *lane) connect(ctx context.Context) error {
	g := l.src.cluster.group
	var err error
	if l.client, err = g.laneClient(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.src.cfg.ConnectTimeout)
	defer cancel()
	return l.client.connect(ctx, l.src.cfg, false)
}

// perOffset is the number of bytes that an offset took so far in this scan.
func (s *source) perOffset() float64 {
	spanned := s.stats.spanned.Load()
	if spanned == 0 {
		return 0
	}
	return float64(s.stats.fetched.Load()) / float64(spanned)
}

// worthStealing is the number of bytes of which half is worth another fetch.
func (l *lane) worthStealing() int64 {
	if n := l.src.cfg.fetchBytes(); n > 0 {
		return 4 * int64(n)
	}
	return 4 * firstFetchBytes
}

func (l *lane) done(t *task) {
	l.src.work.finished(t)
	l.src.stats.splitsDone.Add(1)
}

// read reads one task to its end. While it parses an answer the next fetch is on its way.
func (l *lane) read(ctx context.Context, t *task) error {
	ctx, cancel := context.WithCancel(ctx)
	var pending *call
	defer func() {
		cancel()
		if pending != nil {
			<-pending.done
		}
	}()
	var (
		s       = l.src
		next    = t.next
		pace    = &l.pace
		failed  = trouble{lane: l, task: t}
		empties = 0 // answers in a row that prove a gap up to the end
	)
	for {
		end := t.bound()
		if next >= end {
			return nil
		}
		if s.budget.over() {
			return errSpent
		}
		if pending == nil {
			pending = l.fetch(ctx, ask{t.partition, next, pace.next(end-next, s.perOffset())})
		}
		if err := l.await(pending, cancel); err != nil {
			return err
		}
		call := pending
		pending, l.ahead = nil, 0
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p, err := call.answer(&call.asks[0])
		if err == nil && call.resp.ErrorCode != 0 {
			err = kerr.ErrorForCode(call.resp.ErrorCode)
		}
		if err != nil {
			if err := failed.request(ctx, call.broker, next, err); err != nil {
				return err
			}
			continue
		}
		if p.ErrorCode != 0 {
			if next, err = failed.code(ctx, call.broker, next, p); err != nil {
				return err
			}
			continue
		}
		to, err := position(p.RecordBatches, next)
		if err != nil {
			return l.parseError(t, err)
		}
		s.stats.fetched.Add(int64(len(p.RecordBatches)))
		s.stats.spanned.Add(to - next)
		if to == next {
			switch bound := logEnd(p, s.spec.Isolation); {
			case t.redirect(p.PreferredReadReplica, call.broker):
			case len(p.RecordBatches) > 0:
				if !pace.grow() || failed.stuck() {
					return sqlerr.New(sqlerr.KafkaCorrupt, "partition %d of topic '%s' at offset %d: the broker's answer of %d bytes holds no batch at or after the offset",
						t.number, t.topic.name, next, len(p.RecordBatches))
				}
			case bound >= end && call.resp.ThrottleMillis == 0:
				t.touch(next)
				if empties++; empties == 2 { // compaction left nothing up to the end
					l.passed(next, end)
					return nil
				}
			case bound < end:
				if next, err = failed.short(ctx, next, end, bound); err != nil {
					return err
				}
			}
			continue
		}
		empties = 0
		failed.reset()
		t.touch(next)
		end = t.claim(to)
		pace.observe(len(p.RecordBatches), call.took)
		if size := pace.next(end-to, s.perOffset()); to < end && !l.lastNeeded() && l.mayReadAhead(len(p.RecordBatches), size) {
			pending = l.fetch(ctx, ask{t.partition, to, size})
		}
		if err := l.parse(ctx, t, p, next, min(to, end)); err != nil {
			return err
		}
		next = to
	}
}

// lastNeeded reports whether the rows so far may be all that are wanted, so that fetching ahead would be in vain.
func (l *lane) lastNeeded() bool {
	limit := l.src.req.Limit
	return limit >= 0 && limit <= smallLimit
}

// hold notes that the lane holds an answer of so many bytes, besides its buffers and what it reads ahead.
func (l *lane) hold(answer int64) {
	n := answer + l.ahead + l.parser.memory()
	l.src.stats.memory.Add(n - l.held)
	l.held = n
	l.memory.Force(n) // it is there, or on its way
}

// mayReadAhead reports whether there is memory to fetch size bytes while an answer is parsed, and takes it.
func (l *lane) mayReadAhead(answer int, size int32) bool {
	l.ahead = 0
	if !l.memory.Set(int64(answer) + int64(size) + l.parser.memory()) {
		return false
	}
	l.ahead = int64(size)
	return true
}

// release notes that the lane holds nothing any more.
func (l *lane) release() {
	l.src.stats.memory.Add(-l.held)
	l.held = 0
	l.memory.Close()
}

// parse pushes the records in [from, to) of an answer.
func (l *lane) parse(ctx context.Context, t *task, p *kmsg.FetchResponseTopicPartition, from, to int64) error {
	l.hold(int64(len(p.RecordBatches)))
	var aborted aborts
	if l.src.spec.Isolation == ReadCommitted {
		aborted = abortsOf(p.AbortedTransactions)
	}
	err := l.parser.parse(ctx, t.at, p.RecordBatches, from, to, aborted)
	if err == nil {
		err = l.parser.detach(ctx)
	}
	if err != nil {
		return l.parseError(t, err)
	}
	if l.lastNeeded() || l.src.spec.MaxRecords > 0 { // the first rows are to be seen at once, those that the budget has no room for known by their partition
		if err := l.parser.flush(ctx); err != nil {
			return err
		}
		l.src.budget.parsed(t)
	}
	l.passed(from, to)
	return nil
}

// passed notes that the offsets [from, to) need no more reading.
func (l *lane) passed(from, to int64) {
	l.src.stats.offsetsDone.Add(to - from)
	l.count()
}

// count adds what the parser has done to the counts of the scan.
func (l *lane) count() {
	c, p := &l.src.stats, &l.parser.stats
	c.records.Add(p.records)
	c.batches.Add(p.batches)
	c.skipped.Add(p.skipped)
	c.counted.Add(p.counted)
	c.decoded.Add(p.decoded)
	*p = parserStats{}
}

// parseError names the partition of what parse found wrong; what a Sink returned passes through.
func (l *lane) parseError(t *task, err error) error { return corruptIn(t.partition, err) }

func corruptIn(p *partition, err error) error {
	bad, ok := err.(*corruptError) //nolint:errorlint // parse wraps nothing around it
	if !ok {
		return err
	}
	where := fmt.Sprintf("partition %d of topic '%s' at offset %d", p.number, p.topic.name, bad.offset)
	if isTooLarge(bad.err) {
		return sqlerr.New(sqlerr.KafkaBatchTooLarge, "%s: %w", where, bad.err).WithHint("The limit follows --memory-limit.")
	}
	return sqlerr.New(sqlerr.KafkaCorrupt, "%s: %w", where, bad.err)
}

// logEnd is the offset up to which the broker would have answered.
func logEnd(p *kmsg.FetchResponseTopicPartition, iso Isolation) int64 {
	if iso == ReadCommitted && p.LastStableOffset >= 0 {
		return p.LastStableOffset
	}
	return p.HighWatermark
}
