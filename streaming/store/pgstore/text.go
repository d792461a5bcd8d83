package pgstore

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// PostgreSQL's text cannot hold U+0000. It is stored as U+0001 U+0001, and U+0001 as U+0001 U+0002: one-to-one, and the order of bytes stays as it is.

// needsEscape reports whether a text has one of the two.
func needsEscape(b []byte) bool {
	return bytes.IndexByte(b, 0) >= 0 || bytes.IndexByte(b, 1) >= 0
}

// appendEscaped appends b as it is stored.
func appendEscaped(to, b []byte) []byte {
	for _, c := range b {
		if c <= 1 {
			to = append(to, 1, c+1)
			continue
		}
		to = append(to, c)
	}
	return to
}

// appendUnescaped appends what is stored as b.
func appendUnescaped(to, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, 1)
		if i < 0 || i+1 == len(b) {
			return append(to, b...)
		}
		to = append(append(to, b[:i]...), b[i+1]-1)
		b = b[i+2:]
	}
}

// validText reports whether a text can be stored as it is: it is for names.
func validText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
