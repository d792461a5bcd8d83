package pgstore

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"millrace/streaming/store"
)

// members lists a table and those that it owns.
func (s *Store) members(ctx context.Context, c *pgx.Conn, head *entry) ([]entry, error) {
	rows, err := c.Query(ctx, s.sql("select "+entryColumns+" from {tables} where number = $1 or owner = $2 order by number"), head.number, string(head.id))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (e entry, err error) {
		err = r.Scan(e.targets()...)
		return e, err
	})
}

// DropTable implements store.Store.
func (s *Store) DropTable(ctx context.Context, id store.TableID) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	err := s.transact(ctx, "dropping a table", func(ctx context.Context, c *pgx.Conn) error {
		head, err := s.entry(ctx, c, id)
		if err != nil {
			return err
		}
		if err := s.hold(ctx, c, head.family); err != nil {
			return err
		}
		members, err := s.members(ctx, c, &head)
		if err != nil {
			return err
		}
		for i := range members {
			if err := s.drop(ctx, c, &members[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.options.Failpoint("drop.applied")
	}
	return err
}

func (s *Store) drop(ctx context.Context, c *pgx.Conn, e *entry) error {
	t, err := s.spec(ctx, c, e)
	if err != nil {
		return err
	}
	if err := s.discard(ctx, c, t.parts); err != nil {
		return err
	}
	statements := []string{"delete from {tables} where number = $1", "update {specs} set ended = now() where number = $1 and ended is null"}
	if e.owner == "" {
		statements = append(statements, "delete from {families} where number = $1", "delete from {events} where family = $1")
	}
	for _, text := range statements {
		tag, err := c.Exec(ctx, s.sql(text), e.number)
		if err == nil && tag.RowsAffected() == 0 && strings.Contains(text, "{tables}") {
			err = errStale
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TruncateTable implements store.Store.
func (s *Store) TruncateTable(ctx context.Context, id store.TableID) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	err := s.on(ctx, "truncating a table", func(ctx context.Context, c *pgx.Conn) error {
		head, err := s.entry(ctx, c, id)
		if err != nil {
			return err
		}
		members, err := s.members(ctx, c, &head)
		if err != nil {
			return err
		}
		empty := map[int64]part{} // for each table, one to go on with
		for i := range members {
			t, err := s.spec(ctx, c, &members[i])
			if err != nil {
				return err
			}
			if empty[t.number], err = s.newPart(ctx, c, t.schema); err != nil {
				return err
			}
		}
		s.options.Failpoint("truncate.prepared")
		if _, err := c.Exec(ctx, "begin"); err != nil {
			return err
		}
		if err := s.truncate(ctx, c, &head, empty); err != nil {
			return s.rollback(ctx, c, err)
		}
		tag, err := c.Exec(context.WithoutCancel(ctx), "commit")
		return s.committed(tag, err)
	})
	if err == nil {
		s.options.Failpoint("truncate.applied")
	}
	return err
}

func (s *Store) truncate(ctx context.Context, c *pgx.Conn, head *entry, empty map[int64]part) error {
	if err := s.hold(ctx, c, head.family); err != nil {
		return err
	}
	members, err := s.members(ctx, c, head)
	if err != nil {
		return err
	}
	if len(members) != len(empty) {
		return errStale
	}
	for i := range members {
		e := &members[i]
		old, err := s.spec(ctx, c, e)
		if err != nil {
			return err
		}
		p, ok := empty[e.number]
		if !ok {
			return errStale
		}
		for k := range old.schema.Columns {
			col := &old.schema.Columns[k]
			if kind, ok := p.find(col.ID); !ok || !storedAlike(kind, col.Type.Kind) {
				return errStale // changed meanwhile
			}
		}
		t := *old
		p.From = e.next
		t.parts, t.expiries = []part{p}, nil
		if err := s.adopt(ctx, c, p.Number); err != nil {
			return err
		}
		if err := s.discard(ctx, c, old.parts); err != nil {
			return err
		}
		if err := s.supersede(ctx, c, &t); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, s.sql("update {tables} set row_count = 0, stats = null where number = $1"), e.number); err != nil {
			return err
		}
	}
	// An owned table has no positions: emptying it alone concerns no writer.
	if head.owner != "" {
		return nil
	}
	var step int64
	err = c.QueryRow(ctx, s.sql("update {families} set holder = '', committed = 0, commits = 0 where number = $1 returning step"), head.family).Scan(&step)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, s.sql("insert into {checkpoints} (family, step, at, positions, progress) values ($1, $2, now(), $3, $4)"), head.family, step, positions{}.encode(), []byte{noProgress})
	return err
}
