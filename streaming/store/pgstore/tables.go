package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"millrace/streaming/store"
)

// Schema implements store.Store.
func (s *Store) Schema(ctx context.Context, id store.TableID) (*store.Schema, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	var t *table
	err := s.on(ctx, "reading a schema", func(ctx context.Context, c *pgx.Conn) (err error) {
		_, t, err = s.latest(ctx, c, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t.schema, nil
}

// latest is current, again when the revision was superseded, and cleared away, between its two statements.
func (s *Store) latest(ctx context.Context, c *pgx.Conn, id store.TableID) (entry, *table, error) {
	e, t, err := s.current(ctx, c, id)
	if errors.Is(err, errTooOld) {
		err = errStale
	}
	return e, t, err
}

// Tables implements store.Store.
func (s *Store) Tables(ctx context.Context) ([]store.TableInfo, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	return snap.(*snapshot).list(ctx)
}
