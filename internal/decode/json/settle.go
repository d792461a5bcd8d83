package json

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
)

// Settle implements decode.Decoder.
func (d *fieldDecoder) Settle(record []byte, i int, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	f := &d.fields[i]
	v := Value{Off: s.Beg, End: s.End, Type: Type(s.Aux), Flags: Flags(s.Aux >> 8)}
	if f.Type.Kind == column.Text {
		return d.settleText(record, f, v, scratch)
	}
	if f.Shape != nil {
		return d.settleShaped(record, i, v, scratch)
	}
	if v.Type == Object || v.Type == Array {
		return d.wrong(record, f, v, scratch)
	}
	var text []byte
	text, d.text = v.Text(record, d.text)
	switch f.Type.Kind {
	case column.Bytes:
		return d.settleBytes(record, f, v, text, scratch)
	case column.Float64:
		return d.settleFloat(record, f, v, text, scratch)
	case column.Decimal:
		return d.settleDecimal(record, f, v, text, scratch)
	}
	n, fault := f.integer(v, text)
	if fault != convert.OK {
		return d.fault(record, f, v, fault, scratch)
	}
	return decode.Slot{Kind: decode.Int, Int: n}, scratch, nil
}

// integer gives the value of a kind that lies in Vector.Int.
func (f *Field) integer(v Value, text []byte) (n int64, fault convert.Fault) {
	number := v.Type == Number
	if !number && v.Type != String {
		return 0, convert.Syntax
	}
	switch f.Type.Kind {
	case column.Bool:
		if number {
			return 0, convert.Syntax
		}
		b, fault := convert.Bool(text)
		if b {
			n = 1
		}
		return n, fault
	case column.Int32, column.Int64:
		n, fault = convert.Int64(text)
		if fault == convert.OK && !f.holds(n) {
			fault = convert.Overflow
		}
		return n, fault
	case column.Uint64:
		u, fault := convert.Uint64(text)
		if fault == convert.OK && f.Width > 0 && f.Width < 64 && u>>f.Width != 0 {
			fault = convert.Overflow
		}
		return int64(u), fault
	case column.Date:
		if number {
			return f.moment(text)
		}
		return convert.Date(text)
	case column.Time:
		if number {
			return f.moment(text)
		}
		return convert.TimeOfDay(text)
	case column.Timestamp:
		switch {
		case number:
			return f.moment(text)
		case f.WallClock:
			return convert.WallClock(text)
		}
		n, _, fault = convert.Timestamp(text)
		return n, fault
	}
	return 0, convert.Syntax
}

// holds reports whether n is in the range of the column's type.
func (f *Field) holds(n int64) bool {
	bits := uint32(64)
	if f.Type.Kind == column.Int32 {
		bits = 32
	}
	if f.Width > 0 {
		bits = min(bits, f.Width)
	}
	return n>>(bits-1) == n>>63
}

func (d *fieldDecoder) settleText(record []byte, f *Field, v Value, scratch []byte) (decode.Slot, []byte, error) {
	s := decode.Slot{Kind: decode.View, Beg: v.Off, End: v.End}
	if v.Type == String {
		s.Beg, s.End = v.Off+1, v.End-1
	}
	text := record[s.Beg:s.End]
	if v.Type == String && v.Flags&Escaped != 0 {
		beg := len(scratch)
		scratch = AppendUnescaped(scratch, text)
		s = decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}
		text = scratch[beg:]
	}
	if f.Width > 0 && len(text) > int(f.Width) && utf8.RuneCount(text) > int(f.Width) {
		return d.fault(record, f, v, convert.Overflow, scratch)
	}
	return s, scratch, nil
}

func (d *fieldDecoder) settleBytes(record []byte, f *Field, v Value, text, scratch []byte) (decode.Slot, []byte, error) {
	if v.Type != String {
		return d.wrong(record, f, v, scratch)
	}
	encoding := base64.StdEncoding
	if len(text)%4 != 0 {
		encoding = base64.RawStdEncoding
	}
	beg := len(scratch)
	grown, err := encoding.AppendDecode(scratch, text)
	if err != nil {
		d.err = decode.Error{Reason: decode.WrongType, Field: f.Name, Offset: int(v.Off), Detail: "a string that is not base64"}
		return decode.Slot{}, scratch, &d.err
	}
	if f.Width > 0 && len(grown)-beg > int(f.Width) {
		return d.fault(record, f, v, convert.Overflow, scratch)
	}
	return decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(grown))}, grown, nil
}

func (d *fieldDecoder) settleFloat(record []byte, f *Field, v Value, text, scratch []byte) (decode.Slot, []byte, error) {
	if v.Type != Number && v.Type != String {
		return d.wrong(record, f, v, scratch)
	}
	var x float64
	var fault convert.Fault
	if f.Width == 32 {
		var single float32
		single, fault = convert.Float32(text)
		x = float64(single)
	} else {
		x, fault = convert.Float64(text)
	}
	if fault != convert.OK {
		return d.fault(record, f, v, fault, scratch)
	}
	return decode.Slot{Kind: decode.Float, Int: int64(math.Float64bits(x))}, scratch, nil
}

func (d *fieldDecoder) settleDecimal(record []byte, f *Field, v Value, text, scratch []byte) (decode.Slot, []byte, error) {
	if v.Type != Number && v.Type != String {
		return d.wrong(record, f, v, scratch)
	}
	if f.Unscaled && v.Type == String {
		number, ok := unscaled(text, int(f.Point))
		if !ok {
			return d.wrong(record, f, v, scratch)
		}
		text = number
	}
	beg := len(scratch)
	scratch, fault := convert.AppendDecimal(scratch, text, int(f.Type.Precision), int(f.Type.Scale))
	if fault != convert.OK {
		return d.fault(record, f, v, fault, scratch)
	}
	return decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}, scratch, nil
}

// fault is the field error of a conversion that failed.
func (d *fieldDecoder) fault(record []byte, f *Field, v Value, fault convert.Fault, scratch []byte) (decode.Slot, []byte, error) {
	if fault != convert.Overflow {
		return d.wrong(record, f, v, scratch)
	}
	d.err = decode.Error{Reason: decode.OutOfRange, Field: f.Name, Offset: int(v.Off), Detail: convert.Quote(v.inner(record)) + " does not fit " + convert.TypeName(f.Field)}
	return decode.Slot{}, scratch, &d.err
}

// wrong is the field error of a value of another type.
func (d *fieldDecoder) wrong(record []byte, f *Field, v Value, scratch []byte) (decode.Slot, []byte, error) {
	d.err = decode.Error{Reason: decode.WrongType, Field: f.Name, Offset: int(v.Off), Detail: convert.TypeName(f.Field) + " is expected, found " + article[v.Type]}
	if v.Type == Number || v.Type == String {
		d.err.Detail += " " + convert.Quote(v.inner(record))
	}
	return decode.Slot{}, scratch, &d.err
}

// inner is the value as written, a string without its quotes.
func (v Value) inner(record []byte) []byte {
	if v.Type == String {
		return record[v.Off+1 : v.End-1]
	}
	return v.Raw(record)
}

// unscaled reads the number in base64 of its bytes; scale is the number of its digits behind the point.
func unscaled(text []byte, scale int) ([]byte, bool) {
	const most = 64 // more than any DECIMAL takes
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(b) == 0 || len(b) > most {
		return nil, false
	}
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return fmt.Appendf(nil, "%de-%d", n, scale), true
}
