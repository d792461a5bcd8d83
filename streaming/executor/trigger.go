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

// trigger reads a part of what the table is behind, computes and commits it.
func (t *Table) trigger(ctx context.Context, q Query, snap *kafka.Snapshot, plan *checkpoint.Plan, s Settings) error {
	read := q.Read()
	if n := read.MinOffsets; n > 0 && plan.Backlog() < n && time.Since(t.lastBatch) < read.MaxDelay {
		return pauseFor(ctx, min(read.MaxDelay-time.Since(t.lastBatch), time.Second))
	}
	limit := s.MaxRows
	if n := read.MaxOffsets; n > 0 {
		limit = min(limit, n)
	}
	switch {
	case t.perRow > 0:
		limit = min(limit, max(int64(float64(s.MaxBytes)/t.perRow), 1))
	default:
		limit = min(limit, 50_000) // to learn how large rows are
	}
	for {
		if limit <= 1 {
			s.MaxBytes = math.MaxInt64 / 4 // a record that is larger than a commit should be is a commit
		}
		ranges := checkpoint.Limit(plan.Ranges, limit)
		err := t.bounded(ctx, q, snap, ranges, s)
		switch {
		case errors.Is(err, errTooLarge) && limit > 1:
			limit /= 2
			continue
		case err != nil && ofRecord(err):
			return t.careful(ctx, q, snap, checkpoint.Limit(plan.Ranges, min(limit, carefulOffsets)), err)
		case isLoss(err):
			return errors.Join(errReplan, err)
		}
		return err
	}
}

// bounded runs the query over ranges by a bounded scan on all lanes, and commits.
func (t *Table) bounded(ctx context.Context, q Query, snap *kafka.Snapshot, ranges []checkpoint.Range, s Settings) error {
	start := time.Now()
	t.begins()
	var src scan.Source
	undecoded, err := q.Run(ctx, func(ctx context.Context, req scan.Request) (_ scan.Source, err error) {
		src, err = bounds(ctx, snap, ranges, q.Read(), req)
		return src, err
	}, func(b *column.Batch) error {
		if err := t.takes(b); err != nil {
			return err
		}
		if int64(usedBytes(&t.rows)) > 2*s.MaxBytes {
			return errTooLarge
		}
		return nil
	})
	if err != nil {
		return err
	}
	failpoint.Hit("executor.computed")
	st := step{start: start, computed: time.Now(), bad: badOf(undecoded)}
	if src != nil {
		stats := src.Stats()
		st.records, st.bytes = stats.Records, stats.BytesDecoded
	}
	offsets := int64(0)
	for i := range ranges {
		if r := &ranges[i]; r.Len() > 0 {
			st.moves = append(st.moves, r.Move(r.To))
			offsets += r.Len()
		}
	}
	st.offsets = offsets
	t.perRow = max(float64(usedBytes(&t.rows))/float64(max(offsets, 1)), 1)
	return t.commit(ctx, st)
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
	for i := range ranges {
		if x := &ranges[i]; x.Len() > 0 {
			st.moves = append(st.moves, x.Move(x.To))
			st.offsets += x.Len()
		}
	}
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
		t.log.Debug("a failure of a streaming table's query did not come again", "table", t.name, "error", failed)
	}
	st.computed, st.bad = time.Now(), bad
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
