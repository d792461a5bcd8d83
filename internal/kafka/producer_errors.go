package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/sqlerr"
)

// ofTheRecord are answers of brokers that blame the record.
var ofTheRecord = []error{kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.PolicyViolation, kerr.UnsupportedForMessageFormat}

// recordError says why the record of a row was not written.
func (p *Producer) recordError(r *kgo.Record, row int64, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrAborting):
		return err
	case errors.Is(err, kgo.ErrClientClosed):
		return errPoolClosed.WithCause(err)
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return sqlerr.New(sqlerr.SinkRow, "row %d cannot be written: its record of %d bytes is too large for topic '%s'", row, len(r.Key)+len(r.Value), r.Topic).WithCause(err).
			WithHint("'kafka.max.request.size' (now %d) bounds it here, 'max.message.bytes' of the topic at the broker", p.opts.BatchBytes)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return topicNotAuthorized(r.Topic, "WRITE")
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return topicNotFound(r.Topic)
	}
	for _, blamed := range ofTheRecord {
		if errors.Is(err, blamed) {
			return sqlerr.New(sqlerr.SinkRow, "row %d cannot be written: the broker of topic '%s' refuses its record: %w", row, r.Topic, err)
		}
	}
	if e := p.transactionError(err); e != nil {
		return e
	}
	return sqlerr.New(sqlerr.KafkaWriteFailed, "row %d was not written to topic '%s': %w", row, r.Topic, err)
}

// transactionError is the error for what concerns the producer, not a record; nil for others.
func (p *Producer) transactionError(err error) error {
	switch {
	case errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.InvalidTxnState):
		return sqlerr.New(sqlerr.KafkaWriteFailed, "another producer has taken over transactional id '%s'", p.opts.TransactionalID).WithCause(err).
			WithHint("a transactional id belongs to one writer at a time; a transaction that takes longer than 'kafka.transaction.timeout.ms' (now %v) loses it, too", p.opts.TransactionTimeout)
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return sqlerr.New(sqlerr.KafkaNotAuthorized, "transactional id '%s' may not be used: the Kafka user lacks WRITE on it", p.opts.TransactionalID).WithCause(err).
			WithHint("Grant WRITE and DESCRIBE on the transactional id to the Kafka principal.")
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return sqlerr.New(sqlerr.OptionInvalid, "'kafka.transaction.timeout.ms' is %v, more than the broker allows", p.opts.TransactionTimeout).WithCause(err).
			WithHint("the broker's 'transaction.max.timeout.ms' bounds it")
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return sqlerr.New(sqlerr.KafkaNotAuthorized, "the Kafka user may not write idempotently").WithCause(err).
			WithHint("Grant IDEMPOTENT_WRITE on the cluster (brokers before 2.8 need it), or set `kafka.enable.idempotence` => false.")
	}
	return nil
}

// initError says why the producer has no producer id.
func (p *Producer) initError(ctx context.Context, err error) error {
	if e := p.transactionError(err); e != nil {
		return e
	}
	return p.cluster.cfg.requestError(ctx, err)
}

// silentError is the error for brokers that acknowledge nothing any more.
func (p *Producer) silentError() error {
	return sqlerr.New(sqlerr.KafkaWriteFailed, "nothing was acknowledged for %v, and %d records wait for it", p.opts.DeliveryTimeout, p.client.kgo.BufferedProduceRecords()).
		WithHint("the brokers are down or overloaded, or fewer replicas are in sync than 'min.insync.replicas' of the topic")
}
