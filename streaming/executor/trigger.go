package executor

import (
	"context"
	"errors"
	"maps"
	"math"
	"time"

	"millrace/internal/column"
	"millrace/internal/failpoint"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/streaming/checkpoint"
	"millrace/streaming/store"
)

// errTooLarge ends a run whose rows are more than a commit should hold.
var errTooLarge = errors.New("executor: the rows of the batch are too many bytes")

// carefulOffsets is how many offsets are read at once to find bad records.
const carefulOffsets = 20_000

// backlog reads the ranges of a plan in triggers, until all of them are committed, it is time to look at the topics again, or something fails. While a trigger is committed, the next one is read and
// computed (flight.go).
func (t *Table) backlog(ctx context.Context, q Query, snap *kafka.Snapshot, plan *checkpoint.Plan, s Settings) error {
	read := q.Read()
	if n := read.MinOffsets; n > 0 && plan.Backlog() < n && time.Since(t.lastBatch) < read.MaxDelay {
		return pauseFor(ctx, min(read.MaxDelay-time.Since(t.lastBatch), time.Second))
	}
	computing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := flight{failed: cancel}
	began := time.Now()
	for ranges := plan.Ranges; ; {
		st, err := t.trigger(computing, q, snap, ranges, s)
		if lost := f.land(); lost != nil {
			return lost // what was computed meanwhile builds on what is not there
		}
		switch {
		case err != nil && ofRecord(err):
			return t.careful(ctx, q, snap, checkpoint.Limit(ranges, min(st.offsets, carefulOffsets)), err)
		case isLoss(err):
			return errors.Join(errReplan, err)
		case err != nil:
			return err
		}
		ranges = checkpoint.Behind(ranges, st.moves)
		if left := checkpoint.Offsets(ranges); left == 0 || left < read.MinOffsets || time.Since(began) > backlogLook {
			return t.commit(ctx, st)
		}
		// The rows of the trigger before are committed, so their memory takes the next ones.
		t.rows, t.flown = t.flown, t.rows
		st.rows = &t.flown
		f.start(func() error { return t.commit(ctx, st) })
	}
}

// backlogLook is how long a plan holds: then the table looks how far it is behind, and whether there are other partitions.
const backlogLook = 5 * time.Second

// limit is how many offsets a trigger reads. Two triggers are in memory together.
func (t *Table) limit(read Read, s Settings) int64 {
	limit := s.MaxRows
	if n := read.MaxOffsets; n > 0 {
		limit = min(limit, n)
	}
	if t.perRow == 0 {
		return min(limit, 50_000) // to learn how large rows are
	}
	return min(limit, max(int64(float64(s.MaxBytes)/flightShare/t.perRow), 1))
}

// flightShare is the number of triggers that share the memory of a commit: one is computed, one is committed.
const flightShare = 2

// trigger reads a part of the ranges, and computes what is to be committed.
func (t *Table) trigger(ctx context.Context, q Query, snap *kafka.Snapshot, ranges []checkpoint.Range, s Settings) (step, error) {
	limit := t.limit(q.Read(), s)
	for {
		if limit <= 1 {
			s.MaxBytes = math.MaxInt64 / 4 // a record that is larger than a commit should be is a commit
		}
		st, err := t.bounded(ctx, q, snap, checkpoint.Limit(ranges, limit), s)
		if errors.Is(err, errTooLarge) && limit > 1 {
			limit /= 2
			continue
		}
		return st, err
	}
}

// bounded runs the query over ranges by a bounded scan on all lanes. The step has its moves also when it fails.
func (t *Table) bounded(ctx context.Context, q Query, snap *kafka.Snapshot, ranges []checkpoint.Range, s Settings) (step, error) {
	st := step{start: time.Now()}
	st.passes(ranges)
	t.begins()
	var src scan.Source
	undecoded, err := q.Run(ctx, func(ctx context.Context, req scan.Request) (_ scan.Source, err error) {
		src, err = bounds(ctx, snap, ranges, q.Read(), req)
		return src, err
	}, func(b *column.Batch) error {
		if err := t.takes(b); err != nil {
			return err
		}
		if int64(usedBytes(&t.rows)) > 2*s.MaxBytes/flightShare {
			return errTooLarge
		}
		return nil
	})
	if err != nil {
		return st, err
	}
	failpoint.Hit("executor.computed")
	t.gives(&st)
	st.bad = badOf(undecoded)
	if src != nil {
		stats := src.Stats()
		st.records, st.bytes = stats.Records, stats.BytesDecoded
	}
	t.perRow = max(float64(usedBytes(&t.rows))/float64(max(st.offsets, 1)), 1)
	return st, nil
}

// passes has a step read ranges to their ends.
func (st *step) passes(ranges []checkpoint.Range) {
	for i := range ranges {
		if r := &ranges[i]; r.Len() > 0 {
			st.moves = append(st.moves, r.Move(r.To))
			st.offsets += r.Len()
		}
	}
}

// bounds plans a bounded scan of ranges.
func bounds(ctx context.Context, snap *kafka.Snapshot, ranges []checkpoint.Range, read Read, req scan.Request) (scan.Source, error) {
	from, to := map[string]map[int32]int64{}, map[string]map[int32]int64{}
	for i := range ranges {
		r := &ranges[i]
		if r.Len() == 0 {
			continue
		}
		if from[r.Topic] == nil {
			from[r.Topic], to[r.Topic] = map[int32]int64{}, map[int32]int64{}
		}
		from[r.Topic][r.Partition.Partition], to[r.Topic][r.Partition.Partition] = r.From, r.To
	}
	part := filtered(snap, func(topic string, partition int32) bool {
		_, ok := from[topic][partition]
		return ok
	})
	spec := kafka.ReadSpec{
		Start: kafka.Bound{Kind: kafka.AtOffsets, Offsets: from}, End: kafka.Bound{Kind: kafka.AtOffsets, Offsets: to},
		Isolation: read.Spec.Isolation, FailOnDataLoss: true, MinPartitions: read.Spec.MinPartitions, MaxRecordsPerPartition: read.Spec.MaxRecordsPerPartition,
	}
	return part.Plan(ctx, spec, req)
}

// careful reads ranges into memory, finds the records on which the query fails, and commits what the others give. failed is the error that led here.
func (t *Table) careful(ctx context.Context, q Query, snap *kafka.Snapshot, ranges []checkpoint.Range, failed error) error {
	start := time.Now()
	req := t.request
	req.Fields, req.Lanes, req.Ordered = t.fields, 1, true
	src, err := bounds(ctx, snap, ranges, q.Read(), req)
	if err != nil {
		return err
	}
	defer src.Close()
	r := newRecords(t.fields)
	if err := src.Run(ctx, func(int) (scan.Sink, error) { return collector{r}, nil }); err != nil {
		return err
	}
	st := step{start: start, records: int64(r.rows), bytes: r.bytes}
	st.passes(ranges)
	return t.isolated(ctx, q, r, st, failed)
}

// isolated computes records one by one where it must, and commits st with the rows and the bad records.
func (t *Table) isolated(ctx context.Context, q Query, r *records, st step, failed error) error {
	t.begins()
	bad, err := t.isolate(ctx, q, r)
	if err != nil {
		return err
	}
	if bad.N == 0 && failed != nil {
		t.log.Debug("a failure of the query of a "+t.Noun+" did not come again", "table", t.name, "error", failed)
	}
	t.gives(&st)
	st.bad = bad
	st.newest = maps.Clone(r.newest)
	return t.commit(ctx, st)
}

// usedBytes is the memory that the values of a batch take.
func usedBytes(b *column.Batch) int {
	n := 0
	for i := range b.Cols {
		v := &b.Cols[i]
		n += 8*len(v.Int) + 8*len(v.Float) + 8*len(v.Beg) + len(v.Data) + 8*len(v.Valid)
	}
	return n
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// positionsOf turns what records have reached into moves from where the table is.
func positionsOf(have map[store.Partition]store.Position, r *records) []store.Move {
	var moves []store.Move
	for p, to := range r.reached {
		had, ok := have[p]
		learnt := had.LeaderEpoch < 0 && to.epoch >= 0 && to.next == had.Offset
		if !ok || to.next <= had.Offset && !learnt {
			continue
		}
		next := had
		// An epoch that is not known is not the former one: the new leader's log has records below the offset that the former one's has not, and the table would
		// be said to have lost them.
		next.Offset, next.LeaderEpoch = to.next, to.epoch
		moves = append(moves, store.Move{Partition: p, From: &had, To: &next})
	}
	return moves
}
