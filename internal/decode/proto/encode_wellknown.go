package proto

import (
	"bytes"
	"time"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// nested appends the content of a message that is not null, special or not.
func (e *Encoder) nested(dst []byte, m *message, text []byte) ([]byte, bool) {
	object := text[0] == '{'
	switch m.special {
	case timestamp:
		if !object {
			return e.timestamp(dst, m, text)
		}
	case duration:
		if !object {
			return e.duration(dst, m, text)
		}
	case date:
		if !object {
			return e.date(dst, m, text)
		}
	case decimal:
		if !object {
			digits := text
			if text[0] == '"' {
				digits, _ = e.string(text)
			}
			return e.decimal(dst, m, digits, column.Type{Kind: column.Text})
		}
	case wrapper, structure, listValue:
		return e.field(dst, &m.fields[0], text)
	case dynamic:
		return e.value(dst, m, text)
	case anything:
		return e.any(dst, m, text)
	}
	return e.message(dst, m, text)
}

// value appends a google.protobuf.Value.
func (e *Encoder) value(dst []byte, m *message, text []byte) ([]byte, bool) {
	if e.depth++; e.depth > decode.MaxDepth {
		return dst, e.fail(decode.TooDeep, "")
	}
	defer func() { e.depth-- }()
	member := 1 // a number
	switch text[0] {
	case 'n':
		member = 0
	case '"':
		member = 2
	case 't', 'f':
		member = 3
	case '{':
		member = 4
	case '[':
		member = 5
	}
	return e.field(dst, &m.fields[member], text)
}

func (e *Encoder) timestamp(dst []byte, m *message, text []byte) ([]byte, bool) {
	inner, ok := e.string(text)
	if !ok {
		return dst, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(inner))
	if err != nil || !validTimestamp(at.Unix(), 0) {
		return dst, e.fail(decode.WrongType, "a time such as 2026-01-31T12:00:00Z is expected, found "+convert.Quote(inner))
	}
	return appendNumbers(dst, m, at.Unix(), int64(at.Nanosecond())), true
}

func (e *Encoder) duration(dst []byte, m *message, text []byte) ([]byte, bool) {
	inner, ok := e.string(text)
	if !ok {
		return dst, false
	}
	digits, isSeconds := bytes.CutSuffix(inner, []byte("s"))
	var buf [40]byte
	exact, fault := convert.AppendDecimal(buf[:0], digits, 21, 9)
	if !isSeconds || fault != convert.OK {
		return dst, e.fail(decode.WrongType, "seconds such as 1.5s are expected, found "+convert.Quote(inner))
	}
	point := bytes.IndexByte(exact, '.')
	seconds, _ := convert.Int64(exact[:point])
	nanos, _ := convert.Int64(exact[point+1:])
	if exact[0] == '-' {
		nanos = -nanos
	}
	if !validDuration(seconds, nanos) {
		return dst, e.fail(decode.OutOfRange, rangeError(duration).Detail)
	}
	return appendNumbers(dst, m, seconds, nanos), true
}

func (e *Encoder) date(dst []byte, m *message, text []byte) ([]byte, bool) {
	inner, ok := e.string(text)
	if !ok {
		return dst, false
	}
	days, fault := convert.Date(inner)
	if !e.converted(fault, inner, column.Field{Type: column.Type{Kind: column.Date}}) {
		return dst, false
	}
	year, month, day := civil(days)
	return appendNumbers(dst, m, year, month, day), true
}

// civil is the date of a day.
func civil(days int64) (year, month, day int64) {
	at := time.Unix(days*24*60*60, 0).UTC()
	return int64(at.Year()), int64(at.Month()), int64(at.Day())
}

// decimal appends the content of a confluent.type.Decimal. Its scale is that of the type, or the digits behind the point when that has none.
func (e *Encoder) decimal(dst []byte, m *message, text []byte, typ column.Type) ([]byte, bool) {
	scale := int(typ.Scale)
	if typ.Kind != column.Decimal {
		if bytes.ContainsAny(text, "eE") {
			exact, fault := convert.AppendDecimal(nil, text, convert.MaxPrecision, convert.MaxScale)
			if !e.converted(fault, text, column.Field{Type: column.Type{Kind: column.Decimal, Precision: convert.MaxPrecision, Scale: convert.MaxScale}}) {
				return dst, false
			}
			text = bytes.TrimRight(exact, "0")
		}
		if point := bytes.IndexByte(text, '.'); point >= 0 {
			scale = len(text) - point - 1
		}
		if scale > convert.MaxScale {
			return dst, e.fail(decode.OutOfRange, convert.Quote(text)+" has more digits behind the point than a decimal can")
		}
	}
	var buf [64]byte
	unscaled, fault := convert.AppendBigEndian(buf[:0], text, scale)
	if !e.converted(fault, text, column.Field{Type: column.Type{Kind: column.Decimal, Precision: convert.MaxPrecision, Scale: uint8(scale)}}) {
		return dst, false
	}
	dst = appendText(dst, &m.fields[0], unscaled)
	dst = appendScalar(dst, &m.fields[1], int64(typ.Precision))
	return appendScalar(dst, &m.fields[2], int64(scale)), true
}

// any appends a google.protobuf.Any: "@type" says what the other members are.
func (e *Encoder) any(dst []byte, m *message, text []byte) ([]byte, bool) {
	if text[0] != '{' {
		return dst, e.fail(decode.WrongType, "an object is expected, found "+convert.Quote(text))
	}
	var url, value []byte
	for key, member := range json.Members(text) {
		switch string(key) {
		case "@type":
			inner, ok := e.string(member)
			if !ok {
				return dst, e.inside("@type", false)
			}
			url = append([]byte{}, inner...)
		case "value":
			value = member
		}
	}
	if url == nil {
		if len(bytes.Trim(text, "{} \t\r\n")) > 0 {
			return dst, e.inside("@type", e.fail(decode.WrongType, "it is missing"))
		}
		return dst, true
	}
	dst = appendText(dst, &m.fields[0], url)
	known := e.m.files.named(url[bytes.LastIndexByte(url, '/')+1:])
	content := &m.fields[1]
	switch {
	case known == nil:
		if value == nil {
			return dst, e.inside("@type", e.fail(decode.WrongType, "the schema has no message "+convert.Quote(url)))
		}
		return e.field(dst, content, value)
	case known.special == plain || known.special == date || known.special == timeOfDay:
		var rest []byte
		for key, member := range json.Members(text) {
			if string(key) != "@type" {
				rest = append(append(rest, ',', '"'), key...)
				rest = append(append(rest, '"', ':'), member...)
			}
		}
		if rest == nil {
			rest = []byte(",")
		}
		rest[0] = '{'
		dst, at := begin(dst, content)
		dst, ok := e.message(dst, known, append(rest, '}'))
		return end(dst, content, at), ok
	case value == nil:
		return dst, e.inside("value", e.fail(decode.WrongType, "it is missing"))
	default:
		dst, at := begin(dst, content)
		dst, ok := e.nested(dst, known, value)
		return end(dst, content, at), ok
	}
}
