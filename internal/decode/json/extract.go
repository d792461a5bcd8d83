package json

import (
	"bytes"
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"millrace/internal/convert"
)

// MaxDepth is the number of containers that may lie in each other.
const MaxDepth = 1000

// Reason says why a record is not JSON.
type Reason uint8

const (
	Syntax Reason = iota
	InvalidUTF8
	TooDeep
	TooLong
)

// Error says why and where a record is not JSON. It belongs to the Extractor and is valid until its next call.
type Error struct {
	Reason Reason
	Offset int
}

func (e *Error) Error() string {
	switch e.Reason {
	case InvalidUTF8:
		return fmt.Sprintf("not valid UTF-8 at byte %d", e.Offset)
	case TooDeep:
		return fmt.Sprintf("nested deeper than %d at byte %d", MaxDepth, e.Offset)
	case TooLong:
		return "longer than 4 GiB"
	default:
		return fmt.Sprintf("not valid JSON at byte %d", e.Offset)
	}
}

// Extractor runs a Plan over records. It belongs to one goroutine.
type Extractor struct {
	plan *Plan
	rec  []byte
	// values by slot.
	values []Value
	// seen has the spelling of the key that a folded name matched last in the current object.
	seen []spelling
	// orders are the keys of earlier objects, by node.
	orders  []keyOrder
	depth   int
	tooDeep bool
	err     Error
	// key and other hold unescaped keys, clean a record freed of invalid UTF-8, text what Text returns.
	key, other, clean, text []byte
	// tails are the extractors behind [*], by path; nil where there is none.
	tails []*Extractor
	found [1]Value
}

// spelling is a key in the record, without its quotes.
type spelling struct {
	off, end  uint32
	set       bool
	escaped   bool
	ambiguous bool
}

// NewExtractor returns an Extractor for p.
func (p *Plan) NewExtractor() *Extractor {
	x := &Extractor{plan: p, values: make([]Value, p.slots), seen: make([]spelling, p.spellings), orders: make([]keyOrder, p.objects)}
	if p.anyTail {
		x.tails = make([]*Extractor, len(p.tails))
		for i, t := range p.tails {
			if t != nil {
				x.tails[i] = t.NewExtractor()
			}
		}
	}
	return x
}

// Extract checks rec and fills out, one Value per path. When rec is not JSON it returns an *Error and out is unspecified.
func (x *Extractor) Extract(rec []byte, out []Value) error {
	if uint64(len(rec)) > math.MaxUint32 {
		x.err = Error{Reason: TooLong}
		return &x.err
	}
	clear(x.values)
	x.rec, x.depth, x.tooDeep = rec, 0, false
	p := x.value(skipBlanks(rec, 0), x.plan.root)
	if p >= 0 {
		if p = skipBlanks(rec, p); p != len(rec) {
			p = ^p
		}
	}
	x.rec = nil // do not keep the caller's memory alive
	if p < 0 {
		x.err = Error{Offset: ^p}
		switch {
		case x.tooDeep:
			x.err.Reason = TooDeep
		case ^p < len(rec) && rec[^p] >= utf8.RuneSelf && badSequence(rec, ^p) == ^p:
			x.err.Reason = InvalidUTF8
		}
		return &x.err
	}
	for i, s := range x.plan.slot {
		out[i] = x.values[s]
	}
	if x.plan.anyTail {
		x.gather(out)
	}
	return nil
}

// ExtractText is Extract for records that are text: each sequence of bytes that is not UTF-8 counts as U+FFFD. The values refer to the
// text returned, which is rec, or memory of x that is valid until the next call.
func (x *Extractor) ExtractText(rec []byte, out []Value) (text []byte, err error) {
	if err = x.Extract(rec, out); err == nil || x.err.Reason != InvalidUTF8 {
		return rec, err
	}
	x.clean = convert.AppendUTF8(x.clean[:0], rec)
	return x.clean, x.Extract(x.clean, out)
}

// value scans the value at p, which node n wants something of.
func (x *Extractor) value(p int, n *node) int {
	b := x.rec
	if p >= len(b) {
		return ^p
	}
	start := p
	var t Type
	var flags Flags
	switch b[p] {
	case '"':
		t = String
		p, flags = scanString(b, p+1)
	case '{':
		t = Object
		if len(n.fields) > 0 {
			p = x.object(p, n)
		} else {
			p = x.skipContainer(b, p, x.depth)
		}
	case '[':
		t = Array
		if len(n.elements) > 0 {
			p = x.array(p, n)
		} else {
			p = x.skipContainer(b, p, x.depth)
		}
	case 't':
		t = True
		p = scanLiteral(b, p, "true")
	case 'f':
		t = False
		p = scanLiteral(b, p, "false")
	case 'n':
		t = Null
		p = scanLiteral(b, p, "null")
	default:
		t = Number
		p, flags = scanNumber(b, p)
	}
	if p >= 0 && n.slot >= 0 {
		x.values[n.slot] = Value{uint32(start), uint32(p), t, flags}
	}
	return p
}

// skip scans the value at p, which nothing is wanted of.
func (x *Extractor) skip(p int) int {
	b := x.rec
	switch b[p] {
	case '"':
		p = skipString(b, p+1)
	case '{', '[':
		p = x.skipContainer(b, p, x.depth)
	case 't':
		p = scanLiteral(b, p, "true")
	case 'f':
		p = scanLiteral(b, p, "false")
	case 'n':
		p = scanLiteral(b, p, "null")
	default:
		p, _ = scanNumber(b, p)
	}
	return p
}

func (x *Extractor) object(p int, n *node) int {
	b := x.rec
	if x.depth++; x.depth > MaxDepth {
		x.tooDeep = true
		return ^p
	}
	clear(x.seen[n.foldedLo:n.foldedHi])
	if p = skipBlanks(b, p+1); p >= len(b) {
		return ^p
	}
	if b[p] == '}' {
		x.depth--
		return p + 1
	}
	order := &x.orders[n.object]
	for k := 0; ; k++ {
		switch l, at := order.match(b, p, k); {
		case at == 0:
			p = x.member(p, n, k)
		case l.field >= 0:
			p = x.field(at, &n.fields[l.field], p+1, p+1+l.key, 0)
		case b[at] == '"':
			p = skipString(b, at+1)
		default:
			p = x.skip(at)
		}
		if p < 0 {
			return p
		}
		if p < len(b) && b[p] <= ' ' {
			p = skipBlanks(b, p)
		}
		if p >= len(b) {
			return ^p
		}
		switch b[p] {
		case ',':
			p++
			if p < len(b) && b[p] <= ' ' {
				p = skipBlanks(b, p)
			}
		case '}':
			x.depth--
			return p + 1
		default:
			return ^p
		}
	}
}

// member scans a key at p and its value. The key is learned as that of member k.
func (x *Extractor) member(p int, n *node, k int) int {
	b := x.rec
	if p >= len(b) || b[p] != '"' {
		return ^p
	}
	start := p + 1
	q, flags := scanString(b, start)
	if q < 0 {
		return q
	}
	key := b[start : q-1]
	p = q
	if p >= len(b) || b[p] != ':' {
		if p = skipBlanks(b, p); p >= len(b) || b[p] != ':' {
			return ^p
		}
	}
	p++
	if p < len(b) && b[p] <= ' ' {
		p = skipBlanks(b, p)
	}
	if p >= len(b) {
		return ^p
	}
	if n.wide || flags&Escaped != 0 || flags&wide != 0 && n.foldedLo < n.foldedHi {
		if end := x.fieldOfUnusualKey(p, n, start, q-1, flags); end != 0 {
			return end
		}
		return x.skip(p)
	}
	end, only, wants := 0, int32(-1), 0 // end stays 0 while no path wants the value
	for i := n.table[hash(key)]; i != 0; i = n.fields[i-1].next {
		if f := &n.fields[i-1]; f.matches(key) {
			only = i - 1
			wants++
			if end = x.field(p, f, start, q-1, flags); end < 0 {
				return end
			}
		}
	}
	if flags == 0 && wants <= 1 && p-q < 8 {
		x.orders[n.object].learn(k, b[start-1:p], len(key), only)
	}
	if end == 0 {
		end = x.skip(p)
	}
	return end
}

func (f *child) matches(key []byte) bool {
	if string(key) == f.name {
		return true
	}
	return f.folded && bytes.EqualFold(key, []byte(f.name))
}

// fieldOfUnusualKey scans the value at p for each field of n that the key rec[off:end] matches, where the hash does not help: the key has
// escapes, or folding beyond ASCII is possible. It returns 0 when none matches.
func (x *Extractor) fieldOfUnusualKey(p int, n *node, off, end int, flags Flags) int {
	next := 0
	for i := range n.fields {
		key := x.rec[off:end]
		if flags&Escaped != 0 {
			x.key = AppendUnescaped(x.key[:0], key) // again for each field: scanning a value uses x.key
			key = x.key
		}
		if f := &n.fields[i]; f.matches(key) {
			if next = x.field(p, f, off, end, flags); next < 0 {
				return next
			}
		}
	}
	return next
}

// field scans the value at p of the key rec[off:end], which f matches. A value that several fields match (a folded name and an exact
// one) is scanned once for each: at worst as many scans as the trie has nodes.
func (x *Extractor) field(p int, f *child, off, end int, flags Flags) int {
	n := f.node
	// The last duplicate counts: forget what an earlier one gave.
	for s := n.lo; s < n.hi; s++ {
		x.values[s] = Value{}
	}
	if !f.folded {
		return x.value(p, n)
	}
	// Written member by member: a struct of small members that is copied at once waits for its own stores.
	seen := &x.seen[f.spelling]
	escaped := flags&Escaped != 0
	ambiguous := seen.set && (seen.ambiguous || !x.sameKey(*seen, off, end, escaped))
	seen.off, seen.end, seen.set, seen.escaped, seen.ambiguous = uint32(off), uint32(end), true, escaped, ambiguous
	p = x.value(p, n)
	if ambiguous {
		for s := n.lo; s < n.hi; s++ {
			x.values[s].Flags |= Ambiguous
		}
	}
	return p
}

// sameKey reports whether the key rec[off:end] is spelled as a is, once both are unescaped.
func (x *Extractor) sameKey(a spelling, off, end int, escaped bool) bool {
	ka, kb := x.rec[a.off:a.end], x.rec[off:end]
	if a.escaped {
		x.other = AppendUnescaped(x.other[:0], ka)
		ka = x.other
	}
	if escaped {
		x.text = AppendUnescaped(x.text[:0], kb)
		kb = x.text
	}
	return bytes.Equal(ka, kb)
}

func (x *Extractor) array(p int, n *node) int {
	b := x.rec
	if x.depth++; x.depth > MaxDepth {
		x.tooDeep = true
		return ^p
	}
	if p = skipBlanks(b, p+1); p >= len(b) {
		return ^p
	}
	if b[p] == ']' {
		x.depth--
		return p + 1
	}
	for i := 0; ; i++ {
		var wanted *node
		if i < n.limit {
			for _, e := range n.elements {
				if e.index == i {
					wanted = e.node
					break
				}
			}
		}
		if p >= len(b) {
			return ^p
		}
		if wanted == nil {
			p = x.skip(p)
		} else {
			p = x.value(p, wanted)
		}
		if p < 0 {
			return p
		}
		if p < len(b) && b[p] <= ' ' {
			p = skipBlanks(b, p)
		}
		if p >= len(b) {
			return ^p
		}
		switch b[p] {
		case ',':
			p++
			if p < len(b) && b[p] <= ' ' {
				p = skipBlanks(b, p)
			}
		case ']':
			x.depth--
			return p + 1
		default:
			return ^p
		}
	}
}

// validators are extractors without paths.
var validators = sync.Pool{New: func() any { return Compile(nil).NewExtractor() }}

// Valid reports whether rec is one JSON value, as strictly as Extract does.
func Valid(rec []byte) bool {
	x := validators.Get().(*Extractor)
	defer validators.Put(x)
	return x.Extract(rec, nil) == nil
}
