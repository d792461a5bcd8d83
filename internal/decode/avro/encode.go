package avro

import (
	"encoding/binary"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// Encoder writes records of a schema, without a frame. It belongs to one goroutine.
//
// Errors are *decode.Error of the field, which for a nested one is named with its path; they are valid until the next call, and dst is then returned as it
// was.
type Encoder struct {
	s       *Schema
	checker *json.Extractor
	found   [1]json.Value
	err     decode.Error
	// text holds texts without their escapes, number an encoded decimal; depth counts containers.
	text, number []byte
	depth        int
	// misfits counts the branches of unions that did not take a value.
	misfits int
}

// maxMisfits bounds the work for unions in unions: each level may multiply it.
const maxMisfits = 100_000

// anyJSON is the plan that finds nothing in JSON but that it is JSON.
var anyJSON = json.Compile([]json.Path{{}})

// NewEncoder makes an encoder of records of s.
func (s *Schema) NewEncoder() *Encoder { return &Encoder{s: s, checker: anyJSON.NewExtractor()} }

// AppendJSON appends the record that a JSON text describes: as records are shown as JSON. A member that is missing is the field's default, or null where
// that is allowed; one that the schema does not know is an error. Of a union's branches the first that takes the value is written.
func (e *Encoder) AppendJSON(dst, text []byte) ([]byte, error) {
	e.depth, e.misfits = 0, 0
	if err := e.checker.Extract(text, e.found[:]); err != nil {
		e.err = decode.Error{Reason: decode.Malformed, Offset: -1, Detail: err.Error()}
		return dst, &e.err
	}
	grown, ok := e.value(dst, e.s.root, e.found[0].Raw(text))
	if !ok {
		return dst, &e.err
	}
	return grown, nil
}

// AppendRow appends the record of a row. cols has a vector for each of Schema.Fields, in the same order and of the same type.
func (e *Encoder) AppendRow(dst []byte, cols []column.Vector, row int) ([]byte, error) {
	e.depth, e.misfits = 1, 0
	grown, ok := dst, true
	if e.s.IsRecord() && e.s.root.wire == union {
		grown = appendBranch(grown, e.s.root, e.s.root.only())
	}
	for i := range e.s.columns {
		f, v := &e.s.columns[i], &cols[i]
		if v.IsNull(row) {
			grown, ok = e.null(grown, f.node)
		} else {
			grown, ok = e.column(grown, f.node, v, row)
		}
		if !ok {
			e.inside(f.name)
			return dst, &e.err
		}
	}
	return grown, nil
}

func (e *Encoder) fail(reason decode.Reason, detail string) bool {
	e.err = decode.Error{Reason: reason, Offset: -1, Detail: detail}
	return false
}

func (e *Encoder) expected(what string, text []byte) bool {
	return e.fail(decode.WrongType, what+" is expected, found "+convert.Quote(text))
}

// inside puts the name of a field before the path in the error.
func (e *Encoder) inside(name string) {
	if e.err.Field != "" {
		name += "." + e.err.Field
	}
	e.err.Field = name
}

func appendVarint(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v)<<1^uint64(v>>63))
}

func appendSized(dst, s []byte) []byte { return append(appendVarint(dst, int64(len(s))), s...) }

func appendBranch(dst []byte, n, branch *node) []byte {
	return appendVarint(dst, int64(slices.Index(n.branches, branch)))
}

// null appends the null of a type that has one.
func (e *Encoder) null(dst []byte, n *node) ([]byte, bool) {
	if n.wire == null {
		return dst, true
	}
	for i, branch := range n.branches {
		if branch.wire == null {
			return appendVarint(dst, int64(i)), true
		}
	}
	return dst, e.fail(decode.WrongType, "NULL, which the schema does not allow")
}

// column appends the value of a vector, which is not NULL.
func (e *Encoder) column(dst []byte, n *node, v *column.Vector, row int) ([]byte, bool) {
	kind := v.Type.Kind
	if n.wire == union && kind != column.JSON {
		branch := n.only()
		for _, wanted := range [...]wire{integer64, integer32, float64s, float32s} { // the widest of several numbers
			for _, b := range n.branches {
				if branch == nil && b.wire == wanted && (wanted >= float32s || kind != column.Float64) {
					branch = b
				}
			}
		}
		if branch == nil {
			return dst, e.fail(decode.WrongType, "no branch of the union takes a value of the column's type")
		}
		return e.column(appendBranch(dst, n, branch), branch, v, row)
	}
	switch kind {
	case column.JSON:
		if n.as == jsonText {
			return appendSized(dst, v.View(row)), true
		}
		if n.wire == union && n.only() != nil {
			if n.only().as == jsonText {
				return appendSized(appendBranch(dst, n, n.only()), v.View(row)), true
			}
		}
		if err := e.checker.Extract(v.View(row), e.found[:]); err != nil {
			return dst, e.fail(decode.Malformed, err.Error())
		}
		return e.value(dst, n, e.found[0].Raw(v.View(row)))
	case column.Bool:
		return append(dst, byte(v.Int[row])), true
	case column.Int32, column.Int64:
		return e.integer(dst, n, v.Int[row])
	case column.Float64:
		return appendFloat(dst, n, v.Float[row]), true
	case column.Date:
		return e.integer(dst, n, v.Int[row])
	case column.Time, column.Timestamp:
		return e.micros(dst, n, v.Int[row])
	case column.Bytes:
		return e.bytes(dst, n, v.View(row))
	case column.Decimal:
		return e.decimal(dst, n, v.View(row))
	default:
		return e.words(dst, n, v.View(row))
	}
}

// integer appends a number of wire int or long.
func (e *Encoder) integer(dst []byte, n *node, v int64) ([]byte, bool) {
	if n.wire == integer32 && v != int64(int32(v)) {
		return dst, e.fail(decode.OutOfRange, "a number that does not fit int")
	}
	return appendVarint(dst, v), true
}

// micros appends a time in the unit of n.
func (e *Encoder) micros(dst []byte, n *node, v int64) ([]byte, bool) {
	switch n.as {
	case timeMillis, timestampMillis, localMillis:
		v = floorDiv(v, 1000)
	case timeNanos, timestampNanos, localNanos:
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return dst, e.fail(decode.OutOfRange, "a time that does not fit nanoseconds")
		}
		v *= 1000
	case zonedTimestamp:
		return appendSized(dst, time.UnixMicro(v).UTC().AppendFormat(nil, "2006-01-02T15:04:05.999999Z07:00")), true
	}
	return e.integer(dst, n, v)
}

func appendFloat(dst []byte, n *node, v float64) []byte {
	if n.wire == float32s {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// bytes appends a bytes or a fixed.
func (e *Encoder) bytes(dst []byte, n *node, v []byte) ([]byte, bool) {
	if n.wire == byteString {
		return appendSized(dst, v), true
	}
	if len(v) != n.size {
		return dst, e.fail(decode.OutOfRange, "bytes of another length than the fixed")
	}
	return append(dst, v...), true
}

// decimal appends the number in text as a decimal of n's scale.
func (e *Encoder) decimal(dst []byte, n *node, text []byte) ([]byte, bool) {
	var fault convert.Fault
	if e.number, fault = convert.AppendBigEndian(e.number[:0], text, n.scale); fault != convert.OK {
		return dst, e.expected("a decimal", text)
	}
	if n.wire == byteString {
		return appendSized(dst, e.number), true
	}
	if len(e.number) > n.size {
		return dst, e.fail(decode.OutOfRange, convert.Quote(text)+" does not fit the fixed")
	}
	fill := byte(0)
	if e.number[0] >= 0x80 {
		fill = 0xff
	}
	for range n.size - len(e.number) {
		dst = append(dst, fill)
	}
	return append(dst, e.number...), true
}

// words appends what is text in SQL: strings, symbols, identifiers, numbers too long for DECIMAL.
func (e *Encoder) words(dst []byte, n *node, v []byte) ([]byte, bool) {
	switch {
	case n.as == decimal:
		return e.decimal(dst, n, v)
	case n.as == bigDecimal, n.as == variableDecimal:
		return e.scaled(dst, n, v)
	case n.as == uuid && n.wire == fixed:
		return e.uuid(dst, v)
	case n.wire == enum:
		i := slices.Index(n.symbols, string(v))
		if i < 0 {
			return dst, e.expected("a symbol of the enum", v)
		}
		return appendVarint(dst, int64(i)), true
	case n.wire == text && !utf8.Valid(v):
		return dst, e.fail(decode.InvalidUTF8, "")
	default:
		return appendSized(dst, v), true
	}
}

// uuid appends 16 bytes.
func (e *Encoder) uuid(dst, v []byte) ([]byte, bool) {
	made, digits := [16]byte{}, 0
	for _, c := range v {
		var d byte
		switch {
		case c == '-':
			continue
		case c >= '0' && c <= '9':
			d = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = c | 0x20 - 'a' + 10
		default:
			digits = 32
		}
		if digits >= 32 {
			return dst, e.expected("a UUID", v)
		}
		made[digits/2] |= d << (4 * (1 - digits%2))
		digits++
	}
	if digits != 32 {
		return dst, e.expected("a UUID", v)
	}
	return append(dst, made[:]...), true
}

// scaled appends a number with the scale that its text has.
func (e *Encoder) scaled(dst []byte, n *node, text []byte) ([]byte, bool) {
	scale := 0
	if point := slices.Index(text, '.'); point >= 0 {
		scale = len(text) - point - 1
	}
	var fault convert.Fault
	if scale > convert.MaxScale || slices.ContainsFunc(text, func(c byte) bool { return c|0x20 == 'e' }) {
		return dst, e.expected("a decimal", text)
	}
	if e.number, fault = convert.AppendBigEndian(e.number[:0], text, scale); fault != convert.OK {
		return dst, e.expected("a decimal", text)
	}
	if n.as == variableDecimal {
		return appendSized(appendVarint(dst, int64(scale)), e.number), true
	}
	return appendSized(dst, appendVarint(appendSized(nil, e.number), int64(scale))), true
}
