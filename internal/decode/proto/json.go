package proto

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/convert"
)

// maxJSON is the longest JSON text of a field. Defaults make the text of a message longer than its bytes, so it needs a bound of its own; it is what
// MySQL clients take by default.
const maxJSON = 64 << 20

// jsonWriter writes fields of a record as JSON text.
type jsonWriter struct {
	pieces
	files   *Files
	entries []entry
	// depth counts the containers around the place that is written.
	depth int
	// long is set when the text would be longer than maxJSON after start; what is written then is cut short.
	start int
	long  bool
	// checker walks the messages in a google.protobuf.Any.
	checker *decoder
}

// entry is an entry of a map on its way to being sorted.
type entry struct {
	key      []byte
	number   int64
	beg, end uint32
	order    int32
}

// begin prepares for the text of a field of record b, which will be appended at start.
func (w *jsonWriter) begin(b []byte, start int) {
	w.reset(b)
	w.entries, w.depth, w.start, w.long = w.entries[:0], 1, start, false
}

// full reports whether no more should be written.
func (w *jsonWriter) full(dst []byte) bool {
	if len(dst)-w.start > maxJSON {
		w.long = true
	}
	return w.long
}

// appendField writes the field f as it is in c.
func (w *jsonWriter) appendField(dst []byte, f *field, c cell) []byte {
	switch {
	case f.mapped:
		return w.appendMap(dst, f, c.head)
	case f.list:
		return w.appendList(dst, f, c.head)
	default:
		return w.appendSingle(dst, f, c)
	}
}

func (w *jsonWriter) appendSingle(dst []byte, f *field, c cell) []byte {
	switch {
	case f.sub != nil:
		return w.appendMessage(dst, f.sub, c.head)
	case f.wire == wireBytes && c.set:
		return w.appendBytes(dst, f, w.b[c.beg:c.end])
	case f.wire == wireBytes:
		return w.appendBytes(dst, f, f.defaultText)
	case c.set:
		return appendNumber(dst, f, c.number)
	default:
		return appendNumber(dst, f, f.defaultNumber)
	}
}

func (w *jsonWriter) appendBytes(dst []byte, f *field, value []byte) []byte {
	if f.kind == protoreflect.StringKind {
		return convert.AppendJSONString(dst, value)
	}
	return appendBase64(dst, value)
}

func appendBase64(dst, value []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, value)
	return append(dst, '"')
}

// appendNumber writes a value as number gives it.
func appendNumber(dst []byte, f *field, n int64) []byte {
	switch f.kind {
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, n != 0)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(dst, uint64(n), 10)
	case protoreflect.FloatKind:
		return appendFloat(dst, n, 32)
	case protoreflect.DoubleKind:
		return appendFloat(dst, n, 64)
	case protoreflect.EnumKind:
		if f.enum.null && n == 0 {
			return append(dst, "null"...)
		}
		if name := f.enum.name(int32(n)); name != "" {
			dst = append(dst, '"')
			dst = append(dst, name...)
			return append(dst, '"')
		}
	}
	return strconv.AppendInt(dst, n, 10)
}

// appendFloat writes the shortest number that reads back as the same float; what JSON has no number for is a string.
func appendFloat(dst []byte, bits int64, size int) []byte {
	x := math.Float64frombits(uint64(bits))
	switch {
	case math.IsNaN(x):
		return append(dst, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, x, format, -1, size)
}

func (w *jsonWriter) appendList(dst []byte, f *field, head int32) []byte {
	w.depth++
	dst = append(dst, '[')
	for ; head != 0 && !w.full(dst); head = w.nodes[head].next {
		n := w.nodes[head]
		switch {
		case f.sub != nil:
			m := w.mark()
			dst = append(w.appendMessage(dst, f.sub, w.piece(n.beg, n.end)), ',')
			w.release(m)
		case f.wire == wireBytes:
			dst = append(w.appendBytes(dst, f, w.b[n.beg:n.end]), ',')
		default:
			for p := int(n.beg); p < int(n.end); {
				var bits uint64
				bits, p = bitsAt(w.b[:n.end], p, f.wire)
				dst = append(appendNumber(dst, f, number(f.kind, bits)), ',')
			}
		}
	}
	w.depth--
	return closed(dst, ']')
}

// closed puts the closing bracket in the place of the comma behind the last value, or behind the opening bracket when there is no value.
func closed(dst []byte, bracket byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst[last] = bracket
		return dst
	}
	return append(dst, bracket)
}

// appendMap writes the entries in the order of their keys. Of several with one key the last one counts.
func (w *jsonWriter) appendMap(dst []byte, f *field, head int32) []byte {
	w.depth++
	key, value := &f.sub.fields[0], &f.sub.fields[1]
	mine := len(w.entries)
	for ; head != 0; head = w.nodes[head].next {
		w.entries = append(w.entries, w.entryOf(key, w.nodes[head], len(w.entries)))
	}
	slices.SortFunc(w.entries[mine:], func(a, b entry) int {
		order := cmp.Compare(a.number, b.number)
		if key.kind == protoreflect.Uint64Kind || key.kind == protoreflect.Fixed64Kind {
			order = cmp.Compare(uint64(a.number), uint64(b.number))
		}
		return cmp.Or(order, bytes.Compare(a.key, b.key), cmp.Compare(a.order, b.order))
	})
	dst = append(dst, '{')
	last := len(w.entries)
	for i := mine; i < last && !w.full(dst); i++ {
		e := w.entries[i]
		if i+1 < last && w.entries[i+1].number == e.number && bytes.Equal(w.entries[i+1].key, e.key) {
			continue
		}
		if key.wire == wireBytes {
			dst = convert.AppendJSONString(dst, e.key)
		} else {
			dst = append(dst, '"')
			dst = appendNumber(dst, key, e.number)
			dst = append(dst, '"')
		}
		dst = append(dst, ':')
		m := w.mark()
		base := w.gather(f.sub, w.piece(e.beg, e.end), value)
		dst = append(w.appendSingle(dst, value, w.cells[base+int(value.index)]), ',')
		w.release(m)
	}
	clear(w.entries[mine:]) // their keys are views of the record
	w.entries = w.entries[:mine]
	w.depth--
	return closed(dst, '}')
}

// entryOf finds the key of an entry.
func (w *jsonWriter) entryOf(key *field, n node, order int) entry {
	e := entry{beg: n.beg, end: n.end, order: int32(order)}
	b := w.b[:n.end]
	for p := int(n.beg); p < len(b); {
		var k token
		if k, p = next(b, p); k.number != key.number || k.wire != key.wire {
			continue
		}
		if key.wire == wireBytes {
			e.key = b[k.beg:k.end]
		} else {
			e.number = number(key.kind, k.bits)
		}
	}
	return e
}

// appendMessage writes the message of type m whose pieces are chained from head.
func (w *jsonWriter) appendMessage(dst []byte, m *message, head int32) []byte {
	w.depth++
	taken := w.mark()
	base := w.gather(m, head, nil)
	if m.special == plain || m.special == date || m.special == timeOfDay {
		dst = closed(w.appendFields(append(dst, '{'), m, base), '}')
	} else {
		dst = w.appendSpecial(dst, m, base)
	}
	w.release(taken)
	w.depth--
	return dst
}

// appendFields writes the fields of a message that was taken apart, a comma behind each.
func (w *jsonWriter) appendFields(dst []byte, m *message, base int) []byte {
	for i := range m.fields {
		f := &m.fields[i]
		c := w.cells[base+i]
		if !c.set && f.nullable {
			continue
		}
		if w.full(dst) {
			break
		}
		dst = append(w.appendField(append(dst, f.key...), f, c), ',')
	}
	return dst
}
