package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/failpoint"
	"millrace/internal/sqlerr"
)

// MarkGroups is what the names of groups begin with whose offsets are marks, and no positions in a topic.
const MarkGroups = "millrace-flow-"

// Mark is a number that a transaction leaves behind: the offset of partition 0 of a topic in a consumer group of its own. It is there exactly when the transaction
// was committed, so whoever comes later learns from it what a writer that died has written.
type Mark struct {
	Group, Topic string
	Number       int64
	// Note is kept with the number, some ten bytes at most: brokers bound the metadata of an offset.
	Note string
}

// Begin begins a transaction, in which records are then sent.
func (p *Producer) Begin() error {
	if err := p.client.kgo.BeginTransaction(); err != nil {
		return p.endError(err)
	}
	return nil
}

// Commit waits until every record is acknowledged and commits the transaction, with a mark that is not nil. When it fails, the transaction may have been
// committed all the same, if unknown says so; else it is still open. A transaction without records is none, and leaves no mark.
func (p *Producer) Commit(ctx context.Context, m *Mark) (unknown bool, err error) {
	if err := p.Flush(ctx); err != nil {
		return false, err
	}
	if m != nil {
		if err := p.leave(ctx, m); err != nil {
			return false, err
		}
	}
	failpoint.Hit("kafka.ending")
	if err := p.client.kgo.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return !errors.Is(err, kerr.OperationNotAttempted), p.endError(err)
	}
	return false, nil
}

// AwaitVisible waits until consumers see the transaction that was committed: a broker answers a commit once it is certain, and writes the markers that consumers wait for
// after that. Where brokers cannot tell (before 3.0, or without DESCRIBE on the id) it does not wait.
func (p *Producer) AwaitVisible(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.cluster.cfg.ConnectTimeout)
	defer cancel()
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{p.opts.TransactionalID}
	wait := backoff{next: time.Millisecond}
	for {
		resp, err := req.RequestWith(ctx, p.client.kgo)
		if err != nil || len(resp.TransactionStates) != 1 || resp.TransactionStates[0].ErrorCode != 0 || resp.TransactionStates[0].State != "PrepareCommit" || wait.sleep(ctx) != nil {
			return
		}
	}
}

// abortWait bounds an Abort, and abortGrace how long it goes on for a caller who does not want to wait any more: brokers that are there take some milliseconds.
const (
	abortWait  = 5 * time.Second
	abortGrace = 200 * time.Millisecond
)

// Abort ends the transaction without a trace, whatever became of its records; the producer can begin another. When ctx ends before that is done, as it has when the statement
// was killed, the caller waits no longer: the transaction is then ended behind it, the producer is closed after that, and nothing but Close may be called.
func (p *Producer) Abort(ctx context.Context) error {
	p.slab, p.arena = nil, nil
	done := make(chan error, 1)
	var ended atomic.Bool // one side has done with it: the caller or the goroutine
	p.cluster.group.behind.run(func(life context.Context) {
		life, cancel := context.WithTimeout(life, abortWait)
		defer cancel()
		err := p.abort(life)
		done <- err
		if ended.Swap(true) {
			p.shut()
		}
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(abortGrace)
	defer grace.Stop()
	select {
	case err := <-done:
		return err
	case <-grace.C:
	}
	if ended.Swap(true) { // just now
		return <-done
	}
	p.left = true
	return context.Cause(ctx)
}

func (p *Producer) abort(ctx context.Context) error {
	if err := p.client.kgo.AbortBufferedRecords(ctx); err != nil {
		return p.endError(err)
	}
	if err := p.client.kgo.EndTransaction(ctx, kgo.TryAbort); err != nil {
		return p.endError(err)
	}
	p.mu.Lock()
	p.err, p.row = nil, 0
	p.mu.Unlock()
	p.failed.Store(false)
	return nil
}

// endError says why a transaction cannot be begun or ended.
func (p *Producer) endError(err error) error {
	if e := p.transactionError(err); e != nil {
		return e
	}
	if errors.Is(err, kgo.ErrClientClosed) && p.failed.Load() {
		return p.failure()
	}
	return sqlerr.New(sqlerr.KafkaWriteFailed, "the transaction with id '%s' was not ended: %w", p.opts.TransactionalID, err)
}

// leave puts a mark into the open transaction.
func (p *Producer) leave(ctx context.Context, m *Mark) error {
	id, epoch, err := p.client.kgo.ProducerID(ctx)
	if err != nil {
		return p.initError(ctx, err)
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = p.opts.TransactionalID, id, epoch, m.Group
	err = p.persist(ctx, m, func() (int16, error) {
		resp, err := add.RequestWith(ctx, p.client.kgo)
		if err != nil {
			return 0, err
		}
		return resp.ErrorCode, nil
	})
	if err != nil {
		return err
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = p.opts.TransactionalID, id, epoch, m.Group
	topic, partition := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	topic.Topic = m.Topic
	partition.Partition, partition.Offset, partition.Metadata = 0, m.Number, &m.Note
	topic.Partitions = append(topic.Partitions, partition)
	commit.Topics = append(commit.Topics, topic)
	return p.persist(ctx, m, func() (int16, error) {
		resp, err := commit.RequestWith(ctx, p.client.kgo)
		if err != nil {
			return 0, err
		}
		for _, t := range resp.Topics {
			for _, answer := range t.Partitions {
				return answer.ErrorCode, nil
			}
		}
		return 0, errors.New("the broker's answer holds nothing")
	})
}

// passing are answers of coordinators after which the same request may succeed.
var passing = []error{kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.ConcurrentTransactions, kerr.UnstableOffsetCommit, kerr.RequestTimedOut}

// persist asks a coordinator until it does what it shall, or says that it will not, for as long as a client waits for a connection.
func (p *Producer) persist(ctx context.Context, m *Mark, ask func() (code int16, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, p.cluster.cfg.ConnectTimeout)
	defer cancel()
	wait := newBackoff()
	for {
		code, err := ask()
		if err != nil {
			return p.cluster.cfg.requestError(ctx, err)
		}
		answer := kerr.ErrorForCode(code)
		if answer == nil {
			return nil
		}
		again := false
		for _, e := range passing {
			again = again || errors.Is(answer, e)
		}
		if again && wait.sleep(ctx) == nil {
			continue
		}
		if canceled(ctx) {
			return context.Cause(ctx)
		}
		return p.markError(m, answer)
	}
}

// markError says why a mark cannot be written or read.
func (p *Producer) markError(m *Mark, err error) error {
	if e := p.transactionError(err); e != nil {
		return e
	}
	switch {
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return sqlerr.New(sqlerr.KafkaNotAuthorized, "consumer group '%s' may not be used: the Kafka user lacks READ on it", m.Group).WithCause(err).
			WithHint("Grant READ on the group to the Kafka principal: exactly-once writes keep their positions in it.")
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return topicNotAuthorized(m.Topic, "READ")
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return topicNotFound(m.Topic)
	}
	return sqlerr.New(sqlerr.KafkaWriteFailed, "the position in consumer group '%s' is not known: %w", m.Group, err)
}

// Marked gives the mark that the last committed transaction has left for a group and topic, nil for none; of an empty topic it is the mark of any topic with the greatest
// number. A producer that was made with the same transactional id before has been fenced, and its transaction ended, so the answer stays true.
func (p *Producer) Marked(ctx context.Context, group, topic string) (*Mark, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	req.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	if topic != "" {
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = topic, []int32{0}
		req.Topics = append(req.Topics, t)
		gt := kmsg.NewOffsetFetchRequestGroupTopic()
		gt.Topic, gt.Partitions = topic, []int32{0}
		g.Topics = append(g.Topics, gt)
	}
	req.Groups = append(req.Groups, g)
	var last *Mark
	take := func(topic string, number int64, note *string) {
		if number < 0 || last != nil && last.Number >= number {
			return
		}
		last = &Mark{Group: group, Topic: topic, Number: number}
		if note != nil {
			last.Note = *note
		}
	}
	err := p.persist(ctx, &Mark{Group: group, Topic: topic}, func() (int16, error) {
		last = nil
		resp, err := req.RequestWith(ctx, p.client.kgo)
		if err != nil {
			return 0, err
		}
		if resp.ErrorCode != 0 {
			return unlessMissing(resp.ErrorCode), nil
		}
		for _, g := range resp.Groups { // brokers from 3.0 on
			if g.ErrorCode != 0 {
				return unlessMissing(g.ErrorCode), nil
			}
			for _, t := range g.Topics {
				for _, a := range t.Partitions {
					if a.ErrorCode != 0 {
						return a.ErrorCode, nil
					}
					take(t.Topic, a.Offset, a.Metadata)
				}
			}
		}
		for _, t := range resp.Topics {
			for _, a := range t.Partitions {
				if a.ErrorCode != 0 {
					return a.ErrorCode, nil
				}
				take(t.Topic, a.Offset, a.Metadata)
			}
		}
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	return last, nil
}

// unlessMissing is the code of an answer, but for a group that does not exist: nothing was ever committed in it.
func unlessMissing(code int16) int16 {
	if code == kerr.GroupIDNotFound.Code {
		return 0
	}
	return code
}
