package pgstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// windowRows is the number of rows in a batch: a multiple of 64, so that bitmaps can be cut, and small enough that what operators make of it stays in the
// processor's cache.
const windowRows = 4096

// lane reads pieces, page by page: it holds a connection while it reads a page, and none while it pushes it. So a statement whose sinks wait for another scan
// cannot take the connections that the other needs.
type lane struct {
	source *source
	sink   scan.Sink
	page   column.Batch // what was read last
	// numbers are those of its rows.
	numbers []int64
	batch   column.Batch // the part of it that is pushed
	kinds   []column.Kind
	span    int64 // how many rows the next groups are of
}

func newLane(s *source, sink scan.Sink) *lane {
	n := len(s.columns)
	return &lane{source: s, sink: sink, page: column.Batch{Cols: make([]column.Vector, n)}, batch: column.Batch{Cols: make([]column.Vector, n)}, kinds: make([]column.Kind, n)}
}

// Sink implements store.Lane.
func (l *lane) Sink() scan.Sink { return l.sink }

// run reads pieces until none is left.
func (l *lane) run(ctx context.Context, pieces []piece) error {
	s := l.source
	for {
		n := int(s.next.Add(1)) - 1
		if n >= len(pieces) {
			return nil
		}
		if err := l.piece(ctx, &pieces[n]); err != nil {
			return err
		}
		s.splitsDone.Add(1)
	}
}

// piece reads a piece. Without conditions a page is as many numbers as it may have rows. With them it is the first rows of a longer stretch, whose length follows how many are found.
func (l *lane) piece(ctx context.Context, x *piece) error {
	s := l.source
	if s.Aggregated() {
		return l.groups(ctx, x)
	}
	span := x.to - x.from
	if !x.sparse && !x.counted && len(s.columns) > 0 {
		span = int64(s.page)
	}
	for from := x.from; from < x.to; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		to := min(from+span, x.to)
		if x.counted {
			l.page.N = int(x.to - x.from)
		} else if err := l.read(ctx, x, from, to); err != nil {
			return err
		}
		if x.sparse && len(s.columns) > 0 {
			switch {
			case l.page.N >= s.page: // there may be more
				to = l.numbers[l.page.N-1] + 1
				span = max(to-from, int64(s.page))
			case l.page.N < s.page/2:
				span *= 2
			}
		}
		if err := l.push(ctx); err != nil {
			return err
		}
		s.rowsDone.Add(to - from)
		from = to
	}
	return nil
}

// push hands on the page, in windows.
func (l *lane) push(ctx context.Context) error {
	for from := 0; from < l.page.N; from += windowRows {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n := min(windowRows, l.page.N-from)
		for i := range l.page.Cols {
			l.batch.Cols[i] = l.page.Cols[i].Window(from, n)
		}
		l.batch.N, l.batch.Sel = n, nil
		if err := l.sink.Push(ctx, &l.batch); err != nil {
			return err
		}
		l.source.delivered.Add(int64(n))
	}
	return nil
}

// read reads a page of a piece: the rows with numbers from one on to below another, or the first of them.
func (l *lane) read(ctx context.Context, x *piece, from, to int64) error {
	s := l.source
	db := s.snap.store
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.leave()
	q := s.query(x, from, to)
	db.counters.pages.Add(1)
	s.pages.Add(1)
	return db.on(ctx, fmt.Sprintf("reading table '%s'", s.table.id), func(ctx context.Context, c *pgx.Conn) error {
		bad, err := l.ask(ctx, c, q, x.part)
		var e *pgconn.PgError
		switch {
		case errors.As(err, &e) && e.Code == "42P01": // undefined_table: the part was dropped
			return db.rollback(ctx, c, errTooOld)
		case err != nil:
			return db.rollback(ctx, c, err)
		case bad != nil:
			return sqlerr.New(sqlerr.StoreCorrupt, "table '%s' at '%s' cannot be read: %w", s.table.id, db.address, bad)
		}
		l.sort()
		db.counters.read.Add(int64(l.page.N))
		return s.check(ctx, c)
	})
}

// ask sends a query and decodes the answer, in one round trip. bad is what is wrong with the answer.
func (l *lane) ask(ctx context.Context, c *pgx.Conn, q *condition, p *part) (bad, err error) {
	db := l.source.snap.store
	pipeline := c.PgConn().StartPipeline(ctx)
	before, after := db.scanning(l.source.Aggregated())
	for _, text := range before {
		pipeline.SendQueryParams(text, nil, nil, nil, nil)
	}
	formats := make([]int16, len(q.values))
	for i := range formats {
		formats[i] = pgx.BinaryFormatCode
	}
	pipeline.SendQueryParams(q.sql.String(), q.values, q.oids, formats, []int16{pgx.BinaryFormatCode})
	for _, text := range after {
		pipeline.SendQueryParams(text, nil, nil, nil, nil)
	}
	if err := pipeline.Sync(); err != nil {
		return nil, errors.Join(err, pipeline.Close())
	}
	for i := range len(before) + 1 + len(after) {
		results, err := pipeline.GetResults()
		if err != nil {
			return bad, errors.Join(err, pipeline.Close())
		}
		rows, ok := results.(*pgconn.ResultReader)
		if !ok {
			return bad, errors.Join(fmt.Errorf("pgstore: %T in the place of rows", results), pipeline.Close())
		}
		if i == len(before) {
			bad = l.decode(rows, p)
		}
		if _, err := rows.Close(); err != nil {
			return bad, errors.Join(err, pipeline.Close())
		}
	}
	return bad, pipeline.Close()
}

// sort brings the rows of the page into the order of their numbers. They mostly are, as they lie on disk as they were written, so the database is not asked to.
func (l *lane) sort() {
	if slices.IsSorted(l.numbers) {
		return
	}
	order := make([]int32, l.page.N)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Compare(l.numbers[i], l.numbers[j]) })
	sorted := make([]column.Vector, len(l.page.Cols))
	for i := range sorted {
		sorted[i].Reset(l.page.Cols[i].Type)
		sorted[i].AppendFrom(&l.page.Cols[i], order, len(order))
	}
	l.page.Cols = sorted
	slices.Sort(l.numbers)
}

// check finds out, for a snapshot that is old enough, whether rows that the snapshot sees have been removed since.
func (s *source) check(ctx context.Context, c *pgx.Conn) error {
	if !s.snap.old() {
		return nil
	}
	var collected int64
	err := c.QueryRow(ctx, s.snap.store.sql("select collected from {tables} where number = $1"), s.table.number).Scan(&collected)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil // dropped: its parts are there as a whole or not at all
	case err != nil:
		return err
	case collected > s.table.expired:
		return errTooOld
	}
	return nil
}

// decode fills the page.
func (l *lane) decode(rows *pgconn.ResultReader, p *part) error {
	s := l.source
	if s.Aggregated() {
		return l.decodeGroups(rows, p)
	}
	l.page.N, l.numbers = 0, l.numbers[:0]
	for i := range s.columns {
		l.page.Cols[i].Reset(s.columns[i].Type)
		kind, ok := p.find(s.columns[i].ID)
		if !ok {
			kind = column.Invalid
		}
		l.kinds[i] = kind
	}
	for rows.NextRow() {
		values := rows.Values()
		if len(values) == 0 || len(values[0]) != 8 {
			return errors.New("a row has no number")
		}
		number := int64(binary.BigEndian.Uint64(values[0]))
		if len(s.columns) == 0 { // it is a count
			l.page.N = int(number)
			continue
		}
		next := 1
		for i, kind := range l.kinds {
			v := &l.page.Cols[i]
			if kind == column.Invalid { // older than the column
				s.columns[i].Default.AppendTo(v)
				continue
			}
			x := values[next]
			next++
			s.bytes.Add(int64(len(x)))
			if x == nil {
				v.AppendNull()
				continue
			}
			if err := appendValue(v, kind, x); err != nil {
				return fmt.Errorf("column '%s' of row %d: %w", s.columns[i].Name, number, err)
			}
		}
		l.numbers = append(l.numbers, number)
		l.page.N++
	}
	return nil
}

// appendValue appends a value that is stored as kind.
func appendValue(v *column.Vector, kind column.Kind, x []byte) (err error) {
	switch kind {
	case column.Bool:
		if len(x) != 1 {
			return fmt.Errorf("a boolean has %d bytes", len(x))
		}
		v.AppendInt(int64(x[0]))
	case column.Uint64:
		var b [24]byte
		text, err := appendDecimal(b[:0], x)
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil {
			return err
		}
		v.AppendInt(int64(n))
	case column.Float64:
		if len(x) != 8 {
			return fmt.Errorf("a double has %d bytes", len(x))
		}
		v.AppendFloat(math.Float64frombits(binary.BigEndian.Uint64(x)))
	case column.Decimal:
		return appendView(v, x, appendDecimal)
	case column.Text, column.JSON:
		if !needsEscape(x) {
			v.AppendBytes(x)
			return nil
		}
		return appendView(v, x, func(to, x []byte) ([]byte, error) { return appendUnescaped(to, x), nil })
	case column.Bytes:
		v.AppendBytes(x)
	default:
		if len(x) != 8 {
			return fmt.Errorf("a bigint has %d bytes", len(x))
		}
		v.AppendInt(int64(binary.BigEndian.Uint64(x)))
	}
	return nil
}

// appendView appends what decode makes of x.
func appendView(v *column.Vector, x []byte, decode func(to, x []byte) ([]byte, error)) error {
	end := len(v.Data)
	data, err := decode(v.Data, x)
	if err != nil {
		return err
	}
	made := data[end:]
	v.Data = data[:end]
	v.AppendBytes(made) // onto itself: the bytes are where they belong
	return nil
}
