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
	n, p, err := headerCount(rec, p)
	if n == 0 || err != nil {
		return dst, false, err
	}
	for i := range n {
		var h header
		if h, p, err = nextHeader(rec, p); err != nil {
			return dst, false, err
		}
		if i == 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, "{\"key\":"...)
		dst = convert.AppendJSONString(dst, h.key)
		dst = append(dst, ",\"value\":"...)
		switch {
		case h.null:
			dst = append(dst, "null"...)
		case utf8.Valid(h.value):
			dst = convert.AppendJSONString(dst, h.value)
		default:
			dst = append(dst, "{\"base64\":\""...)
			dst = base64.StdEncoding.AppendEncode(dst, h.value)
			dst = append(dst, "\"}"...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']'), true, nil
}

// headerCount reads how many headers lie at rec[p:], and gives the position of the first.
func headerCount(rec []byte, p int) (int64, int, error) {
	n, p := varint(rec, p)
	if p > len(rec) || n < 0 || n > int64(len(rec)-p)/2 { // a header takes two bytes at least
		return 0, p, errHeaders
	}
	return n, p, nil
}

// header is one of a record's, in the record's own memory.
type header struct {
	key, value []byte
	null       bool
}

// nextHeader reads the header at rec[p:] and gives the position behind it.
func nextHeader(rec []byte, p int) (h header, _ int, _ error) {
	var null bool
	if h.key, p, null = field(rec, p); p > len(rec) || null {
		return h, p, errHeaders
	}
	if h.value, p, h.null = field(rec, p); p > len(rec) {
		return h, p, errHeaders
	}
	return h, p, nil
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
