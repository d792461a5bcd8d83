package streaming

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"time"

	"millrace/internal/catalog"
	"millrace/streaming/store"
)

// Servers that share a catalog and a store each have an executor for every table. The statements that one of them runs reach the others through the catalog, and what
// was done to rows and positions reaches them through the store, which refuses the commits of who knows less.

// Reconcile makes the tables be as the catalog says, which another server has changed.
func (m *Manager) Reconcile() {
	m.changing.Lock()
	defer m.changing.Unlock()
	wanted := map[string]bool{}
	for _, db := range m.Catalog.State().Databases {
		for _, t := range db.Tables {
			if t.Streaming != nil {
				n := Name{db.Name, t.Name}
				wanted[key(n)] = true
				m.follow(n, t)
			}
		}
	}
	m.mu.Lock()
	gone := map[string]running{}
	for k, r := range m.tables {
		if !wanted[k] {
			gone[k] = r
			delete(m.tables, k)
		}
	}
	m.mu.Unlock()
	for _, r := range gone {
		r.Stop()
	}
}

// follow makes one table be as its definition says.
func (m *Manager) follow(n Name, t catalog.Table) {
	m.mu.RLock()
	r := m.tables[key(n)]
	m.mu.RUnlock()
	was, now := r.definition.Streaming, t.Streaming
	switch {
	case r.Table == nil:
		m.launch(n, t)
		return
	case !runsAs(r.definition, t):
		m.halt(n)
		m.launch(n, t)
		return
	case was.Refreshed == now.Refreshed && was.Resumed == now.Resumed && was.Paused == now.Paused && maps.Equal(was.Properties, now.Properties):
		return
	}
	if !maps.Equal(was.Properties, now.Properties) {
		if s, _, err := settingsOf(now, m.MaxBatchBytes); err != nil {
			m.Log.Warn("properties of a streaming table that this version does not take", "table", n.String(), "error", err)
		} else {
			r.Set(s)
		}
	}
	switch {
	case now.Paused:
		m.free(t.ID)
		r.PauseSoon()
	case was.Paused || was.Resumed != now.Resumed:
		m.free(t.ID)
		r.Resume()
	}
	if was.Refreshed != now.Refreshed {
		r.Refresh(now.Refreshed)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.tables[key(n)]; ok { // it may be closed meanwhile
		m.tables[key(n)] = running{r.Table, t}
	}
}

// runsAs reports whether a table need not be started anew to be as another definition says.
func runsAs(a, b catalog.Table) bool {
	if a.ID != b.ID || a.Columns != b.Columns {
		return false
	}
	x, y := *a.Streaming, *b.Streaming
	for _, d := range []*catalog.Streaming{&x, &y} {
		d.Create, d.Paused, d.Refreshed, d.Resumed, d.Properties = "", false, 0, 0, nil
	}
	return reflect.DeepEqual(x, y)
}

// idle waits until no server reads a table any more, which this one does not.
func (m *Manager) idle(ctx context.Context, id string) error {
	if !m.Shared {
		return nil
	}
	for {
		lease, err := m.Store.AcquireWriter(ctx, store.TableID(id), m.Owner, time.Second)
		if err == nil {
			return m.Store.ReleaseWriter(ctx, lease)
		}
		if held := new(store.HeldError); !errors.As(err, &held) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sweepTime is how often rows without a table are looked for in a store that is shared. A statement that makes a table is through, or its server gone, in less.
const sweepTime = 10 * time.Minute

// clear removes what the catalog does not know: what was left by a server that died while it made or dropped a table. In a store that is shared it might be being made just
// now, so there it is removed when the catalog does not know it for some time, until background ends.
func (m *Manager) clear(ctx, background context.Context) error {
	if !m.Shared {
		unknown, err := m.unknown(ctx)
		if err != nil {
			return err
		}
		return m.remove(ctx, unknown)
	}
	m.sweeping.Go(func() {
		ctx := background
		tick := time.NewTicker(sweepTime)
		defer tick.Stop()
		before := map[store.TableID]bool{}
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			unknown, err := m.unknown(ctx)
			if err == nil {
				left := maps.Clone(unknown)
				maps.DeleteFunc(left, func(id store.TableID, _ bool) bool { return !before[id] })
				err = m.remove(ctx, left)
				before = unknown
			}
			if err != nil && ctx.Err() == nil {
				m.Log.Warn("looking for rows of tables that are not in the catalog", "error", err)
			}
		}
	})
	return nil
}

// unknown are the tables of the store that the catalog does not have. The store is asked first: what is made in between is in the catalog then.
func (m *Manager) unknown(ctx context.Context) (map[store.TableID]bool, error) {
	infos, err := m.Store.Tables(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := m.Catalog.Refresh(ctx); err != nil {
		return nil, err
	}
	unknown := map[store.TableID]bool{}
	for _, info := range infos {
		if info.Owner == "" {
			unknown[info.ID] = true
		}
	}
	for _, db := range m.Catalog.State().Databases {
		for _, t := range db.Tables {
			delete(unknown, store.TableID(t.ID))
		}
	}
	return unknown, nil
}

func (m *Manager) remove(ctx context.Context, tables map[store.TableID]bool) error {
	for id := range tables {
		m.Log.Info("removing rows of a table that is not in the catalog", "table", string(id))
		if err := m.Store.DropTable(ctx, id); err != nil && !errors.Is(err, store.ErrNoTable) {
			return err
		}
	}
	return nil
}
