package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// mostExpiries of a column wait to be collected; one more takes the place of the newest, which it includes.
const mostExpiries = 3

// stepRows is how many row numbers one statement of Expire, or of the janitor, looks at.
const stepRows = 1 << 20

// Expire implements store.Store. It counts and hides the rows; the janitor removes them when no snapshot needs them any more.
func (s *Store) Expire(ctx context.Context, id store.TableID, name string, before int64) (removed int64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	err = s.on(ctx, "expiring rows", func(ctx context.Context, c *pgx.Conn) error {
		e, t, err := s.latest(ctx, c, id)
		if err != nil {
			return err
		}
		i := t.schema.Index(name)
		if i < 0 {
			return mistake("table %s has no column '%s'", id, name)
		}
		col := &t.schema.Columns[i]
		if !col.Type.Kind.IsInt() || col.Type.Kind == column.Bool {
			return mistake("rows do not expire by column '%s', which is %v", name, col.Type)
		}
		gone, err := s.countExpired(ctx, c, t, col, before, e.next)
		if err != nil {
			return err
		}
		if removed = gone[0].rows; removed == 0 {
			return nil
		}
		if _, err := c.Exec(ctx, "begin"); err != nil {
			return err
		}
		if err := s.expire(ctx, c, t, expiry{Column: col.ID, Before: before, UpTo: e.next}, gone); err != nil {
			return s.rollback(ctx, c, err)
		}
		tag, err := c.Exec(context.WithoutCancel(ctx), "commit")
		return s.committed(tag, err)
	})
	if err != nil {
		return 0, err
	}
	if removed > 0 {
		s.options.Failpoint("expire.applied")
	}
	return removed, nil
}

// countExpired counts the rows that expire: all of them first, with ID 0, then those that have each column, with its NULLs.
func (s *Store) countExpired(ctx context.Context, c *pgx.Conn, t *table, col *store.Column, before, next int64) ([]columnStats, error) {
	out := []columnStats{{}}
	for i := range t.schema.Columns {
		out = append(out, columnStats{id: t.schema.Columns[i].ID})
	}
	old := store.Condition{Column: t.schema.Index(col.Name), Ranges: []store.Range{{Max: store.Int(before), MaxOpen: true}}}
	for i := range t.parts {
		p := &t.parts[i]
		end := next
		if i+1 < len(t.parts) {
			end = t.parts[i+1].From
		}
		for from := p.From; from < end; from += stepRows {
			w := new(condition)
			w.numbers(from, min(from+stepRows, end))
			w.where(t, p, []store.Condition{old})
			if w.none {
				break
			}
			w.alive(t, p, from)
			if err := s.countPart(ctx, c, t, p, w.sql.String(), out); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (s *Store) countPart(ctx context.Context, c *pgx.Conn, t *table, p *part, where string, out []columnStats) error {
	text := []string{"count(*)"}
	var rows int64
	targets := []any{&rows}
	values := make([]int64, len(out))
	for i := range out[1:] {
		if id := out[i+1].id; p.has(id) {
			text = append(text, "count("+columnName(id)+")")
			targets = append(targets, &values[i+1])
		}
	}
	if err := c.QueryRow(ctx, "select "+strings.Join(text, ", ")+" from "+s.names.rows(p.Number)+" where "+where).Scan(targets...); err != nil {
		return err
	}
	out[0].rows += rows
	for i := range out[1:] {
		if o := &out[i+1]; p.has(o.id) {
			o.rows += rows
			o.Nulls += rows - values[i+1]
		}
	}
	return nil
}

// expire hides rows from snapshots to come.
func (s *Store) expire(ctx context.Context, c *pgx.Conn, old *table, x expiry, gone []columnStats) error {
	if err := s.hold(ctx, c, old.family); err != nil {
		return err
	}
	var b []byte
	err := c.QueryRow(ctx, s.sql("select stats, now() from {tables} where number = $1 and rev = $2"), old.number, old.rev).Scan(&b, &x.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return errStale
	}
	if err != nil {
		return err
	}
	list, err := decodeStats(b)
	if err != nil {
		return sqlerr.New(sqlerr.StoreCorrupt, "table '%s' at '%s' cannot be read: %w", old.id, s.address, err)
	}
	for i := range list {
		if k := slices.IndexFunc(gone, func(g columnStats) bool { return g.id == list[i].id }); k > 0 {
			list[i].forget(&gone[k])
		}
	}
	t := *old
	t.expired++
	x.Sequence = t.expired
	t.expiries = withExpiry(old.expiries, x)
	if err := s.supersede(ctx, c, &t); err != nil {
		return err
	}
	_, err = c.Exec(ctx, s.sql("update {tables} set row_count = row_count - $1, stats = $2 where number = $3"), gone[0].rows, encodeStats(list), t.number)
	return err
}

// withExpiry adds x, in the place of what it includes and is not to be collected soon.
func withExpiry(list []expiry, x expiry) []expiry {
	n, last := 0, -1
	for i := range list {
		if list[i].Column == x.Column {
			n, last = n+1, i
		}
	}
	if n >= mostExpiries && list[last].Before <= x.Before {
		out := slices.Delete(slices.Clone(list), last, last+1)
		return append(out, x)
	}
	return append(slices.Clone(list), x)
}

// forget takes rows out of the statistics; bounds stay.
func (s *columnStats) forget(gone *columnStats) {
	if s.rows > 0 {
		s.Bytes -= s.Bytes / s.rows * min(gone.rows, s.rows)
	}
	s.rows -= gone.rows
	s.Nulls -= gone.Nulls
}

// collect removes the rows of a table that have been hidden since before cutoff, in small steps.
func (s *Store) collect(ctx context.Context, c *pgx.Conn, id store.TableID, cutoff time.Time) error {
	for {
		_, t, err := s.current(ctx, c, id)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(t.expiries, func(x expiry) bool { return x.At.Before(cutoff) })
		if i < 0 {
			return nil
		}
		x := t.expiries[i]
		// Who still reads an older snapshot must learn of it, before the first row is gone.
		if _, err := c.Exec(ctx, s.sql("update {tables} set collected = greatest(collected, $1) where number = $2"), x.Sequence, t.number); err != nil {
			return err
		}
		if err := s.remove(ctx, c, t, x); err != nil {
			return err
		}
		if err := s.collected(ctx, c, t, x.Sequence); err != nil {
			return err
		}
	}
}

// remove removes the rows of an expiry.
func (s *Store) remove(ctx context.Context, c *pgx.Conn, t *table, x expiry) error {
	for i := range t.parts {
		p := &t.parts[i]
		end := x.UpTo
		if i+1 < len(t.parts) {
			end = min(end, t.parts[i+1].From)
		}
		kind, there := p.find(x.Column)
		if !there {
			if col := t.column(x.Column); col == nil || col.Default.IsNull() || store.Compare(col.Type.Kind, col.Default, store.Int(x.Before)) >= 0 {
				continue
			}
		}
		for from := p.From; from < end; from += stepRows {
			w := new(condition)
			w.numbers(from, min(from+stepRows, end))
			if there {
				bound, _ := w.value(kind, store.Int(x.Before))
				w.and(columnName(x.Column) + " < " + bound)
			}
			if _, err := c.Exec(ctx, "delete from "+s.names.rows(p.Number)+" where "+w.sql.String()); err != nil {
				return fmt.Errorf("removing rows of table %s: %w", t.id, err)
			}
		}
	}
	return nil
}

// collected takes an expiry whose rows are gone out of the specification.
func (s *Store) collected(ctx context.Context, c *pgx.Conn, old *table, sequence int64) error {
	if _, err := c.Exec(ctx, "begin"); err != nil {
		return err
	}
	err := s.hold(ctx, c, old.family)
	if err == nil {
		t := *old
		t.expiries = slices.DeleteFunc(slices.Clone(old.expiries), func(x expiry) bool { return x.Sequence == sequence })
		err = s.supersede(ctx, c, &t)
	}
	if err != nil && !errors.Is(err, errStale) { // stale: somebody has changed the table meanwhile; the next round sees to it
		return s.rollback(ctx, c, err)
	}
	if err != nil {
		return s.rollback(ctx, c, nil)
	}
	tag, err := c.Exec(ctx, "commit")
	return s.committed(tag, err)
}
