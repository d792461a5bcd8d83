package proto

import (
	"encoding/binary"
	"slices"
)

// pieces takes messages apart. It is scratch memory, used as a stack: who calls gather gives back what it took with release.
type pieces struct {
	b     []byte
	nodes []node // nodes[0] is none
	cells []cell
}

// node is an occurrence of a field, in a chain of these: the value of a field is in b[beg:end], or several values are when a list's wire type says so.
type node struct {
	beg, end uint32
	next     int32
	wire     uint8
}

// cell is a field of a message taken apart. number is the last value of a number; beg and end enclose the last value of any; head starts the
// chain of all occurrences of a list, a map or a message.
type cell struct {
	number     int64
	beg, end   uint32
	head, tail int32
	set        bool
}

// mark is a place in the stack.
type mark struct{ nodes, cells int }

func (t *pieces) mark() mark { return mark{len(t.nodes), len(t.cells)} }

func (t *pieces) release(m mark) { t.nodes, t.cells = t.nodes[:m.nodes], t.cells[:m.cells] }

// maxKept bounds what stays allocated after a record with very many values.
const maxKept = 1 << 16

// reset starts a record.
func (t *pieces) reset(b []byte) {
	t.b = b
	if cap(t.nodes) > maxKept {
		t.nodes = make([]node, 1)
	}
	if cap(t.cells) > maxKept {
		t.cells = nil
	}
	t.nodes, t.cells = t.nodes[:1], t.cells[:0]
}

// piece makes a chain of one.
func (t *pieces) piece(beg, end uint32) int32 {
	t.nodes = append(t.nodes, node{beg: beg, end: end, wire: wireBytes})
	return int32(len(t.nodes) - 1)
}

// gather takes a message of type m apart whose pieces are chained from head. The cells of its fields are t.cells[base:], by index. only, when not
// nil, is the one field that is looked at.
func (t *pieces) gather(m *message, head int32, only *field) (base int) {
	base = len(t.cells)
	// Behind the cells of the fields each oneof has one, whose number says which of its members was last, counted from 1.
	oneofs := base + len(m.fields)
	total := oneofs + m.oneofs
	t.cells = slices.Grow(t.cells, total-base)[:total]
	clear(t.cells[base:])
	for ; head != 0; head = t.nodes[head].next {
		b := t.b[:t.nodes[head].end]
		for p := int(t.nodes[head].beg); p < len(b); {
			var k token
			k, p = next(b, p)
			f := m.find(k.number)
			if f == nil || only != nil && f != only || k.wire != f.wire && (k.wire != wireBytes || !f.packable) {
				continue
			}
			if f.oneof >= 0 {
				last := &t.cells[oneofs+int(f.oneof)].number
				if *last != 0 && *last != int64(f.index)+1 {
					t.cells[base+int(*last)-1] = cell{}
				}
				*last = int64(f.index) + 1
			}
			c := &t.cells[base+int(f.index)]
			c.set, c.beg, c.end = true, uint32(k.beg), uint32(k.end)
			if f.list || f.sub != nil {
				t.nodes = append(t.nodes, node{beg: c.beg, end: c.end, wire: k.wire})
				last := int32(len(t.nodes) - 1)
				if c.head == 0 {
					c.head = last
				} else {
					t.nodes[c.tail].next = last
				}
				c.tail = last
			} else if k.wire != wireBytes {
				c.number = number(f.kind, k.bits)
			}
		}
	}
	return base
}

// bitsAt reads a value that walk has found valid; next is the place behind.
func bitsAt(b []byte, p int, wire uint8) (bits uint64, next int) {
	switch wire {
	case wireFixed64:
		return binary.LittleEndian.Uint64(b[p:]), p + 8
	case wireFixed32:
		return uint64(binary.LittleEndian.Uint32(b[p:])), p + 4
	default:
		return uvarint(b, p)
	}
}
