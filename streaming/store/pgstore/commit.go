package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// fenced is ErrFenced with a reason.
func fenced(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{store.ErrFenced}, args...)...)
}

// write is a store.Write under way.
type write struct {
	*store.Write
	table *table
	rows  int64 // live ones
	stats []columnStats

	first int64  // number of the first row
	old   []byte // statistics before
}

// commit is a store.Commit under way.
type commit struct {
	*store.Commit
	store  *Store
	family int64
	// durability is that of the table.
	durability store.Durability
	writes     []write // in the order of their tables' numbers, so that commits do not wait for each other in a circle

	step, number, event int64
	positions           []byte // the new ones, nil when they stay
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, c *store.Commit) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	if err := checkCommit(c); err != nil {
		return 0, err
	}
	var x *commit
	fresh := false
	err := s.on(ctx, "committing", func(ctx context.Context, conn *pgx.Conn) (err error) {
		if x, err = s.plan(ctx, conn, c, fresh); err != nil {
			return err
		}
		fresh = true // whatever fails now may have to do with what was cached
		if err := x.run(ctx, conn); err != nil {
			return s.rollback(ctx, conn, err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	s.options.Failpoint("commit.applied")
	s.counters.commits.Add(1)
	for i := range x.writes {
		s.counters.rows.Add(x.writes[i].rows)
	}
	return x.number, nil
}

// checkCommit finds mistakes that have nothing to do with what is stored.
func checkCommit(c *store.Commit) error {
	if c.Lease.Epoch == 0 && (len(c.Moves) > 0 || c.Progress != nil) {
		return mistake("a commit without a lease cannot move positions")
	}
	if c.Lease.Epoch != 0 && c.Lease.Table != c.Table {
		return mistake("a lease of table %s is none of %s", c.Lease.Table, c.Table)
	}
	for i := range c.Moves {
		if m := &c.Moves[i]; strings.IndexByte(m.Source, 0) >= 0 || strings.IndexByte(m.Topic, 0) >= 0 {
			return mistake("source %q or topic %q holds a NUL", m.Source, m.Topic)
		}
	}
	for i := range c.Writes {
		for k := range c.Writes[:i] {
			if c.Writes[k].Table == c.Writes[i].Table {
				return mistake("a commit has two writes of table %s", c.Writes[i].Table)
			}
		}
	}
	return nil
}

// known gives the newest revision of a table, or, unless fresh, what was the newest when it was last looked at: the transaction finds out.
func (s *Store) known(ctx context.Context, conn *pgx.Conn, id store.TableID, fresh bool) (*table, error) {
	if t := s.specs.guess(id); t != nil && !fresh {
		return t, nil
	}
	_, t, err := s.current(ctx, conn, id)
	return t, err
}

// plan finds the tables of a commit and looks at its rows, before anything is locked.
func (s *Store) plan(ctx context.Context, conn *pgx.Conn, c *store.Commit, fresh bool) (*commit, error) {
	owner, err := s.known(ctx, conn, c.Table, fresh)
	if err != nil {
		return nil, err
	}
	if owner.owner != "" {
		return nil, mistake("table %s is written by commits of %s", c.Table, owner.owner)
	}
	x := &commit{Commit: c, store: s, family: owner.number, durability: owner.schema.Durability, writes: make([]write, len(c.Writes))}
	for i := range c.Writes {
		w := &x.writes[i]
		w.Write = &c.Writes[i]
		w.table, err = s.known(ctx, conn, w.Table, fresh)
		if err == nil && !fresh && (w.table.family != x.family || w.table.schema.Version != w.SchemaVersion) {
			return s.plan(ctx, conn, c, true)
		}
		if err != nil {
			return nil, err
		}
		t := w.table
		if t.family != x.family {
			return nil, mistake("table %s is not owned by %s", w.Table, c.Table)
		}
		if t.schema.Version != w.SchemaVersion {
			return nil, fmt.Errorf("%w: %s has version %d, not %d", store.ErrSchemaChanged, t.id, t.schema.Version, w.SchemaVersion)
		}
		if w.Rows == nil {
			continue
		}
		if err := fits(t, w.Rows); err != nil {
			return nil, err
		}
		if w.rows = int64(w.Rows.Live()); w.rows > 0 {
			w.stats = gather(t, w.Rows)
		}
	}
	slices.SortFunc(x.writes, func(a, b write) int { return cmp.Compare(a.table.number, b.table.number) })
	return x, nil
}

// run makes the transaction.
func (x *commit) run(ctx context.Context, conn *pgx.Conn) error {
	if err := x.lock(ctx, conn); err != nil {
		return err
	}
	x.store.options.Failpoint("commit.checked")
	for i := range x.writes {
		if w := &x.writes[i]; w.rows > 0 {
			if err := x.copy(ctx, conn, w.table, w.Rows, w.first); err != nil {
				return err
			}
		}
	}
	x.store.options.Failpoint("commit.copied")
	return x.finish(ctx, conn)
}

// lock begins the transaction: it takes the family, if the lease is still its, and numbers for the rows, if the versions are as they were.
func (x *commit) lock(ctx context.Context, conn *pgx.Conn) error {
	s := x.store
	b := new(pgx.Batch)
	b.Queue("begin")
	switch {
	case x.durability == store.Async:
		b.Queue("set local synchronous_commit = off")
	case s.forceSync:
		b.Queue("set local synchronous_commit = on")
	}
	statements := b.Len()
	events := b2i(x.Event != nil)
	if x.Lease.Epoch != 0 {
		b.Queue(s.sql(`update {families} set committed = epoch, commits = commits + 1, step = step + 1, events = events + $1
			where number = $2 and holder = $3 and epoch = $4 returning step, commits, events`), events, x.family, x.Lease.Owner, x.Lease.Epoch)
	} else {
		b.Queue(s.sql(`update {families} set events = events + $1 where number = $2 and epoch = 0 returning step, 0::bigint, events`), events, x.family)
	}
	for i := range x.writes {
		w := &x.writes[i]
		b.Queue(s.sql(`update {tables} set next = next + $1, row_count = row_count + $1 where number = $2 and version = $3 returning next - $1, rev, stats`),
			w.rows, w.table.number, w.SchemaVersion)
	}
	if len(x.Moves) > 0 {
		b.Queue(s.sql("select positions from {checkpoints} where family = $1 and positions is not null order by step desc limit 1"), x.family)
	}
	answers := conn.SendBatch(ctx, b)
	err := x.locked(answers, statements)
	return s.whyNot(ctx, conn, x, err, answers.Close())
}

// errNotLocked says that no row met the condition of an UPDATE.
var errNotLocked = errors.New("pgstore: no such row")

// locked reads the answers to lock.
func (x *commit) locked(answers pgx.BatchResults, before int) error {
	for range before {
		if _, err := answers.Exec(); err != nil {
			return err
		}
	}
	err := answers.QueryRow().Scan(&x.step, &x.number, &x.event)
	if errors.Is(err, pgx.ErrNoRows) {
		return errNotLocked
	}
	if err != nil {
		return err
	}
	for i := range x.writes {
		w := &x.writes[i]
		var rev int64
		err := answers.QueryRow().Scan(&w.first, &rev, &w.old)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && rev != w.table.rev {
			return errStale
		}
		if err != nil {
			return err
		}
	}
	if len(x.Moves) == 0 {
		return nil
	}
	var now []byte
	if err := answers.QueryRow().Scan(&now); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	p, err := decodePositions(now)
	if err != nil {
		return sqlerr.New(sqlerr.StoreCorrupt, "table '%s' at '%s' cannot be read: %w", x.Table, x.store.address, err)
	}
	if err := p.move(x.Moves); err != nil {
		return err
	}
	x.positions = p.encode()
	return nil
}

// whyNot finds out why a family could not be taken: the table is another one now, or its writer is.
func (s *Store) whyNot(ctx context.Context, conn *pgx.Conn, x *commit, err, closed error) error {
	if err == nil {
		return closed
	}
	if !errors.Is(err, errNotLocked) {
		return err
	}
	e, err := s.entry(ctx, conn, x.Table)
	switch {
	case err != nil:
		return err
	case e.number != x.family:
		return errStale
	case x.Lease.Epoch == 0:
		return fenced("table %s has a writer", x.Table)
	default:
		return store.ErrFenced
	}
}

// copy sends rows.
func (x *commit) copy(ctx context.Context, conn *pgx.Conn, t *table, rows *column.Batch, first int64) error {
	r := newCopier(t, rows, first)
	tag, err := conn.PgConn().CopyFrom(ctx, r, x.store.copySQL(t))
	if err != nil {
		return err
	}
	if tag.RowsAffected() != int64(r.n) {
		return fmt.Errorf("pgstore: COPY took %d of %d rows", tag.RowsAffected(), r.n)
	}
	x.store.counters.bytes.Add(r.sent)
	return nil
}

// finish adds what belongs to the rows, and commits. From here on it is not interrupted by the end of ctx: the outcome would not be known.
func (x *commit) finish(ctx context.Context, conn *pgx.Conn) error {
	s := x.store
	b := new(pgx.Batch)
	for i := range x.writes {
		w := &x.writes[i]
		if w.rows == 0 {
			continue
		}
		old, err := decodeStats(w.old)
		if err != nil {
			return sqlerr.New(sqlerr.StoreCorrupt, "table '%s' at '%s' cannot be read: %w", w.table.id, s.address, err)
		}
		b.Queue(s.sql("update {tables} set stats = $1 where number = $2"), encodeStats(merged(w.table, old, w.stats)), w.table.number)
	}
	if x.positions != nil || x.Progress != nil {
		b.Queue(s.sql("insert into {checkpoints} (family, step, at, positions, progress) values ($1, $2, now(), $3, $4)"), x.family, x.step, x.positions, encodeProgress(x.Progress))
	}
	if x.Event != nil {
		s.queueEvent(b, x.family, x.event, x.Event)
	}
	b.Queue("commit")
	answers := conn.SendBatch(context.WithoutCancel(ctx), b)
	s.options.Failpoint("commit.sent")
	var tag pgconn.CommandTag
	var err error
	for range b.Len() { // the last one is COMMIT's; after an error there is no other
		if tag, err = answers.Exec(); err != nil {
			break
		}
	}
	if end := answers.Close(); err == nil {
		err = end
	}
	return s.committed(tag, err)
}
