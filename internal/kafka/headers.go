package kafka

import (
	"encoding/base64"
	"errors"
	"unicode/utf8"

	"millrace/internal/convert"
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
		dst = convert.AppendJSONString(dst, key)
		dst = append(dst, ",\"value\":"...)
		switch {
		case null:
			dst = append(dst, "null"...)
		case utf8.Valid(value):
			dst = convert.AppendJSONString(dst, value)
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
