package kafka

import (
	"encoding/base64"
	"errors"
	"unicode/utf8"
)

var errHeaders = errors.New("the headers of a record do not fit it")

// appendHeaders appends the headers that lie at rec[p:] as a JSON array of {"key":…,"value":…}, in order and with duplicates, to dst: a value is
// text where it is valid UTF-8, else {"base64":…}, or null. has is false, and nothing appended, for a record without headers.
func appendHeaders(dst, rec []byte, p int) (_ []byte, has bool, _ error) {
	n, p := varint(rec, p)
	if n == 0 && p <= len(rec) {
		return dst, false, nil
	}
	if n < 0 || p > len(rec) || n > int64(len(rec)-p)/2 { // a header takes two bytes at least
		return dst, false, errHeaders
	}
	for i := range n {
		var key, value []byte
		var null bool
		if key, p, null = field(rec, p); p > len(rec) || null {
			return dst, false, errHeaders
		}
		if value, p, null = field(rec, p); p > len(rec) {
			return dst, false, errHeaders
		}
		if i == 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, "{\"key\":"...)
		dst = appendJSONText(dst, key)
		dst = append(dst, ",\"value\":"...)
		switch {
		case null:
			dst = append(dst, "null"...)
		case utf8.Valid(value):
			dst = appendJSONText(dst, value)
		default:
			dst = append(dst, "{\"base64\":\""...)
			dst = base64.StdEncoding.AppendEncode(dst, value)
			dst = append(dst, "\"}"...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']'), true, nil
}

// field reads a length and as many bytes; a length of -1 is null. Like varint, it gives a position beyond len(b) when b ends early.
func field(b []byte, p int) (_ []byte, _ int, null bool) {
	n, p := varint(b, p)
	switch {
	case n < 0:
		return nil, p, true
	case n > int64(len(b)-p):
		return nil, len(b) + 1, false
	}
	return b[p : p+int(n)], p + int(n), false
}

const hexDigits = "0123456789abcdef"

// appendJSONText appends s as a JSON string. Bytes that are no UTF-8, which a header's key should not hold, become U+FFFD.
func appendJSONText(dst, s []byte) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		c := s[0]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s)
			dst = utf8.AppendRune(dst, r)
			s = s[n:]
			continue
		}
		s = s[1:]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
