package proto

import (
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
)

// Settle makes the value of a slot.
func (d *decoder) Settle(record []byte, i int, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	t := &d.plan.targets[i]
	beg := len(scratch)
	switch s.Aux {
	case auxNoNumber:
		return d.failed(t, scratch, decode.OutOfRange, "a number that is not finite")
	case auxDefault:
		return made(appendDefault(scratch, t.reader), beg)
	}
	s, scratch, err := d.natural(t, record, s, scratch)
	if err != nil || s.Kind == decode.Null || t.source.typ == t.reader.typ && (t.source.width == t.reader.width || t.reader.width == 0) || t.note == notePieces && t.reader.typ.Kind == column.JSON {
		return s, scratch, err
	}
	return d.convert(t, record, s, scratch)
}

// appendDefault appends the default of a field that has more than a number, as the value of its column.
func appendDefault(dst []byte, f *field) []byte {
	switch {
	case f.mapped:
		return append(dst, "{}"...)
	case f.list:
		return append(dst, "[]"...)
	case f.kind == protoreflect.EnumKind:
		return f.enum.append(dst, int32(f.defaultNumber))
	default:
		return append(dst, f.defaultText...)
	}
}

func made(scratch []byte, beg int) (decode.Slot, []byte, error) {
	return decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}, scratch, nil
}

// failed notes a field error.
func (d *decoder) failed(t *target, scratch []byte, reason decode.Reason, detail string) (decode.Slot, []byte, error) {
	d.err = decode.Error{Reason: reason, Field: t.reader.name, Offset: -1, Detail: detail}
	return decode.Slot{}, scratch, &d.err
}

// natural makes the value of the source in the type that the source has as a column. A column of JSON gets JSON of whatever the source is.
func (d *decoder) natural(t *target, record []byte, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	f := t.source
	beg := len(scratch)
	switch s.Aux {
	case auxNumber:
		switch {
		case f.kind == protoreflect.EnumKind && t.reader.typ.Kind.IsInt():
			return decode.Slot{Kind: decode.Int, Int: s.Int}, scratch, nil
		case f.kind == protoreflect.EnumKind:
			return made(f.enum.append(scratch, int32(s.Int)), beg)
		}
		return d.float(t, f.typ.Kind, s.Int, scratch)
	case auxBytes:
		if f.kind == protoreflect.StringKind && !utf8.Valid(record[s.Beg:s.End]) {
			return d.failed(t, scratch, decode.InvalidUTF8, "")
		}
		return decode.Slot{Kind: decode.View, Beg: s.Beg, End: s.End}, scratch, nil
	}
	d.begin(record, beg)
	base := d.gather(d.plan.root, d.piece(s.Beg, s.End), f)
	c := d.cells[base+int(f.index)]
	if t.reader.typ.Kind == column.JSON || f.typ.Kind == column.JSON {
		if t.reader.list && !f.list {
			scratch = append(d.appendField(append(scratch, '['), f, c), ']')
		} else {
			scratch = d.appendField(scratch, f, c)
		}
		if d.full(scratch) {
			return d.failed(t, scratch, decode.OutOfRange, "its JSON text is longer than 64 MiB")
		}
		return made(scratch, beg)
	}
	if f.sub == nil { // a scalar of the writer for a list of the reader, which is JSON: handled above
		return d.failed(t, scratch, decode.WrongType, "")
	}
	return d.special(t, f.sub, c.head, scratch)
}

// float makes a slot of a number, refusing what SQL has no number for.
func (d *decoder) float(t *target, kind column.Kind, n int64, scratch []byte) (decode.Slot, []byte, error) {
	if kind != column.Float64 {
		return decode.Slot{Kind: decode.Int, Int: n}, scratch, nil
	}
	if !isNumber(n) {
		return d.failed(t, scratch, decode.OutOfRange, "a number that is not finite")
	}
	return decode.Slot{Kind: decode.Float, Int: n}, scratch, nil
}

// special makes the value of a message with a column type of its own.
func (d *decoder) special(t *target, m *message, head int32, scratch []byte) (decode.Slot, []byte, error) {
	beg := len(scratch)
	base := d.gather(m, head, nil)
	c := d.cells[base : base+len(m.fields)]
	var n int64
	var ok bool
	switch m.special {
	case timestamp:
		n, ok = timestampMicros(c[0].number, c[1].number)
	case duration:
		n, ok = durationMicros(c[0].number, c[1].number)
	case date:
		n, ok = dateDays(c[0].number, c[1].number, c[2].number)
	case timeOfDay:
		n, ok = timeMicros(c[0].number, c[1].number, c[2].number, c[3].number)
	case decimal:
		return d.decimal(t, c, scratch)
	default: // wrapper
		f := &m.fields[0]
		if f.wire != wireBytes {
			return d.float(t, scalarType(f.kind).Kind, c[0].number, scratch)
		}
		if f.kind == protoreflect.StringKind && !utf8.Valid(d.b[c[0].beg:c[0].end]) {
			return d.failed(t, scratch, decode.InvalidUTF8, "")
		}
		return decode.Slot{Kind: decode.View, Beg: c[0].beg, End: c[0].end}, scratch[:beg], nil
	}
	if !ok {
		d.err = rangeError(m.special)
		d.err.Field = t.reader.name
		return decode.Slot{}, scratch, &d.err
	}
	return decode.Slot{Kind: decode.Int, Int: n}, scratch, nil
}

// decimal makes the value of a confluent.type.Decimal that was taken apart.
func (d *decoder) decimal(t *target, c []cell, scratch []byte) (decode.Slot, []byte, error) {
	beg := len(scratch)
	text, fault := convert.AppendUnscaled(scratch, d.b[c[0].beg:c[0].end], int(c[2].number))
	if to := t.source.typ; fault == convert.OK && to.Kind == column.Decimal {
		var value []byte
		if value, fault = convert.AppendDecimal(text, text[beg:], int(to.Precision), int(to.Scale)); fault == convert.OK {
			text = append(text[:beg], value[len(text):]...)
		}
	}
	if fault != convert.OK {
		return d.failed(t, scratch, decode.OutOfRange, "a decimal of more digits than the column has")
	}
	return made(text, beg)
}

// convert makes a value of the reader's type of one of the source's by way of its text: it is for schemas whose types changed.
func (d *decoder) convert(t *target, record []byte, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	beg := len(scratch)
	from, to := t.source.typ, t.reader.typ
	var text []byte
	switch s.Kind {
	case decode.View:
		text = record[s.Beg:s.End]
	case decode.Made:
		text = scratch[s.Beg:s.End]
	default:
		switch from.Kind {
		case column.Bool, column.Int32, column.Int64:
			scratch = strconv.AppendInt(scratch, s.Int, 10)
		case column.Uint64:
			scratch = strconv.AppendUint(scratch, uint64(s.Int), 10)
		case column.Float64:
			size := 64
			if t.source.width == 32 {
				size = 32
			}
			scratch = appendFloat(scratch, s.Int, size)
		case column.Text: // an enum read as a number
			scratch = strconv.AppendInt(scratch, s.Int, 10)
		default:
			return d.wrongType(t, scratch)
		}
		text = scratch[beg:]
	}
	var fault convert.Fault
	var n int64
	field := t.reader.column()
	switch to.Kind {
	case column.Float64:
		if n, fault = convert.Float(text, &field); fault == convert.OK {
			return decode.Slot{Kind: decode.Float, Int: n}, scratch[:beg], nil
		}
	case column.Text:
		if from.Kind == column.Bytes && !utf8.Valid(text) {
			return d.failed(t, scratch, decode.InvalidUTF8, "")
		}
		if e := t.reader.enum; e != nil && from.Kind == column.Int32 {
			return made(e.append(scratch[:beg], int32(s.Int)), beg)
		}
		if from.Kind == column.Bool {
			return made(strconv.AppendBool(scratch[:beg], s.Int != 0), beg)
		}
		return d.asItIs(s, scratch, beg)
	case column.Bytes:
		if from.Kind == column.Text {
			return d.asItIs(s, scratch, beg)
		}
		return d.wrongType(t, scratch)
	case column.Decimal:
		var grown []byte
		if grown, fault = convert.AppendDecimal(scratch, text, int(to.Precision), int(to.Scale)); fault == convert.OK {
			return made(grown, len(scratch))
		}
	default:
		n, fault = convert.Int(text, &field, false)
	}
	switch fault {
	case convert.OK:
		return decode.Slot{Kind: decode.Int, Int: n}, scratch[:beg], nil
	case convert.Overflow:
		return d.failed(t, scratch, decode.OutOfRange, "")
	}
	return d.wrongType(t, scratch)
}

// asItIs is a slot of text that needs no conversion: s, or the digits that were written behind beg.
func (d *decoder) asItIs(s decode.Slot, scratch []byte, beg int) (decode.Slot, []byte, error) {
	if s.Kind == decode.View || s.Kind == decode.Made {
		return s, scratch, nil
	}
	return made(scratch, beg)
}

func (d *decoder) wrongType(t *target, scratch []byte) (decode.Slot, []byte, error) {
	d.err = decode.Error{Reason: decode.WrongType, Field: t.reader.name, Offset: -1}
	d.err.Detail = "written as " + convert.TypeName(t.source.column()) + ", wanted as " + convert.TypeName(t.reader.column())
	return decode.Slot{}, scratch, &d.err
}
