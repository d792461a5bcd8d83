package executor

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// recordFields are what is gathered of each record: all that a query may ask for, and what is kept of one that fails. What is made of headers is added for queries that read it.
var recordFields = []scan.Field{scan.Key, scan.Value, scan.Topic, scan.Partition, scan.Offset, scan.Timestamp, scan.TimestampType}

// The places of fields in a gathered batch.
const (
	atKey = iota
	atValue
	atTopic
	atPartition
	atOffset
	atTimestamp
)

// pieceRows is the number of records in a piece of a gathering.
const pieceRows = 4096

// fieldsFor are the fields to gather for a query that asks for these.
func fieldsFor(asked []scan.Field) []scan.Field {
	fields := slices.Clone(recordFields)
	for _, f := range []scan.Field{scan.Headers, scan.KeySchemaID, scan.ValueSchemaID} {
		if slices.Contains(asked, f) {
			fields = append(fields, f)
		}
	}
	return fields
}

func columnsOf(fields []scan.Field) []column.Field {
	out := make([]column.Field, len(fields))
	for i, f := range fields {
		out[i] = f.Column()
	}
	return out
}

// records are some records in memory, and how far each partition has been read with them.
type records struct {
	fields []scan.Field
	// columns describes the batches. spare is an empty one that may become a piece.
	columns []column.Field
	spare   *column.Batch
	// pieces are batches of the fields, none of them empty.
	pieces []*column.Batch
	rows   int
	bytes  int64
	// reached has the partitions that were read on: the next offset, and the leader epoch when it is known, else -1.
	reached map[store.Partition]reached
	// newest are the greatest timestamps, in milliseconds.
	newest map[store.Partition]int64
	// oldest is the least of all timestamps, 0 for none.
	oldest int64
}

type reached struct {
	next  int64
	epoch int32
}

func newRecords(fields []scan.Field) *records {
	return &records{fields: fields, columns: columnsOf(fields), reached: map[store.Partition]reached{}, newest: map[store.Partition]int64{}}
}

// add copies the live rows of a batch.
func (r *records) add(b *column.Batch) {
	n := b.Live()
	if n == 0 {
		return
	}
	var piece *column.Batch
	if k := len(r.pieces); k > 0 && r.pieces[k-1].N+n <= pieceRows {
		piece = r.pieces[k-1]
	} else {
		if piece, r.spare = r.spare, nil; piece == nil {
			piece = new(column.Batch)
			piece.Reset(r.columns)
		}
		r.pieces = append(r.pieces, piece)
	}
	first := piece.N
	before := dataBytes(piece)
	piece.AppendRows(b, -1)
	r.rows += n
	r.bytes += dataBytes(piece) - before + int64(n)*48
	r.note(piece, first)
}

// mostSpare is the most memory that records keep for those that come after them.
const mostSpare = 1 << 20

// empty takes everything out, and keeps the memory of a small piece.
func (r *records) empty() {
	if len(r.pieces) > 0 && r.pieces[0].Bytes() <= mostSpare {
		r.spare = r.pieces[0]
		r.spare.Reset(r.columns)
	}
	clear(r.pieces)
	clear(r.reached)
	clear(r.newest)
	r.pieces, r.rows, r.bytes, r.oldest = r.pieces[:0], 0, 0, 0
}

// dataBytes is how many bytes the keys and values of a batch have.
func dataBytes(b *column.Batch) int64 {
	return int64(len(b.Cols[atKey].Data) + len(b.Cols[atValue].Data))
}

// note takes the positions of the rows of a piece from first on. Offsets of a partition ascend.
func (r *records) note(b *column.Batch, first int) {
	topics, numbers, offsets, times := &b.Cols[atTopic], &b.Cols[atPartition], &b.Cols[atOffset], &b.Cols[atTimestamp]
	for i := first; i < b.N; {
		end := i + 1
		newest := int64(0)
		if !times.IsNull(i) {
			newest = times.Int[i]
			r.aged(newest)
		}
		for end < b.N && numbers.Int[end] == numbers.Int[i] && string(topics.View(end)) == string(topics.View(i)) {
			if !times.IsNull(end) {
				newest = max(newest, times.Int[end])
				r.aged(times.Int[end])
			}
			end++
		}
		p := store.Partition{Topic: string(topics.View(i)), Partition: int32(numbers.Int[i])}
		r.pass(p, offsets.Int[end-1]+1, -1)
		r.newest[p] = max(r.newest[p], newest/1000)
		i = end
	}
}

// aged notes the timestamp of a record, in microseconds.
func (r *records) aged(at int64) {
	if ms := at / 1000; r.oldest == 0 || ms < r.oldest {
		r.oldest = ms
	}
}

// pass notes that a partition was read up to next.
func (r *records) pass(p store.Partition, next int64, epoch int32) {
	if had, ok := r.reached[p]; !ok || next > had.next || next == had.next && epoch >= 0 {
		r.reached[p] = reached{next, epoch}
	}
}

// row places row i of a piece among all records.
type row struct{ piece, i int }

// at gives the n-th record.
func (r *records) at(n int) row {
	for k, p := range r.pieces {
		if n < p.N {
			return row{k, n}
		}
		n -= p.N
	}
	return row{len(r.pieces), 0}
}

// place is where record n is.
func (r *records) place(n int) (topic string, partition, offset int64) {
	x := r.at(n)
	b := r.pieces[x.piece]
	return string(b.Cols[atTopic].View(x.i)), b.Cols[atPartition].Int[x.i], b.Cols[atOffset].Int[x.i]
}

// source gives records [from, to) as a scan.Source for a request.
func (r *records) source(from, to int, req scan.Request) scan.Source {
	s := &memory{records: r, req: req}
	first, last := r.at(from), r.at(to)
	for k := first.piece; k < len(r.pieces) && k <= last.piece; k++ {
		beg, end := 0, r.pieces[k].N
		if k == first.piece {
			beg = first.i
		}
		if k == last.piece {
			end = last.i
		}
		if beg < end {
			s.parts = append(s.parts, part{r.pieces[k], beg, end})
		}
	}
	return s
}

// memory is a scan.Source of records in memory. It ignores the bounds of its request: what was gathered is within them.
type memory struct {
	*records
	req   scan.Request
	parts []part
	read  int64
}

type part struct {
	batch    *column.Batch
	beg, end int
}

// Splits implements scan.Source.
func (m *memory) Splits() []scan.Split { return nil }

// Run implements scan.Source: lanes take parts in turn.
func (m *memory) Run(ctx context.Context, newSink func(lane int) (scan.Sink, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lanes := min(max(len(m.parts), 1), runtime.GOMAXPROCS(0))
	next := make(chan part, len(m.parts))
	for _, p := range m.parts {
		next <- p
		m.read += int64(p.end - p.beg)
	}
	close(next)
	var wg sync.WaitGroup
	for i := range lanes {
		sink, err := newSink(i)
		if err != nil {
			cancel(err)
			break
		}
		wg.Go(func() {
			if err := m.lane(ctx, sink, next); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, scan.Stop) {
		return err
	}
	return nil
}

func (m *memory) lane(ctx context.Context, sink scan.Sink, next <-chan part) error {
	var b column.Batch
	for p := range next {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		m.fill(&b, p)
		if err := sink.Push(ctx, &b); err != nil {
			return err
		}
	}
	return sink.Finish(ctx)
}

// fill makes b the part's rows with the fields of the request. Vectors are shared with the records, which nobody changes.
func (m *memory) fill(b *column.Batch, p part) {
	b.N, b.Sel, b.Cols = p.batch.N, nil, b.Cols[:0]
	if p.beg > 0 || p.end < p.batch.N {
		b.Sel = make([]int32, p.end-p.beg)
		for i := range b.Sel {
			b.Sel[i] = int32(p.beg + i)
		}
	}
	for _, f := range m.req.Fields {
		switch f {
		case scan.KeyLength:
			b.Cols = append(b.Cols, lengths(f, &p.batch.Cols[atKey]))
		case scan.ValueLength:
			b.Cols = append(b.Cols, lengths(f, &p.batch.Cols[atValue]))
		default:
			b.Cols = append(b.Cols, p.batch.Cols[slices.Index(m.fields, f)])
		}
	}
}

// lengths is the column of the lengths of a column of bytes.
func lengths(f scan.Field, of *column.Vector) column.Vector {
	v := column.Vector{Type: f.Column().Type, Valid: of.Valid, Int: make([]int64, len(of.Beg))}
	for i := range v.Int {
		v.Int[i] = int64(of.End[i] - of.Beg[i])
	}
	return v
}

// Stats implements scan.Source.
func (m *memory) Stats() scan.Stats { return scan.Stats{Records: m.read} }

// Warnings implements scan.Source.
func (m *memory) Warnings() []string { return nil }

// Close implements scan.Source.
func (m *memory) Close() {}

// gathering collects what a tail delivers until the owner takes it. Push and Passed come from the tail's goroutine, take from the owner's.
type gathering struct {
	maxRows  int
	maxBytes int64
	// ready holds a token when there is something to take, room when something was taken.
	ready, room chan struct{}

	mu  sync.Mutex
	now *records
	// used are records that were committed, nil for none: a table that follows its topics has few at once, many times a second.
	used *records
	// open is set while records were pushed of which it was not yet told how far their partitions were read, full while the tail waits for room.
	open, full bool
}

func newGathering(fields []scan.Field, maxRows int, maxBytes int64) *gathering {
	return &gathering{maxRows: maxRows, maxBytes: maxBytes, ready: make(chan struct{}, 1), room: make(chan struct{}, 1), now: newRecords(fields)}
}

var _ scan.Follower = (*gathering)(nil)

// Push implements scan.Sink. It waits while as much is gathered as is allowed: the tail then falls behind and catches up by itself.
func (g *gathering) Push(ctx context.Context, b *column.Batch) error {
	for first := 0; ; {
		g.mu.Lock()
		if n := min(b.Live()-first, g.maxRows-g.now.rows); n > 0 && (g.now.rows == 0 || g.now.bytes < g.maxBytes) {
			g.now.add(slice(b, first, first+n))
			first += n
			g.open = true
		}
		done := first == b.Live()
		g.full = !done
		g.mu.Unlock()
		if done {
			return nil // Passed follows
		}
		signal(g.ready)
		select {
		case <-g.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// slice is a batch of the live rows [from, to) of b, which share its memory.
func slice(b *column.Batch, from, to int) *column.Batch {
	if from == 0 && to == b.Live() {
		return b
	}
	out := *b
	if b.Sel != nil {
		out.Sel = b.Sel[from:to]
		return &out
	}
	out.Sel = make([]int32, to-from)
	for i := range out.Sel {
		out.Sel[i] = int32(from + i)
	}
	return &out
}

// Passed implements scan.Follower.
func (g *gathering) Passed(reached []scan.Reached) {
	g.mu.Lock()
	news := g.open || len(reached) > 0
	g.open = false
	for _, r := range reached {
		g.now.pass(store.Partition{Topic: r.Topic, Partition: r.Partition}, r.Next, r.LeaderEpoch)
	}
	g.mu.Unlock()
	if news {
		signal(g.ready)
	}
}

// Finish implements scan.Sink. A tail without an end never calls it.
func (g *gathering) Finish(context.Context) error { return nil }

// take gives what was gathered since the last time, and nil while the tail is amidst a step: it is about to say how far that goes, and whose leaders gave it. Then
// ready tells.
func (g *gathering) take() *records {
	g.mu.Lock()
	if g.open && !g.full {
		g.mu.Unlock()
		return nil
	}
	taken := g.now
	if g.now, g.used = g.used, nil; g.now == nil {
		g.now = newRecords(taken.fields)
	}
	g.mu.Unlock()
	signal(g.room)
	return taken
}

// reuse gives records back that were taken, and that nobody looks at any more.
func (g *gathering) reuse(r *records) {
	r.empty()
	g.mu.Lock()
	g.used = r
	g.mu.Unlock()
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// collector is a sink that keeps all records of a bounded scan, for one lane.
type collector struct{ *records }

// Push implements scan.Sink.
func (c collector) Push(_ context.Context, b *column.Batch) error {
	c.add(b)
	return nil
}

// Finish implements scan.Sink.
func (c collector) Finish(context.Context) error { return nil }
