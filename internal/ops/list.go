package ops

import (
	"strconv"
	"time"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// list is COLLECT_LIST: the values of a group as a JSON array, in the order in which they came, lane by lane. It keeps the text of the elements, a comma between
// two.
type list struct {
	texts [][]byte
	held  int
	whole []byte
}

func (l *list) grow(groups int) { l.texts = grown(l.texts, groups) }

func (l *list) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) {
		l.held -= cap(l.texts[g])
		if len(l.texts[g]) > 0 {
			l.texts[g] = append(l.texts[g], ',')
		}
		l.texts[g] = appendElement(l.texts[g], v, i)
		l.held += cap(l.texts[g])
	})
}

// appendElement appends row i, which is not NULL, as JSON.
func appendElement(dst []byte, v *column.Vector, i int) []byte {
	switch v.Type.Kind {
	case column.Bool:
		return strconv.AppendBool(dst, v.Int[i] != 0)
	case column.Uint64:
		return strconv.AppendUint(dst, uint64(v.Int[i]), 10)
	case column.Float64:
		return convert.AppendJSONFloat(dst, v.Float[i])
	case column.Decimal, column.JSON:
		return append(dst, v.View(i)...)
	case column.Text, column.Bytes:
		return convert.AppendJSONString(dst, v.View(i))
	case column.Timestamp:
		return time.UnixMicro(v.Int[i]).UTC().AppendFormat(dst, `"`+timestampLayout+`"`)
	case column.Date:
		return time.Unix(v.Int[i]*86400, 0).UTC().AppendFormat(dst, `"`+time.DateOnly+`"`)
	default:
		return strconv.AppendInt(dst, v.Int[i], 10)
	}
}

func (l *list) join(g int, more []byte) {
	if len(more) == 0 {
		return
	}
	l.held -= cap(l.texts[g])
	if len(l.texts[g]) > 0 {
		l.texts[g] = append(l.texts[g], ',')
	}
	l.texts[g] = append(l.texts[g], more...)
	l.held += cap(l.texts[g])
}

func (l *list) merge(from accumulator, to []int32) {
	for g, text := range from.(*list).texts {
		l.join(int(to[g]), text)
	}
}

func (l *list) encode(dst []byte, g int) []byte { return appendSized(dst, l.texts[g]) }

func (l *list) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	l.join(g, r.bytes())
	return r.end()
}

func (l *list) emit(g int, out *column.Vector) {
	l.whole = append(append(append(l.whole[:0], '['), l.texts[g]...), ']')
	out.AppendBytes(l.whole)
}

func (l *list) bytes() int { return 24*cap(l.texts) + l.held }
