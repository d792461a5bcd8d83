package kafka

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"millrace/internal/column"
	"millrace/internal/scan"
)

const (
	// maxRows is the most rows of a pushed batch, but for batches without columns.
	maxRows = 8192
	// scratchFull is when the rows of a scratch buffer are pushed although there are fewer than maxRows.
	scratchFull = 1 << 20
	// scratchKept is the largest scratch buffer that is kept for the next batch.
	scratchKept = 8 << 20
	// An answer smaller than copyBelow is copied to the scratch buffer: many small partitions then share a pushed batch.
	copyBelow = 64 << 10
)

// Timestamps that a DATETIME can show: from year 1 to year 9999, in milliseconds.
const (
	minTimestamp = -62135596800000
	maxTimestamp = 253402300799999
)

// timestampType, as Kafka's clients number them.
const (
	createTime    = 0
	logAppendTime = 1
	noTimestamp   = -1
)

// place says where the records of an answer come from.
type place struct {
	// The topic's name is parser.topics[nameBeg:nameEnd].
	nameBeg, nameEnd uint32
	partition        int32
}

// parser turns the record batches of one lane into column batches and pushes them into the lane's Sink. It owns all memory of the batches.
//
// Rows gather across answers until there are maxRows of them, the scratch buffer is full, or their views would need a second buffer. The views of
// gathered rows lie in data, which is the scratch buffer, or an answer (direct) when its records came uncompressed.
type parser struct {
	sink      scan.Sink
	topics    []byte // names of all topics, for the views of the topic column
	skipCRC   bool
	minTime   int64 // batches whose newest record is older are skipped
	hasMin    bool
	maxTime   int64 // batches of one timestamp that is not below this are skipped
	hasMax    bool
	extremes  bool // of offsets and timestamps only the extremes of a batch matter
	perRecord bool // a column is wanted that needs the records, not only their number
	wantJSON  bool // headers
	wantIDs   bool // the headers that name schemas
	codecs    codecs

	n       int // rows gathered
	most    int // rows that may be gathered: as many as the columns are made for, or no bound without columns
	kept    int // the largest scratch buffer that is kept for the next batch
	scratch []byte
	data    []byte // what keys and values are views of
	direct  bool

	key, value, headers, topic        views
	keyID, valueID                    views
	keyLen, valueLen, part, off, time ints
	timeType                          ints
	json                              []byte // headers

	fields []scan.Field
	out    column.Batch

	stats parserStats
}

// parserStats counts since it was last taken.
type parserStats struct {
	records, batches, skipped, counted, decoded int64
}

// views are the parts of a view column. Its slices are nil when the column is not wanted.
type views struct {
	beg, end []uint32
	nulls    nulls
}

func (v *views) want(rows int, nullable bool) {
	v.beg, v.end = make([]uint32, rows), make([]uint32, rows)
	if nullable {
		v.nulls = newNulls(rows)
	}
}

// none makes a row NULL.
func (v *views) none(row int) {
	if v.beg != nil {
		v.beg[row], v.end[row] = 0, 0
		v.nulls.set(row)
	}
}

// view makes a row that was NULL a view.
func (v *views) view(row, beg, end int) {
	if v.beg != nil {
		v.beg[row], v.end[row] = uint32(beg), uint32(end)
		v.nulls.valid[row>>6] |= 1 << (uint(row) & 63)
	}
}

// ints are the parts of an integer column, nil when it is not wanted.
type ints struct {
	x     []int64
	nulls nulls
}

func (v *ints) want(rows int, nullable bool) {
	v.x = make([]int64, rows)
	if nullable {
		v.nulls = newNulls(rows)
	}
}

// nulls is a validity bitmap that says whether any bit is cleared.
type nulls struct {
	valid []uint64
	any   bool
}

func newNulls(rows int) nulls {
	n := nulls{valid: make([]uint64, (rows+63)/64), any: true}
	n.reset()
	return n
}

func (n *nulls) set(row int) {
	n.valid[row>>6] &^= 1 << (uint(row) & 63)
	n.any = true
}

func (n *nulls) reset() {
	if n.any {
		for i := range n.valid {
			n.valid[i] = math.MaxUint64
		}
		n.any = false
	}
}

// bitmap is what a Vector wants: nil when no row is NULL.
func (n *nulls) bitmap() []uint64 {
	if !n.any {
		return nil
	}
	return n.valid
}

func newParser(fields []scan.Field, topics []byte, cfg *Config, bounds scan.Bounds, sink scan.Sink) *parser {
	return newParserOf(maxRows, scratchKept, fields, topics, cfg, bounds, sink)
}

// newParserOf is newParser with batches of up to rows rows, and a scratch buffer of which kept bytes stay.
func newParserOf(rows, kept int, fields []scan.Field, topics []byte, cfg *Config, bounds scan.Bounds, sink scan.Sink) *parser {
	p := &parser{
		sink: sink, topics: topics, skipCRC: cfg.SkipCRC, minTime: bounds.MinTimestamp, hasMin: bounds.HasMinTimestamp,
		maxTime: bounds.MaxTimestamp, hasMax: bounds.HasMaxTimestamp,
		codecs: codecs{limit: int(cfg.MaxBatchBytes)}, fields: fields, most: rows, kept: kept,
	}
	for _, f := range fields {
		switch f {
		case scan.Key:
			p.key.want(rows, true)
		case scan.Value:
			p.value.want(rows, true)
		case scan.Headers:
			p.headers.want(rows, true)
			p.wantJSON = true
		case scan.KeySchemaID:
			p.keyID.want(rows, true)
			p.wantIDs = true
		case scan.ValueSchemaID:
			p.valueID.want(rows, true)
			p.wantIDs = true
		case scan.KeyLength:
			p.keyLen.want(rows, true)
		case scan.ValueLength:
			p.valueLen.want(rows, true)
		case scan.Offset:
			p.off.want(rows, false)
		case scan.Timestamp:
			p.time.want(rows, true)
		case scan.Topic:
			p.topic.want(rows, false)
			continue
		case scan.Partition:
			p.part.want(rows, false)
			continue
		case scan.TimestampType:
			p.timeType.want(rows, false)
			continue
		}
		p.perRecord = true
	}
	if len(fields) == 0 {
		p.most = math.MaxInt
	}
	p.out.Cols = make([]column.Vector, len(fields))
	return p
}

func (p *parser) close() { p.codecs.close() }

// memory is the size of the buffers that records are decompressed into.
func (p *parser) memory() int64 { return int64(cap(p.scratch) + cap(p.json)) }

// parse gathers the records of in whose offsets lie in [from, to). It pushes what is complete; flush pushes the rest. in may be reused by its owner
// once detach was called.
func (p *parser) parse(ctx context.Context, at place, in []byte, from, to int64, aborted aborts) error {
	answer := in
	for {
		frame, rest, last, ok, err := nextFrame(in)
		if err != nil || !ok {
			return err
		}
		in = rest
		if last < from {
			continue
		}
		begin := from
		from = last + 1 // whatever follows, no offset is delivered twice
		if frame[frameMagic] < 2 {
			if err := p.parseLegacy(ctx, at, frame, begin, last, to); err != nil {
				return err
			}
			continue
		}
		b, err := parseBatch(frame, last)
		if err != nil {
			return err
		}
		if b.first >= to {
			return nil
		}
		p.stats.batches++
		if !p.skipCRC {
			if err := b.checkCRC(); err != nil {
				return err
			}
		}
		switch {
		case b.control():
			p.stats.skipped++
			if err := p.control(&b, aborted); err != nil {
				return err
			}
		case aborted.covers(&b), p.outOfTime(&b), b.records == 0:
			p.stats.skipped++
		case p.told(&b) && b.first >= begin && b.last < to:
			p.stats.counted++
			if err := p.count(ctx, at, &b); err != nil {
				return err
			}
		default:
			if err := p.records(ctx, at, &b, answer, len(answer)-len(rest), begin, to); err != nil {
				return err
			}
		}
	}
}

// control takes note of the end of a transaction: of the records of a control batch only whether it is an abort matters.
func (p *parser) control(b *batch, aborted aborts) error {
	if b.records == 0 || !aborted.covers(b) { // a marker below the first listed begin ends a transaction that is not listed
		return nil
	}
	rec := b.compressed
	if b.codec() != codecNone {
		var err error
		if rec, err = p.codecs.append(nil, rec, b.codec()); err != nil {
			return &corruptError{b.first, err}
		}
	}
	_, q := varint(rec, 0)     // length
	_, q = varint(rec, q+1)    // after the attributes: timestamp delta
	_, q = varint(rec, q)      // offset delta
	key, q, _ := field(rec, q) // version and type, each an int16
	if q > len(rec) || len(key) < 4 {
		return corrupt(b.first, "a control batch without a type")
	}
	const abort = 0
	if binary.BigEndian.Uint16(key[2:]) == abort {
		aborted.ended(b.producer)
	}
	return nil
}

// outOfTime reports whether the header says that no record of b has a timestamp within the bounds. It holds the greatest timestamp, and not the least,
// but where the log's append time is that of all records.
func (p *parser) outOfTime(b *batch) bool {
	return p.hasMin && b.maxTime < p.minTime || p.hasMax && b.appended() && b.maxTime >= p.maxTime
}

// told reports whether the header says enough of the records of b: of a batch that compaction has thinned out it does not tell the first and last offset
// nor, of every broker, the greatest timestamp; and where that is none that a column can show, another record may have the greatest that it can.
func (p *parser) told(b *batch) bool {
	if !p.perRecord {
		return true
	}
	return p.extremes && int64(b.records) == b.last-b.first+1 && (p.time.x == nil || b.maxTime >= 0 && b.maxTime <= maxTimestamp)
}

// count gathers a batch of which the header says enough. Where offsets and timestamps are wanted, only their extremes are.
func (p *parser) count(ctx context.Context, at place, b *batch) error {
	for left := b.records; left > 0; {
		if p.n == p.most {
			if err := p.flush(ctx); err != nil {
				return err
			}
		}
		k := min(left, p.most-p.n)
		p.fill(p.n, p.n+k, at, b.timeType())
		if p.off.x != nil {
			fill(p.off.x[p.n:p.n+k], b.last)
			if left == b.records {
				p.off.x[p.n] = b.first
			}
		}
		if p.time.x != nil {
			fill(p.time.x[p.n:p.n+k], b.maxTime*1000)
		}
		p.n += k
		left -= k
	}
	return nil
}

func (b *batch) appended() bool { return b.attrs&attrLogAppendTime != 0 }

func (b *batch) timeType() int64 {
	if b.appended() {
		return logAppendTime
	}
	return createTime
}

// records decompresses a batch, which ends at answer[:end], and gathers its records.
func (p *parser) records(ctx context.Context, at place, b *batch, answer []byte, end int, from, to int64) error {
	if b.codec() == codecNone && len(answer) >= copyBelow {
		if err := p.view(ctx, true); err != nil {
			return err
		}
		p.data = answer
		p.stats.decoded += int64(len(b.compressed))
		return p.walk(ctx, at, b, end-len(b.compressed), end, from, to)
	}
	if err := p.view(ctx, false); err != nil {
		return err
	}
	start := len(p.scratch)
	var err error
	if p.scratch, err = p.codecs.append(p.scratch, b.compressed, b.codec()); err != nil {
		return &corruptError{b.first, err}
	}
	p.stats.decoded += int64(len(p.scratch) - start)
	p.data = p.scratch
	return p.walk(ctx, at, b, start, len(p.scratch), from, to)
}

// view makes ready for a batch whose views lie in the answer (direct) or in the scratch buffer, and pushes gathered rows that lie elsewhere.
func (p *parser) view(ctx context.Context, direct bool) error {
	if p.n > 0 && (direct != p.direct || !direct && len(p.scratch) >= scratchFull) {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	if p.n == 0 {
		if p.scratch = p.scratch[:0]; cap(p.scratch) > p.kept {
			p.scratch = nil
		}
	}
	p.direct = direct
	return nil
}

// walk gathers the records of b, which lie at p.data[q:dataEnd].
func (p *parser) walk(ctx context.Context, at place, b *batch, q, dataEnd int, from, to int64) error {
	data := p.data[:dataEnd]
	appended := b.appended()
	row, filled := p.n, p.n
	least := int64(0) // the least offset delta that the next record may have
	for range b.records {
		size, q0 := varint(data, q)
		if size < 0 || size > int64(len(data)-q0) {
			return corrupt(b.first, "a record does not fit its batch")
		}
		end := q0 + int(size)
		rec := data[:end]
		var dt, do, kl int64
		q0++ // the attributes, which mean nothing yet
		if q0 < len(rec) && rec[q0] < 0x80 {
			dt, q0 = short(rec[q0]), q0+1
		} else {
			dt, q0 = varint(rec, q0)
		}
		if q0 < len(rec) && rec[q0] < 0x80 {
			do, q0 = short(rec[q0]), q0+1
		} else {
			do, q0 = varint(rec, q0)
		}
		kb := q0 + 1
		if q0 < len(rec) && rec[q0] < 0x80 {
			kl = short(rec[q0])
		} else {
			kl, kb = varint(rec, q0)
		}
		ke := kb
		if kl > 0 {
			if kl > int64(end-kb) {
				return corrupt(b.first, "a record's key does not fit it")
			}
			ke += int(kl)
		}
		vl, vb := varint(rec, ke)
		ve := vb
		if vl > 0 {
			if vl > int64(end-vb) {
				return corrupt(b.first, "a record's value does not fit it")
			}
			ve += int(vl)
		}
		if ve > end {
			return corrupt(b.first, "a record ends early")
		}
		q = end
		off := b.first + do
		if do < least || off > b.last {
			return corrupt(b.first, "a record of offset %d, where %d to %d are left in its batch", off, b.first+least, b.last)
		}
		least = do + 1
		if off < from || off >= to {
			continue
		}
		if row == p.most {
			p.n = row
			p.fill(filled, row, at, b.timeType())
			if err := p.flush(ctx); err != nil {
				return err
			}
			row, filled = 0, 0
		}
		if p.key.beg != nil {
			if kl < 0 {
				p.key.nulls.set(row)
			}
			p.key.beg[row], p.key.end[row] = uint32(kb), uint32(ke)
		}
		if p.value.beg != nil {
			if vl < 0 {
				p.value.nulls.set(row)
			}
			p.value.beg[row], p.value.end[row] = uint32(vb), uint32(ve)
		}
		if p.keyLen.x != nil {
			if kl < 0 {
				p.keyLen.nulls.set(row)
			}
			p.keyLen.x[row] = kl
		}
		if p.valueLen.x != nil {
			if vl < 0 {
				p.valueLen.nulls.set(row)
			}
			p.valueLen.x[row] = vl
		}
		if p.off.x != nil {
			p.off.x[row] = off
		}
		if p.time.x != nil {
			t := b.baseTime + dt
			if appended {
				t = b.maxTime
			}
			p.setTime(row, t)
		}
		if p.wantJSON {
			if err := p.setHeaders(row, rec, ve); err != nil {
				return &corruptError{b.first, err}
			}
		}
		if p.wantIDs {
			if err := p.setSchemaIDs(row, rec, ve); err != nil {
				return &corruptError{b.first, err}
			}
		}
		row++
	}
	p.n = row
	p.fill(filled, row, at, b.timeType())
	return nil
}

func (p *parser) setTime(row int, ms int64) {
	if ms == -1 || ms < minTimestamp || ms > maxTimestamp {
		p.time.nulls.set(row)
		p.time.x[row] = 0
		return
	}
	p.time.x[row] = ms * 1000
}

func (p *parser) setHeaders(row int, rec []byte, at int) error {
	beg := len(p.json)
	var has bool
	var err error
	if p.json, has, err = appendHeaders(p.json, rec, at); err != nil {
		return err
	}
	if !has {
		p.headers.nulls.set(row)
	}
	p.headers.beg[row], p.headers.end[row] = uint32(beg), uint32(len(p.json))
	return nil
}

// setSchemaIDs finds the headers that name schemas, as views. Of several with a name the last counts, as for the serializers' own readers.
func (p *parser) setSchemaIDs(row int, rec []byte, at int) error {
	p.keyID.none(row)
	p.valueID.none(row)
	if at < len(rec) && rec[at] == 0 {
		return nil // no headers, as most records
	}
	n, at, err := headerCount(rec, at)
	for ; n > 0 && err == nil; n-- {
		var h header
		if h, at, err = nextHeader(rec, at); err != nil || h.null {
			continue
		}
		switch string(h.key) {
		case "__key_schema_id":
			p.keyID.view(row, at-len(h.value), at)
		case "__value_schema_id":
			p.valueID.view(row, at-len(h.value), at)
		}
	}
	return err
}

// fill sets the columns that are the same for all records of a batch.
func (p *parser) fill(from, to int, at place, timeType int64) {
	p.stats.records += int64(to - from)
	if p.topic.beg != nil {
		fill(p.topic.beg[from:to], at.nameBeg)
		fill(p.topic.end[from:to], at.nameEnd)
	}
	if p.part.x != nil {
		fill(p.part.x[from:to], int64(at.partition))
	}
	if p.timeType.x != nil {
		fill(p.timeType.x[from:to], timeType)
	}
}

func fill[T any](s []T, x T) {
	for i := range s {
		s[i] = x
	}
}

// detach pushes the rows whose views lie in an answer, so that the answer may go.
func (p *parser) detach(ctx context.Context) error {
	if p.direct && p.n > 0 {
		return p.flush(ctx)
	}
	return nil
}

// flush pushes the gathered rows. The scratch buffer stays as it is, because a batch may be in the midst of being walked.
func (p *parser) flush(ctx context.Context) error {
	n := p.n
	if n == 0 {
		return nil
	}
	p.n = 0
	p.out.N, p.out.Sel = n, nil
	p.out.Cols = p.out.Cols[:len(p.fields)]
	for i, f := range p.fields {
		v := &p.out.Cols[i]
		*v = column.Vector{Type: f.Column().Type}
		switch f {
		case scan.Key:
			p.key.vector(v, n, p.data)
		case scan.Value:
			p.value.vector(v, n, p.data)
		case scan.Headers:
			p.headers.vector(v, n, p.json)
		case scan.KeySchemaID:
			p.keyID.vector(v, n, p.data)
		case scan.ValueSchemaID:
			p.valueID.vector(v, n, p.data)
		case scan.Topic:
			p.topic.vector(v, n, p.topics)
		case scan.KeyLength:
			p.keyLen.vector(v, n)
		case scan.ValueLength:
			p.valueLen.vector(v, n)
		case scan.Partition:
			p.part.vector(v, n)
		case scan.Offset:
			p.off.vector(v, n)
		case scan.Timestamp:
			p.time.vector(v, n)
		case scan.TimestampType:
			p.timeType.vector(v, n)
		}
	}
	err := p.sink.Push(ctx, &p.out)
	for _, m := range []*nulls{&p.key.nulls, &p.value.nulls, &p.headers.nulls, &p.keyID.nulls, &p.valueID.nulls, &p.keyLen.nulls, &p.valueLen.nulls, &p.time.nulls} {
		m.reset()
	}
	if p.json = p.json[:0]; cap(p.json) > p.kept {
		p.json = nil
	}
	return err
}

func (v *views) vector(to *column.Vector, n int, data []byte) {
	to.Beg, to.End, to.Data, to.Valid = v.beg[:n:n], v.end[:n:n], data, v.nulls.bitmap()
}

func (v *ints) vector(to *column.Vector, n int) { to.Int, to.Valid = v.x[:n:n], v.nulls.bitmap() }

// reserve makes room for one more row whose bytes are copied to the scratch buffer.
func (p *parser) reserve(ctx context.Context, bytes int) error {
	if p.n == p.most {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	if err := p.view(ctx, false); err != nil {
		return err
	}
	p.scratch = slices.Grow(p.scratch, bytes)
	return nil
}
