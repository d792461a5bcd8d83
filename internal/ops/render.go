package ops

import (
	"strconv"
	"time"

	"millrace/internal/column"
)

// timestampLayout shows a timestamp without zeros at the end of the fraction, as Spark and the engine do.
const timestampLayout = "2006-01-02 15:04:05.999999"

// render writes values that are not views as text: the text of a cast to STRING, or the number in full that the target is read from.
func (e *castEval) render(v *column.Vector, n int, rows []int32) *column.Vector {
	t := &e.text
	t.Type.Kind = column.Text
	t.Beg, t.End, t.Data = room(t.Beg, n), room(t.End, n), t.Data[:0]
	kind := e.x.Type().Kind
	toText := e.typ.Kind == column.Text
	for _, i := range rows {
		t.Beg[i] = uint32(len(t.Data))
		switch {
		case kind == column.Float64:
			t.Data = strconv.AppendFloat(t.Data, v.Float[i], 'f', -1, 64)
		case kind == column.Bool && toText:
			t.Data = strconv.AppendBool(t.Data, v.Int[i] != 0)
		case kind == column.Date:
			t.Data = time.Unix(v.Int[i]*86400, 0).UTC().AppendFormat(t.Data, time.DateOnly)
		case kind == column.Timestamp && toText:
			t.Data = time.UnixMicro(v.Int[i]).UTC().AppendFormat(t.Data, timestampLayout)
		case kind == column.Timestamp:
			t.Data = append(strconv.AppendInt(t.Data, v.Int[i], 10), "e-6"...)
		default:
			t.Data = strconv.AppendInt(t.Data, v.Int[i], 10)
		}
		t.End[i] = uint32(len(t.Data))
	}
	return t
}
