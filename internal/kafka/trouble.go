package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// trouble decides what a failed fetch of a task means: wait and try again, follow a new leader, go on behind what is lost, or give up. Trying again
// is bounded by FetchRetryTimeout since the last success.
type trouble struct {
	*lane
	task  *task
	since time.Time // of the first failure since the last success; zero when there is none
	gone  time.Time // since when the topic is missing
	wait  backoff
	vain  int // answers in a row with bytes but no batch
}

// reset is called when a fetch has brought the task forward.
func (f *trouble) reset() { f.since, f.gone, f.wait, f.vain = time.Time{}, time.Time{}, backoff{}, 0 }

// stuck counts an answer with bytes but no batch of use.
func (f *trouble) stuck() bool {
	const most = 16 // each time the fetch is twice as large
	f.vain++
	return f.vain > most
}

// request deals with a request that failed as a whole.
func (f *trouble) request(ctx context.Context, broker int32, next int64, err error) error {
	if e := f.src.cluster.permanent(err); e != nil {
		return e
	}
	if err := f.pause(ctx, broker, next, err); err != nil {
		return err
	}
	return f.follow(ctx)
}

// code deals with an error code for the partition. It gives the offset to go on from.
func (f *trouble) code(ctx context.Context, broker int32, next int64, p *kmsg.FetchResponseTopicPartition) (int64, error) {
	t := f.task
	err := kerr.ErrorForCode(p.ErrorCode)
	switch classify(p.ErrorCode) {
	case codeDenied:
		return next, topicNotAuthorized(t.topic.name, "READ")
	case codeRange:
		return f.outOfRange(ctx, broker, next, err)
	case codeTransient:
		// The broker may know who leads now; franz-go has its address unless it is new.
		if to := p.CurrentLeader; to.LeaderID >= 0 && to.LeaderID != t.leads().id && f.since.IsZero() {
			f.since = time.Now()
			f.src.stats.retries.Add(1)
			t.setLeader(leader{to.LeaderID, to.LeaderEpoch})
			return next, nil
		}
		fallthrough
	case codeMissing, codeIdentity:
		if err := f.pause(ctx, broker, next, err); err != nil {
			return next, err
		}
		return next, f.follow(ctx)
	}
	if errors.Is(err, kerr.CorruptMessage) {
		return next, sqlerr.New(sqlerr.KafkaCorrupt, "partition %d of topic '%s' at offset %d: the broker finds its own log corrupt: %w", t.number, t.topic.name, next, err)
	}
	return next, sqlerr.New(sqlerr.KafkaFetchFailed, "fetching partition %d of topic '%s' at offset %d from broker %d failed: %w", t.number, t.topic.name, next, broker, err)
}

// pause waits before the next attempt, longer each time. Its error is final: the budget is spent, or ctx ended.
func (f *trouble) pause(ctx context.Context, broker int32, next int64, cause error) error {
	f.src.stats.retries.Add(1)
	f.task.leaderOnly()
	if f.since.IsZero() {
		f.since = time.Now()
	}
	if f.wait.next == 0 {
		f.wait = newBackoff()
	}
	if budget := f.src.cfg.FetchRetryTimeout; time.Since(f.since) > budget {
		return sqlerr.New(sqlerr.KafkaFetchFailed, "fetching partition %d of topic '%s' at offset %d from broker %d keeps failing for %v: %w",
			f.task.number, f.task.topic.name, next, broker, budget, cause)
	}
	if f.wait.sleep(ctx) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// follow looks up the topic: who leads the partition, and whether it is still the topic that was planned. That the look-up fails is no error; the
// next fetch fails too, and pause ends it.
func (f *trouble) follow(ctx context.Context) error {
	t := f.task
	ask, cancel := context.WithTimeout(ctx, f.src.cfg.ConnectTimeout)
	defer cancel()
	all, err := f.src.cluster.look(ask, f.client, t.topic.name)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return f.src.cluster.permanent(err)
	}
	now, ok := all[t.topic.name]
	if ok && now.code == 0 && now.id != t.topic.id && hasID(now.id) && hasID(t.topic.id) {
		return recreated(t.topic.name)
	}
	at, led := now.leaders[t.number]
	switch {
	case led:
		t.setLeader(at)
		f.gone = time.Time{}
	case !ok || classify(now.code) == codeMissing || now.code == 0 && t.number >= now.partitions:
		if f.gone.IsZero() {
			f.gone = time.Now()
		} else if time.Since(f.gone) > missingTopicWait {
			return deleted(t.topic.name, t.number)
		}
	}
	return nil
}

// outOfRange deals with an offset that the broker says is outside the log. The answer's own bounds are not trusted: some brokers leave them out.
func (f *trouble) outOfRange(ctx context.Context, broker int32, next int64, cause error) (int64, error) {
	t := f.task
	start, end, err := f.logBounds(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return next, context.Cause(ctx)
		}
		return next, err
	}
	to := t.bound()
	switch {
	case next < start:
		gone := scan.Range{From: next, To: min(start, to)}
		why := fmt.Sprintf("the log starts at offset %d now", start)
		if t.earliest && t.untouched(next) {
			f.src.warn(retentionWarning(t.partition, gone))
		} else if f.src.spec.FailOnDataLoss {
			return next, dataLoss(t.topic.name, t.number, gone, why)
		} else {
			f.src.warn(lossWarning(t.topic.name, t.number, gone, why))
		}
		t.claim(gone.To)
		f.passed(gone.From, gone.To)
		return gone.To, nil
	case next > end:
		return f.truncated(next, to, end)
	}
	// The log has the offset: the broker that answered lags behind, or is no leader any more.
	if err := f.pause(ctx, broker, next, cause); err != nil {
		return next, err
	}
	return next, f.follow(ctx)
}

// short deals with a log that ends before the planned end: a new leader may not know the high watermark yet; if that lasts, the log was truncated.
func (f *trouble) short(ctx context.Context, next, to, bound int64) (int64, error) {
	err := f.pause(ctx, f.task.leads().id, next, fmt.Errorf("the log ends at offset %d, before the planned end %d", bound, to))
	if sqlerr.HasKind(err, sqlerr.KafkaFetchFailed) {
		return f.truncated(next, to, bound)
	}
	if err != nil {
		return next, err
	}
	return next, f.follow(ctx)
}

// truncated reports offsets up to the planned end that the log does not hold any more, and skips them.
func (f *trouble) truncated(next, to, end int64) (int64, error) {
	t := f.task
	gone := scan.Range{From: next, To: to}
	why := fmt.Sprintf("the log was truncated and ends at offset %d now", end)
	if f.src.spec.FailOnDataLoss {
		return next, dataLoss(t.topic.name, t.number, gone, why)
	}
	f.src.warn(lossWarning(t.topic.name, t.number, gone, why))
	t.claim(to)
	f.passed(next, to)
	return to, nil
}

// logBounds asks for the log's first offset and its end.
func (f *trouble) logBounds(ctx context.Context) (start, end int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.src.cfg.ConnectTimeout)
	defer cancel()
	t := f.task
	for _, b := range []struct {
		ask int64
		to  *int64
	}{{askEarliest, &start}, {askLatest, &end}} {
		l := &listing{cluster: f.src.cluster, iso: ReadUncommitted, todo: []target{{
			topic: &TopicState{Name: t.topic.name, ID: t.topic.id}, part: &PartitionState{Partition: t.number}, leader: t.leads().id, timestamp: b.ask,
		}}}
		if err := l.run(ctx, f.client, func(_ *target, o listed) error { *b.to = o.offset; return nil }); err != nil {
			return 0, 0, err
		}
	}
	return start, end, nil
}

func recreated(topic string) *sqlerr.Error {
	return sqlerr.New(sqlerr.KafkaTopicRecreated, "topic '%s' was deleted and created again during the read", topic).
		WithHint("Run the statement again to read the new topic.")
}

func deleted(topic string, partition int32) error {
	return sqlerr.New(sqlerr.KafkaTopicNotFound, "partition %d of topic '%s' is gone: the topic was deleted during the read", partition, topic)
}

func retentionWarning(p *partition, gone scan.Range) string {
	return fmt.Sprintf("retention removed %d offsets, %v of partition %d of topic '%s', before they were read", gone.To-gone.From, gone, p.number, p.topic.name)
}
