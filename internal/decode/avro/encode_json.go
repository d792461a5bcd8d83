package avro

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"

	"millrace/internal/convert"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// value appends a value in JSON, which is valid and without blanks around it, as everywhere below.
func (e *Encoder) value(dst []byte, n *node, text []byte) ([]byte, bool) {
	if n.wire == union {
		return e.union(dst, n, text)
	}
	if string(text) == "null" {
		return e.null(dst, n)
	}
	switch n.as {
	case decimal:
		return e.decimal(dst, n, e.bare(text))
	case bigDecimal, variableDecimal:
		return e.scaled(dst, n, e.bare(text))
	case duration:
		return e.duration(dst, text)
	case uuid:
		if n.wire == fixed {
			return e.uuid(dst, e.bare(text))
		}
	case date, timeMillis, timeMicros, timeNanos, timestampMillis, timestampMicros, timestampNanos, localMillis, localMicros, localNanos:
		if text[0] == '"' {
			return e.temporal(dst, n, text)
		}
	}
	switch n.wire {
	case boolean:
		switch string(text) {
		case "true":
			return append(dst, 1), true
		case "false":
			return append(dst, 0), true
		}
		return dst, e.expected("true or false", text)
	case integer32, integer64:
		v, fault := convert.Int64(text)
		if fault != convert.OK {
			return dst, e.expected("an integer", text)
		}
		return e.integer(dst, n, v)
	case float32s, float64s:
		return e.float(dst, n, text)
	case array:
		return e.array(dst, n, text)
	case mapping:
		return e.mapping(dst, n, text)
	case record:
		return e.record(dst, n, text)
	}
	if text[0] != '"' {
		return dst, e.expected("a string", text)
	}
	inner := e.bare(text)
	if n.wire != byteString && n.wire != fixed {
		return e.words(dst, n, inner)
	}
	decoded, err := base64.StdEncoding.AppendDecode(nil, inner)
	if err != nil {
		return dst, e.expected("base64", text)
	}
	return e.bytes(dst, n, decoded)
}

// bare is the text of a JSON string, or what is not a string as it stands. It is valid until the next call.
func (e *Encoder) bare(text []byte) []byte {
	if text[0] != '"' {
		return text
	}
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		e.text = json.AppendUnescaped(e.text[:0], inner)
		inner = e.text
	}
	return inner
}

// numbers are the wires of numbers, the most exact ones first.
var numbers = [...]wire{integer32, integer64, float64s, float32s}

// union appends the first branch that takes the value; a number goes to a branch that loses nothing before one that may.
func (e *Encoder) union(dst []byte, n *node, text []byte) ([]byte, bool) {
	if string(text) == "null" {
		return e.null(dst, n)
	}
	if e.misfits > maxMisfits {
		return dst, e.fail(decode.WrongType, "the branches of unions can be combined in too many ways")
	}
	only, depth := n.only(), e.depth
	if only == nil && (text[0] == '-' || text[0]-'0' <= 9) {
		for _, number := range numbers {
			for i, branch := range n.branches {
				if branch.wire != number {
					continue
				}
				if grown, ok := e.value(appendVarint(dst, int64(i)), branch, text); ok {
					return grown, true
				}
			}
		}
	}
	for i, branch := range n.branches {
		if branch.wire == null {
			continue
		}
		if grown, ok := e.value(appendVarint(dst, int64(i)), branch, text); ok {
			return grown, true
		}
		e.depth = depth
		e.misfits++
	}
	if only == nil { // with one branch its own error says more
		e.fail(decode.WrongType, "no branch of the union takes "+convert.Quote(text))
	}
	return dst, false
}

func (e *Encoder) float(dst []byte, n *node, text []byte) ([]byte, bool) {
	switch string(e.bare(text)) {
	case "NaN":
		return appendFloat(dst, n, math.NaN()), true
	case "Infinity":
		return appendFloat(dst, n, math.Inf(1)), true
	case "-Infinity":
		return appendFloat(dst, n, math.Inf(-1)), true
	}
	v, fault := convert.Float64(text)
	if n.wire == float32s && fault == convert.OK {
		var narrow float32
		narrow, fault = convert.Float32(text)
		v = float64(narrow)
	}
	if fault != convert.OK {
		return dst, e.expected("a number", text)
	}
	return appendFloat(dst, n, v), true
}

// temporal appends a date or time in a string.
func (e *Encoder) temporal(dst []byte, n *node, text []byte) ([]byte, bool) {
	inner, v, fault := e.bare(text), int64(0), convert.OK
	switch {
	case n.as == date:
		if v, fault = convert.Date(inner); fault == convert.OK {
			return e.integer(dst, n, v)
		}
	case n.as <= timeNanos:
		v, fault = clock(inner)
	case n.as <= timestampNanos:
		v, _, fault = convert.Timestamp(inner)
	default:
		v, fault = convert.WallClock(inner)
	}
	if fault != convert.OK {
		return dst, e.expected("a date or time", text)
	}
	return e.micros(dst, n, v)
}

// clock reads [-]h:mm:ss[.f], where the hours may be more than a day has, as in a TIME.
func clock(text []byte) (micros int64, fault convert.Fault) {
	rest, negative := bytes.CutPrefix(text, []byte("-"))
	colon := max(bytes.IndexByte(rest, ':'), 0)
	hours, fault := convert.Uint64(rest[:colon])
	if fault != convert.OK || hours >= 839 {
		return 0, convert.Syntax
	}
	if micros, fault = convert.TimeOfDay(append([]byte("00"), rest[colon:]...)); fault != convert.OK {
		return 0, fault
	}
	if micros += int64(hours) * 3_600_000_000; negative {
		micros = -micros
	}
	return micros, convert.OK
}

func (e *Encoder) duration(dst, text []byte) ([]byte, bool) {
	if text[0] != '{' {
		return dst, e.expected("an object of months, days and millis", text)
	}
	var parts [3]uint32
	for key, value := range json.Members(text) {
		v, fault := convert.Uint64(value)
		i := map[string]int{"months": 1, "days": 2, "millis": 3}[string(key)]
		if fault != convert.OK || v > math.MaxUint32 || i == 0 {
			return dst, e.expected("an object of months, days and millis", text)
		}
		parts[i-1] = uint32(v)
	}
	for _, v := range parts {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst, true
}

// enter counts a container.
func (e *Encoder) enter() bool {
	if e.depth++; e.depth > decode.MaxDepth {
		return e.fail(decode.TooDeep, "")
	}
	return true
}

func (e *Encoder) array(dst []byte, n *node, text []byte) ([]byte, bool) {
	if text[0] != '[' {
		return dst, e.expected("an array", text)
	}
	if !e.enter() {
		return dst, false
	}
	count := int64(0)
	for range json.Elements(text) {
		count++
	}
	if count > 0 {
		dst = appendVarint(dst, count)
	}
	for item := range json.Elements(text) {
		var ok bool
		if dst, ok = e.value(dst, n.inner, item); !ok {
			return dst, false
		}
	}
	e.depth--
	return append(dst, 0), true
}

func (e *Encoder) mapping(dst []byte, n *node, text []byte) ([]byte, bool) {
	if text[0] != '{' {
		return dst, e.expected("an object", text)
	}
	if !e.enter() {
		return dst, false
	}
	count := int64(0)
	for range json.Members(text) {
		count++
	}
	if count > 0 {
		dst = appendVarint(dst, count)
	}
	for key, item := range json.Members(text) {
		var ok bool
		name := unescaped(key)
		if dst, ok = e.value(appendSized(dst, name), n.inner, item); !ok {
			e.inside(string(name))
			return dst, false
		}
	}
	e.depth--
	return append(dst, 0), true
}

func unescaped(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	return json.AppendUnescaped(nil, key)
}

// record appends the fields in the order of the schema, wherever they stand in the object. The last of equal names counts.
func (e *Encoder) record(dst []byte, n *node, text []byte) ([]byte, bool) {
	if text[0] != '{' {
		return dst, e.expected("an object", text)
	}
	if !e.enter() {
		return dst, false
	}
	values := make([][]byte, len(n.fields))
	next := 0 // members mostly come in the order of the fields
members:
	for key, value := range json.Members(text) {
		name := unescaped(key)
		for range n.fields {
			i := next
			if next++; next == len(n.fields) {
				next = 0
			}
			if n.fields[i].name == string(name) {
				values[i] = value
				continue members
			}
		}
		e.fail(decode.WrongType, "the record has no such field")
		e.inside(string(name))
		return dst, false
	}
	for i := range n.fields {
		f, ok := &n.fields[i], true
		switch {
		case values[i] != nil:
			dst, ok = e.value(dst, f.node, values[i])
		case f.missing != nil:
			dst = append(dst, f.missing...)
		default:
			dst, ok = e.null(dst, f.node)
		}
		if !ok {
			e.inside(f.name)
			return dst, false
		}
	}
	e.depth--
	return dst, true
}
