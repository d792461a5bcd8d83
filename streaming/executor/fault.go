package executor

import (
	"context"
	"errors"
	"slices"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// errReplan says that what was planned does not hold any more: look again.
var errReplan = errors.New("executor: the topics have changed")

// lossKinds are errors of a read that a new plan explains and the policy for loss decides about.
var lossKinds = []*sqlerr.Kind{sqlerr.KafkaDataLoss, sqlerr.KafkaTopicRecreated}

// final are the kinds of errors from Kafka that time does not mend.
var final = []*sqlerr.Kind{
	sqlerr.SchemaEvolved, sqlerr.KafkaHostRefused, sqlerr.KafkaCorrupt, sqlerr.KafkaBatchTooLarge, sqlerr.KafkaOffsets, sqlerr.KafkaDataLoss, sqlerr.KafkaTopicRecreated,
}

// fromKafka are the other kinds of errors that brokers, or the way to them, cause: somebody restarts, elects, grants or creates, and the table goes on.
var fromKafka = []*sqlerr.Kind{
	sqlerr.KafkaUnreachable, sqlerr.KafkaProtocol, sqlerr.KafkaAuth, sqlerr.KafkaNotAuthorized, sqlerr.KafkaTLS, sqlerr.KafkaTopicNotFound, sqlerr.KafkaFetchFailed,
}

// mayPass reports whether trying again makes sense.
func mayPass(err error) bool {
	e, ok := sqlerr.As(err)
	switch {
	case !ok:
		return true // a disk, the network, a store that is away
	case slices.Contains(fromKafka, e.Kind):
		return true
	case slices.Contains(final, e.Kind), e.Kind == sqlerr.BadRecord, e.Kind == sqlerr.Unexpected:
		return false
	default:
		return e.Kind.Retry || e.Kind.Fault == sqlerr.External || e.Kind == sqlerr.ScanMemory
	}
}

// ofRecord reports whether an error may be about the content of a record: it is none that brokers, the store, the memory or a fault of ours explain.
func ofRecord(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, errTooLarge) || ofStore(err) {
		return false
	}
	e, ok := sqlerr.As(err)
	if !ok {
		return true // an error of the engine's own expressions
	}
	switch e.Kind {
	case sqlerr.BadRecord, sqlerr.Unexpected, sqlerr.ScanMemory, sqlerr.Interrupted, sqlerr.Timeout, sqlerr.SinkRow:
		return false
	}
	return e.Kind.Fault != sqlerr.External && !slices.Contains(fromKafka, e.Kind) && !slices.Contains(final, e.Kind)
}

func ofStore(err error) bool {
	for _, s := range []error{store.ErrNoTable, store.ErrFenced, store.ErrSchemaChanged, store.ErrRetry, store.ErrUnknownOutcome, store.ErrClosed} {
		if errors.Is(err, s) {
			return true
		}
	}
	var held *store.HeldError
	return errors.As(err, &held)
}

func isLoss(err error) bool {
	return slices.ContainsFunc(lossKinds, func(k *sqlerr.Kind) bool { return sqlerr.HasKind(err, k) })
}
