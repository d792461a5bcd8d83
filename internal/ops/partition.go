package ops

import (
	"context"
	"hash/maphash"

	"millrace/internal/column"
	"millrace/internal/memory"
	"millrace/internal/scan"
	"millrace/internal/spill"
)

// Groups that memory has no room for are written out by parts of their hashes, and read back part by part: what belongs to one group lies in one part,
// whichever lane wrote it and how often. A part that is still too large is parted again, by the next bits of the hashes.
//
// The values of a COUNT(DISTINCT) may be too many for memory within a single group. They are written out by themselves, each with the key of its group, by
// parts of the hashes of both. Read back part by part they are counted; the counts are then states of their groups like any others.

// fanOut is the number of parts, partBits its logarithm, deepest how often parts can be parted.
const (
	partBits = 4
	fanOut   = 1 << partBits
	deepest  = 64/partBits - 1
)

// partNumber is the part of a hash at a level. Tables look their slots up by the low bits, so parts begin with the high ones.
func partNumber(hash uint64, level int) int { return int(hash>>(64-partBits*(level+1))) & (fanOut - 1) }

// part is the blocks of one part.
type part []spill.Extent

// partWriter writes records to the blocks of parts.
type partWriter struct {
	to   *temp
	into *[fanOut]part
	open [fanOut][]byte
}

// begin gives the memory to append a record of part i to.
func (w *partWriter) begin(i int) []byte { return w.open[i] }

// end takes the memory back, with the record.
func (w *partWriter) end(i int, block []byte) error {
	if w.open[i] = block; len(block) < blockBytes {
		return nil
	}
	return w.flush(i)
}

func (w *partWriter) flush(i int) error {
	e, err := w.to.append(w.open[i])
	w.into[i] = append(w.into[i], e)
	w.open[i] = w.open[i][:0]
	return err
}

// close writes what is left. The writer is of no use afterwards.
func (w *partWriter) close() error {
	for i := range w.open {
		if len(w.open[i]) > 0 {
			if err := w.flush(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts are groups on disk, by the bits of their hashes at a level.
type parts struct {
	level  int
	groups [fanOut]part
	// values are those of the aggregates that are written value by value, by the number of the aggregate.
	values map[int]*[fanOut]part
}

// add takes the blocks of other, which has the same level.
func (p *parts) add(other *parts) {
	for i, blocks := range other.groups {
		p.groups[i] = append(p.groups[i], blocks...)
	}
	for a, values := range other.values {
		for i, blocks := range values {
			p.valuesOf(a)[i] = append(p.valuesOf(a)[i], blocks...)
		}
	}
}

func (p *parts) valuesOf(aggregate int) *[fanOut]part {
	if p.values[aggregate] == nil {
		if p.values == nil {
			p.values = map[int]*[fanOut]part{}
		}
		p.values[aggregate] = new([fanOut]part)
	}
	return p.values[aggregate]
}

// write writes all groups of t, which is then of no more use.
func (p *parts) write(to *temp, t *groupTable) error {
	for a, acc := range t.accs {
		if d, ok := acc.(divisible); ok {
			if err := p.writeValues(to, t, a, d); err != nil {
				return err
			}
		}
	}
	w := partWriter{to: to, into: &p.groups}
	for g := range t.len() {
		i := partNumber(t.hash(g), p.level)
		if err := w.end(i, t.encode(w.begin(i), g)); err != nil {
			return err
		}
	}
	return w.close()
}

// writeValues writes the values of an aggregate and takes them out of it.
func (p *parts) writeValues(to *temp, t *groupTable, aggregate int, d divisible) error {
	var w *partWriter
	var record []byte
	err := d.divide(func(g int, value []byte) error {
		if w == nil {
			w = &partWriter{to: to, into: p.valuesOf(aggregate)}
		}
		record = append(t.encodeKey(record[:0], g), value...)
		i := partNumber(maphash.Bytes(seed, record), 0)
		return w.end(i, appendSized(w.begin(i), record))
	})
	if err != nil || w == nil {
		return err
	}
	return w.close()
}

// emitParts hands out the groups of p, and so all that were ever written for its hashes. Nothing follows in p.
func (s *stage) emitParts(p *parts, out output) error {
	for a, values := range p.values {
		c := counting{stage: s, aggregate: a, into: p, table: s.plan.newGroupTable(), held: s.rows.state.Account()}
		if err := c.run(values); err != nil {
			c.held.Close()
			return err
		}
	}
	for i, blocks := range p.groups {
		p.groups[i] = nil
		if len(blocks) == 0 {
			continue
		}
		if err := s.emitPart(blocks, p.level, out); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) emitPart(blocks part, level int, out output) error {
	r := s.rows
	var (
		t      = s.plan.newGroupTable()
		held   = r.state.Account()
		larger *parts
		buf    []byte
	)
	defer held.Close()
	for _, e := range blocks {
		var err error
		if buf, err = r.readBlock(e, buf); err == nil {
			err = t.decode(buf)
		}
		if err != nil {
			return err
		}
		n := t.bytes() + int64(cap(buf))
		if held.Set(n) {
			continue
		}
		held.Force(n)
		switch {
		case n < int64(r.options.SpillBytes):
		case t.len() == 1 || level == deepest:
			return r.outOfMemory("the values of one group").WithHint("collect_list keeps all values of a group in memory: filter more, group by more columns, or raise the memory limit")
		default:
			if larger == nil {
				larger = &parts{level: level + 1}
			}
			if err := larger.write(&r.temp, t); err != nil {
				return err
			}
			t = s.plan.newGroupTable()
			held.Close()
		}
	}
	if larger == nil {
		return s.emitGroups(t, out)
	}
	if err := larger.write(&r.temp, t); err != nil {
		return err
	}
	t = nil
	held.Close()
	return s.emitParts(larger, out)
}

// readBlock reads a block of the temporary file, unless the run has ended.
func (r *Rows) readBlock(e spill.Extent, buf []byte) ([]byte, error) {
	if err := context.Cause(r.ctx); err != nil {
		return buf, err
	}
	return r.temp.read(e, buf)
}

// counting counts the values of one aggregate that are on disk.
type counting struct {
	stage     *stage
	aggregate int
	into      *parts      // takes the counts
	table     *groupTable // counts that into does not have yet
	held      memory.Account
}

// run counts the values of all parts.
func (c *counting) run(values *[fanOut]part) error {
	for i, blocks := range values {
		values[i] = nil
		if err := c.part(blocks, 0); err != nil {
			return err
		}
	}
	return c.write()
}

// write hands the counts so far over.
func (c *counting) write() error {
	if err := c.into.write(&c.stage.rows.temp, c.table); err != nil {
		return err
	}
	c.table = c.stage.plan.newGroupTable()
	c.held.Close()
	return nil
}

// part counts the values of a part: all copies of one are in it.
func (c *counting) part(blocks part, level int) error {
	r := c.stage.rows
	var (
		set    = newKeys([]column.Type{{Kind: column.Bytes}})
		held   = r.state.Account()
		larger *[fanOut]part
		buf    []byte
	)
	defer held.Close()
	split := func() error {
		w := partWriter{to: &r.temp, into: larger}
		for g := range set.len() {
			i := partNumber(set.hash(int32(g)), level+1)
			if err := w.end(i, appendSized(w.begin(i), set.key(int32(g)))); err != nil {
				return err
			}
		}
		set = newKeys(set.types)
		held.Close()
		return w.close()
	}
	for _, e := range blocks {
		var err error
		if buf, err = r.readBlock(e, buf); err != nil {
			return err
		}
		records := stateReader{rest: buf}
		for len(records.rest) > 0 {
			set.find(records.bytes())
		}
		if _, err := records.end(); err != nil {
			return err
		}
		n := int64(set.bytes() + cap(buf))
		if held.Set(n) {
			continue
		}
		if held.Force(n); n < int64(r.options.SpillBytes) {
			continue
		}
		if level == deepest {
			return r.outOfMemory("the distinct values of a group")
		}
		if larger == nil {
			larger = new([fanOut]part)
		}
		if err := split(); err != nil {
			return err
		}
	}
	if larger == nil {
		return c.count(set)
	}
	if err := split(); err != nil {
		return err
	}
	for _, blocks := range larger {
		if err := c.part(blocks, level+1); err != nil {
			return err
		}
	}
	return nil
}

// count adds the values of a set to the counts of their groups.
func (c *counting) count(set *keys) error {
	for k := range set.len() {
		r := stateReader{rest: set.key(int32(k))}
		g := c.table.decodeKey(&r)
		if _, err := r.end(); err != nil {
			return err
		}
		c.table.accs[c.aggregate].(divisible).settle(g)
	}
	n := c.table.bytes()
	if c.held.Set(n) {
		return nil
	}
	if c.held.Force(n); n < int64(c.stage.rows.options.SpillBytes) {
		return nil
	}
	return c.write()
}

// emitGroups hands out the results of the groups of t.
func (s *stage) emitGroups(t *groupTable, to output) error {
	options := &s.rows.options
	first, last, enough := s.claim(t.len())
	for g := first; g < last; {
		out := to.take()
		for ; g < last && out.N < options.MaxBatchRows && viewBytes(out) < options.MaxBatchBytes; g++ {
			t.emit(g, out)
		}
		if err := to.give(out, g < last || out.N >= options.MaxBatchRows); err != nil {
			return err
		}
	}
	s.finished.out.Add(int64(last - first))
	if enough {
		return scan.Stop
	}
	return nil
}
