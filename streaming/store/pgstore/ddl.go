package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// newPart creates a part for a schema. Until a transaction adopts it, it is garbage: a process that dies leaves nothing that is not cleared away.
func (s *Store) newPart(ctx context.Context, c *pgx.Conn, schema *store.Schema) (p part, err error) {
	if p.Number, err = s.numbers(ctx, c, 1); err != nil {
		return p, err
	}
	var b strings.Builder
	b.WriteString("create table " + s.names.rows(p.Number) + " (n bigint not null")
	for i := range schema.Columns {
		col := &schema.Columns[i]
		p.Columns = append(p.Columns, partColumn{col.ID, col.Type.Kind})
		b.WriteString(", c" + strconv.FormatUint(uint64(col.ID), 10) + " " + sqlType(col.Type.Kind))
	}
	if !s.brin {
		b.WriteString(", primary key (n)")
	}
	b.WriteByte(')')
	if _, err := c.Exec(ctx, s.sql("insert into {garbage} (part, since) values ($1, now())"), p.Number); err != nil {
		return p, err
	}
	if s.brin {
		b.WriteString("; " + s.index(&p, schema))
	}
	// Both in one step: nobody drops a table while it gets its index.
	_, err = c.PgConn().Exec(ctx, b.String()).ReadAll()
	return p, err
}

// adopt takes parts out of the garbage, within a transaction.
func (s *Store) adopt(ctx context.Context, c *pgx.Conn, parts ...int64) error {
	tag, err := c.Exec(ctx, s.sql("delete from {garbage} where part = any($1) and since > '-infinity'"), parts)
	if err == nil && tag.RowsAffected() != int64(len(parts)) {
		err = errStale // they have waited for so long that they are being cleared away
	}
	return err
}

// discard makes garbage of parts, within a transaction.
func (s *Store) discard(ctx context.Context, c *pgx.Conn, parts []part) error {
	for _, p := range parts {
		if _, err := c.Exec(ctx, s.sql("insert into {garbage} (part, since) values ($1, now())"), p.Number); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps commits and other changes of a family away until the end of the transaction.
func (s *Store) hold(ctx context.Context, c *pgx.Conn, family int64) error {
	tag, err := c.Exec(ctx, s.sql("update {families} set step = step + 1 where number = $1"), family)
	if err == nil && tag.RowsAffected() != 1 {
		err = errStale
	}
	return err
}

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
