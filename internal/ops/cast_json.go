package ops

import (
	"bytes"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode/json"
)

// readJSON converts JSON values: a string as its text, null as NULL, a number as what it is, true and false as a boolean. An object or array is its text as a STRING,
// and nothing else.
func (e *castEval) readJSON(v *column.Vector, n int, rows []int32) error {
	t := &e.text
	t.Type.Kind = column.Text
	t.Beg, t.End, t.Data = room(t.Beg, n), room(t.End, n), t.Data[:0]
	kept := room(e.kept, len(rows))[:0]
	for _, i := range rows {
		text := bytes.TrimSpace(v.View(int(i)))
		t.Beg[i], t.End[i] = uint32(len(t.Data)), uint32(len(t.Data))
		if len(text) == 0 || text[0] == 'n' {
			e.null(i, n)
			continue
		}
		ok, err := e.plainText(text, i, n)
		if err != nil {
			return err
		}
		if t.End[i] = uint32(len(t.Data)); ok {
			kept = append(kept, i)
		}
	}
	e.kept = kept
	return e.parse(t, n, kept)
}

// plainText appends the text from which the target reads a JSON value to e.text. ok is false where row i has its value already, NULL among them.
func (e *castEval) plainText(text []byte, i int32, n int) (ok bool, err error) {
	t := &e.text
	isNumber := text[0] == '-' || text[0] >= '0' && text[0] <= '9'
	switch to := e.typ.Kind; {
	case text[0] == '"':
		t.Data = json.AppendUnescaped(t.Data, text[1:len(text)-1])
	case to == column.Text:
		t.Data = append(t.Data, text...)
	case text[0] == 't' || text[0] == 'f':
		if to == column.Int32 || to == column.Int64 || to == column.Float64 || to == column.Decimal {
			t.Data = append(t.Data, '0'+byte(bit(text[0] == 't')))
		} else {
			t.Data = append(t.Data, text...)
		}
	case !isNumber:
		return false, e.fail(convert.Syntax, text, i, n)
	case to == column.Bool:
		t.Data = append(t.Data, '0'+byte(bit(convert.CompareDecimal(text, []byte{'0'}) != 0)))
	case to == column.Int32 || to == column.Int64:
		// A number, not text: the fraction is cut off. Written in full there is no exponent left.
		full, fault := convert.AppendDecimal(t.Data, text, convert.MaxPrecision, convert.MaxScale)
		if fault != convert.OK {
			return false, e.fail(fault, text, i, n)
		}
		whole, _, _ := bytes.Cut(full[len(t.Data):], []byte{'.'})
		t.Data = full[:len(t.Data)+len(whole)]
	case to == column.Timestamp:
		return false, e.seconds(text, i, n)
	default:
		t.Data = append(t.Data, text...)
	}
	return true, nil
}

// seconds makes row i the time so many seconds after 1970.
func (e *castEval) seconds(text []byte, i int32, n int) error {
	var full, micros [convert.MaxPrecision + 8]byte
	number, fault := convert.AppendDecimal(full[:0], text, convert.MaxPrecision, convert.MaxScale) // without an exponent
	if fault == convert.OK {
		number, fault = convert.AppendDecimal(micros[:0], append(number, "e6"...), convert.MaxPrecision, 0)
	}
	if fault == convert.OK {
		if e.out.Int[i], fault = convert.Int64(number); fault == convert.OK && !convert.InTimestampRange(e.out.Int[i]) {
			fault = convert.Overflow
		}
	}
	if fault != convert.OK {
		return e.fail(fault, text, i, n)
	}
	return nil
}
