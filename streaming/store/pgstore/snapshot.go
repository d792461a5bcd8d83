package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// errTooOld says that what a snapshot sees has been removed: its process was stopped, or away, for longer than others wait.
var errTooOld = errors.New("pgstore: snapshot too old")

// seen is a table as of a snapshot.
type seen struct {
	entry
	committed, commits, step int64
}

// snapshot implements store.Snapshot: it is the numbers of the rows that were there. Rows below a number never change.
type snapshot struct {
	store  *Store
	tables map[store.TableID]*seen
	at     time.Time // by the database's clock; zero when there was no table
	taken  time.Time // by ours
	once   sync.Once
}

// snapshots are those that are open in this process.
type snapshots struct {
	mu  sync.Mutex
	all map[*snapshot]struct{}
}

func (s *snapshots) add(p *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*snapshot]struct{}{}
	}
	s.all[p] = struct{}{}
}

func (s *snapshots) remove(p *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, p)
}

func (s *snapshots) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// oldest gives the time of the oldest snapshot by the database's clock; ok is false when there is none.
func (s *snapshots) oldest() (at time.Time, age time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.all {
		if p.at.IsZero() || ok && !p.at.Before(at) {
			continue
		}
		at, age, ok = p.at, time.Since(p.taken), true
	}
	return at, age, ok
}

// Snapshot implements store.Store.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	p := &snapshot{store: s}
	err := s.on(ctx, "taking a snapshot", func(ctx context.Context, c *pgx.Conn) error {
		p.taken = time.Now()
		p.tables = map[store.TableID]*seen{}
		// One statement: whatever the level of isolation, it sees one moment.
		rows, err := c.Query(ctx, s.sql(`select t.`+strings.ReplaceAll(entryColumns, ", ", ", t.")+`, f.committed, f.commits, f.step, now()
			from {tables} t join {families} f on f.number = t.family`))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			t := new(seen)
			if err := rows.Scan(append(t.targets(), &t.committed, &t.commits, &t.step, &p.at)...); err != nil {
				return err
			}
			p.tables[t.id] = t
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	s.snapshots.add(p)
	return p, nil
}

// Close implements store.Snapshot.
func (p *snapshot) Close() { p.once.Do(func() { p.store.snapshots.remove(p) }) }

func (p *snapshot) lookup(id store.TableID) (*seen, error) {
	if t := p.tables[id]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%w: %s", store.ErrNoTable, id)
}

// old reports whether what the snapshot sees may have been removed.
func (p *snapshot) old() bool { return time.Since(p.taken) > p.store.options.Grace/2 }

// table finds a table and its revision.
func (p *snapshot) table(ctx context.Context, id store.TableID) (*seen, *table, error) {
	at, err := p.lookup(id)
	if err != nil {
		return nil, nil, err
	}
	s := p.store
	if t := s.specs.get(specKey{at.number, at.rev}); t != nil {
		return at, t, nil
	}
	var t *table
	err = s.on(ctx, "reading a schema", func(ctx context.Context, c *pgx.Conn) (err error) {
		t, err = s.spec(ctx, c, &at.entry)
		return err
	})
	return at, t, err
}

// enter begins a call of a snapshot's method that has no context.
func (p *snapshot) enter() (context.Context, error) {
	ctx := context.Background()
	return ctx, p.store.enter(ctx)
}

// Schema implements store.Snapshot.
func (p *snapshot) Schema(id store.TableID) (*store.Schema, error) {
	ctx, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer p.store.leave()
	_, t, err := p.table(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.schema, nil
}

// Checkpoint implements store.Snapshot.
func (p *snapshot) Checkpoint(id store.TableID) (*store.Checkpoint, error) {
	return p.checkpoint(context.Background(), id)
}

func (p *snapshot) checkpoint(ctx context.Context, id store.TableID) (*store.Checkpoint, error) {
	s := p.store
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	t, err := p.lookup(id)
	if err != nil {
		return nil, err
	}
	if t.owner != "" {
		return nil, mistake("table %s is written by the writer of %s", id, t.owner)
	}
	var cp *store.Checkpoint
	err = s.on(ctx, "reading a checkpoint", func(ctx context.Context, c *pgx.Conn) (err error) {
		cp, err = s.checkpointAt(ctx, c, id, t.family, t.step)
		return err
	})
	if err != nil {
		return nil, err
	}
	cp.Epoch, cp.Number = t.committed, t.commits
	return cp, nil
}

// Stats implements store.Snapshot. The bounds, and the sums of columns, are those of now: they may tell of more rows than the snapshot sees.
func (p *snapshot) Stats(id store.TableID) (*store.TableStats, error) {
	ctx, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer p.store.leave()
	at, t, err := p.table(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := p.stats(ctx, at)
	if err != nil {
		return nil, err
	}
	return summary(t, at.rows, list), nil
}

func (p *snapshot) stats(ctx context.Context, at *seen) (list []columnStats, err error) {
	s := p.store
	err = s.on(ctx, "reading statistics", func(ctx context.Context, c *pgx.Conn) error {
		var b []byte
		err := c.QueryRow(ctx, s.sql("select stats from {tables} where number = $1"), at.number).Scan(&b)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if list, err = decodeStats(b); err != nil {
			return sqlerr.New(sqlerr.StoreCorrupt, "table '%s' at '%s' cannot be read: %w", at.id, s.address, err)
		}
		return nil
	})
	return list, err
}

// list gives the tables.
func (p *snapshot) list(ctx context.Context) ([]store.TableInfo, error) {
	if err := p.store.enter(ctx); err != nil {
		return nil, err
	}
	defer p.store.leave()
	var out []store.TableInfo
	for id := range p.tables {
		_, t, err := p.table(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, store.TableInfo{ID: t.id, Owner: t.owner, Schema: t.schema})
	}
	slices.SortFunc(out, func(a, b store.TableInfo) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out, nil
}
