package ops

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"

	"millrace/internal/column"
)

// groupable reports whether equal values of t have equal keys.
func groupable(t column.Type) bool { return t.Kind != column.JSON && t.Kind != column.Invalid }

// seed is shared by all tables, so a hash stays good when lanes are merged.
var seed = maphash.MakeSeed()

// keys numbers the distinct combinations of values that it is shown: 0, 1, 2 … in order of appearance. Hashes only find
// candidates; equality is exact.
//
// A table of one integer column keeps the numbers; any other keeps the bytes of each key in one arena, encoded so that equal keys
// have equal bytes. Open addressing with linear probing, at most half full.
type keys struct {
	types  []column.Type
	single bool // one column of numbers, in nums

	slots  []uint32 // group + 1, 0 is free
	hashes []uint64
	nums   []int64 // of single
	ends   []int   // key g is arena[ends[g-1]:ends[g]]
	arena  []byte
	null   int32 // group of NULL of a single column, -1 while there is none
	code   []byte

	codes    codeGroups
	expanded []column.Vector // of keys that came without views
}

func newKeys(types []column.Type) *keys {
	k := &keys{types: types, slots: make([]uint32, 64), null: -1}
	k.single = len(types) == 1 && !types[0].Kind.IsView()
	return k
}

// len is the number of groups.
func (t *keys) len() int { return len(t.hashes) }

func (t *keys) bytes() int {
	n := 4*(cap(t.slots)+cap(t.codes.groups)) + 8*(cap(t.hashes)+cap(t.nums)+cap(t.ends)) + cap(t.arena)
	for i := range t.expanded {
		n += 4 * (cap(t.expanded[i].Beg) + cap(t.expanded[i].End))
	}
	return n
}

// assign puts the group of each row (sel, the first n when nil) into groups, which it returns. It may replace cols.
func (t *keys) assign(cols []*column.Vector, n int, sel []int32, groups []int32) []int32 {
	if sel != nil {
		n = len(sel)
	}
	groups = room(groups, n)
	if t.codes.begin(cols) {
		t.assignCodes(cols, sel, groups)
		return groups
	}
	for c, v := range cols {
		if v.Coded() {
			if t.expanded == nil {
				t.expanded = make([]column.Vector, len(cols))
			}
			addViews(&t.expanded[c], v, sel)
			cols[c] = &t.expanded[c]
		}
	}
	row := func(k int) int {
		if sel != nil {
			return int(sel[k])
		}
		return k
	}
	switch {
	case t.single:
		for k := range groups {
			groups[k] = t.number(cols[0], row(k))
		}
	case len(cols) == 1:
		// One text column: the value itself is the key, behind no header. NULL has a group apart.
		v := cols[0]
		for k := range groups {
			if i := row(k); v.IsNull(i) {
				groups[k] = t.nullGroup()
			} else {
				groups[k] = t.findView(v.Data, int(v.Beg[i]), int(v.End[i]))
			}
		}
	default:
		for k := range groups {
			i := row(k)
			t.code = t.code[:0]
			for _, v := range cols {
				t.code = appendKey(t.code, v, i)
			}
			groups[k] = t.find(t.code)
		}
	}
	return groups
}

func (t *keys) number(v *column.Vector, i int) int32 {
	if v.IsNull(i) {
		return t.nullGroup()
	}
	var x int64
	if v.Type.Kind == column.Float64 {
		x = canonicalBits(v.Float[i])
	} else {
		x = v.Int[i]
	}
	return t.findNumber(x)
}

func (t *keys) nullGroup() int32 {
	if t.null < 0 {
		t.null = int32(t.len())
		t.add(0, 0, nil)
	}
	return t.null
}

// mix spreads the bits of a number over all of the hash.
func mix(x int64) uint64 {
	hi, lo := bits.Mul64(uint64(x)^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

func (t *keys) findNumber(x int64) int32 {
	h := mix(x)
	mask := uint64(len(t.slots) - 1)
	for p := h & mask; ; p = (p + 1) & mask {
		s := t.slots[p]
		if s == 0 {
			break
		}
		if g := int32(s - 1); t.nums[g] == x {
			return g
		}
	}
	return t.insert(h, x, nil)
}

func (t *keys) find(key []byte) int32 {
	h := hashKey(key)
	mask := uint64(len(t.slots) - 1)
	for p := h & mask; ; p = (p + 1) & mask {
		s := t.slots[p]
		if s == 0 {
			break
		}
		if g := int32(s - 1); t.hashes[g] == h && string(t.key(g)) == string(key) {
			return g
		}
	}
	return t.insert(h, 0, key)
}

func (t *keys) key(g int32) []byte {
	beg := 0
	if g > 0 {
		beg = t.ends[g-1]
	}
	return t.arena[beg:t.ends[g]]
}

// insert adds a group that is not there.
func (t *keys) insert(h uint64, x int64, key []byte) int32 {
	g := int32(t.len())
	t.add(h, x, key)
	if 2*t.len() > len(t.slots) {
		t.slots = make([]uint32, 2*len(t.slots))
		for g, h := range t.hashes {
			if int32(g) != t.null {
				t.place(h, uint32(g)+1)
			}
		}
		return g
	}
	t.place(h, uint32(g)+1)
	return g
}

func (t *keys) add(h uint64, x int64, key []byte) {
	t.hashes = append(t.hashes, h)
	if t.single {
		t.nums = append(t.nums, x)
		return
	}
	t.arena = append(t.arena, key...)
	t.ends = append(t.ends, len(t.arena))
}

func (t *keys) place(h uint64, s uint32) {
	mask := uint64(len(t.slots) - 1)
	p := h & mask
	for t.slots[p] != 0 {
		p = (p + 1) & mask
	}
	t.slots[p] = s
}

// merge adds the groups of from and gives each its number here.
func (t *keys) merge(from *keys) []int32 {
	to := make([]int32, from.len())
	for g := range to {
		switch {
		case int32(g) == from.null:
			to[g] = t.nullGroup()
		case t.single:
			to[g] = t.findNumber(from.nums[g])
		default:
			to[g] = t.find(from.key(int32(g)))
		}
	}
	return to
}

// emit appends the values of group g to the columns.
func (t *keys) emit(g int32, out []column.Vector) {
	switch {
	case g == t.null:
		out[0].AppendNull()
	case t.single:
		appendNumber(&out[0], t.nums[g])
	case len(t.types) == 1:
		out[0].AppendBytes(t.key(g))
	default:
		key := stateReader{rest: t.key(g)}
		for c := range t.types {
			key.key(&out[c])
		}
	}
}

func appendNumber(out *column.Vector, x int64) {
	if out.Type.Kind == column.Float64 {
		out.AppendFloat(math.Float64frombits(uint64(x)))
		return
	}
	out.AppendInt(x)
}

// appendKey encodes row i: 0 for NULL; else 1 and eight bytes, or the length plus 1 and the bytes. The length says where the value ends, so
// different rows of columns never share an encoding.
func appendKey(dst []byte, v *column.Vector, i int) []byte {
	switch {
	case v.IsNull(i):
		return appendNullKey(dst)
	case v.Type.Kind.IsView():
		return appendViewKey(dst, v.Data[v.Beg[i]:v.End[i]])
	case v.Type.Kind == column.Float64:
		return binary.LittleEndian.AppendUint64(append(dst, 1), uint64(canonicalBits(v.Float[i])))
	default:
		return binary.LittleEndian.AppendUint64(append(dst, 1), uint64(v.Int[i]))
	}
}

func appendNullKey(dst []byte) []byte { return append(dst, 0) }

func appendViewKey(dst, x []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(x))+1), x...)
}
