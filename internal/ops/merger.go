package ops

import (
	"encoding/binary"
	"math"

	"millrace/internal/column"
	"millrace/internal/spill"
)

// sortedRun is rows in order.
type sortedRun struct {
	rows int
	// batches hold them one after the other, or blocks in the temporary file.
	batches []*column.Batch
	blocks  []spill.Extent
	// order, when not nil, is that of the rows in the only batch; else they lie in order.
	order []int32
}

func (r *sortedRun) bytes() int64 {
	n := 4 * int64(cap(r.order))
	for _, b := range r.batches {
		n += int64(b.Bytes())
	}
	return n
}

// cursor is a place in a run.
type cursor struct {
	run    *sortedRun
	next   int // batch or block after the one at hand
	batch  *column.Batch
	block  []byte // that batch was read from
	keys   []*column.Vector
	at     int // row of batch, in order
	row    int32
	prefix uint64
}

// merger gives the rows of several runs in one order. It keeps the cursors in a heap, the one with the least row on top.
type merger struct {
	temp  *temp
	order ordering
	at    []int
	heap  []*cursor
	// picked are rows that are not copied yet: a column of many is copied at once.
	picked []pickedRow
}

type pickedRow struct {
	from *column.Batch
	row  int32
}

// mergedRows is how many rows are picked at once.
const mergedRows = 256

// newMerger merges runs, whose blocks are in temp; the keys of order are the columns at.
func newMerger(temp *temp, order ordering, at []int, runs []*sortedRun) (*merger, error) {
	m := &merger{temp: temp, order: order, at: at}
	for _, r := range runs {
		c := &cursor{run: r}
		more, err := m.load(c)
		if err != nil {
			return nil, err
		}
		if more {
			m.heap = append(m.heap, c)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m, nil
}

// load moves c to the first row of its next batch; it reports whether there is one.
func (m *merger) load(c *cursor) (bool, error) {
	switch r := c.run; {
	case c.next < len(r.batches):
		c.batch = r.batches[c.next]
	case c.next < len(r.blocks):
		var err error
		if c.block, err = m.temp.read(r.blocks[c.next], c.block); err != nil {
			return false, err
		}
		if c.batch == nil {
			c.batch = new(column.Batch)
		}
		if err := readRows(c.batch, c.block); err != nil {
			return false, err
		}
	default:
		return false, nil
	}
	c.next++
	c.keys, c.at = keysOf(c.batch, m.at), 0
	m.place(c)
	return true, nil
}

// bytes is about what is held of blocks.
func (m *merger) bytes() int64 {
	n := int64(0)
	for _, c := range m.heap {
		if c.block != nil {
			n += int64(cap(c.block) + c.batch.Bytes())
		}
	}
	return n
}

// place fixes the row that c is at.
func (m *merger) place(c *cursor) {
	if c.row = int32(c.at); c.run.order != nil {
		c.row = c.run.order[c.at]
	}
	c.prefix = m.order.prefix(c.keys, int(c.row))
}

// next appends up to n rows to out, at least one and no more when their values take space bytes. It gives their number, 0 at the end.
func (m *merger) next(out *column.Batch, n, space int) (int, error) {
	got := 0
	m.picked = m.picked[:0]
	for got < n && len(m.heap) > 0 && space > 0 {
		c := m.heap[0]
		m.picked = append(m.picked, pickedRow{c.batch, c.row})
		got++
		for i := range out.Cols {
			if v := &c.batch.Cols[i]; v.Type.Kind.IsView() {
				space -= int(v.End[c.row] - v.Beg[c.row])
			}
		}
		if c.at+1 == c.batch.N && c.block != nil {
			m.copyPicked(out) // the next block takes the place of this one
		}
		if err := m.advance(c); err != nil {
			return got, err
		}
	}
	m.copyPicked(out)
	return got, nil
}

// copyPicked appends the rows that are picked to out.
func (m *merger) copyPicked(out *column.Batch) {
	for c := range out.Cols {
		v := &out.Cols[c]
		for _, p := range m.picked {
			v.AppendRow(&p.from.Cols[c], int(p.row))
		}
	}
	out.N += len(m.picked)
	m.picked = m.picked[:0]
}

// skip passes over n rows.
func (m *merger) skip(n int64) error {
	for ; n > 0 && len(m.heap) > 0; n-- {
		if err := m.advance(m.heap[0]); err != nil {
			return err
		}
	}
	return nil
}

// advance moves c, which is on top, to its next row.
func (m *merger) advance(c *cursor) error {
	if c.at++; c.at < c.batch.N {
		m.place(c)
	} else if more, err := m.load(c); err != nil {
		return err
	} else if !more {
		last := len(m.heap) - 1
		m.heap[0], m.heap = m.heap[last], m.heap[:last]
	}
	m.sink(0)
	return nil
}

func (m *merger) less(a, b *cursor) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return m.order.compare(a.keys, int(a.row), b.keys, int(b.row)) < 0
}

// sink restores the heap below i.
func (m *merger) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.less(m.heap[child], m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

// prefix is a number in the order of the first key of row i: rows with different prefixes are in their order, with equal ones they may be in any.
// The top bit is that of values that are not NULL.
func (o ordering) prefix(keys []*column.Vector, i int) uint64 {
	p := valuePrefix(keys[0], i)
	if o[0].Desc {
		return ^p
	}
	return p
}

func valuePrefix(v *column.Vector, i int) uint64 {
	if v.IsNull(i) {
		return 0
	}
	var p uint64
	switch k := v.Type.Kind; {
	case k == column.Uint64:
		p = uint64(v.Int[i])
	case k == column.Float64:
		p = floatPrefix(v.Float[i])
	case k == column.Decimal:
		p = floatPrefix(parseFloat(v.View(i)))
	case k.IsView():
		var first [8]byte
		copy(first[:], v.View(i))
		p = binary.BigEndian.Uint64(first[:])
	default:
		p = uint64(v.Int[i]) ^ 1<<63
	}
	return p>>1 | 1<<63
}

// floatPrefix is a number in the order of compareFloats.
func floatPrefix(f float64) uint64 {
	switch {
	case f != f:
		return math.MaxUint64
	case f == 0:
		return 1 << 63 // -0 too
	}
	b := math.Float64bits(f)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}
