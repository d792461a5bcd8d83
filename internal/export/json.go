package export

import (
	"encoding/base64"
	"strconv"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/sqlerr"
)

// jsonLine writes an object for each row: numbers and JSON as they are, bytes in base64, everything else as text.
type jsonLine struct {
	fields []column.Field
	// names are the keys with quotes and colon.
	names     [][]byte
	leaveNull bool
	value     []byte
}

func (p Plan) jsonLine(fields []column.Field) (line, error) {
	l := &jsonLine{fields: fields, leaveNull: p.values.Bool("ignoreNullFields")}
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.Name] {
			return nil, sqlerr.New(sqlerr.NotSupported, "two columns are named '%s', and the keys of an object of JSON need different names", f.Name).WithHint("give one of them an alias")
		}
		seen[f.Name] = true
		l.names = append(l.names, append(convert.AppendJSONString(nil, []byte(f.Name)), ':'))
	}
	return l, nil
}

func (l *jsonLine) start(dst []byte) []byte { return dst }

func (l *jsonLine) append(dst []byte, b *column.Batch, row int) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range l.fields {
		v := &b.Cols[i]
		null := v.IsNull(row)
		if null && l.leaveNull {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, l.names[i]...)
		if null {
			dst = append(dst, "null"...)
			continue
		}
		dst = l.append1(dst, &l.fields[i], v, row)
	}
	return append(dst, '}', '\n'), nil
}

// append1 appends one value, which is not NULL.
func (l *jsonLine) append1(dst []byte, f *column.Field, v *column.Vector, row int) []byte {
	switch v.Type.Kind {
	case column.Bool, column.Int32, column.Int64, column.Uint64, column.Decimal:
		return appendText(dst, f, v, row)
	case column.Float64:
		if f.Width == 32 {
			if x := v.Float[row]; x-x == 0 { // finite
				return strconv.AppendFloat(dst, x, 'g', -1, 32)
			}
		}
		return convert.AppendJSONFloat(dst, v.Float[row])
	case column.JSON:
		// Between the tokens there may be line ends, which may not be in a line; within a string there are none.
		start := len(dst)
		dst = append(dst, v.View(row)...)
		for i, c := range dst[start:] {
			if c == '\n' || c == '\r' {
				dst[start+i] = ' '
			}
		}
		return dst
	case column.Bytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.View(row))
		return append(dst, '"')
	case column.Text:
		return convert.AppendJSONString(dst, v.View(row))
	default:
		l.value = appendText(l.value[:0], f, v, row)
		return convert.AppendJSONString(dst, l.value)
	}
}
