package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// Expire implements store.Store. Segments that are below as a whole are dropped by their bounds; those that straddle are rewritten. Each is a step of its
// own.
func (s *Store) Expire(ctx context.Context, id store.TableID, name string, before int64) (removed int64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	if err := s.space.moving(); err != nil {
		return 0, err
	}
	t, err := s.lookup(id)
	if err != nil {
		return 0, err
	}
	i := t.schema.Index(name)
	if i < 0 {
		return 0, fmt.Errorf("store: table %s has no column '%s'", id, name)
	}
	c := &t.schema.Columns[i]
	if !c.Type.Kind.IsInt() || c.Type.Kind == column.Bool {
		return 0, fmt.Errorf("store: rows do not expire by column '%s', which is %v", name, c.Type)
	}
	t.family.maintain.Lock()
	defer t.family.maintain.Unlock()
	snap := s.snapshot()
	defer snap.Close()
	old := store.Condition{Column: i, Ranges: []store.Range{{Max: store.Int(before), MaxOpen: true}}}
	var found []*entry
	err = segments(snap.db, t, 0, func(e *entry) (bool, error) {
		if stats := e.statsOf(c); old.May(c.Type.Kind, &stats, e.rows) {
			found = append(found, e)
		}
		return true, context.Cause(ctx)
	})
	if err != nil {
		if context.Cause(ctx) != nil {
			return 0, err
		}
		return 0, s.failed("expiring rows", err)
	}
	r := &reader{snap: snap, table: t}
	for _, e := range found {
		if err := context.Cause(ctx); err != nil {
			return removed, err
		}
		n, err := s.expire(r, e, c, before)
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

// expire removes the old rows of one segment.
func (s *Store) expire(r *reader, e *entry, c *store.Column, before int64) (int64, error) {
	keep, err := r.kept(e, c, before)
	if err != nil {
		return 0, err
	}
	n := e.rows - int64(len(keep))
	if n == 0 {
		return 0, nil
	}
	var b *pebble.Batch
	if len(keep) == 0 {
		b = s.db.NewBatch()
		err = b.Delete(key(keySegment, r.table.number, e.order), nil)
	} else {
		_, b, err = s.rebuild(r, []*entry{e}, keep)
	}
	if err != nil {
		return 0, s.failed("expiring rows", err)
	}
	replaced, err := s.replace(b, r.table, []*entry{e})
	if err := errors.Join(err, b.Close()); err != nil {
		return 0, err
	}
	if !replaced { // truncated or dropped: nothing is left to expire
		return 0, nil
	}
	s.options.Failpoint("expire.applied")
	return n, nil
}

// kept lists the rows of a segment that stay: never nil.
func (r *reader) kept(e *entry, c *store.Column, before int64) ([]int32, error) {
	keep := make([]int32, 0, e.rows)
	stats := e.statsOf(c)
	unsigned := c.Type.Kind == column.Uint64
	if stats.Nulls == 0 && store.Compare(c.Type.Kind, stats.Max, store.Int(before)) < 0 {
		return keep, nil
	}
	v, err := r.column([]*entry{e}, c)
	if err != nil {
		return nil, err
	}
	for i := range int(e.rows) {
		x := v.Int[i]
		if old := x < before && !unsigned || unsigned && uint64(x) < uint64(before); !old || v.IsNull(i) {
			keep = append(keep, int32(i))
		}
	}
	return keep, nil
}
