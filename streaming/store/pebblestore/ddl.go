package pebblestore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"millrace/streaming/store"
)

// publish applies a batch and makes tables the list that belongs to it: no snapshot sees one without the other. Snapshots do not wait until it is durable; the
// caller does.
func (s *Store) publish(b *pebble.Batch, tables map[store.TableID]*table) error {
	s.mu.Lock()
	err := s.db.ApplyNoSyncWait(b, pebble.Sync)
	if err == nil {
		s.tables = tables
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return b.SyncWait()
}

// list is the present list of tables. It must not be changed.
func (s *Store) list() map[store.TableID]*table {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tables
}

// CreateTable implements store.Store.
func (s *Store) CreateTable(ctx context.Context, specs ...store.TableSpec) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.space.admit(0); err != nil {
		return err
	}
	s.ddl.Lock()
	defer s.ddl.Unlock()
	tables := maps.Clone(s.list())
	b := s.db.NewBatch()
	defer b.Close()
	first, err := s.numbers.take(s.db, len(specs))
	if err != nil {
		return s.failed("creating a table", err)
	}
	for i, spec := range specs {
		if spec.ID == "" || len(spec.ID) > 512 {
			return fmt.Errorf("store: a table's ID has 1 to 512 bytes, not %d", len(spec.ID))
		}
		if tables[spec.ID] != nil {
			return fmt.Errorf("%w: %s", store.ErrTableExists, spec.ID)
		}
		t := &table{number: first + uint64(i), id: spec.ID, owner: spec.Owner, grown: &growth{}}
		t.schema = &store.Schema{Version: 1, Columns: t.withColumns(spec.Columns), Cluster: slices.Clone(spec.Cluster), Durability: spec.Durability}
		if err := t.schema.Check(); err != nil {
			return err
		}
		tables[t.id] = t
		if err := b.Set(key(keyTable, t.number), t.encode(), nil); err != nil {
			return s.failed("creating a table", err)
		}
	}
	for _, spec := range specs {
		t := tables[spec.ID]
		if t.owner == "" {
			t.family = &family{number: t.number, events: -1}
		}
	}
	for _, spec := range specs {
		t := tables[spec.ID]
		if t.owner == "" {
			continue
		}
		o := tables[t.owner]
		if o == nil {
			return fmt.Errorf("%w: %s, the owner of %s", store.ErrNoTable, t.owner, t.id)
		}
		if o.owner != "" {
			return fmt.Errorf("store: table %s cannot be owned by %s, which is owned itself", t.id, o.id)
		}
		t.family = o.family
	}
	return s.failed("creating a table", s.publish(b, tables))
}

// AlterTable implements store.Store.
func (s *Store) AlterTable(ctx context.Context, id store.TableID, from int64, changes ...store.SchemaChange) (*store.Schema, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.space.admit(0); err != nil {
		return nil, err
	}
	s.ddl.Lock()
	defer s.ddl.Unlock()
	old, err := s.lookup(id)
	if err != nil {
		return nil, err
	}
	if old.schema.Version != from {
		return nil, fmt.Errorf("%w: %s has version %d, not %d", store.ErrSchemaChanged, id, old.schema.Version, from)
	}
	t := *old
	changes = slices.Clone(changes)
	for i, c := range changes {
		if add, ok := c.(store.AddColumn); ok {
			add.Column = t.withColumns([]store.Column{add.Column})[0]
			changes[i] = add
		}
	}
	if t.schema, err = old.schema.Apply(changes...); err != nil {
		return nil, err
	}
	f := t.family
	f.mu.Lock() // a commit that has checked the version must be applied before it changes
	defer f.mu.Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	if err := b.Set(key(keyTable, t.number), t.encode(), nil); err != nil {
		return nil, s.failed("changing a table", err)
	}
	tables := maps.Clone(s.list())
	tables[id] = &t
	if err := s.publish(b, tables); err != nil {
		return nil, s.failed("changing a table", err)
	}
	return t.schema, nil
}

// members lists a table and those that it owns.
func members(tables map[store.TableID]*table, t *table) []*table {
	list := []*table{t}
	for _, o := range tables {
		if o.owner == t.id {
			list = append(list, o)
		}
	}
	return list
}

func clearAll(b *pebble.Batch, t *table, sorts []byte) error {
	for _, sort := range sorts {
		lower, upper := within(sort, t.number)
		if err := b.DeleteRange(lower, upper, nil); err != nil {
			return err
		}
	}
	return nil
}

// DropTable implements store.Store.
func (s *Store) DropTable(ctx context.Context, id store.TableID) error {
	return s.remove(ctx, id, ofTable, "dropping a table", func(b *pebble.Batch, list []*table) error {
		tables := maps.Clone(s.list())
		for _, t := range list {
			delete(tables, t.id)
		}
		if err := s.publish(b, tables); err != nil {
			return err
		}
		if t := list[0]; t.owner == "" {
			t.family.gone = true
		}
		s.options.Failpoint("drop.applied")
		return nil
	})
}

// TruncateTable implements store.Store.
func (s *Store) TruncateTable(ctx context.Context, id store.TableID) error {
	return s.remove(ctx, id, ofRows, "truncating a table", func(b *pebble.Batch, list []*table) error {
		f, owner := list[0].family, list[0].owner == ""
		// An owned table has no positions: emptying it alone concerns no writer.
		if owner {
			if err := b.Set(key(keyLease, f.number), encodeLease(f.epoch, 0, 0), nil); err != nil {
				return err
			}
		}
		if err := b.Commit(pebble.Sync); err != nil {
			return err
		}
		if owner {
			f.holder, f.committed, f.count = "", 0, 0
		}
		s.options.Failpoint("truncate.applied")
		return nil
	})
}

// remove deletes the keys of some sorts of a table and of those that it owns, under the locks that takes. apply gets the batch that does it, and the tables, the
// one that was named first; it adds to the batch and commits it.
func (s *Store) remove(ctx context.Context, id store.TableID, sorts []byte, doing string, apply func(b *pebble.Batch, list []*table) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.space.moving(); err != nil { // what is held back is for this: it gives space back
		return err
	}
	s.ddl.Lock()
	defer s.ddl.Unlock()
	t, err := s.lookup(id)
	if err != nil {
		return err
	}
	t.family.mu.Lock()
	defer t.family.mu.Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	list := members(s.list(), t)
	for _, m := range list {
		if err := clearAll(b, m, sorts); err != nil {
			return s.failed(doing, err)
		}
	}
	return s.failed(doing, apply(b, list))
}

// Schema implements store.Store.
func (s *Store) Schema(ctx context.Context, id store.TableID) (*store.Schema, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	t, err := s.lookup(id)
	if err != nil {
		return nil, err
	}
	return t.schema, nil
}

// Tables implements store.Store.
func (s *Store) Tables(ctx context.Context) ([]store.TableInfo, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	var list []store.TableInfo
	for _, t := range s.list() {
		list = append(list, store.TableInfo{ID: t.id, Owner: t.owner, Schema: t.schema})
	}
	slices.SortFunc(list, func(a, b store.TableInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}
