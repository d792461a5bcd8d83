package ops

import (
	"fmt"
	"strings"
	"time"

	"millrace/internal/column"
)

// textFunc is a text, or what is kept as one, made of each value that is not NULL.
type textFunc struct {
	x    Expr
	typ  column.Type
	text string
	make func(dst []byte, v *column.Vector, i int) []byte
}

func (e *textFunc) Type() column.Type { return e.typ }
func (e *textFunc) Nullable() bool    { return e.x.Nullable() }
func (e *textFunc) String() string    { return e.text }

func (e *textFunc) operands() []Expr { return []Expr{e.x} }

func (e *textFunc) bind(l *lane) evaluator {
	return &textFuncEval{textFunc: e, in: l.bind(e.x), lane: l}
}

type textFuncEval struct {
	*textFunc
	in   evaluator
	lane *lane
	out  column.Vector
}

func (e *textFuncEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.in.eval(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = e.typ
	out.Beg, out.End, out.Data, out.Valid = room(out.Beg, in.N), room(out.End, in.N), out.Data[:0], v.Valid
	for _, i := range e.lane.rows(in.N, sel) {
		if out.Beg[i] = uint32(len(out.Data)); !v.IsNull(int(i)) {
			out.Data = e.make(out.Data, v, int(i))
		}
		out.End[i] = uint32(len(out.Data))
	}
	return out, nil
}

var textType = column.Type{Kind: column.Text}

// Hex is the bytes of a text or of bytes in hexadecimal digits.
func Hex(x Expr) (Expr, error) {
	if k := x.Type().Kind; k != column.Text && k != column.Bytes {
		return nil, unsupported("hex of %v is not computed on batches", x.Type())
	}
	const digits = "0123456789ABCDEF"
	return &textFunc{x, textType, fmt.Sprintf("hex(%v)", x), func(dst []byte, v *column.Vector, i int) []byte {
		for _, c := range v.View(i) {
			dst = append(dst, digits[c>>4], digits[c&15])
		}
		return dst
	}}, nil
}

// formatLayouts are the letters of MySQL's date_format that have a layout in Go.
var formatLayouts = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'i': "04", 's': "05", 'S': "05", 'f': "000000", 'T': "15:04:05", 'j': "002",
	'c': "1", 'e': "2", 'h': "03", 'I': "03", 'l': "3", 'p': "PM", 'M': "January", 'b': "Jan", 'W': "Monday", 'a': "Mon",
}

// DateFormat shows a timestamp or a date by a format of MySQL's date_format. Formats with the other letters, those of weeks among them, are refused.
func DateFormat(x Expr, format string) (Expr, error) {
	if k := x.Type().Kind; k != column.Timestamp && k != column.Date {
		return nil, unsupported("a format of %v is not computed on batches", x.Type())
	}
	var pieces []formatPiece
	for rest := format; rest != ""; {
		literal, spec, found := strings.Cut(rest, "%")
		if literal != "" {
			pieces = append(pieces, formatPiece{text: literal})
		}
		if !found {
			break
		}
		if spec == "" {
			return nil, unsupported("the format '%s' is not computed on batches", format)
		}
		layout, ok := formatLayouts[spec[0]]
		if !ok {
			return nil, unsupported("the format '%s' is not computed on batches", format)
		}
		pieces = append(pieces, formatPiece{layout, true})
		rest = spec[1:]
	}
	return &textFunc{widen(x, column.Timestamp), textType, fmt.Sprintf("date_format(%v, %s)", x, quoted([]byte(format))), func(dst []byte, v *column.Vector, i int) []byte {
		t := time.UnixMicro(v.Int[i]).UTC()
		for _, p := range pieces {
			switch {
			case !p.layout:
				dst = append(dst, p.text...)
			case p.text == "000000":
				dst = t.AppendFormat(dst, ".000000")
				dst = append(dst[:len(dst)-7], dst[len(dst)-6:]...)
			default:
				dst = t.AppendFormat(dst, p.text)
			}
		}
		return dst
	}}, nil
}

type formatPiece struct {
	text   string
	layout bool
}
