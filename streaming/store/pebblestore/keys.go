package pebblestore

import "encoding/binary"

// Sorts of keys; docs/adr/0009 has the table. The number of a table follows all but the first two.
const (
	keyFormat   = 'x'
	keyNumbers  = 'n'
	keyTable    = 't'
	keyLease    = 'l'
	keyProgress = 'g'
	keyPosition = 'p'
	keyEvent    = 'e'
	keySegment  = 'm'
	keyColumn   = 'c'
	keyFilter   = 'f'
)

// ofTable are the sorts of keys that make up the content of a table.
var ofTable = []byte{keyTable, keyLease, keyProgress, keyPosition, keyEvent, keySegment, keyColumn, keyFilter}

// ofRows are those that TRUNCATE clears.
var ofRows = []byte{keyProgress, keyPosition, keySegment, keyColumn, keyFilter}

func key(sort byte, numbers ...uint64) []byte {
	return appendKey(make([]byte, 0, 1+8*len(numbers)), sort, numbers...)
}

func appendKey(b []byte, sort byte, numbers ...uint64) []byte {
	b = append(b, sort)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// within gives the bounds of all keys of a sort that belong to a table.
func within(sort byte, table uint64) (lower, upper []byte) {
	return key(sort, table), key(sort, table+1)
}

// last is the number at the end of a key.
func last(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(k)-8:]) }
