package pebblestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// snapshot implements store.Snapshot.
type snapshot struct {
	store  *Store
	db     *pebble.Snapshot
	tables map[store.TableID]*table
	once   sync.Once
}

// Snapshot implements store.Store.
func (s *Store) Snapshot(ctx context.Context) (store.Snapshot, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.snapshot(), nil
}

func (s *Store) snapshot() *snapshot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return &snapshot{store: s, db: s.db.NewSnapshot(), tables: s.tables}
}

// Close implements store.Snapshot.
func (p *snapshot) Close() {
	p.once.Do(func() {
		if err := p.db.Close(); err != nil {
			p.store.log.Error("closing a snapshot failed", "error", err)
		}
	})
}

func (p *snapshot) lookup(id store.TableID) (*table, error) {
	if t := p.tables[id]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%w: %s", store.ErrNoTable, id)
}

// Schema implements store.Snapshot.
func (p *snapshot) Schema(id store.TableID) (*store.Schema, error) {
	t, err := p.lookup(id)
	if err != nil {
		return nil, err
	}
	return t.schema, nil
}

// Checkpoint implements store.Snapshot.
func (p *snapshot) Checkpoint(id store.TableID) (*store.Checkpoint, error) {
	t, err := p.lookup(id)
	if err != nil {
		return nil, err
	}
	if t.owner != "" {
		return nil, fmt.Errorf("store: table %s is written by the writer of %s", id, t.owner)
	}
	c, err := readCheckpoint(p.db, t.number)
	return c, p.store.failed("reading a checkpoint", err)
}

// segments calls use for the segments of a table from an order on, in order, until it says stop.
func segments(r pebble.Reader, t *table, from uint64, use func(e *entry) (more bool, err error)) error {
	_, upper := within(keySegment, t.number)
	iter, err := r.NewIter(&pebble.IterOptions{LowerBound: key(keySegment, t.number, from), UpperBound: upper})
	if err != nil {
		return err
	}
	defer iter.Close()
	for valid := iter.First(); valid; valid = iter.Next() {
		e, err := decodeEntry(last(iter.Key()), iter.Value())
		if err != nil {
			return err
		}
		if more, err := use(e); !more || err != nil {
			return err
		}
	}
	return iter.Error()
}

// statsOf gives the statistics of a column of the schema in a segment, also where the segment is older than the column.
func (e *entry) statsOf(c *store.Column) store.ColumnStats {
	if col := e.find(c.ID); col != nil {
		return col.stats
	}
	switch v := c.Default; {
	case v.IsNull():
		return store.ColumnStats{Nulls: e.rows}
	case c.Type.Kind == column.JSON:
		return store.ColumnStats{}
	case c.Type.Kind == column.Float64 && v.Float64() != v.Float64():
		return store.ColumnStats{NaN: true}
	default:
		return store.ColumnStats{Min: v, Max: v, Bounded: true}
	}
}

// Stats implements store.Snapshot.
func (p *snapshot) Stats(id store.TableID) (*store.TableStats, error) {
	t, err := p.lookup(id)
	if err != nil {
		return nil, err
	}
	out := &store.TableStats{Columns: make([]store.ColumnStats, len(t.schema.Columns))}
	unbounded := make([]bool, len(t.schema.Columns))
	err = segments(p.db, t, 0, func(e *entry) (bool, error) {
		out.Rows += e.rows
		out.Segments++
		out.Bytes += e.bytes()
		for i := range t.schema.Columns {
			c, sum := e.statsOf(&t.schema.Columns[i]), &out.Columns[i]
			k := t.schema.Columns[i].Type.Kind
			sum.Nulls += c.Nulls
			sum.Bytes += c.Bytes
			sum.NaN = sum.NaN || c.NaN
			switch {
			case !c.Bounded:
				unbounded[i] = unbounded[i] || c.Nulls < e.rows && !(c.NaN && k == column.Float64)
			case !sum.Bounded:
				sum.Min, sum.Max, sum.Bounded = c.Min, c.Max, true
			default:
				if store.Compare(k, c.Min, sum.Min) < 0 {
					sum.Min = c.Min
				}
				if store.Compare(k, c.Max, sum.Max) > 0 {
					sum.Max = c.Max
				}
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, p.store.failed(fmt.Sprintf("reading table '%s'", id), err)
	}
	for i, u := range unbounded {
		if u {
			c := &out.Columns[i]
			c.Min, c.Max, c.Bounded = store.Value{}, store.Value{}, false
		}
	}
	return out, nil
}
