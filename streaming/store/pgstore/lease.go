package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/streaming/store"
)

// AcquireWriter implements store.Store. The one statement that takes the lease waits for a commit of the family that is being applied; after it none
// happens under a former epoch.
func (s *Store) AcquireWriter(ctx context.Context, id store.TableID, owner string, ttl time.Duration) (l store.Lease, err error) {
	if err := s.enter(ctx); err != nil {
		return l, err
	}
	defer s.leave()
	if owner == "" || !validText(owner) {
		return l, mistake("a writer needs a name, not %q", owner)
	}
	err = s.on(ctx, "acquiring a table", func(ctx context.Context, c *pgx.Conn) error {
		e, err := s.entry(ctx, c, id)
		if err != nil {
			return err
		}
		if e.owner != "" {
			return mistake("table %s is written by the writer of %s", id, e.owner)
		}
		epoch, err := s.numbers(ctx, c, 1)
		if err != nil {
			return err
		}
		l = store.Lease{Table: id, Owner: owner, Epoch: epoch}
		err = c.QueryRow(ctx, s.sql(`update {families} set holder = $1, epoch = $2, until = now() + $3 * interval '1 microsecond'
			where number = $4 and epoch < $2 and (holder = '' or holder = $1 or until <= now()) returning until`), owner, epoch, ttl.Microseconds(), e.family).Scan(&l.Until)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return s.notAcquired(ctx, c, &e, epoch)
	})
	if err != nil {
		return store.Lease{}, err
	}
	s.leases.add(l)
	return l, nil
}

// leases are those that were given out and not given back, newest of each table: Close gives them back, so that nobody has to wait for their end.
type leases struct {
	mu  sync.Mutex
	all map[store.TableID]store.Lease
}

func (s *leases) add(l store.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[store.TableID]store.Lease{}
	}
	if s.all[l.Table].Epoch < l.Epoch {
		s.all[l.Table] = l
	}
}

func (s *leases) remove(l store.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[l.Table].Epoch == l.Epoch {
		delete(s.all, l.Table)
	}
}

// releaseAll gives back the leases that are left, if that can be done soon.
func (s *Store) releaseAll() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, l := range s.leases.all {
		if err := s.release(ctx, l); err != nil {
			s.log.Warn("store: giving back leases; others will wait until they end", "error", s.plain(err))
			return
		}
	}
}

// notAcquired says why a lease was not to be had.
func (s *Store) notAcquired(ctx context.Context, c *pgx.Conn, e *entry, epoch int64) error {
	var newest int64
	held := &store.HeldError{Table: e.id}
	err := c.QueryRow(ctx, s.sql("select epoch, holder, until from {families} where number = $1"), e.family).Scan(&newest, &held.Owner, &held.Until)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%w: %s", store.ErrNoTable, e.id)
	case err != nil:
		return err
	case newest >= epoch || held.Owner == "":
		return errStale // somebody else was faster, or has just let go
	default:
		return held
	}
}

// family finds the family that a table is the head of.
func (s *Store) family(ctx context.Context, c *pgx.Conn, id store.TableID) (int64, error) {
	e, err := s.entry(ctx, c, id)
	if err == nil && e.owner != "" {
		err = mistake("table %s is written by the writer of %s", id, e.owner)
	}
	return e.family, err
}

// RenewWriter implements store.Store.
func (s *Store) RenewWriter(ctx context.Context, l store.Lease, ttl time.Duration) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.on(ctx, "keeping a table", func(ctx context.Context, c *pgx.Conn) error {
		family, err := s.family(ctx, c, l.Table)
		if err != nil {
			return err
		}
		tag, err := c.Exec(ctx, s.sql(`update {families} set until = now() + $1 * interval '1 microsecond' where number = $2 and holder = $3 and epoch = $4`),
			ttl.Microseconds(), family, l.Owner, l.Epoch)
		if err == nil && tag.RowsAffected() == 0 {
			err = store.ErrFenced
		}
		return err
	})
}

// ReleaseWriter implements store.Store.
func (s *Store) ReleaseWriter(ctx context.Context, l store.Lease) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.leases.remove(l)
	return s.release(ctx, l)
}

func (s *Store) release(ctx context.Context, l store.Lease) error {
	err := s.on(ctx, "releasing a table", func(ctx context.Context, c *pgx.Conn) error {
		family, err := s.family(ctx, c, l.Table)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, s.sql(`update {families} set holder = '' where number = $1 and holder = $2 and epoch = $3`), family, l.Owner, l.Epoch)
		return err
	})
	if errors.Is(err, store.ErrNoTable) {
		return nil
	}
	return err
}
