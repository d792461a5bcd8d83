package pebblestore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"millrace/internal/column"
	"millrace/streaming/store"
	"millrace/streaming/store/segment"
)

// merge makes one segment of neighbours. It reports whether it did: not when they have changed in the meantime.
func (s *Store) merge(snap *snapshot, t *table, sources []*entry) (bool, error) {
	r := &reader{snap: snap, table: t}
	s.options.Failpoint("merge.read")
	var order []int32
	if len(t.schema.Cluster) > 0 {
		var err error
		if order, err = r.sorted(sources); err != nil {
			return false, err
		}
	}
	e, b, err := s.rebuild(r, sources, order)
	if err != nil {
		return false, err
	}
	defer b.Close()
	s.options.Failpoint("merge.encoded")
	replaced, err := s.replace(b, t, sources)
	if err != nil || !replaced {
		return false, err
	}
	s.counters.merges.Add(1)
	s.counters.mergedSegments.Add(int64(len(sources)))
	s.counters.mergedRows.Add(e.rows)
	s.options.Failpoint("merge.applied")
	return true, nil
}

// rebuild encodes rows of sources, order[k] being the k-th (nil: all as they are), as one segment in the place of the first.
func (s *Store) rebuild(r *reader, sources []*entry, order []int32) (*entry, *pebble.Batch, error) {
	blob, err := s.numbers.take(s.db, 1)
	if err != nil {
		return nil, nil, s.failed("merging", err)
	}
	rows := segment.Rows{Sel: order}
	for _, src := range sources {
		rows.N += int(src.rows)
	}
	if order != nil {
		rows.N = len(order)
	}
	e := &entry{order: sources[0].order, blob: blob, rows: int64(rows.N)}
	level := segment.Fast
	if total(sources) >= 0.5 {
		level = segment.Dense
	}
	w := writers.Get().(*writer)
	defer writers.Put(w)
	b := s.db.NewBatch()
	for i := range r.table.schema.Columns {
		c := &r.table.schema.Columns[i]
		if !slices.ContainsFunc(sources, func(e *entry) bool { return e.find(c.ID) != nil }) {
			continue // all are older than it, and read as its default
		}
		v, err := r.column(sources, c)
		if err == nil {
			err = w.put(b, r.table, e, c.ID, v, rows, level)
		}
		if err != nil {
			return nil, nil, errors.Join(err, b.Close())
		}
	}
	if err := w.finish(b, r.table, e); err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return e, b, nil
}

// replace applies a batch that holds the successor of sources, at the order of the first, and removes them, if they are all still there.
func (s *Store) replace(b *pebble.Batch, t *table, sources []*entry) (bool, error) {
	f := t.family
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, src := range sources {
		there, err := s.stillThere(t, src)
		if err != nil {
			return false, s.failed("merging", err)
		}
		if !there {
			s.counters.abandoned.Add(1)
			return false, nil
		}
		if i > 0 {
			err = b.Delete(key(keySegment, t.number, src.order), nil)
		}
		if err := errors.Join(err, removeColumns(b, t, src)); err != nil {
			return false, s.failed("merging", err)
		}
	}
	// Should the power fail, batch and removal are lost together.
	if err := s.db.Apply(b, pebble.NoSync); err != nil {
		return false, s.failed("merging", err)
	}
	for _, src := range sources {
		s.cache.forget(t.number, src)
	}
	return true, nil
}

func (s *Store) stillThere(t *table, src *entry) (bool, error) {
	v, closer, err := s.db.Get(key(keySegment, t.number, src.order))
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e, err := decodeEntry(src.order, v)
	if err := errors.Join(err, closer.Close()); err != nil {
		return false, err
	}
	return e.blob == src.blob, nil
}

func removeColumns(b *pebble.Batch, t *table, e *entry) error {
	for i := range e.cols {
		c := &e.cols[i]
		for k := range c.chunks {
			if err := b.Delete(key(keyColumn, t.number, e.blob, uint64(c.id), uint64(k)), nil); err != nil {
				return err
			}
		}
		if c.filter {
			if err := b.Delete(key(keyFilter, t.number, e.blob, uint64(c.id)), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// reader reads columns of segments one after the other.
type reader struct {
	snap    *snapshot
	table   *table
	decoded segment.Column
	joined  column.Vector
	blobs   blobReader
}

// column gives a column of all sources as one vector, valid until the next call.
func (r *reader) column(sources []*entry, c *store.Column) (*column.Vector, error) {
	r.joined.Reset(c.Type)
	return &r.joined, r.appendColumn(&r.joined, sources, c)
}

func (r *reader) appendColumn(v *column.Vector, sources []*entry, c *store.Column) error {
	for _, e := range sources {
		col := e.find(c.ID)
		if col == nil {
			v.AppendFrom(constant(c.Type, c.Default, int(e.rows)), nil, int(e.rows))
			continue
		}
		_, err := r.blobs.decode(r.snap.db, &r.decoded, r.table, e.blob, c, col.chunks, int(e.rows))
		if err != nil {
			return r.snap.store.corruptPart(r.table, e.blob, fmt.Sprintf("column '%s'", c.Name), err)
		}
		r.decoded.Vector.Expand()
		v.AppendFrom(&r.decoded.Vector, nil, int(e.rows))
	}
	return nil
}

// sorted gives the order of the rows of sources by the cluster columns; equal rows stay in theirs.
func (r *reader) sorted(sources []*entry) ([]int32, error) {
	s := r.table.schema
	var by []*column.Vector
	for _, name := range s.Cluster {
		c := &s.Columns[s.Index(name)]
		v := &column.Vector{Type: c.Type}
		if err := r.appendColumn(v, sources, c); err != nil {
			return nil, err
		}
		by = append(by, v)
	}
	order := make([]int32, by[0].Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		for _, v := range by {
			if c := compareRows(v, int(a), int(b)); c != 0 {
				return c
			}
		}
		return 0
	})
	return order, nil
}

// compareRows orders two rows of a vector, NULLs first.
func compareRows(v *column.Vector, a, b int) int {
	if x, y := v.IsNull(a), v.IsNull(b); x || y {
		switch {
		case x == y:
			return 0
		case x:
			return -1
		default:
			return 1
		}
	}
	switch k := v.Type.Kind; {
	case k == column.Decimal:
		return store.CompareDecimals(v.View(a), v.View(b))
	case k.IsView():
		return slices.Compare(v.View(a), v.View(b))
	case k == column.Float64:
		return store.Compare(k, store.Float(v.Float[a]), store.Float(v.Float[b]))
	case k == column.Uint64:
		return cmp.Compare(uint64(v.Int[a]), uint64(v.Int[b]))
	default:
		return cmp.Compare(v.Int[a], v.Int[b])
	}
}
