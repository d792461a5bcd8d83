package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"millrace/streaming/store"
)

// The lease record of a family: newest epoch, epoch and number of the last commit. Who holds a lease is not stored: it does not outlive the process.

func (s *Store) loadLease(f *family) error {
	v, closer, err := s.db.Get(key(keyLease, f.number))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	return f.decode(v)
}

func (f *family) decode(v []byte) error {
	if len(v) != 24 {
		return fmt.Errorf("lease of table %d has %d bytes", f.number, len(v))
	}
	f.epoch, f.committed, f.count = int64(binary.BigEndian.Uint64(v)), int64(binary.BigEndian.Uint64(v[8:])), int64(binary.BigEndian.Uint64(v[16:]))
	return nil
}

func encodeLease(epoch, committed, count int64) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 24), uint64(epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(committed))
	return binary.BigEndian.AppendUint64(b, uint64(count))
}

// lockEvery is how often a lock is tried that a commit holds, which is there for milliseconds.
const lockEvery = time.Millisecond

// familyOf gives the family of a table that is an owner, locked. The caller unlocks it. It waits for a commit that is being applied, but not for one that waits for the disk: a writer
// must be able to stop.
func (s *Store) familyOf(ctx context.Context, id store.TableID) (*family, error) {
	t, err := s.lookup(id)
	if err != nil {
		return nil, err
	}
	if t.owner != "" {
		return nil, fmt.Errorf("store: table %s is written by the writer of %s", id, t.owner)
	}
	f := t.family
	for !f.mu.TryLock() {
		select {
		case <-s.space.stall():
			return nil, s.space.stalledBy()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockEvery):
		}
	}
	if f.gone {
		f.mu.Unlock()
		return nil, fmt.Errorf("%w: %s", store.ErrNoTable, id)
	}
	return f, nil
}

// AcquireWriter implements store.Store.
func (s *Store) AcquireWriter(ctx context.Context, id store.TableID, owner string, ttl time.Duration) (store.Lease, error) {
	if err := s.enter(ctx); err != nil {
		return store.Lease{}, err
	}
	defer s.leave()
	if owner == "" {
		return store.Lease{}, errors.New("store: a writer needs a name")
	}
	if err := s.space.admit(0); err != nil {
		return store.Lease{}, err
	}
	f, err := s.familyOf(ctx, id) // waits for a commit that is being applied
	if err != nil {
		return store.Lease{}, err
	}
	defer f.mu.Unlock()
	now := time.Now()
	if f.holder != "" && f.holder != owner && now.Before(f.until) {
		return store.Lease{}, &store.HeldError{Table: id, Owner: f.holder, Until: f.until}
	}
	// Epochs come from the store's one source of numbers, so a table that was dropped and created again never repeats one. The record need not be durable before
	// the commits that carry the epoch are: they come later in the log.
	epoch, err := s.numbers.take(s.db, 1)
	if err == nil {
		err = s.db.Set(key(keyLease, f.number), encodeLease(int64(epoch), f.committed, f.count), pebble.NoSync)
	}
	if err != nil {
		return store.Lease{}, s.failed("acquiring a table", err)
	}
	f.epoch = int64(epoch)
	f.holder, f.until = owner, now.Add(ttl)
	return store.Lease{Table: id, Owner: owner, Epoch: f.epoch, Until: f.until}, nil
}

// holds reports whether lease is the family's newest and has not been given back. Time alone ends no lease here: while nobody else wants the table, its
// writer may be late.
func (f *family) holds(l store.Lease) bool {
	return f.holder == l.Owner && f.epoch == l.Epoch && l.Epoch > 0
}

// RenewWriter implements store.Store.
func (s *Store) RenewWriter(ctx context.Context, l store.Lease, ttl time.Duration) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	f, err := s.familyOf(ctx, l.Table)
	if err != nil {
		return err
	}
	defer f.mu.Unlock()
	if !f.holds(l) {
		return store.ErrFenced
	}
	f.until = time.Now().Add(ttl)
	return nil
}

// ReleaseWriter implements store.Store.
func (s *Store) ReleaseWriter(ctx context.Context, l store.Lease) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	f, err := s.familyOf(ctx, l.Table)
	if errors.Is(err, store.ErrNoTable) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.mu.Unlock()
	if f.holds(l) {
		f.holder = ""
	}
	return nil
}

// Checkpoint implements store.Store.
func (s *Store) Checkpoint(ctx context.Context, id store.TableID) (*store.Checkpoint, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	return snap.Checkpoint(id)
}

// readCheckpoint reads the checkpoint of an owner.
func readCheckpoint(r pebble.Reader, number uint64) (*store.Checkpoint, error) {
	c := &store.Checkpoint{Positions: map[store.Partition]store.Position{}}
	v, closer, err := r.Get(key(keyLease, number))
	if err == nil {
		var f family
		err = errors.Join(f.decode(v), closer.Close())
		c.Epoch, c.Number = f.committed, f.count
	}
	if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return nil, err
	}
	v, closer, err = r.Get(key(keyProgress, number))
	if err == nil {
		c.Progress = append([]byte{}, v...)
		err = closer.Close()
	}
	if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return nil, err
	}
	lower, upper := within(keyPosition, number)
	iter, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	for valid := iter.First(); valid; valid = iter.Next() {
		p, err := decodePartition(iter.Key())
		if err != nil {
			return nil, err
		}
		at, err := decodePosition(iter.Value())
		if err != nil {
			return nil, err
		}
		c.Positions[p] = at
	}
	return c, iter.Error()
}

// positionKey is that of a partition: texts end with NUL, which neither topics nor sources hold.
func positionKey(b []byte, table uint64, p store.Partition) []byte {
	b = appendKey(b, keyPosition, table)
	b = append(append(b, p.Source...), 0)
	b = append(append(b, p.Topic...), 0)
	return binary.BigEndian.AppendUint32(b, uint32(p.Partition))
}

func decodePartition(k []byte) (p store.Partition, err error) {
	var texts [2]string
	rest := k[9:]
	for i := range texts {
		n := 0
		for n < len(rest) && rest[n] != 0 {
			n++
		}
		if n == len(rest) {
			return p, errors.New("key of a position is cut")
		}
		texts[i], rest = string(rest[:n]), rest[n+1:]
	}
	if len(rest) != 4 {
		return p, errors.New("key of a position has no partition")
	}
	return store.Partition{Source: texts[0], Topic: texts[1], Partition: int32(binary.BigEndian.Uint32(rest))}, nil
}

func encodePosition(p store.Position) []byte {
	b := append(make([]byte, 0, 28), p.TopicID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Offset))
	return binary.BigEndian.AppendUint32(b, uint32(p.LeaderEpoch))
}

func decodePosition(v []byte) (p store.Position, err error) {
	if len(v) != 28 {
		return p, fmt.Errorf("position has %d bytes", len(v))
	}
	copy(p.TopicID[:], v)
	p.Offset, p.LeaderEpoch = int64(binary.BigEndian.Uint64(v[16:])), int32(binary.BigEndian.Uint32(v[24:]))
	return p, nil
}
