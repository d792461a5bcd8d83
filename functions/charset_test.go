package functions

import "testing"

func FuzzCharset(f *testing.F) {
	for _, s := range []string{"", "abc", "ä", "😀", "\xff", "\xd8\x3d\xde\x00", "\xfe\xff\x00a"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, charset := range []string{"US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16BE", "UTF-16LE"} {
			text, err := decodeText(nil, []any{b, charset})
			if err != nil {
				continue
			}
			back, err := encodeText(nil, []any{text, charset})
			if err != nil || string(back.([]byte)) != string(b) {
				t.Fatalf("%s: %q became %q and then %q, %v", charset, b, text, back, err)
			}
		}
	})
}
