package executor

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// Servers that share a store all have an owner for each table; the one that gets the table's lease reads it. The others stand by: they show what the store says of the
// table, and ask for the lease again and again, so that a table goes on when the server that read it is gone. Nobody is told to stop: the store
// refuses the commits of who has lost the lease.

const (
	// LeaseTime is for how long a server that is gone keeps a table.
	LeaseTime  = 15 * time.Second
	leaseRenew = LeaseTime / 3
	// standTime is how often who stands by looks, standSoon how often while somebody waits for what will be seen.
	standTime = 2 * time.Second
	standSoon = 100 * time.Millisecond
	// storeRetry is the longest wait between two attempts when the store does not answer: it is near, and others may take over meanwhile.
	storeRetry = 5 * time.Second
)

// refreshedEvent is the kind of the events that tell which refreshes the owner has looked at the topics for; takenEvent of those that tell of a change of the server.
const (
	refreshedEvent = "refreshed"
	takenEvent     = "taken_over"
)

func isHeld(err error) bool {
	var held *store.HeldError
	return errors.As(err, &held)
}

// errStandsFailed ends an attempt at a table that has failed at another server, which this one then shows.
var errStandsFailed = errors.New("executor: the table has failed at another server")

// begin takes the lease and learns where the table is.
func (t *Table) begin(ctx context.Context) (err error) {
	if t.standing {
		// What the other server said last holds for this one too: a table that has failed there would fail here.
		if err := t.observe(ctx); err != nil {
			return err
		}
		t.mu.Lock()
		failed := t.state == Failed && !t.isDue() // a schedule tries again
		t.mu.Unlock()
		if failed {
			return errStandsFailed
		}
	}
	if t.lease, err = t.Store.AcquireWriter(ctx, t.ID, t.Owner, LeaseTime); err != nil {
		t.lease = store.Lease{}
		return err
	}
	if t.standing {
		t.takeOver()
	}
	t.runBy(t.Owner)
	t.announce()
	if err := t.restore(ctx); err != nil {
		return err
	}
	t.schema, err = t.Store.Schema(ctx, t.ID)
	return err
}

// takeOver begins anew what another server did before.
func (t *Table) takeOver() {
	t.standing = false
	t.mu.Lock()
	before := t.holder
	t.state, t.reason, t.stateErr, t.since, t.loaded, t.theirs = Starting, "", nil, time.Now(), false, told{}
	t.mu.Unlock()
	text := t.Owner + t.either(" reads the table", " runs the flow")
	if before != "" {
		text += ", which " + before + t.either(" read before", " ran before")
	}
	t.log.Info(t.Noun+" taken over", "table", t.name, "from", before)
	t.event(takenEvent, text)
	t.said = ""
}

// announce tells who stands by that the table starts, once each time: what was said last may be that it has failed.
func (t *Table) announce() {
	if s := t.Status().State; s == Starting && t.said != Starting {
		t.said = Starting
		t.event(string(Starting), "")
	}
}

// runBy notes who has the lease.
func (t *Table) runBy(holder string) {
	t.mu.Lock()
	t.holder = holder
	t.mu.Unlock()
}

// hold extends the lease while work goes on, which may be long: a large trigger, a topic that is silent. The context that it gives ends when the lease is lost; done ends the extending
// and tells whether it was.
func (t *Table) hold(ctx context.Context) (_ context.Context, done func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	lease := t.lease
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(leaseRenew)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			switch err := t.Store.RenewWriter(ctx, lease, LeaseTime); {
			case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrNoTable):
				cancel(err)
				return
			case err != nil && ctx.Err() == nil:
				t.log.Warn("the lease of a "+t.Noun+" could not be extended yet", "table", t.name, "error", err)
			}
		}
	})
	return ctx, func() error {
		lost := context.Cause(ctx)
		cancel(nil)
		renewing.Wait()
		if errors.Is(lost, store.ErrFenced) || errors.Is(lost, store.ErrNoTable) {
			return lost
		}
		return nil
	}
}

// stand shows what another server does with the table until it is time to ask for the lease again, a command comes, or ctx ends.
func (t *Table) stand(ctx context.Context, reason error) error {
	t.lease = store.Lease{}
	holder, next := "", standTime
	if held := new(store.HeldError); errors.As(reason, &held) {
		holder = held.Owner
		if left := time.Until(held.Until); left > 0 {
			next = min(next, left+10*time.Millisecond) // a server that lives extends it long before
		}
	}
	t.runBy(holder)
	t.standing = true
	t.unwritten.forget()
	if err := t.observe(ctx); err != nil {
		return err
	}
	t.arm() // the other server may have made the run that is due
	t.mu.Lock()
	if t.waiting > 0 {
		next = min(next, standSoon)
	}
	t.mu.Unlock()
	select {
	case <-t.wake:
	case <-ctx.Done():
	case <-time.After(next):
	}
	return nil
}

// told is what the owner at another server has said of its state.
type told struct {
	state  State
	reason string
	since  time.Time
}

// observe learns from the store what whoever reads the table has done and said.
func (t *Table) observe(ctx context.Context) error {
	if err := t.restore(ctx); err != nil {
		return err
	}
	events, err := t.Store.Events(ctx, t.ID, t.read, store.MaxEvents)
	if err != nil {
		return err
	}
	t.mu.Lock()
	for _, ev := range events {
		t.read = ev.Number
		e, err := DecodeEvent(ev.Data)
		if err != nil {
			continue // of a version to come
		}
		switch s := State(e.Kind); s {
		case Starting, Running, Stalled, Paused, Failed:
			t.theirs = told{s, e.Text, e.When(ev.Time)}
		case refreshedEvent:
			if n, err := strconv.ParseInt(e.Text, 10, 64); err == nil {
				t.looked = max(t.looked, n)
			}
		}
	}
	if t.theirs.state == "" && len(events) == store.MaxEvents { // it was told longer ago than the log goes back
		t.theirs = told{state: Running, since: events[0].Time}
	}
	if s := t.theirs; s.state != "" {
		t.state, t.reason, t.since, t.stateErr = s.state, s.reason, s.since, nil
		if s.state == Failed {
			t.stateErr = sqlerr.New(sqlerr.TableState, "%s '%s' has failed at another server: %s", t.Noun, t.name, s.reason)
		}
	}
	t.ends = nil
	t.mu.Unlock()
	t.notify()
	return nil
}

// retried says that a failure at another server is to be tried again. The caller holds mu.
func (t *Table) retried() {
	if t.theirs.state == Failed {
		t.theirs = told{state: Starting, since: time.Now()}
	}
}
