package pebblestore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/streaming/store"
	"millrace/streaming/store/segment"
)

// windowRows is the number of rows in a batch: a multiple of 64, so that bitmaps can be cut, and small enough that what operators make of it stays in the
// processor's cache.
const windowRows = 4096

// lane reads splits and pushes windows of their segments, without copying values: vectors of a batch are parts of decoded columns.
type lane struct {
	source  *source
	sink    scan.Sink
	batch   column.Batch
	whole   []*column.Vector  // of the segment at hand, by column
	reused  []*segment.Column // memory of columns that are not cached
	zones   [][]zone          // of the segment at hand, by column that decides; nil where there are none
	windows []int             // of the segment at hand, to push
	self    store.Lanes[*lane]
	missing []*column.Vector // what columns read as that a segment lacks
	byCodes bool             // the sink needs no views of columns that have codes
	views   []column.Vector  // memory for views, by column
	blobs   blobReader
}

func newLane(s *source, sink scan.Sink) *lane {
	n := len(s.columns)
	l := &lane{
		source: s, sink: sink, batch: column.Batch{Cols: make([]column.Vector, n)},
		whole: make([]*column.Vector, n), reused: make([]*segment.Column, n), missing: make([]*column.Vector, n),
		zones: make([][]zone, n), views: make([]column.Vector, n),
	}
	if c, ok := sink.(scan.Coder); ok {
		l.byCodes = c.TakesCodes()
	}
	l.self = store.Lanes[*lane]{l}
	return l
}

// Sink implements store.Lane.
func (l *lane) Sink() scan.Sink { return l.sink }

// run reads pieces, by split, until none is left.
func (l *lane) run(ctx context.Context, pieces [][]piece) error {
	s := l.source
	for {
		n := int(s.next.Add(1)) - 1
		if n >= len(pieces) {
			return nil
		}
		for i := range pieces[n] {
			if err := l.piece(ctx, &pieces[n][i]); err != nil {
				return err
			}
		}
		s.splitsDone.Add(1)
	}
}

// piece reads a segment: first the columns that decide which windows are of use, the others when one is.
func (l *lane) piece(ctx context.Context, p *piece) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s := l.source
	s.read.Add(1)
	if err := l.loadAll(p, true); err != nil {
		return err
	}
	l.choose(p)
	if len(l.windows) > 0 {
		if err := l.loadAll(p, false); err != nil {
			return err
		}
	}
	left := int64(p.rows)
	for _, w := range l.windows {
		if s.top != nil && s.bar.below(l.best(w)) {
			continue
		}
		n := min(windowRows, p.rows-w*windowRows)
		if err := l.push(ctx, p, w*windowRows, n); err != nil {
			return err
		}
		s.delivered.Add(int64(n))
		s.rowsDone.Add(int64(n))
		left -= int64(n)
	}
	s.rowsDone.Add(left)
	return nil
}

// push hands on n rows from one on.
func (l *lane) push(ctx context.Context, p *piece, from, n int) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for i, v := range l.whole {
		at := from
		if p.chunks[i] == 0 {
			at = 0 // all windows are alike
		}
		l.batch.Cols[i] = v.Window(at, n)
		if v.Coded() && !l.byCodes {
			l.expand(i)
		}
	}
	l.batch.N, l.batch.Sel = n, nil
	if err := l.sink.Push(ctx, &l.batch); err != nil {
		return err
	}
	l.raise()
	return nil
}

// expand gives a column of the batch its views.
func (l *lane) expand(i int) {
	v, memory := &l.batch.Cols[i], &l.views[i]
	v.Beg, v.End = memory.Beg[:0], memory.End[:0]
	v.Expand()
	memory.Beg, memory.End = v.Beg, v.End
}

// choose lists the windows of a segment with rows that may be wanted; those that may have the best ones first, when there are any to be told.
func (l *lane) choose(p *piece) {
	l.windows = l.windows[:0]
	for w := range (p.rows + windowRows - 1) / windowRows {
		if l.mayMeet(w) {
			l.windows = append(l.windows, w)
		}
	}
	if l.source.top != nil {
		slices.SortStableFunc(l.windows, func(a, b int) int { return cmp.Compare(l.best(b), l.best(a)) })
	}
}

// mayMeet reports whether rows of a window may meet all conditions.
func (l *lane) mayMeet(window int) bool {
	for i := range l.source.narrow {
		n := &l.source.narrow[i]
		if z := l.zones[n.column]; z != nil && !n.mayMeet(l.whole[n.column], z[window]) {
			return false
		}
	}
	return true
}

// loadAll makes the columns of a segment ready that decide which windows are of use, or the others.
func (l *lane) loadAll(p *piece, deciding bool) error {
	for i := range l.source.columns {
		if l.source.decides[i] == deciding {
			if err := l.load(p, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// load makes a column of a segment ready in l.whole.
func (l *lane) load(p *piece, i int) error {
	s := l.source
	c := &s.columns[i]
	if p.chunks[i] == 0 {
		if l.missing[i] == nil {
			l.missing[i] = constant(c.Type, c.Default, windowRows)
		}
		l.whole[i], l.zones[i] = l.missing[i], nil // planning has looked at the default
		return nil
	}
	db := s.snap.store
	k := cacheKey{s.table.number, p.blob, c.ID, false}
	if x := db.cache.get(k); x != nil {
		l.whole[i] = &x.column.Vector
		if s.decides[i] {
			l.zones[i] = x.bounds()
		}
		s.room.Add(-x.bytes)
		if x.column.Vector.Type != c.Type { // widened since
			v := x.column.Vector
			v.Type = c.Type
			l.whole[i] = &v
		}
		return nil
	}
	admit := s.room.Load() > 0
	col := l.reused[i]
	if col == nil || admit {
		col = new(segment.Column)
	}
	n, err := l.blobs.decode(s.snap.db, col, s.table, p.blob, c, p.chunks[i], p.rows)
	s.bytes.Add(int64(n))
	if err != nil {
		return db.corruptPart(s.table, p.blob, fmt.Sprintf("column '%s'", c.Name), err)
	}
	s.decoded.Add(col.Bytes())
	x := &cached{key: k, column: col, bytes: col.Bytes()}
	if s.decides[i] {
		l.zones[i] = x.bounds()
	}
	if admit {
		s.room.Add(-x.bytes)
		db.cache.put(x)
	} else {
		l.reused[i] = col
	}
	l.whole[i] = &col.Vector
	return nil
}
