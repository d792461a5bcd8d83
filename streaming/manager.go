package streaming

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"millrace/internal/catalog"
	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// Options are what a Manager needs.
type Options struct {
	Catalog *catalog.Catalog
	Store   store.Store
	Pool    *kafka.Pool
	Planner Planner
	Log     *slog.Logger
	// MaxBatchBytes bounds the default of max_batch_bytes, 0 for no bound.
	MaxBatchBytes int64
	// Owner is who holds leases in this process: a name that no other process has, and that it has again after a restart.
	Owner string
	// Shared says that other processes have the same catalog and store.
	Shared bool
	// StartPaused leaves what there is at Start paused until somebody resumes it. It is not stored.
	StartPaused bool
	// Clock is that of schedules and of the age of rows, nil for the machine's.
	Clock executor.Clock
}

// Manager runs all streaming tables of a process. Its methods may be called from any goroutine.
type Manager struct {
	Options
	pace executor.Pace

	// changing is held by statements that make, change or drop a table.
	changing sync.Mutex

	mu     sync.RWMutex
	tables map[string]running // by key of the name
	held   map[string]bool    // by id: what StartPaused leaves paused
	closed bool

	retainer *retainer
	// sweeping are the goroutines of Start; stop ends them.
	sweeping sync.WaitGroup
	stop     context.CancelFunc
}

// running is a table with the definition that it runs by.
type running struct {
	*executor.Table
	definition catalog.Table
}

// defaultOwner holds the leases of an embedded store: there is one process at a time.
const defaultOwner = "millrace"

// New makes a Manager without tables.
func New(o Options) *Manager {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Owner == "" {
		o.Owner = defaultOwner
	}
	m := &Manager{Options: o, tables: map[string]running{}, held: map[string]bool{}}
	m.retainer = newRetainer(m)
	return m
}

func key(n Name) string { return strings.ToLower(n.Database) + "\x00" + strings.ToLower(n.Table) }

// Start removes what the catalog does not know, and starts every table. A table that cannot run says so by its state.
func (m *Manager) Start(ctx context.Context) error {
	state := m.Catalog.State()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	if err := m.clear(ctx, background); err != nil {
		return err
	}
	m.sweeping.Go(func() { m.retainer.run(background) })
	for _, db := range state.Databases {
		for _, t := range db.Tables {
			if t.Streaming != nil {
				m.hold(Name{db.Name, t.Name}, t)
				m.launch(Name{db.Name, t.Name}, t)
			}
		}
	}
	return nil
}

// hold leaves a table paused that was there at Start, where that is wanted.
func (m *Manager) hold(n Name, t catalog.Table) {
	if !m.StartPaused || t.Streaming.Paused {
		return
	}
	m.Log.Info(fullNoun(t.Streaming.Sink)+" is left paused", "table", n.String())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[t.ID] = true
}

// free forgets that a table was left paused: somebody has decided about it.
func (m *Manager) free(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held, id)
}

// isPaused reports whether a table shall not read.
func (m *Manager) isPaused(t catalog.Table) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return t.Streaming.Paused || m.held[t.ID]
}

// heldBy is why a table is paused that nobody has paused, nil for others.
func (m *Manager) heldBy(t catalog.Table) error {
	if t.Streaming.Paused || !m.isPaused(t) {
		return nil
	}
	return sqlerr.New(sqlerr.TableState, "the server was started with '--start-paused'").WithHint("ALTER %s … RESUME lets it run", strings.ToUpper(fullNoun(t.Streaming.Sink)))
}

// Close stops every table: commits under way are finished, anything else dropped.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	tables := m.tables
	m.tables = map[string]running{}
	m.mu.Unlock()
	if m.stop != nil {
		m.stop()
		m.sweeping.Wait()
	}
	var wg sync.WaitGroup
	for _, t := range tables {
		wg.Go(t.Stop)
	}
	wg.Wait()
}

// launch starts the executor of a table.
func (m *Manager) launch(n Name, t catalog.Table) *executor.Table {
	s, _, err := settingsOf(t.Streaming, m.MaxBatchBytes)
	x := executor.New(executor.Config{
		Noun: fullNoun(t.Streaming.Sink), Name: n.String(), ID: store.TableID(t.ID), ErrorsID: errorsID(t.ID), Store: m.Store, Owner: m.Owner, Pool: m.Pool, Settings: s, Paused: m.isPaused(t), Held: m.heldBy(t),
		Refreshes: t.Streaming.Refreshed, Log: m.Log, Active: &m.pace, Clock: m.Clock,
		Compile: func(ctx context.Context) (executor.Query, error) {
			if err != nil {
				return nil, err // a property that this version does not take
			}
			definition := *t.Streaming
			if now, ok := m.Catalog.Table(n.Database, n.Table); ok && now.ID == t.ID && now.Streaming != nil {
				definition.Schemas, definition.Columns = now.Streaming.Schemas, now.Streaming.Columns // which may have evolved
			}
			p, err := m.Planner.Plan(ctx, definition, n.Table)
			if err != nil {
				return nil, err
			}
			return p.Query, nil
		},
		Evolve: func(ctx context.Context) error { return m.evolve(ctx, n) },
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return x
	}
	m.tables[key(n)] = running{x, t}
	m.retainer.look()
	x.Start()
	return x
}

func errorsID(id string) store.TableID { return store.TableID(id + executor.ErrorsSuffix) }

// Table gives the executor of a table.
func (m *Manager) Table(n Name) (*executor.Table, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	t, ok := m.tables[key(n)]
	return t.Table, ok
}

// halt stops the executor of a table, if it has one.
func (m *Manager) halt(n Name) {
	m.mu.Lock()
	t := m.tables[key(n)]
	delete(m.tables, key(n))
	m.mu.Unlock()
	if t.Table != nil {
		t.Stop()
	}
}

// find gives the definition and the executor of a streaming table.
func (m *Manager) find(n Name) (catalog.Table, *executor.Table, error) {
	t, ok := m.Catalog.Table(n.Database, n.Table)
	if !ok {
		return t, nil, sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", n)
	}
	if t.Streaming == nil {
		return t, nil, sqlerr.New(sqlerr.TableState, "table '%s' is not a streaming table", n)
	}
	x, ok := m.Table(n)
	if !ok {
		return t, nil, sqlerr.New(sqlerr.ServerGone, "the server is stopping")
	}
	return t, x, nil
}

// Drop drops a table of either sort: first from the catalog, so that it is gone even if the rest fails, then its rows.
func (m *Manager) Drop(ctx context.Context, n Name) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	t, ok := m.Catalog.Table(n.Database, n.Table)
	if !ok {
		return sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", n)
	}
	if err := m.Catalog.Update(func(s *catalog.State) error { s.DropTable(n.Database, n.Table); return nil }); err != nil {
		return err
	}
	m.halt(n)
	return m.dropRows(ctx, t.ID)
}

// DropAll drops the rows of the tables of a database that was dropped from the catalog.
func (m *Manager) DropAll(ctx context.Context, db catalog.Database) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	var errs []error
	for _, t := range db.Tables {
		n := Name{db.Name, t.Name}
		if m.identity(n) == t.ID { // else it is that of a new database with the same name
			m.halt(n)
		}
		errs = append(errs, m.dropRows(ctx, t.ID))
	}
	return errors.Join(errs...)
}

// identity is the id of the table that runs under a name, empty when none does.
func (m *Manager) identity(n Name) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.tables[key(n)].definition.ID
}

func (m *Manager) dropRows(ctx context.Context, id string) error {
	m.free(id)
	err := m.Store.DropTable(context.WithoutCancel(ctx), store.TableID(id))
	if errors.Is(err, store.ErrNoTable) {
		return nil
	}
	return err
}

// Refresh reads what the topics hold now. With full the table is emptied first and read from its start. Without async it waits until that is there.
func (m *Manager) Refresh(ctx context.Context, n Name, full, async bool, warn Warn) error {
	refreshed, err := m.refresh(ctx, n, full)
	if err != nil || async {
		return err
	}
	return m.wait(ctx, refreshed, warn)
}

func (m *Manager) refresh(ctx context.Context, n Name, full bool) (awaited, error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	t, x, err := m.find(n)
	if err != nil {
		return awaited{}, err
	}
	if m.isPaused(t) {
		return awaited{}, sqlerr.New(sqlerr.TableState, "streaming table '%s' is paused", n).WithHint("ALTER STREAMING TABLE … RESUME lets it read on")
	}
	p, err := m.Planner.Plan(ctx, *t.Streaming, n.Table)
	if err != nil {
		return awaited{}, err
	}
	defer p.Close()
	v, err := m.validate(ctx, p.Read())
	if err != nil {
		return awaited{}, err
	}
	bad := m.bad(ctx, store.TableID(t.ID))
	if full {
		bad = 0 // they go with the rows
		m.halt(n)
		if err := m.Store.TruncateTable(ctx, store.TableID(t.ID)); err != nil {
			m.launch(n, t)
			return awaited{}, gone(n, err)
		}
		err := m.begin(ctx, t.ID, v)
		x = m.launch(n, t) // also after an error: the executor then fixes the start itself
		held := new(store.HeldError)
		if err != nil && !errors.As(err, &held) && !errors.Is(err, store.ErrFenced) { // another server was faster, or has just emptied the table too: it does the same
			return awaited{}, gone(n, err)
		}
	}
	if t, err = m.redefine(n, func(t *catalog.Table) { t.Streaming.Refreshed++ }); err != nil {
		return awaited{}, err
	}
	x.Refresh(t.Streaming.Refreshed)
	return awaited{x, t.Streaming.Refreshed, v.ends, bad}, nil
}

// gone says that a table does not exist where the store does: another server has dropped it, and the catalog here does not know yet.
func gone(n Name, err error) error {
	if errors.Is(err, store.ErrNoTable) {
		return sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", n).WithDetail("it has just been dropped").WithCause(err)
	}
	return err
}

// Pause stops a table; it stays paused over restarts.
func (m *Manager) Pause(ctx context.Context, n Name) error { return m.pause(ctx, n, true) }

// Resume lets a table that is paused, or has failed, read on.
func (m *Manager) Resume(ctx context.Context, n Name) error { return m.pause(ctx, n, false) }

func (m *Manager) pause(ctx context.Context, n Name, on bool) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	t, x, err := m.find(n)
	if err != nil {
		return err
	}
	if t.Streaming.Paused != on || !on {
		_, err := m.redefine(n, func(t *catalog.Table) {
			t.Streaming.Paused = on
			if !on {
				t.Streaming.Resumed++
			}
		})
		if err != nil {
			return err
		}
	}
	m.free(t.ID)
	if on {
		if err := x.Pause(ctx); err != nil {
			return err
		}
		return m.idle(ctx, t.ID)
	}
	x.Resume()
	return nil
}

// redefine changes a copy of a table's definition in the catalog, and notes that the table runs by it: the caller sees to that.
func (m *Manager) redefine(n Name, change func(*catalog.Table)) (changed catalog.Table, err error) {
	err = m.Catalog.Update(func(s *catalog.State) error {
		t, ok := s.Databases[strings.ToLower(n.Database)].Tables[strings.ToLower(n.Table)]
		if !ok || t.Streaming == nil {
			return sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", n)
		}
		definition := *t.Streaming
		t.Streaming = &definition
		refreshed, resumed := definition.Refreshed, definition.Resumed
		change(&t)
		// A definition that was made from an older one must not take the counts back.
		t.Streaming.Refreshed, t.Streaming.Resumed = max(t.Streaming.Refreshed, refreshed), max(t.Streaming.Resumed, resumed)
		s.PutTable(n.Database, t)
		changed = t
		return nil
	})
	if err != nil {
		return changed, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.tables[key(n)]; ok && r.definition.ID == changed.ID {
		r.definition = changed
		m.tables[key(n)] = r
	}
	return changed, nil
}

// SetProperties changes properties and takes the unset ones back to their defaults; those that are not named stay. retell writes them into the statement of a definition.
func (m *Manager) SetProperties(ctx context.Context, n Name, set []Property, unset []string, retell func(catalog.Streaming) (catalog.Streaming, error)) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	t, x, err := m.find(n)
	if err != nil {
		return err
	}
	if _, _, err := settings(set, 0); err != nil { // names that the statement got wrong
		return err
	}
	all := map[string]string{}
	for name, value := range t.Streaming.Properties {
		all[name] = value
	}
	for name, value := range asMap(set) {
		all[name] = value
	}
	for _, name := range unset {
		o := Properties.Lookup(name)
		if o == nil {
			return Properties.Unknown(name)
		}
		delete(all, o.Name)
	}
	d := *t.Streaming
	d.Properties = all
	s, durability, err := settingsOf(&d, m.MaxBatchBytes)
	if err != nil {
		return err
	}
	schema, err := m.Store.Schema(ctx, store.TableID(t.ID))
	if err != nil {
		return err
	}
	r, err := retentionOf(all)
	if err == nil {
		_, err = r.within(fieldsOf(schema))
	}
	if err != nil {
		return err
	}
	if d, err = retell(d); err != nil {
		return err
	}
	if err := m.setDurability(ctx, t.ID, durability); err != nil {
		return err
	}
	if _, err := m.redefine(n, func(t *catalog.Table) { t.Streaming = &d }); err != nil {
		return err
	}
	x.Set(s)
	m.retainer.look()
	return nil
}

func (m *Manager) setDurability(ctx context.Context, id string, d store.Durability) error {
	schema, err := m.Store.Schema(ctx, store.TableID(id))
	if err != nil || schema.Durability == d {
		return err
	}
	_, err = m.Store.AlterTable(ctx, store.TableID(id), schema.Version, store.SetDurability{Durability: d})
	return err
}
