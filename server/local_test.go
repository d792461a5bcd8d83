package server

import (
	"bytes"
	"testing"

	"millrace/server/wire"
)

func FuzzTextValue(f *testing.F) {
	f.Add([]byte{0xfb, 1, 'x'})
	f.Add([]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add(wire.Text(nil, bytes.Repeat([]byte("x"), 70000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for rest := data; len(rest) > 0; {
			v, next, err := textValue(rest)
			if err != nil {
				break
			}
			if len(next) >= len(rest) || len(v) > len(data) {
				t.Fatal("a value that takes no bytes, or more than there are")
			}
			rest = next
		}
		v, rest, err := textValue(wire.Text(nil, data))
		if err != nil || len(rest) != 0 || !bytes.Equal(v, data) {
			t.Fatalf("a value came back as %q, %q left, %v", v, rest, err)
		}
	})
}
