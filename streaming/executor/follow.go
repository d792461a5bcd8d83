package executor

import (
	"context"
	"errors"
	"time"

	"millrace/internal/failpoint"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/streaming/checkpoint"
)

// gatherShare is the part of a commit's bytes that a tail may gather before it waits: records and rows are in memory together.
const gatherShare = 2

// follow reads what comes as it comes, and commits it, until ctx ends, the tail fails or something else is to be read (errDiscover).
func (t *Table) follow(ctx context.Context, q Query, cluster *kafka.Cluster, snap *kafka.Snapshot, plan *checkpoint.Plan) error {
	s, read := t.setting(), q.Read()
	every := s.Discovery
	if every <= 0 {
		every = read.Discovery
	}
	if every <= 0 {
		every = DefaultDiscovery
	}
	ctx, cancel := context.WithCancelCause(ctx)
	limit := s.MaxRows
	if read.MaxOffsets > 0 {
		limit = min(limit, read.MaxOffsets)
	}
	g := newGathering(t.fields, int(limit), s.MaxBytes/gatherShare)
	ended := make(chan error, 1)
	started := false
	defer func() {
		cancel(nil)
		if started {
			<-ended
		}
	}()
	if src, err := t.tail(ctx, snap, plan, read); err != nil {
		return replanned(err)
	} else if src != nil {
		defer src.Close()
		started = true
		go func() { ended <- src.Run(ctx, func(int) (scan.Sink, error) { return g, nil }) }()
	}
	if t.Active != nil {
		t.Active.enter()
		defer t.Active.leave()
	}
	if t.rows.Bytes() > 4<<20 {
		t.rows.Cols, t.flown.Cols = nil, nil // a backlog is through; its memory goes back
	}
	target := plan.Ends()
	discover := time.NewTicker(every)
	defer discover.Stop()
	var due <-chan time.Time // when fewer records than minOffsetsPerTrigger have waited for long enough
	for {
		if !t.isLoaded() && checkpoint.Reached(t.position(), target) || t.isLoaded() && t.Status().State != Running {
			t.caughtUp()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-ended:
			started = false
			if err == nil {
				err = errReplan
			}
			return replanned(err)
		case <-discover.C:
			if err := t.discover(ctx, cluster, read, plan); err != nil {
				return err
			}
			continue
		case <-g.ready:
			if wait := t.delay(read, g); wait > 0 {
				if due == nil {
					due = time.After(wait)
				}
				continue
			}
		case <-due:
		}
		due = nil
		r := g.take()
		if r == nil {
			continue
		}
		if err := t.taken(ctx, q, r); err != nil {
			return err
		}
		g.reuse(r)
		if err := t.pace(ctx, s); err != nil {
			return err
		}
	}
}

// tail opens the tail of the partitions of a plan, nil when there are none.
func (t *Table) tail(ctx context.Context, snap *kafka.Snapshot, plan *checkpoint.Plan, read Read) (scan.Source, error) {
	assign, from := map[string][]int32{}, map[string]map[int32]int64{}
	for i := range plan.Ranges {
		r := &plan.Ranges[i]
		if from[r.Topic] == nil {
			from[r.Topic] = map[int32]int64{}
		}
		assign[r.Topic] = append(assign[r.Topic], r.Partition.Partition)
		from[r.Topic][r.Partition.Partition] = r.From
	}
	if len(assign) == 0 {
		return nil, nil
	}
	spec := kafka.ReadSpec{
		Select: kafka.Selection{Assign: assign}, Start: kafka.Bound{Kind: kafka.AtOffsets, Offsets: from}, Isolation: read.Spec.Isolation, FailOnDataLoss: true,
	}
	req := t.request
	req.Fields = t.fields
	return snap.Tail(ctx, spec, req, kafka.TailOptions{DiscoveryInterval: time.Hour}) // new partitions are the table's own affair
}

// replanned marks errors that a new plan explains.
func replanned(err error) error {
	if isLoss(err) {
		return errors.Join(errReplan, err)
	}
	return err
}

// discover looks whether something else is to be read: partitions that are new or gone, a backlog that all lanes should read.
func (t *Table) discover(ctx context.Context, cluster *kafka.Cluster, read Read, plan *checkpoint.Plan) error {
	t.tellBad(false)
	snap, err := t.snapshot(ctx, cluster, read)
	if err != nil {
		return err
	}
	now := checkpoint.Compare(t.position(), t.within(snap).Topics, read.Spec.Isolation)
	t.setEnds(now.Ends())
	if len(now.Losses) > 0 || len(now.Absent) > 0 || len(now.Ranges) != len(plan.Ranges) || now.Backlog() > 20*tailBacklog {
		return errDiscover
	}
	for i := range now.Ranges {
		if now.Ranges[i].Partition != plan.Ranges[i].Partition || now.Ranges[i].Found.LeaderEpoch != plan.Ranges[i].Found.LeaderEpoch {
			return errDiscover
		}
	}
	return nil
}

// taken computes and commits what was gathered.
func (t *Table) taken(ctx context.Context, q Query, r *records) error {
	moves := positionsOf(t.position(), r)
	if len(moves) == 0 {
		return nil
	}
	st := step{start: time.Now(), records: int64(r.rows), bytes: r.bytes, moves: moves, newest: r.newest, oldest: r.oldest}
	for _, m := range moves {
		st.offsets += m.To.Offset - m.From.Offset
	}
	failpoint.Hit("executor.gathered")
	t.begins()
	if r.rows > 0 {
		undecoded, err := q.Run(ctx, func(_ context.Context, req scan.Request) (scan.Source, error) { return r.source(0, r.rows, req), nil }, t.takes)
		if err != nil && ofRecord(err) {
			return t.isolated(ctx, q, r, st, err)
		}
		if err != nil {
			return err
		}
		st.bad = badOf(undecoded)
	}
	failpoint.Hit("executor.computed")
	t.gives(&st)
	return t.commit(ctx, st)
}

// delay is how long a trigger waits for more records, as minOffsetsPerTrigger says.
func (t *Table) delay(read Read, g *gathering) time.Duration {
	if read.MinOffsets <= 0 {
		return 0
	}
	g.mu.Lock()
	n := int64(g.now.rows)
	g.mu.Unlock()
	if n >= read.MinOffsets {
		return 0
	}
	return max(read.MaxDelay-time.Since(t.lastBatch), 0)
}

func (t *Table) isLoaded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loaded
}

// pace waits a little when many tables commit: each commit costs about as much for one row as for a hundred.
func (t *Table) pace(ctx context.Context, s Settings) error {
	if t.Active == nil {
		return nil
	}
	if wait := min(t.Active.gap(), s.Interval); wait > 0 {
		return pauseFor(ctx, wait)
	}
	return nil
}
