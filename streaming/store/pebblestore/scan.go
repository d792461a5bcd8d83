package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"millrace/internal/scan"
	"millrace/streaming/store"
	"millrace/streaming/store/segment"
)

// splitRows is the least number of rows in a split, the last one excepted.
const splitRows = 65536

// source implements scan.Source for the segments of a table that were left when it was planned.
type source struct {
	snap    *snapshot
	table   *table
	columns []store.Column // to deliver
	lanes   int
	// room is what the scan may still take of the cache.
	room atomic.Int64

	narrow []narrowing
	top    *store.Top // nil: no order is of use
	topAt  int        // its column among columns, -1 for none
	bar    bar
	// decides are the columns whose zones say which windows of a segment are of use.
	decides []bool
	pieces  [][]piece // by split
	splits  []scan.Split
	next    atomic.Int64 // split to take

	splitsDone, rows, rowsDone, delivered, skipped, read, decoded, bytes atomic.Int64
}

// piece is a segment to read.
type piece struct {
	blob uint64
	rows int
	// chunks are those of each column to deliver, 0 for one that the segment is older than.
	chunks []int
	// best is the first value of the segment in the order of Top, worst of all where it has none.
	best int64
}

// Scan implements store.Snapshot.
func (p *snapshot) Scan(ctx context.Context, spec store.ScanSpec) (scan.Source, error) {
	t, err := p.lookup(spec.Table)
	if err != nil {
		return nil, err
	}
	s := &source{snap: p, table: t}
	for _, i := range spec.Columns {
		if i < 0 || i >= len(t.schema.Columns) {
			return nil, fmt.Errorf("store: table %s has no column %d", t.id, i)
		}
		s.columns = append(s.columns, t.schema.Columns[i])
	}
	for _, c := range spec.Where {
		if c.Column < 0 || c.Column >= len(t.schema.Columns) {
			return nil, fmt.Errorf("store: table %s has no column %d", t.id, c.Column)
		}
	}
	s.narrow = narrowings(s.columns, t.schema, spec.Where)
	if err := s.setTop(spec.Top); err != nil {
		return nil, err
	}
	s.setDeciding()
	var memory int64
	err = segments(p.db, t, 0, func(e *entry) (bool, error) {
		at := s.rows.Load()
		if spec.Limit >= 0 && len(spec.Where) == 0 && at >= spec.Limit {
			return false, nil // nothing is left out, so these rows are enough
		}
		if err := context.Cause(ctx); err != nil {
			return false, err
		}
		if wanted, err := p.wanted(t, e, spec.Where); !wanted || err != nil {
			s.skipped.Add(1)
			return true, err
		}
		x := piece{blob: e.blob, rows: int(e.rows), chunks: make([]int, len(s.columns))}
		for i := range s.columns {
			if c := e.find(s.columns[i].ID); c != nil {
				x.chunks[i] = c.chunks
				memory += c.memory
			}
		}
		if s.top != nil {
			x.best = bestOf(s.top, e, &t.schema.Columns[s.top.Column])
		}
		s.add(x, at)
		return true, nil
	})
	if err != nil {
		if context.Cause(ctx) != nil {
			return nil, err
		}
		return nil, p.store.failed(fmt.Sprintf("reading table '%s'", t.id), err)
	}
	s.room.Store(p.store.cache.share(memory, s.top != nil))
	if s.lanes = spec.Lanes; s.lanes <= 0 {
		s.lanes = runtime.GOMAXPROCS(0)
	}
	if spec.Limit >= 0 && len(spec.Where) == 0 && s.rows.Load() <= fullRows {
		s.lanes = 1
	}
	s.lanes = min(s.lanes, len(s.pieces))
	return s, nil
}

// setDeciding notes the columns that choose windows.
func (s *source) setDeciding() {
	s.decides = make([]bool, len(s.columns))
	for i := range s.narrow {
		s.decides[s.narrow[i].column] = true
	}
	if s.topAt >= 0 {
		s.decides[s.topAt] = true
	}
}

func (s *source) add(x piece, at int64) {
	if n := len(s.splits); n == 0 || s.splits[n-1].Range.To-s.splits[n-1].Range.From >= splitRows {
		s.splits = append(s.splits, scan.Split{Topic: string(s.table.id), Partition: int32(n), Range: scan.Range{From: at, To: at}})
		s.pieces = append(s.pieces, nil)
	}
	n := len(s.splits) - 1
	s.splits[n].Range.To += int64(x.rows)
	s.pieces[n] = append(s.pieces[n], x)
	s.rows.Add(int64(x.rows))
}

// wanted reports whether a segment may have rows that meet all conditions.
func (p *snapshot) wanted(t *table, e *entry, where []store.Condition) (bool, error) {
	for i := range where {
		c := &t.schema.Columns[where[i].Column]
		stats := e.statsOf(c)
		if !where[i].May(c.Type.Kind, &stats, e.rows) {
			return false, nil
		}
		if col := e.find(c.ID); col != nil && col.filter && (!where[i].Null || stats.Nulls == 0) {
			may, err := p.filtered(t, e.blob, c, where[i].Ranges)
			if !may || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// filtered asks a filter for the values of ranges, when they are single ones.
func (p *snapshot) filtered(t *table, blob uint64, c *store.Column, ranges []store.Range) (bool, error) {
	for _, r := range ranges {
		if !r.Single(c.Type.Kind) {
			return true, nil
		}
	}
	f, err := p.filter(t, blob, c)
	if err != nil {
		return false, err
	}
	for _, r := range ranges {
		if segment.MayContain(f, segment.Hash(r.Min, c.Type.Kind)) {
			return true, nil
		}
	}
	return false, nil
}

func (p *snapshot) filter(t *table, blob uint64, c *store.Column) ([]byte, error) {
	k := cacheKey{t.number, blob, c.ID, true}
	if x := p.store.cache.get(k); x != nil {
		return x.filter, nil
	}
	v, closer, err := p.db.Get(key(keyFilter, t.number, blob, uint64(c.ID)))
	if err == nil {
		f := append([]byte(nil), v...)
		if err = errors.Join(segment.CheckFilter(f), closer.Close()); err == nil {
			p.store.cache.put(&cached{key: k, filter: f, bytes: int64(len(f))})
			return f, nil
		}
	}
	return nil, p.store.corruptPart(t, blob, fmt.Sprintf("filter of column '%s'", c.Name), err)
}

// Splits implements scan.Source.
func (s *source) Splits() []scan.Split { return s.splits }

// Warnings implements scan.Source: there is nothing that a stored table would warn of.
func (s *source) Warnings() []string { return nil }

// Close implements scan.Source. What the source holds belongs to its snapshot.
func (s *source) Close() {}

// Stats implements scan.Source. Offsets are numbers of rows, batches are segments.
func (s *source) Stats() scan.Stats {
	return scan.Stats{
		Splits: int64(len(s.splits)), SplitsDone: s.splitsDone.Load(), Offsets: s.rows.Load(), OffsetsDone: s.rowsDone.Load(),
		Records: s.delivered.Load(), Batches: s.read.Load(), BatchesSkipped: s.skipped.Load(), BytesFetched: s.bytes.Load(), BytesDecoded: s.decoded.Load(),
	}
}

// Run implements scan.Source.
func (s *source) Run(ctx context.Context, newSink func(lane int) (scan.Sink, error)) error {
	return store.RunLanes(ctx, s.lanes, newSink, func(sink scan.Sink) *lane { return newLane(s, sink) }, s.rounds)
}

// rounds reads everything in one round, or in as many as Top asks for.
func (s *source) rounds(ctx context.Context, lanes store.Lanes[*lane]) error {
	if s.top != nil && lanes.Keep() {
		return s.topRounds(ctx, lanes)
	}
	s.top = nil
	return s.round(ctx, lanes, s.pieces)
}

// round has the lanes read pieces.
func (s *source) round(ctx context.Context, lanes store.Lanes[*lane], pieces [][]piece) error {
	s.next.Store(0)
	return lanes.Each(ctx, func(ctx context.Context, l *lane) error { return l.run(ctx, pieces) })
}
