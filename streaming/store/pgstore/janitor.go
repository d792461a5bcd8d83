package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/streaming/store"
)

// janitor removes what nobody can see any more: parts, expired rows, former revisions and checkpoints. Each process has one; what two of them do at once does no harm.
func (s *Store) janitor(ctx context.Context) {
	every := max(s.options.Grace/8, 10*time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	holding := false
	for {
		select {
		case <-ctx.Done():
			if holding {
				s.letGo()
			}
			return
		case <-tick.C:
		}
		err := s.once(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
			if holding, err = s.keepHold(ctx, c, holding); err != nil {
				return err
			}
			return s.clear(ctx, c)
		})
		if err != nil && ctx.Err() == nil && !conflict(err) {
			s.log.Warn("store: clearing away what is not needed any more failed; it is tried again", "error", s.plain(err))
		}
	}
}

// keepHold tells the other processes from when on this one has a snapshot open, if that is longer than they would wait anyway.
func (s *Store) keepHold(ctx context.Context, c *pgx.Conn, holding bool) (bool, error) {
	at, age, ok := s.snapshots.oldest()
	if !ok || age < s.options.Grace/4 {
		if !holding {
			return false, nil
		}
		_, err := c.Exec(ctx, s.sql("delete from {holds} where node = $1"), s.node)
		return err != nil, err
	}
	_, err := c.Exec(ctx, s.sql(`insert into {holds} (node, since, until) values ($1, $2, now() + $3 * interval '1 microsecond')
		on conflict (node) do update set since = excluded.since, until = excluded.until`), s.node, at, s.options.Grace.Microseconds())
	return true, err
}

// letGo ends the hold of a process that stops. Others would wait for its end.
func (s *Store) letGo() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.once(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, s.sql("delete from {holds} where node = $1"), s.node)
		return err
	})
	if err != nil {
		s.log.Debug("store: ending a hold", "error", s.plain(err))
	}
}

// clear removes what has not been needed since before the grace, and by no snapshot that is known of.
func (s *Store) clear(ctx context.Context, c *pgx.Conn) error {
	var cutoff time.Time
	var held *time.Time
	err := c.QueryRow(ctx, s.sql("select now() - $1 * interval '1 microsecond', (select min(since) from {holds} where until > now())"), s.options.Grace.Microseconds()).Scan(&cutoff, &held)
	if err != nil {
		return err
	}
	if held != nil && held.Before(cutoff) {
		cutoff = *held
	}
	if at, _, ok := s.snapshots.oldest(); ok && at.Before(cutoff) {
		cutoff = at
	}
	for _, do := range []func(context.Context, *pgx.Conn, time.Time) error{s.clearParts, s.clearRows, s.clearSpecs, s.clearCheckpoints} {
		if err := do(ctx, c, cutoff); err != nil {
			return err
		}
	}
	return nil
}

// clearParts drops parts. They are marked first, in a step of its own, so that nobody adopts one that is being dropped.
func (s *Store) clearParts(ctx context.Context, c *pgx.Conn, cutoff time.Time) error {
	if _, err := c.Exec(ctx, s.sql("update {garbage} set since = '-infinity' where since < $1 and since > '-infinity'"), cutoff); err != nil {
		return err
	}
	parts, err := listOf[int64](ctx, c, s.sql("select part from {garbage} where since = '-infinity'"))
	if err != nil {
		return err
	}
	if len(parts) > 0 {
		s.options.Failpoint("clear.marked")
	}
	for _, p := range parts {
		if _, err := c.Exec(ctx, "drop table if exists "+s.names.rows(p)); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, s.sql("delete from {garbage} where part = $1"), p); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) clearRows(ctx context.Context, c *pgx.Conn, cutoff time.Time) error {
	ids, err := listOf[string](ctx, c, s.sql(`select t.id from {tables} t join {specs} s on s.number = t.number and s.rev = t.rev where s.spec like '%"expiries"%'`))
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.collect(ctx, c, store.TableID(id), cutoff); err != nil && !errors.Is(err, store.ErrNoTable) && !errors.Is(err, errTooOld) {
			return err
		}
	}
	return nil
}

func (s *Store) clearSpecs(ctx context.Context, c *pgx.Conn, cutoff time.Time) error {
	_, err := c.Exec(ctx, s.sql("delete from {specs} where ended < $1"), cutoff)
	return err
}

// clearCheckpoints removes those that are older than the newest before cutoff, which snapshots since may see. They are in two kinds, for positions and progress are
// not always written together.
func (s *Store) clearCheckpoints(ctx context.Context, c *pgx.Conn, cutoff time.Time) error {
	rows, err := c.Query(ctx, s.sql(`select f.number, least(
			(select max(step) from {checkpoints} where family = f.number and at < $1 and positions is not null),
			(select max(step) from {checkpoints} where family = f.number and at < $1 and progress is not null))
		from {families} f where exists (select 1 from {checkpoints} c where c.family = f.number and c.step < f.step - 100)`), cutoff)
	if err != nil {
		return err
	}
	type family struct {
		number int64
		step   *int64
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (f family, err error) {
		err = r.Scan(&f.number, &f.step)
		return f, err
	})
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.step == nil {
			continue
		}
		if _, err := c.Exec(ctx, s.sql("update {families} set collected = $1 where number = $2 and collected < $1"), *f.step, f.number); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, s.sql("delete from {checkpoints} where family = $1 and step < $2"), f.number, *f.step); err != nil {
			return err
		}
	}
	_, err = c.Exec(ctx, s.sql("delete from {checkpoints} where at < $1 and not exists (select 1 from {specs} s where s.number = family)"), cutoff)
	return err
}

// listOf gives the one column of a result.
func listOf[T any](ctx context.Context, c *pgx.Conn, text string, args ...any) ([]T, error) {
	rows, err := c.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}
