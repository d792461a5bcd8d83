package avro

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// Numbers are read a word at a time where the record goes on, and a byte at a time at its end: both ways give what the library gives.
func TestNumbersOfAllLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := &decoder{}
	for i := range 20_000 {
		v := int64(rng.Uint64() >> (i % 64))
		if i%2 == 0 {
			v = -v
		}
		number := binary.AppendVarint(nil, v)
		if i%5 == 0 { // longer than it need be
			number[len(number)-1] |= 0x80
			number = append(number, 0)
		}
		want, n := binary.Varint(number)
		for _, behind := range [][]byte{nil, {0xff}, bytes.Repeat([]byte{0xff}, 12)} {
			b := append(append([]byte{9}, number...), behind...)
			got, p := d.long(b, 1)
			if n <= 0 { // more than 64 bits
				if p >= 0 {
					t.Fatalf("%x is read as %d", number, got)
				}
				continue
			}
			if got != want || p != 1+len(number) {
				t.Fatalf("%x: got %d and %d bytes, want %d and %d", number, got, p-1, want, len(number))
			}
			if p := d.skipLongs(b, 1, 1); p != 1+len(number) {
				t.Fatalf("%x: %d bytes are skipped, want %d", number, p-1, len(number))
			}
		}
	}
}

func TestASCIIIsToldByWords(t *testing.T) {
	for n := range 40 {
		for at := -1; at < n; at++ {
			text := bytes.Repeat([]byte{'a'}, n)
			if at >= 0 {
				text[at] = 0xe4
			}
			for _, behind := range []string{"", "\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
				b := append(append([]byte("\xff"), text...), behind...)
				if got, want := isASCII(b, 1, n), utf8.Valid(text); got != want {
					t.Fatalf("%q with %q behind: %v", text, behind, got)
				}
			}
		}
	}
}
