package pgstore

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"millrace/internal/scan"
	"millrace/streaming/store"
)

const (
	// splitRows is the number of rows in a split that is read as a whole.
	splitRows = 65536
	// filteredRows is the most rows in a split of which the database sends only some.
	filteredRows = 1 << 22
	// pageBytes is about how much a lane reads at a time; a page has no more than pageRows rows.
	pageBytes = 8 << 20
	pageRows  = 32768
	leastRows = 512
)

// source implements scan.Source for ranges of row numbers.
type source struct {
	snap    *snapshot
	seen    *seen
	table   *table
	columns []store.Column // to deliver
	// results are what the columns are where groups are delivered, the first keys of them keys; nil for rows.
	results []result
	keys    int
	lanes   int
	page    int // rows
	limit   int64

	pieces []piece
	top    *store.Top // nil: no order is of use
	bound  string     // what rows must meet to be among the first, for the pages to come
	splits []scan.Split
	next   atomic.Int64 // piece to take

	splitsDone, rows, rowsDone, delivered, skipped, pages, bytes atomic.Int64
}

// piece is a split: a range of row numbers of one part.
type piece struct {
	part     *part
	from, to int64
	// where has what else the rows must meet.
	where *condition
	// sparse says that there are conditions, so that fewer rows are found than there are numbers.
	sparse bool
	// counted says that the number of rows is known, and that nothing need be read.
	counted bool
	// single says that its rows are groups of their own, mostly. The lane that reads the piece finds out.
	single bool
}

// Scan implements store.Snapshot.
func (p *snapshot) Scan(ctx context.Context, spec store.ScanSpec) (scan.Source, error) {
	if err := p.store.enter(ctx); err != nil {
		return nil, err
	}
	defer p.store.leave()
	at, t, err := p.table(ctx, spec.Table)
	if err != nil {
		return nil, err
	}
	s := &source{snap: p, seen: at, table: t, limit: -1}
	for _, i := range spec.Columns {
		if i < 0 || i >= len(t.schema.Columns) {
			return nil, mistake("table %s has no column %d", t.id, i)
		}
		s.columns = append(s.columns, t.schema.Columns[i])
	}
	for _, c := range spec.Where {
		if c.Column < 0 || c.Column >= len(t.schema.Columns) {
			return nil, mistake("table %s has no column %d", t.id, c.Column)
		}
	}
	if err := s.setTop(spec.Top); err != nil {
		return nil, err
	}
	if err := s.aggregate(spec.Aggregation, spec.Where); err != nil {
		return nil, err
	}
	if s.page, err = s.pageSize(ctx, spec.Limit); err != nil {
		return nil, err
	}
	if s.lanes = spec.Lanes; s.lanes <= 0 {
		s.lanes = runtime.GOMAXPROCS(0)
	}
	if len(spec.Where) == 0 {
		s.limit = spec.Limit
	}
	s.plan(spec)
	if s.limit >= 0 && s.limit <= splitRows {
		s.lanes = 1
	}
	if s.lanes = min(s.lanes, len(s.pieces)); len(s.pieces) > 0 && !s.pieces[0].counted {
		s.summarize(ctx)
	}
	return s, nil
}

// pageSize is how many rows a lane reads at a time, by what rows have been like.
func (s *source) pageSize(ctx context.Context, limit int64) (int, error) {
	n := pageRows
	if len(s.columns) > 0 && s.seen.rows > leastRows {
		list, err := s.snap.stats(ctx, s.seen)
		if err != nil {
			return 0, err
		}
		each := int64(16)
		for _, c := range s.columns {
			for i := range list {
				if list[i].id == c.ID && list[i].rows > 0 {
					each += 16 + list[i].Bytes/list[i].rows
				}
			}
		}
		n = int(min(max(pageBytes/each, leastRows), pageRows))
	}
	if limit >= 0 && limit < int64(n) {
		n = int(max(limit, 1))
	}
	return n, nil
}

// plan cuts the rows of the snapshot into splits.
func (s *source) plan(spec store.ScanSpec) {
	if len(s.columns) == 0 && len(spec.Where) == 0 {
		if s.seen.rows > 0 {
			s.add(piece{to: s.seen.rows, counted: true})
		}
		return
	}
	t := s.table
	size := int64(splitRows)
	if len(spec.Where) > 0 || s.Aggregated() {
		size = min(max((s.seen.next-t.parts[0].From)/int64(4*s.lanes), splitRows), filteredRows)
	}
	for i := range t.parts {
		p := &t.parts[i]
		end := s.seen.next
		if i+1 < len(t.parts) {
			end = t.parts[i+1].From
		}
		where := new(condition)
		where.where(t, p, spec.Where)
		if where.none {
			if end > p.From {
				s.skipped.Add(1)
			}
			continue
		}
		for from := p.From; from < end; from += size {
			x := piece{part: p, from: from, to: min(from+size, end), where: where.clone(), sparse: where.sql.Len() > 0}
			x.where.alive(t, p, from)
			s.add(x)
		}
	}
}

func (s *source) add(x piece) {
	n, at := len(s.splits), s.rows.Load()
	s.splits = append(s.splits, scan.Split{Topic: string(s.table.id), Partition: int32(n), Range: scan.Range{From: at, To: at + x.to - x.from}})
	s.pieces = append(s.pieces, x)
	s.rows.Add(x.to - x.from)
}

// query is the statement that reads rows of a piece, or counts them when there are no columns. Columns that the part lacks are left out.
func (s *source) query(x *piece, from, to int64) *condition {
	if s.Aggregated() {
		return s.groupsQuery(x, from, to)
	}
	c := x.where.clone()
	rest := c.sql.String()
	c.sql.Reset()
	c.sql.WriteString("select ")
	if len(s.columns) == 0 {
		c.sql.WriteString("count(*)")
	} else {
		c.sql.WriteString("n")
		for _, col := range s.columns {
			if x.part.has(col.ID) {
				c.sql.WriteString(", " + columnName(col.ID))
			}
		}
	}
	c.sql.WriteString(" from " + s.snap.store.names.rows(x.part.Number) + " where ")
	c.numbers(from, to)
	c.sql.WriteString(rest)
	if s.bound != "" {
		if id := s.table.schema.Columns[s.top.Column].ID; x.part.has(id) {
			c.and(strings.ReplaceAll(s.bound, topColumn, columnName(id)))
		}
	}
	if len(s.columns) > 0 && x.sparse {
		c.sql.WriteString(" order by n limit " + strconv.Itoa(s.page))
	}
	return c
}

// Splits implements scan.Source.
func (s *source) Splits() []scan.Split { return s.splits }

// Warnings implements scan.Source: there is nothing that a stored table would warn of.
func (s *source) Warnings() []string { return nil }

// Close implements scan.Source. What the source holds belongs to its snapshot.
func (s *source) Close() {}

// Stats implements scan.Source. Offsets are numbers of rows, batches are pages.
func (s *source) Stats() scan.Stats {
	return scan.Stats{
		Splits: int64(len(s.splits)), SplitsDone: s.splitsDone.Load(), Offsets: s.rows.Load(), OffsetsDone: s.rowsDone.Load(),
		Records: s.delivered.Load(), Batches: s.pages.Load(), BatchesSkipped: s.skipped.Load(), BytesFetched: s.bytes.Load(), BytesDecoded: s.bytes.Load(),
		Requests: s.pages.Load(),
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
	return s.round(ctx, lanes, s.pieces)
}

// round has the lanes read pieces.
func (s *source) round(ctx context.Context, lanes store.Lanes[*lane], pieces []piece) error {
	s.next.Store(0)
	return lanes.Each(ctx, func(ctx context.Context, l *lane) error { return l.run(ctx, pieces) })
}
