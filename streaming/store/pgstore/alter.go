package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// storedAlike reports whether a part that stores one kind can store the other.
func storedAlike(a, b column.Kind) bool { return sqlType(a) == sqlType(b) }

// AlterTable implements store.Store.
func (s *Store) AlterTable(ctx context.Context, id store.TableID, from int64, changes ...store.SchemaChange) (*store.Schema, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	var made *table
	err := s.on(ctx, "changing a table", func(ctx context.Context, c *pgx.Conn) error {
		_, old, err := s.current(ctx, c, id)
		if err != nil {
			return err
		}
		if old.schema.Version != from {
			return fmt.Errorf("%w: %s has version %d, not %d", store.ErrSchemaChanged, id, old.schema.Version, from)
		}
		t, added, err := s.altered(ctx, c, old, changes)
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, "begin"); err != nil {
			return err
		}
		if err := s.alter(ctx, c, t, added); err != nil {
			return s.rollback(ctx, c, err)
		}
		tag, err := c.Exec(context.WithoutCancel(ctx), "commit")
		if err := s.committed(tag, err); err != nil {
			return err
		}
		s.specs.put(t)
		made = t
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made.schema, nil
}

// altered makes of old what changes want, with a part of its own where rows are stored in another way from now on.
func (s *Store) altered(ctx context.Context, c *pgx.Conn, old *table, changes []store.SchemaChange) (t *table, added bool, err error) {
	n := *old
	changes = slices.Clone(changes)
	for i, x := range changes {
		if add, ok := x.(store.AddColumn); ok {
			add.Column = n.withColumns([]store.Column{add.Column})[0]
			changes[i] = add
		}
	}
	if n.schema, err = old.schema.Apply(changes...); err != nil {
		return nil, false, mistake("%s", strings.TrimPrefix(err.Error(), "store: "))
	}
	for i := range n.schema.Columns {
		col := &n.schema.Columns[i]
		if k, ok := n.newest().find(col.ID); !ok || !storedAlike(k, col.Type.Kind) {
			p, err := s.newPart(ctx, c, n.schema)
			if err != nil {
				return nil, false, err
			}
			n.parts = append(slices.Clone(n.parts), p)
			return &n, true, nil
		}
	}
	return &n, false, nil
}

func (s *Store) alter(ctx context.Context, c *pgx.Conn, t *table, added bool) error {
	if err := s.hold(ctx, c, t.family); err != nil {
		return err
	}
	if added {
		var next int64
		err := c.QueryRow(ctx, s.sql("select next from {tables} where number = $1 and rev = $2"), t.number, t.rev).Scan(&next)
		if errors.Is(err, pgx.ErrNoRows) { // another change was faster
			err = errStale
		}
		if err != nil {
			return err
		}
		last := len(t.parts) - 1
		t.parts[last].From = next
		if err := s.adopt(ctx, c, t.parts[last].Number); err != nil {
			return err
		}
		if before := t.parts[last-1]; before.From == next { // it has no rows
			t.parts = slices.Delete(slices.Clone(t.parts), last-1, last)
			if err := s.discard(ctx, c, []part{before}); err != nil {
				return err
			}
		}
	}
	return s.supersede(ctx, c, t)
}
