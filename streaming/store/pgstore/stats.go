package pgstore

import (
	"encoding/binary"
	"errors"
	"slices"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// columnStats sums up what was committed of a column since the table was created or truncated.
type columnStats struct {
	id uint32
	// rows that have the column; those from before it was added are not counted.
	rows int64
	store.ColumnStats
	// unbounded says that there are values that are in no bounds.
	unbounded bool
}

// mostBound is how much of a text is kept as a bound.
const mostBound = 64

// gather sums up the live rows of a batch.
func gather(t *table, rows *column.Batch) []columnStats {
	out := make([]columnStats, len(rows.Cols))
	for i := range rows.Cols {
		out[i] = gatherColumn(t.schema.Columns[i].ID, rows, &rows.Cols[i])
	}
	return out
}

func gatherColumn(id uint32, rows *column.Batch, v *column.Vector) columnStats {
	s := columnStats{id: id, rows: int64(rows.Live())}
	k := v.Type.Kind
	low, high := -1, -1
	for r := range rows.Live() {
		i := r
		if rows.Sel != nil {
			i = int(rows.Sel[r])
		}
		switch {
		case v.IsNull(i):
			s.Nulls++
			continue
		case k.IsView():
			s.Bytes += int64(v.End[i] - v.Beg[i])
		default:
			s.Bytes += 8
		}
		switch {
		case k == column.JSON:
			s.unbounded = true
		case k == column.Float64 && v.Float[i] != v.Float[i]:
			s.NaN = true
		case low < 0:
			low, high = i, i
		case less(v, i, low):
			low = i
		case less(v, high, i):
			high = i
		}
	}
	if low >= 0 {
		s.Min, s.Max, s.Bounded = store.At(v, low), store.At(v, high), true
		if k == column.Text || k == column.Bytes {
			s.Min, s.Max = shortened(s.Min, s.Max)
		}
	}
	return s
}

// less compares two rows of a vector, neither of them NULL.
func less(v *column.Vector, i, j int) bool {
	switch k := v.Type.Kind; {
	case k == column.Uint64:
		return uint64(v.Int[i]) < uint64(v.Int[j])
	case k == column.Decimal:
		return store.CompareDecimals(v.View(i), v.View(j)) < 0
	case k.IsView():
		return string(v.View(i)) < string(v.View(j))
	case k == column.Float64:
		return v.Float[i] < v.Float[j]
	default:
		return v.Int[i] < v.Int[j]
	}
}

// shortened gives bounds that are not longer than need be: a beginning of the least, and what comes after all that begin like the greatest.
func shortened(low, high store.Value) (store.Value, store.Value) {
	if x := low.Bytes(); len(x) > mostBound {
		low = store.Text(x[:mostBound])
	}
	if x := high.Bytes(); len(x) > mostBound {
		b := []byte(x[:mostBound])
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] < 0xff {
				b[i]++
				return low, store.Text(string(b[:i+1]))
			}
		}
	}
	return low, high
}

// add adds o, which is of the same column.
func (s *columnStats) add(k column.Kind, o *columnStats) {
	s.rows += o.rows
	s.Nulls += o.Nulls
	s.Bytes += o.Bytes
	s.NaN = s.NaN || o.NaN
	s.unbounded = s.unbounded || o.unbounded
	switch {
	case !o.Bounded:
	case !s.Bounded:
		s.Min, s.Max, s.Bounded = o.Min, o.Max, true
	default:
		if store.Compare(k, o.Min, s.Min) < 0 {
			s.Min = o.Min
		}
		if store.Compare(k, o.Max, s.Max) > 0 {
			s.Max = o.Max
		}
	}
}

// merged adds up statistics of columns.
func merged(t *table, old, more []columnStats) []columnStats {
	for i := range more {
		m := &more[i]
		at := slices.IndexFunc(old, func(c columnStats) bool { return c.id == m.id })
		if at < 0 {
			old = append(old, *m)
			continue
		}
		if c := t.column(m.id); c != nil {
			old[at].add(c.Type.Kind, m)
		}
	}
	return old
}

const (
	statBounded = 1 << iota
	statNaN
	statUnbounded
)

func encodeStats(list []columnStats) []byte {
	b := binary.AppendUvarint(nil, uint64(len(list)))
	for i := range list {
		c := &list[i]
		b = binary.AppendUvarint(b, uint64(c.id))
		b = binary.AppendVarint(b, c.rows)
		b = binary.AppendVarint(b, c.Nulls)
		b = binary.AppendVarint(b, c.Bytes)
		b = append(b, byte(b2i(c.Bounded)*statBounded|b2i(c.NaN)*statNaN|b2i(c.unbounded)*statUnbounded))
		if c.Bounded {
			b = c.Max.AppendBinary(c.Min.AppendBinary(b))
		}
	}
	return b
}

var errStats = errors.New("statistics cannot be read")

func decodeStats(b []byte) ([]columnStats, error) {
	if len(b) == 0 {
		return nil, nil
	}
	bad := false
	unsigned := func() uint64 {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			bad, b = true, nil
			return 0
		}
		b = b[n:]
		return x
	}
	signed := func() int64 {
		x, n := binary.Varint(b)
		if n <= 0 {
			bad, b = true, nil
			return 0
		}
		b = b[n:]
		return x
	}
	var list []columnStats
	for range unsigned() {
		c := columnStats{id: uint32(unsigned()), rows: signed()}
		c.Nulls, c.Bytes = signed(), signed()
		if bad || len(b) == 0 {
			return nil, errStats
		}
		flags := b[0]
		b = b[1:]
		c.Bounded, c.NaN, c.unbounded = flags&statBounded != 0, flags&statNaN != 0, flags&statUnbounded != 0
		if c.Bounded {
			var ok1, ok2 bool
			c.Min, b, ok1 = store.DecodeValue(b)
			c.Max, b, ok2 = store.DecodeValue(b)
			if !ok1 || !ok2 {
				return nil, errStats
			}
		}
		list = append(list, c)
	}
	if bad || len(b) != 0 {
		return nil, errStats
	}
	return list, nil
}

// summary gives the statistics of a table of so many rows.
func summary(t *table, rows int64, list []columnStats) *store.TableStats {
	out := &store.TableStats{Rows: rows, Columns: make([]store.ColumnStats, len(t.schema.Columns))}
	for i := range t.schema.Columns {
		c := &t.schema.Columns[i]
		var sum columnStats
		if at := slices.IndexFunc(list, func(x columnStats) bool { return x.id == c.ID }); at >= 0 {
			sum = list[at]
		}
		if older := rows - sum.rows; older > 0 {
			before := defaults(c, older)
			sum.add(c.Type.Kind, &before)
		}
		if sum.unbounded {
			sum.Min, sum.Max, sum.Bounded = store.Value{}, store.Value{}, false
		}
		out.Columns[i] = sum.ColumnStats
		out.Bytes += sum.Bytes
	}
	if rows > 0 {
		out.Segments = int64(len(t.parts))
		out.Bytes += rowBytes * rows
	}
	return out
}

// rowBytes is about what the database takes for a row besides its values.
const rowBytes = 36

// defaults are the statistics of rows that were there before a column.
func defaults(c *store.Column, rows int64) columnStats {
	s := columnStats{id: c.ID, rows: rows}
	switch v := c.Default; {
	case v.IsNull():
		s.Nulls = rows
	case c.Type.Kind == column.JSON:
		s.unbounded = true
	case c.Type.Kind == column.Float64 && v.Float64() != v.Float64():
		s.NaN = true
	default:
		s.Min, s.Max, s.Bounded = v, v, true
	}
	return s
}
