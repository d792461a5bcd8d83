package json

import (
	"strings"
	"unicode/utf8"
)

// Plan is a set of paths compiled into a trie. It is immutable and may be shared.
type Plan struct {
	root *node
	// slots is the number of places in the trie where a value is wanted; slot[i] is the one of path i.
	slots int
	slot  []int32
	// straight: slot i is that of path i.
	straight bool
	// tails[i], when not nil, is the plan of what follows the first [*] of path i. anyTail: there is one.
	tails   []*Plan
	anyTail bool
	// spellings is the number of children with folded names, each of which has a number below it.
	spellings int
	// objects is the number of nodes that look into an object.
	objects int
}

// node is a value that some path leads to or through. Slots are numbered in preorder, so those of a subtree are slots lo to hi.
type node struct {
	slot   int32 // -1: no path ends here
	lo, hi int32

	fields []child
	// table has 1 + the index of the first field by hash; child.next goes on. Names equal under ASCII folding share a hash.
	table [64]int32
	// wide: a folded name has bytes beyond ASCII, so any key may match it. folded: the spellings of the fields with folded names.
	wide               bool
	foldedLo, foldedHi int32
	// object is the node's place in Extractor.orders, when it has fields.
	object int32

	elements []element
	limit    int // all indexes are below
}

type child struct {
	name   string
	folded bool
	next   int32
	// spelling is the place in Extractor.seen of a folded child.
	spelling int32
	node     *node
}

type element struct {
	index int
	node  *node
}

func hash(key []byte) uint32 {
	n := len(key)
	if n == 0 {
		return 0
	}
	return (uint32(n)*5 + uint32(key[0]|0x20)*3 + uint32(key[n-1]|0x20)*11) & 63
}

// Compile builds the plan for paths. The same path may occur twice, and one path may be a prefix of another.
func Compile(paths []Path) *Plan {
	p := &Plan{root: &node{}, slot: make([]int32, len(paths)), tails: make([]*Plan, len(paths))}
	ends := map[*node][]int{}
	for i, path := range paths {
		n := p.root
		for j, s := range path {
			if s.Kind == Each {
				p.tails[i] = Compile([]Path{path[j+1:]})
				p.anyTail = true
				break
			}
			n = n.step(s)
		}
		ends[n] = append(ends[n], i)
	}
	p.number(p.root, ends)
	p.straight = p.slots == len(paths)
	for i, s := range p.slot {
		p.straight = p.straight && int(s) == i
	}
	return p
}

// Paths is the number of paths, the length of the values that Extract fills.
func (p *Plan) Paths() int { return len(p.slot) }

// step returns the child that s leads to, made if need be.
func (n *node) step(s Step) *node {
	if s.Kind == Index {
		for _, e := range n.elements {
			if e.index == s.Index {
				return e.node
			}
		}
		e := element{s.Index, &node{}}
		n.elements = append(n.elements, e)
		n.limit = max(n.limit, s.Index+1)
		return e.node
	}
	folded := s.Kind == FoldedName
	for _, f := range n.fields {
		if f.folded == folded && (f.name == s.Name || folded && strings.EqualFold(f.name, s.Name)) {
			return f.node
		}
	}
	c := child{name: s.Name, folded: folded, node: &node{}}
	n.fields = append(n.fields, c)
	return c.node
}

func (p *Plan) number(n *node, ends map[*node][]int) {
	n.slot, n.lo = -1, int32(p.slots)
	if paths := ends[n]; paths != nil {
		n.slot = int32(p.slots)
		p.slots++
		for _, i := range paths {
			p.slot[i] = n.slot
		}
	}
	n.foldedLo = int32(p.spellings)
	for i := range n.fields {
		f := &n.fields[i]
		h := hash([]byte(f.name))
		f.next = n.table[h]
		n.table[h] = int32(i + 1)
		if f.folded {
			f.spelling = int32(p.spellings)
			p.spellings++
			n.wide = n.wide || !isASCII(f.name)
		}
	}
	n.foldedHi = int32(p.spellings)
	if len(n.fields) > 0 {
		n.object = int32(p.objects)
		p.objects++
	}
	for i := range n.fields {
		p.number(n.fields[i].node, ends)
	}
	for i := range n.elements {
		p.number(n.elements[i].node, ends)
	}
	n.hi = int32(p.slots)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
