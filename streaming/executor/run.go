package executor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/streaming/checkpoint"
	"millrace/streaming/store"
)

// The times of an owner.
const (
	firstRetry = 100 * time.Millisecond
)

// todo is what the owner shall do now.
type todo uint8

const (
	waits todo = iota
	pauses
	works
)

// decide says what to do, and gives the context to do it under, which a command ends.
func (t *Table) decide(ctx context.Context) (todo, context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.paused:
		return pauses, nil
	case t.state == Failed && !t.standing && !t.isDue():
		return waits, nil
	case t.settings.Manual && t.loaded && t.wanted == t.served && !t.isDue():
		return waits, nil
	}
	ctx, t.interrupt = context.WithCancel(ctx)
	return works, ctx
}

// own is the owner's goroutine.
func (t *Table) own(ctx context.Context) {
	defer t.release()
	if err := t.restore(ctx); err != nil { // a paused table shows where it is, too
		t.log.Warn("reading where a "+t.Noun+" is", "table", t.name, "error", err)
	}
	t.arm()
	t.rests()
	wait := time.Duration(0)
	for ctx.Err() == nil {
		sleep := t.timed()
		do, working := t.decide(ctx)
		if do != works {
			t.release()
			if do == pauses {
				t.setState(Paused, t.heldBy())
			} else {
				t.rests()
			}
			t.setEnds(nil) // nobody looks at them any more, also of a manual table
			wait = 0
			if t.sleep(ctx, sleep); sleep > 0 {
				t.learnRuns(ctx)
			}
			continue
		}
		t.startRun()
		batches := t.batches()
		err := t.work(working)
		if t.followed == AddsColumns && sqlerr.HasKind(err, sqlerr.SchemaEvolved) {
			err = t.evolve(working)
		}
		interrupted := working.Err() != nil
		t.mu.Lock()
		t.interrupt()
		t.interrupt = nil
		t.mu.Unlock()
		if t.batches() > batches {
			wait = 0 // there was progress
		}
		switch {
		case err == nil:
			t.endRun(ctx, Succeeded)
			continue
		case interrupted, errors.Is(err, errNotDue):
			continue // a command, or nothing to do
		case isHeld(err), errors.Is(err, store.ErrFenced), errors.Is(err, errStandsFailed):
			if err = t.stand(ctx, err); err == nil || ctx.Err() != nil {
				wait = 0
				continue
			}
			t.setState(Stalled, err)
		case errors.Is(err, errReplan):
			wait = max(wait, firstRetry)
		case mayPass(err):
			t.setState(Stalled, t.known(err))
		default:
			t.setState(Failed, err)
			t.endRun(ctx, RunFailed)
			continue
		}
		most := t.Retry
		if sqlerr.HasKind(err, sqlerr.StoreAway) {
			most = min(most, storeRetry)
		}
		wait = min(max(2*wait, firstRetry), most)
		select {
		case <-t.wake:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// heldBy is why a table is paused that nobody has paused.
func (t *Table) heldBy() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// rests says of a table that has nothing to do until somebody asks that it is as it should be. What was in the way of a run that was called off is in the way of nothing any more.
func (t *Table) rests() {
	t.mu.Lock()
	rests := t.settings.Manual && t.loaded && !t.paused && !t.standing
	stalled := rests && t.state == Stalled
	rests = rests && t.state == Starting
	if rests {
		t.state = Running
	}
	t.mu.Unlock()
	switch {
	case stalled:
		t.setState(Running, nil)
	case rests:
		t.notify()
	}
}

// sleep waits for a command, for the end of ctx, and for d unless it is 0.
func (t *Table) sleep(ctx context.Context, d time.Duration) {
	var due <-chan time.Time
	if d > 0 {
		after, stop := t.Clock.After(d)
		defer stop()
		due = after
	}
	select {
	case <-t.wake:
	case <-due:
	case <-ctx.Done():
	}
}

// known gives errors of the way to brokers the hint that fits a table that has read from them before: what suits a first attempt, such as to look for TLS, misleads.
func (t *Table) known(err error) error {
	e, ok := sqlerr.As(err)
	if !ok || t.record.Batch == 0 || e.Kind != sqlerr.KafkaProtocol && e.Kind != sqlerr.KafkaUnreachable {
		return err
	}
	return e.WithHint("%s", t.either("the table has read from its brokers before, and goes on by itself once they answer; if their addresses or listeners are others now, CREATE OR REFRESH STREAMING TABLE names them",
		"the flow has worked with its brokers before, and goes on by itself once they answer; if their addresses or listeners are others now, DROP FLOW and CREATE FLOW name them, with startingOffsets behind what it has read"))
}

func (t *Table) batches() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.totals.batches
}

// release lets go of the table in the store.
func (t *Table) release() {
	t.report()
	t.tellBad(true)
	if t.lease.Epoch == 0 {
		return
	}
	if err := t.Store.ReleaseWriter(context.Background(), t.lease); err != nil && !ofStore(err) {
		t.log.Warn("releasing a "+t.Noun, "table", t.name, "error", err)
	}
	t.lease = store.Lease{}
	t.runBy("")
}

// work reads until ctx ends, something fails, or a manual table has read what there was. It begins with what the store knows.
func (t *Table) work(ctx context.Context) (err error) {
	if err := t.begin(ctx); err != nil {
		return err
	}
	if err := t.stillDue(); err != nil {
		return err
	}
	ctx, held := t.hold(ctx)
	defer func() {
		if lost := held(); lost != nil && err != nil {
			err = lost
		}
	}()
	q, err := t.compile(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	if err := t.learn(ctx, q); err != nil {
		return err
	}
	closeOutput, err := t.opensOutput(ctx, q)
	if err != nil {
		return err
	}
	defer closeOutput()
	read := q.Read()
	cluster, err := t.Pool.Cluster(ctx, read.Cluster)
	if err != nil {
		return err
	}
	defer t.mirrors(read, cluster)()
	var target map[store.Partition]int64 // the ends that a manual table reads up to
	t.mu.Lock()
	serving := t.wanted
	t.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		plan, snap, err := t.look(ctx, cluster, read)
		if err != nil {
			return err
		}
		if target == nil {
			target = plan.Ends()
			t.hasLooked(serving)
		}
		settings := t.setting()
		if checkpoint.Reached(t.position(), target) {
			t.caughtUp()
			if settings.Manual {
				t.serve(serving)
				return nil
			}
		}
		if settings.Manual {
			upTo(plan, target)
		}
		backlog := plan.Backlog()
		switch {
		case backlog > tailBacklog || settings.Manual && backlog > 0:
			err = t.backlog(ctx, q, snap, plan, settings)
		case settings.Manual:
			err = errReplan // an end went back for a moment
		default:
			err = t.follow(ctx, q, cluster, snap, plan)
		}
		if err != nil && !errors.Is(err, errDiscover) {
			return err
		}
	}
}

// tailBacklog is the number of offsets up to which a table that is behind follows by a tail, which catches up by itself.
const tailBacklog = 20_000

// errDiscover ends a tail so that another can begin, with what there is now.
var errDiscover = errors.New("executor: time to look what there is")

// upTo shortens ranges so that they end at target.
func upTo(p *checkpoint.Plan, target map[store.Partition]int64) {
	for i := range p.Ranges {
		r := &p.Ranges[i]
		r.To = max(r.From, min(r.To, target[r.Partition]))
	}
}

// learn runs the query over nothing, to know what it asks of a source.
func (t *Table) learn(ctx context.Context, q Query) error {
	t.columns, t.checker = q.Columns(), newChecker(q)
	t.record.keep(t.checker.tallies)
	t.begins()
	nothing := newRecords(recordFields)
	_, err := q.Run(ctx, func(_ context.Context, req scan.Request) (scan.Source, error) {
		t.request = req
		return nothing.source(0, 0, scan.Request{}), nil
	}, t.takes)
	t.fields = fieldsFor(t.request.Fields)
	return err
}

// look asks what the topics hold, and plans. It deals with what is lost, and with partitions that the table has no positions of yet.
func (t *Table) look(ctx context.Context, cluster *kafka.Cluster, read Read) (*checkpoint.Plan, *kafka.Snapshot, error) {
	snap, err := t.snapshot(ctx, cluster, read)
	if err != nil {
		return nil, nil, err
	}
	if err := t.sameCluster(snap.ClusterID); err != nil {
		return nil, nil, err
	}
	snap = t.within(snap)
	if !t.record.Started {
		moves, err := Starts(ctx, snap, read)
		if err != nil {
			return nil, nil, err
		}
		t.record.Started = true
		if err := t.commit(ctx, only(moves)); err != nil {
			t.record.Started = false
			return nil, nil, err
		}
	}
	plan := checkpoint.Compare(t.position(), snap.Topics, read.Spec.Isolation)
	if len(plan.Absent) > 0 {
		return nil, nil, t.absent(plan.Absent)
	}
	if err := epochs(ctx, snap, &plan); err != nil {
		return nil, nil, err
	}
	if err := t.settle(ctx, &plan, read); err != nil {
		return nil, nil, err
	}
	t.setEnds(plan.Ends())
	return &plan, snap, nil
}

// snapshot asks for the partitions of the read, also those of which the query wants nothing.
func (t *Table) snapshot(ctx context.Context, cluster *kafka.Cluster, read Read) (*kafka.Snapshot, error) {
	sel := read.Spec.Select
	if sel.Missing == kafka.MissingAwaited {
		sel.Missing = kafka.MissingSkipped
	}
	assigned := sel.Assign
	if !t.record.Started || assigned == nil {
		return cluster.Snapshot(ctx, sel)
	}
	// A partition that was read and is not there any more says something, which the error for one that is assigned and not there would hide.
	sel.Assign, sel.Topics = nil, slices.Sorted(maps.Keys(assigned))
	snap, err := cluster.Snapshot(ctx, sel)
	if err != nil {
		return nil, err
	}
	return filtered(snap, func(topic string, partition int32) bool { return slices.Contains(assigned[topic], partition) }), nil
}

// within leaves out the partitions of which the query's own predicates want nothing.
func (t *Table) within(snap *kafka.Snapshot) *kafka.Snapshot {
	return filtered(snap, func(topic string, partition int32) bool { return len(t.request.Bounds.OffsetsOf(topic, partition)) > 0 })
}

// filtered is a snapshot of some of the partitions.
func filtered(snap *kafka.Snapshot, wanted func(topic string, partition int32) bool) *kafka.Snapshot {
	out := *snap
	out.Topics = nil
	for _, topic := range snap.Topics {
		parts := topic.Partitions
		topic.Partitions = nil
		for _, p := range parts {
			if wanted(topic.Name, p.Partition) {
				topic.Partitions = append(topic.Partitions, p)
			}
		}
		if len(topic.Partitions) > 0 {
			out.Topics = append(out.Topics, topic)
		}
	}
	return &out
}

// caughtUp notes that the table has reached the ends that it was started with.
func (t *Table) caughtUp() {
	t.mu.Lock()
	t.loaded = true
	t.mu.Unlock()
	t.setState(Running, nil)
}

// hasLooked notes that the topics were looked at for refreshes, also for who waits at another server.
func (t *Table) hasLooked(n int64) {
	t.mu.Lock()
	news := n > t.looked
	t.looked = max(t.looked, n)
	t.mu.Unlock()
	if news {
		t.event(refreshedEvent, strconv.FormatInt(n, 10))
	}
	t.notify()
}

// serve notes that refreshes are through.
func (t *Table) serve(n int64) {
	t.mu.Lock()
	t.served = max(t.served, n)
	t.mu.Unlock()
	t.notify()
}
