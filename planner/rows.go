package planner

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/memory"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/planner/expr"
)

// WarningCode is MySQL's ER_UNKNOWN_ERROR, under which servers report what has no number of its own: the code of the warnings
// of scans.
const WarningCode = 1105

// mostWarnings is how many warnings of one kind are made, the most that @@max_error_count can ask for.
const mostWarnings = 65535

// rowIter gives the rows of a Scan to the engine, one at a time, each owning its memory.
//
// The scan reads ahead on lanes of its own; they end when the last row is read, when the statement's context ends, or on Close, which waits for
// them and may be called twice and while Next runs. The engine forgets to close some iterators when a statement fails, so the end of
// the context releases everything too.
type rowIter struct {
	rows *ops.Rows
	src  scan.Source
	out  *rowBuilder
	// figures is not nil when the statement is analysed; src is then watched.
	figures *figures
	memory  *memory.Budget

	releasing sync.Once
	warning   sync.Once
	// disarm keeps the end of the context from releasing what is released.
	disarm func() bool
	failed error
}

// BatchRowIter is the same for a consumer that takes whole batches. Batches and rows must not be mixed.
type BatchRowIter struct {
	*rowIter
	fields []column.Field
	// from says which column of the scan's batches each field is.
	from  []int
	batch column.Batch
}

func newRowIter(ctx *sql.Context, s *Scan, src scan.Source, rows *ops.Rows, memory *memory.Budget) sql.RowIter {
	it := &rowIter{rows: rows, src: src, memory: memory, out: newRowBuilder(s), figures: readingFigures(ctx)}
	it.disarm = context.AfterFunc(ctx, func() { _ = it.release() })
	if fields, ok := s.batchFields(); ok {
		return &BatchRowIter{rowIter: it, fields: fields, from: s.from}
	}
	return it
}

// Fields describes the columns of the batches. They are those of the engine's schema.
func (it *BatchRowIter) Fields() []column.Field { return it.fields }

// NextBatch gives the next batch, io.EOF after the last. It is valid until the next call or Close.
func (it *BatchRowIter) NextBatch(ctx *sql.Context) (*column.Batch, error) {
	b, err := it.next(ctx)
	if err != nil {
		return nil, err
	}
	arrange(&it.batch, b, it.from, it.fields)
	return &it.batch, nil
}

// arrange makes out the batch of fields that are the columns from of a scan's batch b.
func arrange(out, b *column.Batch, from []int, fields []column.Field) {
	out.N, out.Sel = b.N, b.Sel
	out.Cols = out.Cols[:0]
	for i, at := range from {
		out.Cols = append(out.Cols, b.Cols[at])
		out.Cols[i].Type = fields[i].Type
	}
}

// Next implements sql.RowIter.
func (it *rowIter) Next(ctx *sql.Context) (sql.Row, error) {
	for {
		if row, ok := it.out.take(); ok {
			return row, nil
		}
		b, err := it.next(ctx)
		if err != nil {
			return nil, err
		}
		it.out.fill(b)
	}
}

func (it *rowIter) next(ctx *sql.Context) (*column.Batch, error) {
	if it.failed != nil {
		return nil, it.failed
	}
	callBetweenBatches(ctx)
	b, err := it.rows.Next(ctx)
	if err == nil {
		return b, nil
	}
	it.failed = err
	// Connections go back now: whoever reads to the end may keep the iterator for long, or never close it.
	closed := it.Close(ctx)
	if errors.Is(err, io.EOF) {
		err = io.EOF
		if closed != nil {
			err = closed
		}
	}
	it.failed = err
	return nil, err
}

// Close implements sql.RowIter. It hands the source's warnings, complete now that the scan has ended, to the session.
func (it *rowIter) Close(ctx *sql.Context) error {
	it.disarm()
	err := it.release()
	it.warning.Do(func() {
		for _, w := range it.src.Warnings() {
			ctx.Warn(WarningCode, "%s", w)
		}
		if it.failed != nil && !errors.Is(it.failed, io.EOF) {
			return // nobody sees the NULLs of a statement that failed
		}
		for _, w := range faultWarnings(it.rows.Faults()) {
			ctx.Warn(WarningCode, "%s", w)
		}
		for range min(it.rows.ZeroDivisions(), mostWarnings) {
			ctx.Warn(expr.DivisionByZero, "Division by 0")
		}
	})
	return err
}

// release stops the lanes, waits for them and gives the connections back, once.
func (it *rowIter) release() (err error) {
	it.releasing.Do(func() {
		err = it.rows.Close()
		if it.figures != nil {
			var most int64
			if w, ok := it.src.(*watchedSource); ok {
				most = w.most.Load()
			}
			held := heldBytes{readAhead: most, state: it.rows.MemoryBytes(), peak: it.memory.Peak(), spilled: it.memory.Spilled()}
			it.figures.addScan(it.rows.Stats(), it.src, held, it.rows.Faults())
		}
		it.src.Close()
	})
	return err
}

// rowBuilder turns batches into rows. The values of some rows share slabs of memory; slabs are small, so that a row that the engine
// keeps pins little.
type rowBuilder struct {
	width int
	// cols say which column of the batch goes where, and as what.
	cols  []rowColumn
	rows  []sql.Row
	batch *column.Batch
	// from is the next live row of batch.
	from  int
	bytes []byte
}

type rowColumn struct {
	from, to int
	// as is the engine's Go type.
	as goType
	// last is the value given last and lastInt or lastText what it was made of: neighbours are often equal (topic, partition), and an
	// equal one need not be boxed again.
	last     any
	lastInt  int64
	lastText string
}

// goType is the Go type that the engine wants of a column.
type goType uint8

const (
	asBool goType = iota
	asInt8
	asInt16
	asInt32
	asInt64
	asUint8
	asUint16
	asUint32
	asUint64
	asFloat32
	asFloat64
	asBytes
	asString
	asJSON
	asTime
	asDate
	asTimespan
	asDecimal
)

// rowsAtOnce is the number of rows that share a slab.
const rowsAtOnce = 128

// slabBytes is the size of a slab of bytes.
const slabBytes = 64 << 10

func newRowBuilder(s *Scan) *rowBuilder {
	b := &rowBuilder{width: len(s.outputs)}
	for to, from := range s.from {
		if from >= 0 {
			b.cols = append(b.cols, rowColumn{from: from, to: to, as: goTypeOf(s.outputs[to].typ, s.plan.Fields()[from].Type)})
		}
	}
	return b
}

func goTypeOf(t sql.Type, kind column.Type) goType {
	switch kind.Kind {
	case column.Bool:
		return asBool
	case column.Int32, column.Int64:
		switch t {
		case types.Int8:
			return asInt8
		case types.Int16:
			return asInt16
		case types.Int32:
			return asInt32
		default:
			return asInt64
		}
	case column.Uint64:
		switch t {
		case types.Uint8:
			return asUint8
		case types.Uint16:
			return asUint16
		case types.Uint32:
			return asUint32
		default:
			return asUint64
		}
	case column.Float64:
		if t == types.Float32 {
			return asFloat32
		}
		return asFloat64
	case column.Time:
		return asTimespan
	case column.Text:
		return asString
	case column.JSON:
		return asJSON
	case column.Timestamp:
		return asTime
	case column.Date:
		return asDate
	case column.Decimal:
		return asDecimal
	default:
		return asBytes
	}
}

// fill takes b, which stays valid until all its rows are taken.
func (r *rowBuilder) fill(b *column.Batch) { r.batch, r.from = b, 0 }

// take gives the next row, which owns its memory.
func (r *rowBuilder) take() (sql.Row, bool) {
	if len(r.rows) == 0 {
		if r.batch == nil || r.from >= r.batch.Live() {
			r.batch = nil
			return nil, false
		}
		r.build()
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	return row, true
}

// build makes the next rows of the batch, column by column.
func (r *rowBuilder) build() {
	n := min(rowsAtOnce, r.batch.Live()-r.from)
	slab := make([]any, n*r.width)
	rows := make([]sql.Row, n)
	for i := range rows {
		rows[i] = slab[i*r.width : (i+1)*r.width : (i+1)*r.width]
	}
	for c := range r.cols {
		col := &r.cols[c]
		v := &r.batch.Cols[col.from]
		for k := range rows {
			i := r.from + k
			if r.batch.Sel != nil {
				i = int(r.batch.Sel[i])
			}
			if !v.IsNull(i) {
				rows[k][col.to] = r.value(col, v, i)
			}
		}
	}
	r.from += n
	r.rows = rows
}

// integer boxes the value of a type whose vectors hold it as x.
func (g goType) integer(x int64) any {
	switch g {
	case asInt8:
		return int8(x)
	case asInt16:
		return int16(x)
	case asInt32:
		return int32(x)
	case asUint8:
		return uint8(x)
	case asUint16:
		return uint16(x)
	case asUint32:
		return uint32(x)
	case asUint64:
		return uint64(x)
	case asTimespan:
		return types.Timespan(x)
	default:
		return x
	}
}

func (r *rowBuilder) value(c *rowColumn, v *column.Vector, i int) any {
	switch c.as {
	case asBool:
		return v.Int[i] != 0
	case asInt8, asInt16, asInt32, asInt64, asUint8, asUint16, asUint32, asUint64, asTimespan:
		x := v.Int[i]
		if c.last == nil || x != c.lastInt {
			c.lastInt, c.last = x, c.as.integer(x)
		}
		return c.last
	case asFloat32:
		return float32(v.Float[i])
	case asFloat64:
		return v.Float[i]
	case asString:
		if c.last == nil || string(v.View(i)) != c.lastText {
			c.lastText = string(v.View(i))
			c.last = c.lastText
		}
		return c.last
	case asJSON:
		return expr.JSONText(r.own(v.View(i)))
	case asTime, asDate:
		if x := v.Int[i]; c.last == nil || x != c.lastInt {
			c.lastInt = x
			if c.as == asTime {
				c.last = time.UnixMicro(x).UTC()
			} else {
				c.last = time.Unix(x*24*60*60, 0).UTC()
			}
		}
		return c.last
	case asDecimal:
		d, _, err := apd.NewFromString(string(v.View(i)))
		if err != nil {
			// The kind promises canonical text.
			panic(err)
		}
		return d
	default:
		return r.own(v.View(i))
	}
}

// own copies b, which is not NULL.
func (r *rowBuilder) own(b []byte) []byte {
	if len(b) > slabBytes/8 {
		return append(make([]byte, 0, len(b)), b...)
	}
	if cap(r.bytes)-len(r.bytes) < len(b) || r.bytes == nil {
		r.bytes = make([]byte, 0, slabBytes)
	}
	at := len(r.bytes)
	r.bytes = append(r.bytes, b...)
	return r.bytes[at:len(r.bytes):len(r.bytes)]
}
