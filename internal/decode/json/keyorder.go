package json

import "encoding/binary"

// keyOrder is what the keys of an object were in the records before: those of a topic mostly have the same keys in the same order. One or two comparisons
// then take the place of looking for a comma, scanning a key and looking it up. A key that differs is scanned as if nothing had been learned, so a result
// never depends on the records before.
type keyOrder struct{ members []learned }

// learned is a key without escapes that at most one field matches: its text, from the comma behind the member before it, or from its quote when it is the
// first, up to the value.
type learned struct {
	// word has the first eight bytes of text; mask says how many of them there are. last has the last eight of a text that is longer.
	word, mask, last uint64
	// size is the length of text; key is where the key begins in it, and behind the length of what follows the key.
	size, key, behind int
	text              []byte
	// field is the number of the field that matches, -1 for none; slot and spelling are its own, -1 for none. branches: paths go on below it.
	field, slot, spelling int32
	branches              bool
	// changes counts how often a key was learned here.
	changes uint8
}

const (
	// mostLearned members of an object are learned, and each mostChanges times: keys that differ from record to record are not worth it.
	mostLearned = 128
	mostChanges = 32
	// mostLeftOut members in a row that a record leaves out are stepped over.
	mostLeftOut = 4
	// longestLearned is the longest text that is learned.
	longestLearned = 128
)

// ends reports whether b[p:end], which begins as what was learned and is as long, is the same behind the first eight bytes. Up to sixteen, the last eight
// say so.
func (l *learned) ends(b []byte, p, end int) bool {
	q := end - 8
	return q >= 0 && q <= len(b)-8 && word(b, q) == l.last && (l.size <= 16 || l.middle(b[p:q]))
}

func (l *learned) middle(text []byte) bool { return string(text[8:]) == string(l.text[8:l.size-8]) }

// later gives the number of the member at p, when it is one of those that come soon after k, as in a record that leaves some out; else 0.
func (o *keyOrder) later(b []byte, p, k int) int {
	if p < 0 || p > len(b)-8 {
		return 0
	}
	w := word(b, p)
	for j := k + 1; j < min(k+1+mostLeftOut, len(o.members)); j++ {
		l := &o.members[j]
		if w&l.mask != l.word {
			continue
		}
		if at := p + l.size; at >= 0 && at < len(b) && b[at] > ' ' && (l.size <= 8 || l.ends(b, p, at)) {
			return j
		}
	}
	return 0
}

// wanted notes that a field matches.
func (l *learned) wanted(f *child) {
	l.slot, l.branches = f.node.slot, f.node.slot < 0 || f.node.hi > f.node.lo+1
	if f.folded {
		l.spelling = f.spelling
	}
}

// learn notes the text of member k; made says what else is to be known of it.
func (o *keyOrder) learn(k int, text []byte, made learned) {
	if k >= mostLearned || len(text) > longestLearned {
		return
	}
	for len(o.members) <= k {
		o.members = append(o.members, learned{word: 1}) // which no text matches
	}
	l := &o.members[k]
	if l.changes >= mostChanges {
		return
	}
	made.changes, made.text, made.size = l.changes+1, append(l.text[:0], text...), len(text)
	var first [8]byte
	n := copy(first[:], text)
	made.word, made.mask = binary.LittleEndian.Uint64(first[:]), ^uint64(0)>>(64-8*n)
	if len(text) > 8 {
		made.last = binary.LittleEndian.Uint64(text[len(text)-8:])
	}
	*l = made
}
