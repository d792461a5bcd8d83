package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"millrace/streaming/store"
)

// CreateTable implements store.Store.
func (s *Store) CreateTable(ctx context.Context, specs ...store.TableSpec) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	tables := make([]*table, len(specs))
	for i, spec := range specs {
		if len(spec.ID) == 0 || len(spec.ID) > 512 || !validText(string(spec.ID)) {
			return mistake("a table's ID has 1 to 512 bytes of UTF-8 without NUL, not %q", spec.ID)
		}
		if slices.ContainsFunc(specs[:i], func(x store.TableSpec) bool { return x.ID == spec.ID }) {
			return fmt.Errorf("%w: %s", store.ErrTableExists, spec.ID)
		}
		t := &table{id: spec.ID, owner: spec.Owner, rev: 1}
		t.schema = &store.Schema{Version: 1, Columns: t.withColumns(spec.Columns), Cluster: slices.Clone(spec.Cluster), Durability: spec.Durability}
		if err := t.schema.Check(); err != nil {
			return mistake("%s", strings.TrimPrefix(err.Error(), "store: "))
		}
		tables[i] = t
	}
	if len(tables) == 0 {
		return nil
	}
	prepared := false
	var parts []int64
	return s.on(ctx, "creating a table", func(ctx context.Context, c *pgx.Conn) error {
		if err := s.families(ctx, c, tables); err != nil {
			return err
		}
		if !prepared {
			parts = parts[:0]
			for _, t := range tables {
				p, err := s.newPart(ctx, c, t.schema)
				if err != nil {
					return err
				}
				t.parts = []part{p}
				parts = append(parts, p.Number)
			}
			prepared = true
		}
		if _, err := c.Exec(ctx, "begin"); err != nil {
			return err
		}
		if err := s.createAll(ctx, c, tables, parts); err != nil {
			prepared = prepared && !errors.Is(err, errStale)
			return s.rollback(ctx, c, err)
		}
		tag, err := c.Exec(context.WithoutCancel(ctx), "commit")
		if err := s.committed(tag, err); err != nil {
			return err
		}
		for _, t := range tables {
			s.specs.put(t)
		}
		return nil
	})
}

// families numbers new tables and finds the family of each.
func (s *Store) families(ctx context.Context, c *pgx.Conn, tables []*table) error {
	first, err := s.numbers(ctx, c, len(tables))
	if err != nil {
		return err
	}
	new := map[store.TableID]*table{}
	for i, t := range tables {
		switch _, err := s.entry(ctx, c, t.id); {
		case err == nil:
			return fmt.Errorf("%w: %s", store.ErrTableExists, t.id)
		case !errors.Is(err, store.ErrNoTable):
			return err
		}
		t.number = first + int64(i)
		t.family = t.number
		new[t.id] = t
	}
	for _, t := range tables {
		if t.owner == "" {
			continue
		}
		if o := new[t.owner]; o != nil {
			if o.owner != "" {
				return mistake("table %s cannot be owned by %s, which is owned itself", t.id, o.id)
			}
			t.family = o.number
			continue
		}
		o, err := s.entry(ctx, c, t.owner)
		if err != nil {
			return err
		}
		if o.owner != "" {
			return mistake("table %s cannot be owned by %s, which is owned itself", t.id, o.id)
		}
		t.family = o.number
	}
	return nil
}

func (s *Store) createAll(ctx context.Context, c *pgx.Conn, tables []*table, parts []int64) error {
	for _, t := range tables {
		if t.owner == "" {
			_, err := c.Exec(ctx, s.sql(`insert into {families} (number, holder, epoch, until, committed, commits, step, events, collected) values ($1, '', 0, now(), 0, 0, 0, 0, 0)`), t.number)
			if err != nil {
				return err
			}
		}
	}
	for _, t := range tables {
		if t.owner != "" {
			if err := s.hold(ctx, c, t.family); err != nil {
				return err
			}
		}
		_, err := c.Exec(ctx, s.sql(`insert into {tables} (number, id, owner, family, version, rev, next, row_count, collected) values ($1, $2, $3, $4, 1, 1, 0, 0, 0)`),
			t.number, string(t.id), string(t.owner), t.family)
		var e *pgconn.PgError
		if errors.As(err, &e) && e.Code == "23505" { // unique_violation
			return fmt.Errorf("%w: %s", store.ErrTableExists, t.id)
		}
		if err != nil {
			return err
		}
		if err := s.addSpec(ctx, c, t); err != nil {
			return err
		}
	}
	return s.adopt(ctx, c, parts...)
}
