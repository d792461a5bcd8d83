package ops

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"millrace/internal/column"
)

// groupTable is the groups of one owner: their keys and, by their numbers, the states of all aggregates.
type groupTable struct {
	by   int   // number of keys
	keys *keys // nil without GROUP BY: then there is one group
	accs []accumulator
}

func (p *Plan) newGroupTable() *groupTable {
	t := &groupTable{by: len(p.groupBy)}
	if t.by > 0 {
		var types []column.Type
		for _, e := range p.groupBy {
			types = append(types, e.Type())
		}
		t.keys = newKeys(types)
	}
	for _, a := range p.aggregates {
		acc := a.accumulator()
		acc.grow(t.len())
		t.accs = append(t.accs, acc)
	}
	return t
}

// len is the number of groups.
func (t *groupTable) len() int {
	if t.keys == nil {
		return 1
	}
	return t.keys.len()
}

// grow makes room for the groups that keys have.
func (t *groupTable) grow() {
	if t.keys == nil {
		return
	}
	for _, acc := range t.accs {
		acc.grow(t.keys.len())
	}
}

// bytes is about what t takes. When an array grows, the old one and the new one, twice as large, are there for a moment, and the old one until it is
// collected; so half is added.
func (t *groupTable) bytes() int64 {
	n := 0
	if t.keys != nil {
		n = t.keys.bytes()
	}
	for _, a := range t.accs {
		n += a.bytes()
	}
	return int64(n + n/2)
}

// merge takes the groups of from, which is then of no more use.
func (t *groupTable) merge(from *groupTable) {
	to := []int32{0}
	if t.keys != nil {
		to = t.keys.merge(from.keys)
	}
	t.grow()
	for i, acc := range t.accs {
		acc.merge(from.accs[i], to)
	}
}

// encode appends group g to dst: its key and its states.
func (t *groupTable) encode(dst []byte, g int) []byte {
	dst = t.encodeKey(dst, g)
	for _, acc := range t.accs {
		dst = acc.encode(dst, g)
	}
	return dst
}

// encodeKey appends the key of group g to dst.
func (t *groupTable) encodeKey(dst []byte, g int) []byte {
	if t.keys == nil {
		return dst
	}
	return t.keys.encode(dst, int32(g))
}

// decodeKey gives the group of the key that encodeKey wrote, a new one when there is none.
func (t *groupTable) decodeKey(r *stateReader) int {
	if t.keys == nil {
		return 0
	}
	g := t.keys.decode(r)
	t.grow()
	return int(g)
}

// hash is equal for equal keys of all tables of a plan.
func (t *groupTable) hash(g int) uint64 {
	if t.keys == nil {
		return 0
	}
	return t.keys.hash(int32(g))
}

// canSpill reports whether writing t out makes it smaller, also in the end: it has several groups, or values that are written by themselves.
func (t *groupTable) canSpill() bool {
	return t.keys != nil || slices.ContainsFunc(t.accs, func(a accumulator) bool { _, ok := a.(divisible); return ok })
}

// divisible is an accumulator that holds sets of values, which are only counted in the end. They may be more than memory has room for.
type divisible interface {
	accumulator
	// divide calls f with the group and the bytes of each value, and forgets them. The bytes are valid until f returns.
	divide(f func(g int, value []byte) error) error
	// settle counts a value of group g, which add has not seen and will not.
	settle(g int)
}

// decode merges all groups that encode wrote into block.
func (t *groupTable) decode(block []byte) error {
	for len(block) > 0 {
		r := stateReader{rest: block}
		g := t.decodeKey(&r)
		var err error
		if block, err = r.end(); err != nil {
			return err
		}
		for _, acc := range t.accs {
			if block, err = acc.decode(g, block); err != nil {
				return err
			}
		}
	}
	return nil
}

// emit appends group g to out.
func (t *groupTable) emit(g int, out *column.Batch) {
	if t.keys != nil {
		t.keys.emit(int32(g), out.Cols)
	}
	for i, acc := range t.accs {
		acc.emit(g, &out.Cols[t.by+i])
	}
	out.N++
}

// nullHash is that of a NULL that is a key by itself.
var nullHash = rand.Uint64()

// hash is equal for equal keys of all tables with keys of these types.
func (t *keys) hash(g int32) uint64 {
	if g == t.null {
		return nullHash
	}
	return t.hashes[g]
}

// encode appends the key of group g.
func (t *keys) encode(dst []byte, g int32) []byte {
	switch {
	case g == t.null:
		return append(dst, 0)
	case t.single:
		return binary.LittleEndian.AppendUint64(append(dst, 1), uint64(t.nums[g]))
	default:
		key := t.key(g)
		return append(binary.AppendUvarint(dst, uint64(len(key))+1), key...)
	}
}

// decode gives the group of the key that encode wrote, a new one when there is none.
func (t *keys) decode(r *stateReader) int32 {
	n := r.uint()
	switch {
	case r.bad:
		return 0
	case n == 0 && len(t.types) == 1:
		return t.nullGroup()
	case t.single && n == 1:
		return t.findNumber(int64(r.word()))
	case t.single, n == 0, n-1 > uint64(len(r.rest)):
		r.fail()
		return 0
	default:
		key := r.rest[:n-1]
		r.rest = r.rest[n-1:]
		return t.find(key)
	}
}
