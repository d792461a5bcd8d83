package ops

import (
	"encoding/binary"

	"millrace/internal/column"
)

// distinct is COUNT(DISTINCT x): the set of pairs of group and value. The pairs of a group are a list, newest first, so that one group can be written
// out.
type distinct struct {
	set  *keys
	n    []int64  // values of each group in set
	more []int64  // values of each group that are counted and in no set
	last []uint32 // of a group: its newest pair + 1
	prev []uint32 // of a pair: the one before it in its group + 1
	pair []byte
}

func newDistinct(arg column.Type) *distinct {
	return &distinct{set: newKeys([]column.Type{{Kind: column.Int64}, arg})}
}

func (d *distinct) grow(groups int) {
	d.n, d.more, d.last = grown(d.n, groups), grown(d.more, groups), grown(d.last, groups)
}

func (d *distinct) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) {
		d.pair = appendKey(binary.LittleEndian.AppendUint32(d.pair[:0], uint32(g)), v, i)
		d.insert(g, d.pair)
	})
}

func (d *distinct) insert(g int, pair []byte) {
	before := d.set.len()
	if d.set.find(pair); d.set.len() > before {
		d.n[g]++
		d.prev = append(d.prev, d.last[g])
		d.last[g] = uint32(before) + 1
	}
}

// insertValue is insert of a value that appendKey has encoded.
func (d *distinct) insertValue(g int, value []byte) {
	d.pair = append(binary.LittleEndian.AppendUint32(d.pair[:0], uint32(g)), value...)
	d.insert(g, d.pair)
}

// value is the encoded value of pair p.
func (d *distinct) value(p uint32) []byte { return d.set.key(int32(p))[4:] }

func (d *distinct) merge(from accumulator, to []int32) {
	f := from.(*distinct)
	for k := range f.set.len() {
		g := to[binary.LittleEndian.Uint32(f.set.key(int32(k)))]
		d.insertValue(int(g), f.value(uint32(k)))
	}
	for g, n := range f.more {
		d.more[to[g]] += n
	}
}

// divide implements divisible.
func (d *distinct) divide(f func(g int, value []byte) error) error {
	for k := range d.set.len() {
		if err := f(int(binary.LittleEndian.Uint32(d.set.key(int32(k)))), d.value(uint32(k))); err != nil {
			return err
		}
	}
	d.set = newKeys(d.set.types)
	d.prev = nil
	clear(d.n)
	clear(d.last)
	return nil
}

// settle implements divisible.
func (d *distinct) settle(g int) { d.more[g]++ }

func (d *distinct) encode(dst []byte, g int) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(d.more[g])), uint64(d.n[g]))
	for p := d.last[g]; p != 0; p = d.prev[p-1] {
		dst = appendSized(dst, d.value(p-1))
	}
	return dst
}

func (d *distinct) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	d.more[g] += int64(r.uint())
	for n := r.uint(); n > 0 && !r.bad; n-- {
		if value := r.bytes(); !r.bad {
			d.insertValue(g, value)
		}
	}
	return r.end()
}

func (d *distinct) emit(g int, out *column.Vector) { out.AppendInt(d.n[g] + d.more[g]) }

func (d *distinct) bytes() int {
	return d.set.bytes() + 8*cap(d.n) + 8*cap(d.more) + 4*cap(d.last) + 4*cap(d.prev)
}
