package pgstore

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// sqlType is how values of a kind are stored.
func sqlType(k column.Kind) string {
	switch k {
	case column.Bool:
		return "boolean"
	case column.Uint64:
		return "numeric(20,0)"
	case column.Float64:
		return "double precision"
	case column.Decimal:
		return "numeric"
	case column.Bytes:
		return "bytea"
	case column.Text, column.JSON:
		return `text collate "C"`
	default:
		return "bigint"
	}
}

// copyHeader begins COPY's binary format: its signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// copyBuffer is how much is encoded at a time, about what pgx sends in one message.
const copyBuffer = 64 << 10

// copier encodes the live rows of a batch in COPY's binary format, as they are read.
type copier struct {
	rows    *column.Batch
	columns []int // of rows, in the order of the part
	kinds   []column.Kind
	number  int64 // of the next row
	at, n   int   // next live row, their number

	buffer  []byte
	unread  []byte
	scratch []byte
	err     error
	sent    int64
}

// newCopier copies the columns of rows that the newest part of t has, which are all of them.
func newCopier(t *table, rows *column.Batch, first int64) *copier {
	c := &copier{rows: rows, number: first, n: rows.Live(), buffer: make([]byte, 0, copyBuffer+4096)}
	for i := range t.schema.Columns {
		if k, ok := t.newest().find(t.schema.Columns[i].ID); ok {
			c.columns = append(c.columns, i)
			c.kinds = append(c.kinds, k)
		}
	}
	return c
}

// copySQL is the statement that takes what a copier of t gives.
func (s *Store) copySQL(t *table) string {
	b := append([]byte("copy "), s.names.rows(t.newest().Number)...)
	b = append(b, " (n"...)
	for i := range t.schema.Columns {
		id := t.schema.Columns[i].ID
		if _, ok := t.newest().find(id); ok {
			b = strconv.AppendUint(append(b, ", c"...), uint64(id), 10)
		}
	}
	return string(append(b, ") from stdin (format binary)"...))
}

// Read implements io.Reader.
func (c *copier) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		c.fill()
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	c.sent += int64(n)
	return n, nil
}

func (c *copier) fill() {
	b := c.buffer[:0]
	if c.at == 0 {
		b = append(b, copyHeader...)
	}
	for c.at < c.n && len(b) < copyBuffer {
		i := c.at
		if c.rows.Sel != nil {
			i = int(c.rows.Sel[i])
		}
		b = c.row(b, i)
		c.at++
	}
	if c.at == c.n {
		b = append(b, 0xff, 0xff)
		c.err = io.EOF
	}
	c.buffer, c.unread = b, b
}

func (c *copier) row(b []byte, i int) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(c.columns)+1))
	b = binary.BigEndian.AppendUint32(b, 8)
	b = binary.BigEndian.AppendUint64(b, uint64(c.number))
	c.number++
	for k, j := range c.columns {
		v := &c.rows.Cols[j]
		if v.IsNull(i) {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		switch c.kinds[k] {
		case column.Bool:
			b = append(b, 0, 0, 0, 1, byte(b2i(v.Int[i] != 0)))
		case column.Uint64:
			c.scratch = strconv.AppendUint(c.scratch[:0], uint64(v.Int[i]), 10)
			b, _ = appendSized(b, c.scratch, appendNumeric)
		case column.Float64:
			b = binary.BigEndian.AppendUint32(b, 8)
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(v.Float[i]))
		case column.Decimal:
			b, _ = appendSized(b, v.View(i), appendNumeric) // fits has looked at it
		case column.Text, column.JSON:
			x := v.View(i)
			if needsEscape(x) {
				c.scratch = appendEscaped(c.scratch[:0], x)
				x = c.scratch
			}
			b = binary.BigEndian.AppendUint32(b, uint32(len(x)))
			b = append(b, x...)
		case column.Bytes:
			x := v.View(i)
			b = binary.BigEndian.AppendUint32(b, uint32(len(x)))
			b = append(b, x...)
		default:
			b = binary.BigEndian.AppendUint32(b, 8)
			b = binary.BigEndian.AppendUint64(b, uint64(v.Int[i]))
		}
	}
	return b
}

// appendSized appends what encode appends, behind its length.
func appendSized(b, x []byte, encode func(to, x []byte) ([]byte, bool)) ([]byte, bool) {
	at := len(b)
	b, ok := encode(append(b, 0, 0, 0, 0), x)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b, ok
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fits checks rows against the schema.
func fits(t *table, rows *column.Batch) error {
	if len(rows.Cols) != len(t.schema.Columns) {
		return mistake("rows of table %s have %d columns, want %d", t.id, len(rows.Cols), len(t.schema.Columns))
	}
	for i := range rows.Cols {
		v, c := &rows.Cols[i], &t.schema.Columns[i]
		if v.Type.Kind != c.Type.Kind {
			return mistake("rows of table %s have %v for column '%s', which is %v", t.id, v.Type, c.Name, c.Type)
		}
		if c.Nullable && c.Type.Kind != column.Decimal {
			continue
		}
		if err := fitsColumn(t, rows, v, c); err != nil {
			return err
		}
	}
	return nil
}

func fitsColumn(t *table, rows *column.Batch, v *column.Vector, c *store.Column) error {
	var scratch []byte
	for k := range rows.Live() {
		i := k
		if rows.Sel != nil {
			i = int(rows.Sel[k])
		}
		switch {
		case v.IsNull(i) && !c.Nullable:
			return sqlerr.New(sqlerr.NotNull, "column '%s' of table '%s' is NOT NULL", c.Name, t.id)
		case v.IsNull(i) || c.Type.Kind != column.Decimal:
		default:
			var ok bool
			if scratch, ok = appendNumeric(scratch[:0], v.View(i)); !ok {
				return mistake("rows of table %s have %q for column '%s', which is no decimal", t.id, v.View(i), c.Name)
			}
		}
	}
	return nil
}
