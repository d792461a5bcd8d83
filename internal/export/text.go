package export

import (
	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// textLine writes the one column of a result, a line for each value; NULL is an empty line.
type textLine struct {
	field column.Field
	end   string
}

func (p Plan) textLine(fields []column.Field) (line, error) {
	if len(fields) != 1 {
		return nil, sqlerr.New(sqlerr.NotSupported, "FORMAT text takes one column, and the query has %d", len(fields)).WithHint("select one, for example with concat_ws(), or use FORMAT csv")
	}
	return &textLine{fields[0], p.lineEnd()}, nil
}

func (l *textLine) start(dst []byte) []byte { return dst }

func (l *textLine) append(dst []byte, b *column.Batch, row int) ([]byte, error) {
	if v := &b.Cols[0]; !v.IsNull(row) {
		dst = appendText(dst, &l.field, v, row)
	}
	return append(dst, l.end...), nil
}
