package pebblestore

import (
	"context"
	"fmt"

	"millrace/internal/column"
	"millrace/internal/scan"
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
	zones   [][]zone          // of the segment at hand, by narrowing; nil where there are none
	missing []*column.Vector  // what columns read as that a segment lacks
	byCodes []bool            // columns that the sink needs no views of where they have codes
	views   []column.Vector   // memory for views of the others
	blobs   blobReader
}

func newLane(s *source, sink scan.Sink) *lane {
	n := len(s.columns)
	l := &lane{
		source: s, sink: sink, batch: column.Batch{Cols: make([]column.Vector, n)},
		whole: make([]*column.Vector, n), reused: make([]*segment.Column, n), missing: make([]*column.Vector, n),
		zones: make([][]zone, len(s.narrow)), byCodes: make([]bool, n), views: make([]column.Vector, n),
	}
	if coder, ok := sink.(scan.Coder); ok {
		for i := range l.byCodes {
			l.byCodes[i] = coder.ByCodes(i)
		}
	}
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

func (l *lane) piece(ctx context.Context, p *piece) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s := l.source
	s.read.Add(1)
	for i := range s.columns {
		if err := l.load(p, i); err != nil {
			return err
		}
	}
	for from := 0; from < p.rows; from += windowRows {
		n := min(windowRows, p.rows-from)
		if !l.mayMeet(from / windowRows) {
			s.rowsDone.Add(int64(n))
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		for i, v := range l.whole {
			at := from
			if p.chunks[i] == 0 {
				at = 0 // all windows are alike
			}
			l.batch.Cols[i] = v.Window(at, n)
			if v.Coded() && !l.byCodes[i] {
				l.expand(i)
			}
		}
		l.batch.N, l.batch.Sel = n, nil
		if err := l.sink.Push(ctx, &l.batch); err != nil {
			return err
		}
		s.delivered.Add(int64(n))
		s.rowsDone.Add(int64(n))
	}
	return nil
}

// expand gives a column of the batch its views.
func (l *lane) expand(i int) {
	v, memory := &l.batch.Cols[i], &l.views[i]
	v.Beg, v.End = memory.Beg[:0], memory.End[:0]
	v.Expand()
	memory.Beg, memory.End = v.Beg, v.End
}

// mayMeet reports whether rows of a window may meet all conditions.
func (l *lane) mayMeet(window int) bool {
	for i := range l.zones {
		if n := &l.source.narrow[i]; l.zones[i] != nil && !n.mayMeet(l.whole[n.column], l.zones[i][window]) {
			return false
		}
	}
	return true
}

// narrow takes the zones of a column that was loaded: x is nil when it is not in the cache.
func (l *lane) narrow(i int, x *cached, v *column.Vector) {
	for k := range l.source.narrow {
		switch {
		case l.source.narrow[k].column != i:
		case x != nil:
			l.zones[k] = x.bounds()
		default:
			l.zones[k] = zonesOf(v)
		}
	}
}

// load makes a column of a segment ready in l.whole.
func (l *lane) load(p *piece, i int) error {
	s := l.source
	c := &s.columns[i]
	if p.chunks[i] == 0 {
		if l.missing[i] == nil {
			l.missing[i] = constant(c.Type, c.Default, windowRows)
		}
		l.whole[i] = l.missing[i]
		for k := range s.narrow {
			if s.narrow[k].column == i {
				l.zones[k] = nil // planning has looked at the default
			}
		}
		return nil
	}
	db := s.snap.store
	k := cacheKey{s.table.number, p.blob, c.ID, false}
	if x := db.cache.get(k); x != nil {
		l.whole[i] = &x.column.Vector
		l.narrow(i, x, nil)
		if x.column.Vector.Type != c.Type { // widened since
			v := x.column.Vector
			v.Type = c.Type
			l.whole[i] = &v
		}
		return nil
	}
	col := l.reused[i]
	if col == nil || s.admit {
		col = new(segment.Column)
	}
	n, err := l.blobs.decode(s.snap.db, col, s.table, p.blob, c, p.chunks[i], p.rows)
	s.bytes.Add(int64(n))
	if err != nil {
		return db.corruptPart(s.table, p.blob, fmt.Sprintf("column '%s'", c.Name), err)
	}
	s.decoded.Add(col.Bytes())
	if s.admit {
		x := &cached{key: k, column: col, bytes: col.Bytes()}
		db.cache.put(x)
		l.narrow(i, x, nil)
	} else {
		l.reused[i] = col
		l.narrow(i, nil, &col.Vector)
	}
	l.whole[i] = &col.Vector
	return nil
}
