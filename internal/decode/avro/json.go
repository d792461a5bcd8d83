package avro

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// jsonWriter makes text of encoded values. Its functions append to out and return the place behind the value, or a negative number after d.err was
// filled.
type jsonWriter struct {
	d     *decoder
	b     []byte
	out   []byte
	depth int
}

// text appends the value as SQL text: what is a string in JSON stands without quotes, bytes as they are.
func (j *jsonWriter) text(p int, n *node) int {
	if n.as == plain {
		switch n.wire {
		case byteString, text:
			return j.raw(p)
		case fixed:
			if len(j.b)-p < n.size {
				return j.d.fail(decode.Truncated, p, "")
			}
			j.out = append(j.out, j.b[p:p+n.size]...)
			return p + n.size
		}
	}
	return j.scalar(p, n, false)
}

// value appends the value as JSON.
func (j *jsonWriter) value(p int, n *node) int {
	switch {
	case n.as == jsonText:
		return j.string(p) // a string that holds JSON is a string to the outside: only a column of its own is JSON
	case n.wire == union:
		v, p := j.d.long(j.b, p)
		if p < 0 {
			return p
		}
		if uint64(v) >= uint64(len(n.branches)) {
			return j.d.fail(decode.Malformed, p, badUnion)
		}
		return j.value(p, n.branches[v])
	case n.as == plain && n.wire == text:
		return j.string(p)
	default:
		return j.scalar(p, n, true)
	}
}

func (j *jsonWriter) string(p int) int {
	size, p := j.d.length(j.b, p)
	if p < 0 {
		return p
	}
	s := j.b[p : p+size]
	if !utf8.Valid(s) {
		return j.d.fail(decode.InvalidUTF8, p, "")
	}
	j.out = appendString(j.out, s)
	return p + size
}

// raw appends the content of a string or bytes.
func (j *jsonWriter) raw(p int) int {
	size, p := j.d.length(j.b, p)
	if p >= 0 {
		j.out = append(j.out, j.b[p:p+size]...)
		p += size
	}
	return p
}

// words is string or raw.
func (j *jsonWriter) words(p int, quoted bool) int {
	if quoted {
		return j.string(p)
	}
	return j.raw(p)
}

// quote appends a quotation mark where JSON wants one.
func (j *jsonWriter) quote(quoted bool) {
	if quoted {
		j.out = append(j.out, '"')
	}
}

// scalar appends values whose text needs no escapes, and containers, which are JSON in any case.
func (j *jsonWriter) scalar(p int, n *node, quoted bool) int {
	switch n.as {
	case decimal:
		return j.decimal(p, n)
	case bigDecimal:
		return j.bigDecimal(p)
	case variableDecimal:
		return j.variableDecimal(p)
	case date, timeMillis, timeMicros, timeNanos, timestampMillis, timestampMicros, timestampNanos, localMillis, localMicros, localNanos:
		return j.temporal(p, n, quoted)
	case uuid:
		if n.wire == fixed {
			return j.uuid(p, quoted)
		}
		return j.words(p, quoted)
	case duration:
		return j.duration(p)
	case zonedTimestamp, jsonText:
		return j.words(p, quoted)
	}
	switch n.wire {
	case null:
		j.out = append(j.out, "null"...)
		return p
	case boolean:
		if p >= len(j.b) {
			return j.d.fail(decode.Truncated, p, "")
		}
		j.out = strconv.AppendBool(j.out, j.b[p] == 1)
		return p + 1
	case integer32, integer64:
		v, p := j.d.long(j.b, p)
		if p >= 0 {
			j.out = strconv.AppendInt(j.out, v, 10)
		}
		return p
	case float32s:
		if len(j.b)-p < 4 {
			return j.d.fail(decode.Truncated, p, "")
		}
		j.float(float64(math.Float32frombits(binary.LittleEndian.Uint32(j.b[p:]))), 32, quoted)
		return p + 4
	case float64s:
		if len(j.b)-p < 8 {
			return j.d.fail(decode.Truncated, p, "")
		}
		j.float(math.Float64frombits(binary.LittleEndian.Uint64(j.b[p:])), 64, quoted)
		return p + 8
	case byteString, fixed:
		return j.bytes(p, n)
	case enum:
		v, p := j.d.long(j.b, p)
		if p < 0 {
			return p
		}
		if uint64(v) >= uint64(len(n.symbols)) {
			return j.d.fail(decode.Malformed, p, badEnum)
		}
		if quoted {
			j.out = appendString(j.out, []byte(n.symbols[v]))
		} else {
			j.out = append(j.out, n.symbols[v]...)
		}
		return p
	case array, mapping:
		return j.blocks(p, n)
	case record:
		return j.record(p, n)
	default:
		return j.value(p, n)
	}
}

// float appends a number as short as it can be without losing anything; what JSON has no number for is its name, as Java writes it.
func (j *jsonWriter) float(v float64, bits int, quoted bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		name := "NaN"
		if math.IsInf(v, 1) {
			name = "Infinity"
		} else if math.IsInf(v, -1) {
			name = "-Infinity"
		}
		j.quote(quoted)
		j.out = append(j.out, name...)
		j.quote(quoted)
		return
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	j.out = strconv.AppendFloat(j.out, v, format, -1, bits)
}

func (j *jsonWriter) bytes(p int, n *node) int {
	size := n.size
	if n.wire == byteString {
		if size, p = j.d.length(j.b, p); p < 0 {
			return p
		}
	} else if len(j.b)-p < size {
		return j.d.fail(decode.Truncated, p, "")
	}
	j.out = append(j.out, '"')
	j.out = base64.StdEncoding.AppendEncode(j.out, j.b[p:p+size])
	j.out = append(j.out, '"')
	return p + size
}

// decimal appends a JSON number with all digits.
func (j *jsonWriter) decimal(p int, n *node) int {
	size := n.size
	if n.wire == byteString {
		if size, p = j.d.length(j.b, p); p < 0 {
			return p
		}
	} else if len(j.b)-p < size {
		return j.d.fail(decode.Truncated, p, "")
	}
	var ok bool
	if j.out, ok = j.d.number(j.out, j.b[p:p+size], n.scale); !ok {
		return j.d.fail(decode.OutOfRange, p, badDecimal)
	}
	return p + size
}

const badDecimal = "a decimal is too long"

// bigDecimal appends a number that carries its scale: bytes that hold the encoding of bytes and an int.
func (j *jsonWriter) bigDecimal(p int) int {
	size, p := j.d.length(j.b, p)
	if p < 0 {
		return p
	}
	end := p + size
	inner := j.b[:end]
	digits, q := j.d.length(inner, p)
	if q < 0 {
		return q
	}
	scale, r := j.d.int(inner, q+digits)
	if r < 0 {
		return r
	}
	if r != end {
		return j.d.fail(decode.WrongType, p, "not a big-decimal")
	}
	var ok bool
	if j.out, ok = j.d.number(j.out, j.b[q:q+digits], int(scale)); !ok {
		return j.d.fail(decode.OutOfRange, p, badDecimal)
	}
	return end
}

func (j *jsonWriter) variableDecimal(p int) int {
	scale, p := j.d.int(j.b, p)
	if p < 0 {
		return p
	}
	size, p := j.d.length(j.b, p)
	if p < 0 {
		return p
	}
	var ok bool
	if j.out, ok = j.d.number(j.out, j.b[p:p+size], int(scale)); !ok {
		return j.d.fail(decode.OutOfRange, p, badDecimal)
	}
	return p + size
}

// temporal appends a date or time in ISO 8601; one that lies outside the years 0001 to 9999 stays the number that it is.
func (j *jsonWriter) temporal(p int, n *node, quoted bool) int {
	v, p := j.d.long(j.b, p)
	if p < 0 {
		return p
	}
	as, to := asDate, column.Date
	if n.as != date {
		to = column.Timestamp
		if n.as <= timeNanos {
			to = column.Time
		}
		_, as = direct(n, to)
	}
	var s decode.Slot
	if !as.fill(&s, v) {
		j.out = strconv.AppendInt(j.out, v, 10)
		return p
	}
	j.quote(quoted)
	digits := 6
	if n.as == timeMillis || n.as == timestampMillis || n.as == localMillis {
		digits = 3
	}
	switch to {
	case column.Date:
		j.out = time.Unix(s.Int*86_400, 0).UTC().AppendFormat(j.out, time.DateOnly)
	case column.Time:
		j.out = appendClock(j.out, s.Int, digits)
	default:
		layout := "2006-01-02T15:04:05.000000"
		if j.out = time.UnixMicro(s.Int).UTC().AppendFormat(j.out, layout[:len(layout)-6+digits]); n.as <= timestampNanos {
			j.out = append(j.out, 'Z')
		}
	}
	j.quote(quoted)
	return p
}

func (j *jsonWriter) uuid(p int, quoted bool) int {
	if len(j.b)-p < 16 {
		return j.d.fail(decode.Truncated, p, "")
	}
	j.quote(quoted)
	for i, end := range [...]int{4, 6, 8, 10, 16} {
		if i > 0 {
			j.out = append(j.out, '-')
		}
		beg := [...]int{0, 4, 6, 8, 10}[i]
		j.out = hex.AppendEncode(j.out, j.b[p+beg:p+end])
	}
	j.quote(quoted)
	return p + 16
}

func (j *jsonWriter) duration(p int) int {
	if len(j.b)-p < 12 {
		return j.d.fail(decode.Truncated, p, "")
	}
	for i, name := range [...]string{`{"months":`, `,"days":`, `,"millis":`} {
		j.out = append(j.out, name...)
		j.out = strconv.AppendInt(j.out, int64(binary.LittleEndian.Uint32(j.b[p+4*i:])), 10)
	}
	j.out = append(j.out, '}')
	return p + 12
}

func (j *jsonWriter) record(p int, n *node) int {
	if j.depth++; j.depth > decode.MaxDepth {
		return j.d.fail(decode.TooDeep, p, "")
	}
	j.out = append(j.out, '{')
	for i := range n.fields {
		f := &n.fields[i]
		if i > 0 {
			j.out = append(j.out, ',')
		}
		j.out = append(j.out, f.label...)
		if p = j.value(p, f.node); p < 0 {
			return p
		}
	}
	j.out = append(j.out, '}')
	j.depth--
	return p
}

func (j *jsonWriter) blocks(p int, n *node) int {
	if j.depth++; j.depth > decode.MaxDepth {
		return j.d.fail(decode.TooDeep, p, "")
	}
	open, end := byte('['), byte(']')
	if n.wire == mapping {
		open, end = '{', '}'
	}
	j.out = append(j.out, open)
	first, left := true, int64(maxEmptyItems)
	for {
		var count int64
		if count, p = j.d.long(j.b, p); p < 0 {
			return p
		}
		if count == 0 {
			break
		}
		if count < 0 {
			count = -count
			if _, p = j.d.long(j.b, p); p < 0 { // Locate has checked the size
				return p
			}
		}
		if n.wire == array && n.inner.width == 0 {
			if left -= count; left < 0 {
				return j.d.fail(decode.Malformed, p, badEmpty)
			}
		}
		for ; count > 0; count-- {
			if !first {
				j.out = append(j.out, ',')
			}
			first = false
			if n.wire == mapping {
				if p = j.string(p); p < 0 {
					return p
				}
				j.out = append(j.out, ':')
			}
			if p = j.value(p, n.inner); p < 0 {
				return p
			}
		}
	}
	j.out = append(j.out, end)
	j.depth--
	return p
}

// appendClock appends a TIME as [-]hh:mm:ss.f.
func appendClock(dst []byte, micros int64, digits int) []byte {
	if micros < 0 {
		dst, micros = append(dst, '-'), -micros
	}
	two := func(v int64) { dst = append(dst, byte('0'+v/10), byte('0'+v%10)) }
	hours := micros / 3_600_000_000
	if hours >= 100 {
		dst = append(dst, byte('0'+hours/100))
	}
	two(hours % 100)
	for _, unit := range [...]int64{60_000_000, 1_000_000} {
		dst = append(dst, ':')
		two(micros / unit % 60)
	}
	dst = append(dst, '.')
	for i, unit := 0, int64(100_000); i < digits; i, unit = i+1, unit/10 {
		dst = append(dst, byte('0'+micros/unit%10))
	}
	return dst
}

// appendString appends valid UTF-8 as a JSON string.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			const digits = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
