package json

import "encoding/binary"

// keyOrder is what the keys of an object were in the records before: those of a topic mostly have the same keys in the same order. One comparison
// then takes the place of scanning a key and looking it up. A key that differs is scanned as if nothing had been learned, so a result
// never depends on the records before.
type keyOrder struct{ members []learned }

// learned is a key without escapes that at most one field matches, with its quotes, the colon, and the blanks up to the value.
type learned struct {
	// word has the first eight bytes of text; mask says how many of them there are, 0 when nothing is learned. last has the last eight of a text that is longer.
	word, mask, last uint64
	text             []byte
	// key is the length of the key alone.
	key int
	// field is the number of the field that matches, -1 for none.
	field int32
	// changes counts how often a key was learned here.
	changes uint8
}

const (
	// mostLearned members of an object are learned, and each mostChanges times: keys that differ from record to record are not worth it.
	mostLearned = 128
	mostChanges = 32
)

// match gives what was learned of member k, and the position of its value, when the text at p is the same. Otherwise the position is 0.
func (o *keyOrder) match(b []byte, p, k int) (*learned, int) {
	if k >= len(o.members) || p+8 > len(b) {
		return nil, 0
	}
	l := &o.members[k]
	if l.mask == 0 || binary.LittleEndian.Uint64(b[p:])&l.mask != l.word {
		return nil, 0
	}
	end := p + len(l.text)
	if end >= len(b) || b[end] <= ' ' || len(l.text) > 8 && !l.ends(b[p:end]) {
		return nil, 0
	}
	return l, end
}

// ends reports whether text, which begins as what was learned and is as long, is the same behind the first eight bytes. Up to sixteen, the last eight say so.
func (l *learned) ends(text []byte) bool {
	return binary.LittleEndian.Uint64(text[len(text)-8:]) == l.last && (len(text) <= 16 || string(text[8:]) == string(l.text[8:]))
}

// learn notes the text of member k, of which key bytes are the key.
func (o *keyOrder) learn(k int, text []byte, key int, field int32) {
	if k >= mostLearned {
		return
	}
	for len(o.members) <= k {
		o.members = append(o.members, learned{})
	}
	l := &o.members[k]
	if l.changes >= mostChanges {
		return
	}
	l.changes++
	l.text, l.key, l.field = append(l.text[:0], text...), key, field
	var first [8]byte
	n := copy(first[:], text)
	l.word, l.mask = binary.LittleEndian.Uint64(first[:]), ^uint64(0)>>(64-8*n)
	if len(text) > 8 {
		l.last = binary.LittleEndian.Uint64(text[len(text)-8:])
	}
}
