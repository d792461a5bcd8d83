package ops

import (
	"context"

	"millrace/internal/scan"
	"millrace/internal/spill"
)

// Groups that memory has no room for are written out by parts of their hashes, and read back part by part: what belongs to one group lies in one part,
// whichever lane wrote it and how often. A part that is still too large is parted again, by the next bits of the hashes.

// fanOut is the number of parts, partBits its logarithm, deepest how often parts can be parted.
const (
	partBits = 4
	fanOut   = 1 << partBits
	deepest  = 64/partBits - 1
)

// parts are groups on disk, by the bits of their hashes at a level.
type parts struct {
	level  int
	blocks [fanOut][]spill.Extent
}

// of is the part of a hash. Tables look their slots up by the low bits, so parts begin with the high ones.
func (p *parts) of(hash uint64) int { return int(hash>>(64-partBits*(p.level+1))) & (fanOut - 1) }

// add takes the blocks of other, which has the same level.
func (p *parts) add(other *parts) {
	for i, blocks := range other.blocks {
		p.blocks[i] = append(p.blocks[i], blocks...)
	}
}

// write writes all groups of t.
func (p *parts) write(to *temp, t *groupTable) error {
	var open [fanOut][]byte
	flush := func(i int) error {
		e, err := to.append(open[i])
		p.blocks[i] = append(p.blocks[i], e)
		open[i] = open[i][:0]
		return err
	}
	for g := range t.len() {
		i := p.of(t.keys.hash(int32(g)))
		if open[i] = t.encode(open[i], g); len(open[i]) >= blockBytes {
			if err := flush(i); err != nil {
				return err
			}
		}
	}
	for i := range open {
		if len(open[i]) > 0 {
			if err := flush(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// emitParts hands out the groups of p, and so all that were ever written for its hashes.
func (s *stage) emitParts(p *parts, out output) error {
	for i, blocks := range p.blocks {
		p.blocks[i] = nil
		if err := s.emitPart(blocks, p.level, out); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) emitPart(blocks []spill.Extent, level int, out output) error {
	r := s.rows
	var (
		t      = s.plan.newGroupTable()
		held   = r.state.Account()
		larger *parts
		buf    []byte
	)
	defer held.Close()
	for _, e := range blocks {
		err := context.Cause(r.ctx)
		if err == nil {
			buf, err = r.temp.read(e, buf)
		}
		if err == nil {
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
			return r.outOfMemory("the values of one group")
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
