package ops

import (
	"bytes"
	"unicode/utf8"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode/json"
)

// parse reads texts.
func (e *castEval) parse(v *column.Vector, n int, rows []int32) error {
	out := &e.out
	switch e.typ.Kind {
	case column.Int64:
		decimal := e.x.Type().Kind == column.Decimal
		for _, i := range rows {
			text := v.Data[v.Beg[i]:v.End[i]]
			if decimal {
				text = withoutFraction(text)
			}
			x, fault := convert.Int64(text)
			if out.Int[i] = x; fault != convert.OK {
				if err := e.fail(fault, v.View(int(i)), i, n); err != nil {
					return err
				}
			}
		}
	case column.Int32:
		decimal := e.x.Type().Kind == column.Decimal
		for _, i := range rows {
			text := v.Data[v.Beg[i]:v.End[i]]
			if decimal {
				text = withoutFraction(text)
			}
			x, fault := convert.Int64(text)
			if fault == convert.OK && !e.fits(x) {
				fault = convert.Overflow
			}
			if out.Int[i] = x; fault != convert.OK {
				if err := e.fail(fault, v.View(int(i)), i, n); err != nil {
					return err
				}
			}
		}
	case column.Uint64:
		for _, i := range rows {
			x, fault := convert.Uint64(v.Data[v.Beg[i]:v.End[i]])
			if out.Int[i] = int64(x); fault != convert.OK {
				if err := e.fail(fault, v.View(int(i)), i, n); err != nil {
					return err
				}
			}
		}
	case column.Float64:
		read := convert.Float64
		if e.single {
			read = readSingle
		}
		for _, i := range rows {
			x, fault := read(v.Data[v.Beg[i]:v.End[i]])
			if out.Float[i] = x; fault != convert.OK {
				if err := e.fail(fault, v.View(int(i)), i, n); err != nil {
					return err
				}
			}
		}
	case column.Bool:
		for _, i := range rows {
			x, fault := convert.Bool(v.Data[v.Beg[i]:v.End[i]])
			if out.Int[i] = int64(bit(x)); fault != convert.OK {
				if err := e.fail(fault, v.View(int(i)), i, n); err != nil {
					return err
				}
			}
		}
	case column.Timestamp:
		for _, i := range rows {
			x, _, fault := convert.Timestamp(v.Data[v.Beg[i]:v.End[i]])
			if out.Int[i] = x; fault != convert.OK {
				if err := e.fail(fault, v.View(int(i)), i, n); err != nil {
					return err
				}
			}
		}
	case column.Date:
		for _, i := range rows {
			x, fault := convert.Date(v.Data[v.Beg[i]:v.End[i]])
			if out.Int[i] = x; fault != convert.OK {
				if err := e.fail(fault, v.View(int(i)), i, n); err != nil {
					return err
				}
			}
		}
	case column.Decimal:
		e.data = e.data[:0]
		for _, i := range rows {
			var fault convert.Fault
			out.Beg[i] = uint32(len(e.data))
			e.data, fault = convert.AppendDecimal(e.data, v.Data[v.Beg[i]:v.End[i]], int(e.typ.Precision), int(e.typ.Scale))
			if out.End[i] = uint32(len(e.data)); fault != convert.OK {
				if err := e.fail(fault, v.View(int(i)), i, n); err != nil {
					return err
				}
			}
		}
		out.Data = e.data
	default:
		e.same(v)
		if e.typ.Kind == column.JSON {
			return e.checkJSON(v, n, rows)
		}
	}
	return nil
}

// readSingle reads a FLOAT.
func readSingle(text []byte) (float64, convert.Fault) {
	f, fault := convert.Float32(text)
	return float64(f), fault
}

// withoutFraction is the text of a DECIMAL without the fraction, which a cast to an integer cuts off.
func withoutFraction(text []byte) []byte {
	if p := bytes.IndexByte(text, '.'); p >= 0 {
		return text[:p]
	}
	return text
}

// same makes out the views of v.
func (e *castEval) same(v *column.Vector) {
	e.out.Beg, e.out.End, e.out.Data = v.Beg, v.End, v.Data
}

func (e *castEval) checkJSON(v *column.Vector, n int, rows []int32) error {
	for _, i := range rows {
		if text := v.View(int(i)); !json.Valid(text) {
			if err := e.fail(convert.Syntax, text, i, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// readUTF8 makes text of bytes, U+FFFD standing for what is not UTF-8.
func (e *castEval) readUTF8(v *column.Vector, n int, rows []int32) error {
	clean := true
	for _, i := range rows {
		if clean = clean && utf8.Valid(v.Data[v.Beg[i]:v.End[i]]); !clean {
			break
		}
	}
	if clean {
		e.same(v)
	} else {
		t := &e.text
		t.Beg, t.End, t.Data = room(t.Beg, n), room(t.End, n), t.Data[:0]
		for _, i := range rows {
			t.Beg[i] = uint32(len(t.Data))
			t.Data = convert.AppendUTF8(t.Data, v.Data[v.Beg[i]:v.End[i]])
			t.End[i] = uint32(len(t.Data))
		}
		e.same(t)
	}
	if e.typ.Kind == column.JSON {
		return e.checkJSON(&e.out, n, rows)
	}
	return nil
}
