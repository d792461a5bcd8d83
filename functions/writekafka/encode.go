package writekafka

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// encoder makes bytes of columns of a row. It belongs to one goroutine.
type encoder interface {
	// begin is told of each batch before its rows.
	begin(b *column.Batch)
	// append appends the bytes of row i to dst. null says that there are none, which is not the same as no bytes. An error says what is wrong with the row.
	append(dst []byte, b *column.Batch, i int) (_ []byte, null bool, err error)
}

// wrongRow is an error of a row, without the number, which the writer knows.
type wrongRow string

func (e wrongRow) Error() string { return string(e) }

// contentEncoder takes a column as it is.
type contentEncoder struct{ at int }

func (contentEncoder) begin(*column.Batch) {}

func (e contentEncoder) append(dst []byte, b *column.Batch, i int) ([]byte, bool, error) {
	v := &b.Cols[e.at]
	if v.IsNull(i) {
		return dst, true, nil
	}
	return append(dst, v.View(i)...), false, nil
}

// textEncoder takes a column of any type as text.
type textEncoder struct {
	at   int
	kind column.Kind
}

func (textEncoder) begin(*column.Batch) {}

func (e textEncoder) append(dst []byte, b *column.Batch, i int) ([]byte, bool, error) {
	v := &b.Cols[e.at]
	if v.IsNull(i) {
		return dst, true, nil
	}
	return appendText(dst, e.kind, v, i), false, nil
}

// valueEncoder takes a column of any type as a JSON value.
type valueEncoder struct{ member }

func (*valueEncoder) begin(*column.Batch) {}

func (e *valueEncoder) append(dst []byte, b *column.Batch, i int) ([]byte, bool, error) {
	v := &b.Cols[e.at]
	if v.IsNull(i) {
		return dst, true, nil
	}
	return e.appendValue(dst, v, i), false, nil
}

// numberEncoder takes a column as one of the numbers of Kafka's own serializers.
type numberEncoder struct {
	at   int
	name string
	kind column.Kind
}

// numberBits are the widths of Kafka's integers.
var numberBits = map[string]int{"short": 16, "int": 32, "long": 64}

func (numberEncoder) begin(*column.Batch) {}

func (e numberEncoder) append(dst []byte, b *column.Batch, i int) ([]byte, bool, error) {
	v := &b.Cols[e.at]
	if v.IsNull(i) {
		return dst, true, nil
	}
	switch e.name {
	case "float":
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(e.float(v, i)))), false, nil
	case "double":
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(e.float(v, i))), false, nil
	}
	n, bits := v.Int[i], numberBits[e.name]
	if e.kind == column.Uint64 && n < 0 || bits < 64 && n != n<<(64-bits)>>(64-bits) {
		return dst, false, wrongRow("its key " + string(appendText(nil, e.kind, v, i)) + " does not fit " + e.name)
	}
	for shift := bits - 8; shift >= 0; shift -= 8 {
		dst = append(dst, byte(n>>shift))
	}
	return dst, false, nil
}

func (e numberEncoder) float(v *column.Vector, i int) float64 {
	if e.kind == column.Float64 {
		return v.Float[i]
	}
	return float64(v.Int[i])
}

// member is a column in a JSON object.
type member struct {
	at    int
	kind  column.Kind
	label []byte // "name":
	// quoted values are strings, whatever their type.
	quoted bool
	text   []byte
}

// appendValue appends the value of a row that is not NULL.
func (m *member) appendValue(dst []byte, v *column.Vector, i int) []byte {
	if !m.quoted {
		return appendJSON(dst, m.kind, v, i)
	}
	m.text = appendText(m.text[:0], m.kind, v, i)
	return convert.AppendJSONString(dst, m.text)
}

// objectEncoder makes a JSON object of columns.
type objectEncoder struct {
	members []member
	// skipNull leaves NULLs out.
	skipNull bool
}

func newObject(fields []column.Field, columns []int, skipNull bool) *objectEncoder {
	e := &objectEncoder{skipNull: skipNull}
	for _, at := range columns {
		label := append(convert.AppendJSONString(nil, []byte(fields[at].Name)), ':')
		e.members = append(e.members, member{at: at, kind: fields[at].Type.Kind, label: label})
	}
	return e
}

func (*objectEncoder) begin(*column.Batch) {}

func (e *objectEncoder) append(dst []byte, b *column.Batch, i int) ([]byte, bool, error) {
	dst = append(dst, '{')
	some := false
	for k := range e.members {
		m := &e.members[k]
		v := &b.Cols[m.at]
		null := v.IsNull(i)
		if null && e.skipNull {
			continue
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		dst = append(dst, m.label...)
		if null {
			dst = append(dst, "null"...)
		} else {
			dst = m.appendValue(dst, v, i)
		}
	}
	return append(dst, '}'), false, nil
}

// csvEncoder makes a row of csv of columns.
type csvEncoder struct {
	columns                        []int
	kinds                          []column.Kind
	delimiter, quote, escape, null string
	text                           []byte
}

func (*csvEncoder) begin(*column.Batch) {}

func (e *csvEncoder) append(dst []byte, b *column.Batch, i int) ([]byte, bool, error) {
	for k, at := range e.columns {
		if k > 0 {
			dst = append(dst, e.delimiter...)
		}
		v := &b.Cols[at]
		if v.IsNull(i) {
			dst = append(dst, e.null...)
			continue
		}
		e.text = appendText(e.text[:0], e.kinds[k], v, i)
		text := string(e.text)
		if !e.needsQuotes(text) {
			dst = append(dst, text...)
			continue
		}
		if e.quote == "" {
			return dst, false, wrongRow("its column " + strconv.Itoa(k+1) + " of csv takes quotes, and 'quote' is empty")
		}
		dst = append(dst, e.quote...)
		if e.escape != "" {
			text = strings.ReplaceAll(text, e.escape, e.escape+e.escape)
		}
		if e.escape != e.quote {
			text = strings.ReplaceAll(text, e.quote, e.escape+e.quote)
		}
		dst = append(append(dst, text...), e.quote...)
	}
	return dst, false, nil
}

// needsQuotes reports whether a field would be read as something else without quotes: as NULL, as two, as another text.
func (e *csvEncoder) needsQuotes(text string) bool {
	return text == e.null || text == "" || strings.Contains(text, e.delimiter) || strings.ContainsAny(text, "\r\n") || e.quote != "" && strings.Contains(text, e.quote) ||
		text[0] == ' ' || text[len(text)-1] == ' '
}
