package avro

import (
	"unicode/utf8"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// how is the way in which a lazy slot is settled.
type how uint8

const (
	// settleText makes text of the value and that into the column's type, whatever the two are.
	settleText how = iota
	settleJSON
	settleJSONText
	settleDecimal
	settleEnum
	settleDefault
)

// settler makes the value of a lazy slot.
type settler struct {
	how    how
	column column.Field
	// from is the type of the encoded value, with the meaning that both schemas give it.
	from *node
	// symbols are those of an enum as the reader takes them.
	symbols []string
	// missing is the value of a default.
	missing []byte
}

// settler notes how a column is made of a value of type from, r being the reader's type, and returns its number.
func (c *compiler) settler(t target, r, from *node) uint32 {
	s := settler{column: t.to, from: from}
	kind := t.to.Type.Kind
	switch {
	case from.as == jsonText && kind == column.JSON:
		s.how = settleJSONText
	case kind == column.JSON:
		s.how = settleJSON
	case from.as == decimal && kind == column.Decimal:
		s.how = settleDecimal
	case from.wire == enum && kind == column.Text:
		s.how, s.symbols = settleEnum, symbolsFor(r.only(), from)
	}
	c.plan.settlers = append(c.plan.settlers, s)
	return uint32(len(c.plan.settlers) - 1)
}

// symbolsFor gives the writer's symbols with the reader's default in place of those that the reader does not know, if it has one.
func symbolsFor(r, w *node) []string {
	if r == nil || r.wire != enum || r.fallback == "" {
		return w.symbols
	}
	known := map[string]bool{}
	for _, s := range r.symbols {
		known[s] = true
	}
	symbols := make([]string, len(w.symbols))
	for i, s := range w.symbols {
		if symbols[i] = s; !known[s] {
			symbols[i] = r.fallback
		}
	}
	return symbols
}

// Settle implements decode.Decoder.
func (d *decoder) Settle(record []byte, _ int, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	st := &d.plan.settlers[s.Aux]
	beg, p, end := len(scratch), int(s.Beg), int(s.End)
	value := record[:end:end]
	switch st.how {
	case settleDefault:
		scratch = append(scratch, st.missing...)
	case settleEnum:
		v, _ := d.long(value, p)
		scratch = append(scratch, st.symbols[v]...)
		if st.tooLong(scratch[beg:]) {
			d.err = decode.Error{Reason: decode.OutOfRange, Offset: p, Detail: convert.Quote(scratch[beg:]) + " for " + convert.TypeName(st.column)}
			return s, scratch, d.fieldError(st)
		}
	case settleJSON:
		j := jsonWriter{d: d, b: value, out: scratch}
		if p = j.value(p, st.from); p < 0 {
			return s, j.out, d.fieldError(st)
		}
		scratch = j.out
	case settleJSONText:
		n, p := d.length(value, p)
		if !json.Valid(value[p : p+n]) {
			d.err = decode.Error{Reason: decode.WrongType, Offset: p, Detail: "not JSON"}
			return s, scratch, d.fieldError(st)
		}
		return decode.Slot{Kind: decode.View, Beg: uint32(p), End: uint32(p + n)}, scratch, nil
	case settleDecimal:
		var ok bool
		p, body := d.payload(value, p, st.from)
		if scratch, ok = d.decimal(scratch, body, st.from.scale, st.column.Type); !ok {
			d.err = decode.Error{Reason: decode.OutOfRange, Offset: p, Detail: "a decimal that does not fit " + st.column.Type.String()}
			return s, scratch, d.fieldError(st)
		}
	default:
		return d.settleText(st, value, s, scratch)
	}
	return decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}, scratch, nil
}

// fieldError makes the error in d one of the column.
func (d *decoder) fieldError(st *settler) error {
	d.err.Field = st.column.Name
	return &d.err
}

// payload is the content of a bytes, string or fixed.
func (d *decoder) payload(b []byte, p int, n *node) (int, []byte) {
	if n.wire == fixed {
		return p, b[p : p+n.size]
	}
	size, p := d.length(b, p)
	return p, b[p : p+size]
}

func (d *decoder) settleText(st *settler, b []byte, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	beg := len(scratch)
	p := int(s.Beg)
	j := jsonWriter{d: d, b: b, out: scratch}
	if p = j.text(p, st.from); p < 0 {
		return s, j.out, d.fieldError(st)
	}
	scratch = j.out
	value := scratch[beg:]
	to := st.column.Type
	fault, wanted := convert.OK, decode.Slot{Kind: decode.Int}
	switch to.Kind {
	case column.Bool:
		var v bool
		if v, fault = convert.Bool(value); v {
			wanted.Int = 1
		}
	case column.Int32:
		wanted.Int, fault = convert.Int64(value)
		if fault == convert.OK && wanted.Int != int64(int32(wanted.Int)) {
			fault = convert.Overflow
		}
	case column.Int64:
		wanted.Int, fault = convert.Int64(value)
	case column.Float64:
		wanted.Kind = decode.Float
		wanted.Int, fault = convert.Float(value, &st.column)
	case column.Date:
		wanted.Int, fault = convert.Date(value)
	case column.Time:
		wanted.Int, fault = convert.TimeOfDay(value)
	case column.Timestamp:
		wanted.Int, _, fault = convert.Timestamp(value)
	case column.Decimal:
		made := len(scratch)
		scratch, fault = convert.AppendDecimal(scratch, value, int(to.Precision), int(to.Scale))
		wanted = decode.Slot{Kind: decode.Made, Beg: uint32(made), End: uint32(len(scratch))}
	default: // text and bytes
		if to.Kind == column.Text && !utf8.Valid(value) {
			d.err = decode.Error{Reason: decode.InvalidUTF8, Offset: int(s.Beg)}
			return s, scratch, d.fieldError(st)
		}
		if st.tooLong(value) {
			d.err = decode.Error{Reason: decode.OutOfRange, Offset: int(s.Beg), Detail: convert.Quote(value) + " for " + convert.TypeName(st.column)}
			return s, scratch, d.fieldError(st)
		}
		return decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}, scratch, nil
	}
	if fault == convert.OK {
		return wanted, scratch, nil
	}
	d.err = decode.Error{Reason: decode.WrongType, Offset: int(s.Beg), Detail: convert.Quote(value) + " for " + to.String()}
	if fault == convert.Overflow || st.outOfRange() {
		d.err.Reason = decode.OutOfRange
	}
	return s, scratch, d.fieldError(st)
}

// outOfRange reports whether the value is of the column's own type, so that it can only be too large for it.
func (st *settler) outOfRange() bool {
	switch st.column.Type.Kind {
	case column.Float64:
		return st.from.wire == float32s || st.from.wire == float64s
	case column.Date, column.Time, column.Timestamp:
		return st.from.as >= date && st.from.as <= localNanos
	default:
		return false
	}
}

// tooLong reports whether a text has more characters than the column, or bytes more bytes.
func (st *settler) tooLong(value []byte) bool {
	width := int(st.column.Width)
	return width > 0 && len(value) > width && (st.column.Type.Kind != column.Text || utf8.RuneCount(value) > width)
}
