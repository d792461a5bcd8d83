package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"millrace/streaming/store"
)

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, c *store.Commit) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	number, pending, err := s.commit(c)
	if pending == nil {
		s.leave()
		return number, err
	}
	select {
	case err := <-pending:
		return number, err
	case <-s.space.stall():
		// The batch waits for the disk and cannot be called back; whoever is ready first wins, and late is no loss.
		return 0, fmt.Errorf("%w: %w", store.ErrUnknownOutcome, s.space.stalledBy())
	}
}

// commit checks c and starts applying it. pending tells when it is done; until then the life of the store and the lock of the family are held. It is nil when c was refused.
func (s *Store) commit(c *store.Commit) (number int64, pending <-chan error, err error) {
	owner, err := s.lookup(c.Table)
	if err != nil {
		return 0, nil, err
	}
	if owner.owner != "" {
		return 0, nil, fmt.Errorf("store: table %s is written by commits of %s", c.Table, owner.owner)
	}
	if c.Lease.Epoch == 0 && (len(c.Moves) > 0 || c.Progress != nil) {
		return 0, nil, errors.New("store: a commit without a lease cannot move positions")
	}
	if c.Lease.Epoch != 0 && c.Lease.Table != c.Table {
		return 0, nil, fmt.Errorf("store: a lease of table %s is none of %s", c.Lease.Table, c.Table)
	}
	if err := s.space.admit(0); err != nil {
		return 0, nil, err
	}
	b := s.db.NewBatch()
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, b.Close())
		}
	}()
	written := make([]*table, len(c.Writes))
	segments := make([]int, len(c.Writes))
	for i, w := range c.Writes {
		t, err := s.lookup(w.Table)
		if err != nil {
			return 0, nil, err
		}
		if t.family != owner.family {
			return 0, nil, fmt.Errorf("store: table %s is not owned by %s", w.Table, c.Table)
		}
		if t.schema.Version != w.SchemaVersion {
			return 0, nil, fmt.Errorf("%w: %s has version %d, not %d", store.ErrSchemaChanged, t.id, t.schema.Version, w.SchemaVersion)
		}
		if w.Rows != nil {
			if segments[i], err = s.write(b, t, w.Rows); err != nil {
				return 0, nil, err
			}
		}
		written[i] = t
	}
	if b.Len() > maxBatch {
		return 0, nil, fmt.Errorf("store: a commit of %d bytes is too large", b.Len())
	}
	if err := s.space.admit(b.Len()); err != nil {
		return 0, nil, err
	}
	s.options.Failpoint("commit.encoded")

	f := owner.family
	f.mu.Lock()
	defer func() {
		if !kept {
			f.mu.Unlock()
		}
	}()
	if number, err = s.check(f, c, written); err != nil {
		return 0, nil, err
	}
	if err := s.record(b, f, c, number); err != nil {
		return 0, nil, s.failed("committing", err)
	}
	s.options.Failpoint("commit.checked")
	kept = true
	done := make(chan error, 1)
	durability := owner.schema.Durability
	go func() { done <- s.apply(b, f, c, number, durability, written, segments) }()
	return number, done, nil
}

// check finds out whether c may be applied, under the family's lock, and gives its number.
func (s *Store) check(f *family, c *store.Commit, written []*table) (int64, error) {
	if f.gone {
		return 0, fmt.Errorf("%w: %s", store.ErrNoTable, c.Table)
	}
	if c.Lease.Epoch == 0 && f.epoch > 0 {
		return 0, fmt.Errorf("%w: table %s has a writer", store.ErrFenced, c.Table)
	}
	if c.Lease.Epoch != 0 && !f.holds(c.Lease) {
		return 0, store.ErrFenced
	}
	now := s.list()
	for _, t := range written {
		switch current := now[t.id]; {
		case current == nil || current.number != t.number:
			return 0, fmt.Errorf("%w: %s", store.ErrNoTable, t.id)
		case current.schema.Version != t.schema.Version:
			return 0, fmt.Errorf("%w: %s has version %d, not %d", store.ErrSchemaChanged, t.id, current.schema.Version, t.schema.Version)
		}
	}
	var k []byte
	for i := range c.Moves {
		m := &c.Moves[i]
		k = positionKey(k[:0], f.number, m.Partition)
		at, found, err := s.position(k)
		switch {
		case strings.IndexByte(m.Source, 0) >= 0 || strings.IndexByte(m.Topic, 0) >= 0:
			return 0, fmt.Errorf("store: source %q or topic %q holds a NUL", m.Source, m.Topic)
		case err != nil:
			return 0, s.failed("committing", err)
		case m.From == nil && found:
			return 0, fmt.Errorf("%w: %s/%d has a position", store.ErrFenced, m.Topic, m.Partition.Partition)
		case m.From != nil && (!found || at != *m.From):
			return 0, fmt.Errorf("%w: %s/%d is not at offset %d", store.ErrFenced, m.Topic, m.Partition.Partition, m.From.Offset)
		}
	}
	if c.Lease.Epoch == 0 {
		return 0, nil
	}
	return f.count + 1, nil
}

func (s *Store) position(k []byte) (at store.Position, found bool, err error) {
	v, closer, err := s.db.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return at, false, nil
	}
	if err != nil {
		return at, false, err
	}
	at, err = decodePosition(v)
	return at, true, errors.Join(err, closer.Close())
}

// record adds what c changes besides rows.
func (s *Store) record(b *pebble.Batch, f *family, c *store.Commit, number int64) (err error) {
	var k []byte
	for i := range c.Moves {
		m := &c.Moves[i]
		k = positionKey(k[:0], f.number, m.Partition)
		if m.To == nil {
			err = b.Delete(k, nil)
		} else {
			err = b.Set(k, encodePosition(*m.To), nil)
		}
		if err != nil {
			return err
		}
	}
	if c.Progress != nil {
		if err := b.Set(key(keyProgress, f.number), c.Progress, nil); err != nil {
			return err
		}
	}
	if c.Lease.Epoch != 0 {
		if err := b.Set(key(keyLease, f.number), encodeLease(f.epoch, f.epoch, number), nil); err != nil {
			return err
		}
	}
	if c.Event != nil {
		return s.addEvent(b, f, c.Event)
	}
	return nil
}

// apply applies a batch, then lets go of the family and of the store's life.
func (s *Store) apply(b *pebble.Batch, f *family, c *store.Commit, number int64, durability store.Durability, written []*table, segments []int) error {
	defer s.leave()
	how := pebble.Sync
	if durability == store.Async {
		how = pebble.NoSync
	}
	size := b.Len()
	err := s.db.Apply(b, how)
	if err == nil {
		if c.Lease.Epoch != 0 {
			f.committed, f.count = f.epoch, number
		}
		if c.Event != nil {
			f.events++
		}
	}
	f.mu.Unlock()
	if err != nil {
		return errors.Join(s.failed("committing", err), b.Close())
	}
	s.options.Failpoint("commit.applied")
	s.counters.commits.Add(1)
	s.counters.committedBytes.Add(int64(size))
	if durability == store.Async {
		select {
		case s.unsynced <- struct{}{}:
		default:
		}
	}
	for i, t := range written {
		if segments[i] > 0 && t.grown.added(segments[i]) {
			s.mayGrow(t)
		}
	}
	return b.Close()
}

// addEvent adds an event to a batch, under the family's lock, and removes the one that is too many. The caller counts it when the batch is applied.
func (s *Store) addEvent(b *pebble.Batch, f *family, data []byte) error {
	if f.events < 0 {
		lower, upper := within(keyEvent, f.number)
		iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return err
		}
		if f.events = 0; iter.Last() {
			f.events = int64(last(iter.Key()))
		}
		if err := errors.Join(iter.Error(), iter.Close()); err != nil {
			f.events = -1
			return err
		}
	}
	number := f.events + 1
	if err := b.Set(key(keyEvent, f.number, uint64(number)), encodeTime(time.Now().UnixMicro(), data), nil); err != nil {
		return err
	}
	if number > store.MaxEvents {
		return b.Delete(key(keyEvent, f.number, uint64(number-store.MaxEvents)), nil)
	}
	return nil
}

// AppendEvent implements store.Store.
func (s *Store) AppendEvent(ctx context.Context, id store.TableID, data []byte) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.space.admit(len(data)); err != nil {
		return err
	}
	f, err := s.familyOf(ctx, id)
	if err != nil {
		return err
	}
	defer f.mu.Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	if err := s.addEvent(b, f, data); err != nil {
		return s.failed("adding an event", err)
	}
	if err := b.Commit(pebble.Sync); err != nil {
		return s.failed("adding an event", err)
	}
	f.events++
	return nil
}

// Events implements store.Store.
func (s *Store) Events(ctx context.Context, id store.TableID, after int64, limit int) ([]store.Event, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	t, err := s.lookup(id)
	if err != nil {
		return nil, err
	}
	_, upper := within(keyEvent, t.number)
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: key(keyEvent, t.number, uint64(max(after, 0)+1)), UpperBound: upper})
	if err != nil {
		return nil, s.failed("listing events", err)
	}
	defer iter.Close()
	var list []store.Event
	for valid := iter.First(); valid && len(list) < limit; valid = iter.Next() {
		v := iter.Value()
		if len(v) < 8 {
			return nil, s.failed("listing events", fmt.Errorf("event %d has %d bytes", last(iter.Key()), len(v)))
		}
		list = append(list, store.Event{
			Number: int64(last(iter.Key())), Time: time.UnixMicro(int64(binary.BigEndian.Uint64(v))), Data: append([]byte{}, v[8:]...),
		})
	}
	return list, s.failed("listing events", iter.Error())
}
