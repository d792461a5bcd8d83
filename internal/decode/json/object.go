package json

import "bytes"

// object scans the object at p, of whose members n wants some. Most of the time of a scan goes to this loop, so what is common is written out in it: a key that was learned, with
// a string or a number that is not wanted or that one path ends at.
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
	for k := 0; p >= 0; k++ {
		var l *learned
		at := 0 // the place of the value, when the key is the one that was learned
		if k < len(order.members) && p <= len(b)-8 {
			if l = &order.members[k]; word(b, p)&l.mask == l.word {
				if at = p + l.size; l.size > 8 && !l.ends(b, p, at) || at < 0 || at >= len(b) || b[at] <= ' ' {
					at = 0
				}
			}
		}
		if at == 0 {
			if k > 0 {
				if p = skipBlanks(b, p); p >= len(b) {
					return ^p
				}
				if b[p] == '}' {
					x.depth--
					return p + 1
				}
				if b[p] != ',' {
					return ^p
				}
			}
			p, k = x.otherMember(p, n, k)
			continue
		}
		key := p + l.key // up to at-l.behind
		var t Type
		var flags Flags
		switch c := b[at]; {
		case l.branches || l.spelling >= 0 && x.seen[l.spelling].end != 0:
			p = x.field(at, &n.fields[l.field], key, at-l.behind, 0)
			continue
		case c == '"':
			t = String
			p = closingQuote(b, at+1)
			if p == 0 {
				p, flags = scanString(b, at+1)
			}
		case c-'0' < 10 || c == '-':
			t = Number
			p, flags = scanNumber(b, at)
		case l.field >= 0:
			p = x.field(at, &n.fields[l.field], key, at-l.behind, 0)
			continue
		default:
			p = x.skip(at)
			continue
		}
		if l.field >= 0 && p >= 0 {
			if l.spelling >= 0 {
				seen := &x.seen[l.spelling]
				seen.off, seen.end = uint32(key), uint32(at-l.behind)
			}
			v := &x.values[l.slot]
			v.Off, v.End, v.Type, v.Flags = uint32(at), uint32(p), t, flags
		}
	}
	return p
}

// otherMember goes on at p, where member k is not the one that was learned. A record that leaves some members out goes on with a later one, without anything being
// scanned; else the member is scanned. It gives the place to go on at and the number of the member before.
func (x *Extractor) otherMember(p int, n *node, k int) (int, int) {
	if j := x.orders[n.object].later(x.rec, p, k); j > 0 {
		return p, j - 1
	}
	return x.member(p, n, k), k
}

// member scans a key and its value; at p is the key of the first member, the comma before that of the others. The key is learned as that of member k.
func (x *Extractor) member(p int, n *node, k int) int {
	b := x.rec
	first := p
	if k > 0 {
		p = skipBlanks(b, p+1)
	}
	if p >= len(b) || b[p] != '"' {
		return ^p
	}
	start := p + 1
	q, flags := scanString(b, start)
	if q < 0 {
		return q
	}
	key := b[start : q-1]
	if p = skipBlanks(b, q); p >= len(b) || b[p] != ':' {
		return ^p
	}
	if p = skipBlanks(b, p+1); p >= len(b) {
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
	if flags == 0 && wants <= 1 {
		l := learned{key: start - first, behind: p - (q - 1), field: only, slot: -1, spelling: -1}
		if only >= 0 {
			l.wanted(&n.fields[only])
		}
		x.orders[n.object].learn(k, b[first:p], l)
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
	if n.slot < 0 || n.hi > n.lo+1 {
		clear(x.values[n.lo:n.hi]) // the last duplicate counts: forget what an earlier one gave
	}
	if !f.folded {
		return x.value(p, n)
	}
	// Written member by member: a struct of small members that is copied at once waits for its own stores.
	seen := &x.seen[f.spelling]
	escaped := flags&Escaped != 0
	ambiguous := seen.end != 0 && (seen.ambiguous || !x.sameKey(*seen, off, end, escaped))
	seen.off, seen.end, seen.escaped, seen.ambiguous = uint32(off), uint32(end), escaped, ambiguous
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
