package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"millrace/streaming/store"
)

// queueEvent adds an event and removes the one that is too many.
func (s *Store) queueEvent(b *pgx.Batch, family, number int64, data []byte) {
	if data == nil {
		data = []byte{}
	}
	b.Queue(s.sql("insert into {events} (family, number, at, data) values ($1, $2, now(), $3)"), family, number, data)
	if number > store.MaxEvents {
		b.Queue(s.sql("delete from {events} where family = $1 and number <= $2"), family, number-store.MaxEvents)
	}
}

// AppendEvent implements store.Store.
func (s *Store) AppendEvent(ctx context.Context, id store.TableID, data []byte) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.transact(ctx, "adding an event", func(ctx context.Context, c *pgx.Conn) error {
		family, err := s.family(ctx, c, id)
		if err != nil {
			return err
		}
		var number int64
		err = c.QueryRow(ctx, s.sql("update {families} set events = events + 1 where number = $1 returning events"), family).Scan(&number)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%w: %s", store.ErrNoTable, id)
		}
		if err != nil {
			return err
		}
		b := new(pgx.Batch)
		s.queueEvent(b, family, number, data)
		return c.SendBatch(ctx, b).Close()
	})
}

// Events implements store.Store.
func (s *Store) Events(ctx context.Context, id store.TableID, after int64, limit int) (list []store.Event, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	err = s.on(ctx, "listing events", func(ctx context.Context, c *pgx.Conn) error {
		list = nil
		e, err := s.entry(ctx, c, id)
		if err != nil {
			return err
		}
		rows, err := c.Query(ctx, s.sql("select number, at, data from {events} where family = $1 and number > $2 order by number limit $3"), e.number, max(after, 0), max(limit, 0))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (store.Event, error) {
			var v store.Event
			err := r.Scan(&v.Number, &v.Time, &v.Data)
			return v, err
		})
		return err
	})
	return list, err
}
