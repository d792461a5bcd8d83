package export

import (
	"bytes"

	"millrace/internal/column"
)

// csvLine writes RFC 4180 unless the options say otherwise. NULL is nullValue without quotes and an empty text is "", so that they differ.
type csvLine struct {
	fields             []column.Field
	sep, end, null     string
	quote, escape      byte
	header, everything bool
	// special are the bytes that need quotes; the separator has its own check when it is longer than one.
	special [256]bool
	value   []byte
}

func (p Plan) csvLine(fields []column.Field) (line, error) {
	l := &csvLine{
		fields: fields, sep: p.separator(), end: p.lineEnd(), null: p.values.String("nullValue"), quote: p.values.String("quote")[0], escape: p.values.String("escape")[0],
		header: p.values.Bool("header"), everything: p.values.Bool("quoteAll"),
	}
	for _, c := range []byte{'\r', '\n', l.quote, l.sep[0]} {
		l.special[c] = true
	}
	return l, nil
}

func (l *csvLine) start(dst []byte) []byte {
	if !l.header {
		return dst
	}
	for i, f := range l.fields {
		if i > 0 {
			dst = append(dst, l.sep...)
		}
		dst = l.text(dst, []byte(f.Name))
	}
	return append(dst, l.end...)
}

func (l *csvLine) append(dst []byte, b *column.Batch, row int) ([]byte, error) {
	start := len(dst)
	for i := range l.fields {
		if i > 0 {
			dst = append(dst, l.sep...)
		}
		f, v := &l.fields[i], &b.Cols[i]
		switch {
		case v.IsNull(row):
			dst = append(dst, l.null...)
		case v.Type.Kind.IsView():
			dst = l.text(dst, v.View(row))
		default:
			l.value = appendText(l.value[:0], f, v, row)
			dst = l.text(dst, l.value)
		}
	}
	if len(dst) == start { // readers skip an empty line
		dst = append(dst, l.quote, l.quote)
	}
	return append(dst, l.end...), nil
}

// text appends a value with the quotes that it needs.
func (l *csvLine) text(dst, value []byte) []byte {
	if !l.everything && !l.needsQuotes(value) {
		return append(dst, value...)
	}
	dst = append(dst, l.quote)
	for _, c := range value {
		if c == l.quote || c == l.escape && l.escape != l.quote {
			dst = append(dst, l.escape)
		}
		dst = append(dst, c)
	}
	return append(dst, l.quote)
}

func (l *csvLine) needsQuotes(value []byte) bool {
	if len(value) == 0 || l.null != "" && string(value) == l.null {
		return true
	}
	for _, c := range value {
		if l.special[c] && (c != l.sep[0] || len(l.sep) == 1 || c == '\r' || c == '\n' || c == l.quote) {
			return true
		}
		if c == l.escape && l.escape != l.quote {
			return true
		}
	}
	return len(l.sep) > 1 && bytes.Contains(value, []byte(l.sep))
}
