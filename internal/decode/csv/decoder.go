package csv

import (
	"bytes"
	"strconv"
	"strings"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// decoder is the decode.Decoder. A Lazy slot has the place of the field, and its flags in Aux.
type decoder struct {
	plan *plan
	splitter
	// at gives for a field of the row the slot, -1 for none; line is the header that it was made for.
	at   []int32
	line []byte
	// record and onHeader are those of the Locate under way.
	record   []byte
	onHeader func(line []byte) bool
	text     []byte
	// checker says whether text is JSON; nil until it is needed.
	checker *json.Extractor
	found   [1]json.Value
}

// Locate implements decode.Decoder.
func (d *decoder) Locate(record []byte, slots []decode.Slot) error {
	d.record = record
	if !d.split(record, d.onHeader) {
		if d.err.Reason == decode.Empty && d.plan.schema.dialect.header && len(record) > 0 {
			d.err.Detail = "under 'header' a record is a line with names and then its row, and nothing follows the first line"
		}
		return &d.err
	}
	if len(d.spans) != len(d.at) {
		d.fail(decode.Malformed, -1, strconv.Itoa(len(d.spans))+" fields, "+strconv.Itoa(len(d.at))+" columns")
		return &d.err
	}
	clear(slots)
	for i, f := range d.spans {
		slot := d.at[i]
		if slot < 0 || f.flags&quoted == 0 && bytes.Equal(record[f.beg:f.end], d.null) {
			continue
		}
		s := decode.Slot{Kind: decode.Lazy, Beg: f.beg, End: f.end, Aux: uint32(f.flags)}
		if field := &d.plan.schema.fields[d.plan.wanted[slot]]; f.flags&escaped == 0 && (field.Type.Kind == column.Text || field.Type.Kind == column.Bytes) && fits(int(f.end-f.beg), field) {
			s.Kind = decode.View
		}
		slots[slot] = s
	}
	return nil
}

// fits reports whether a text of n bytes surely fits a field.
func fits(n int, f *Field) bool { return f.Width == 0 || uint32(n) <= f.Width }

// header reads the names in the first line, which stand in d.spans.
func (d *decoder) header(line []byte) bool {
	if d.line != nil && bytes.Equal(line, d.line) {
		return true
	}
	d.at = make([]int32, len(d.spans))
	for i, f := range d.spans {
		d.text = d.appendText(d.text[:0], d.record[f.beg:f.end])
		slot, ok := d.plan.byName[strings.ToLower(string(d.text))]
		if !ok {
			slot = -1
		}
		d.at[i] = slot
	}
	d.line = append(d.line[:0], line...)
	return true
}

// Settle implements decode.Decoder.
func (d *decoder) Settle(record []byte, i int, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	f := &d.plan.schema.fields[d.plan.wanted[i]]
	raw := record[s.Beg:s.End]
	text := raw
	view := decode.Slot{Kind: decode.View, Beg: s.Beg, End: s.End}
	if flags(s.Aux)&escaped != 0 {
		d.text = d.appendText(d.text[:0], raw)
		text = d.text
		view.Kind = decode.Made
	}
	var n int64
	var fault convert.Fault
	switch f.Type.Kind {
	case column.Text, column.Bytes:
		if !fits(len(text), f) && (f.Type.Kind == column.Bytes || len(text)-continuations(text) > int(f.Width)) {
			return d.failed(f, decode.OutOfRange, s, text, scratch)
		}
		return d.asItIs(view, text, scratch)
	case column.JSON:
		if !d.isJSON(text) {
			return d.failed(f, decode.WrongType, s, text, scratch)
		}
		return d.asItIs(view, text, scratch)
	case column.Float64:
		if n, fault = convert.Float(text, &f.Field); fault == convert.OK {
			return decode.Slot{Kind: decode.Float, Int: n}, scratch, nil
		}
	case column.Decimal:
		beg := len(scratch)
		if scratch, fault = convert.AppendDecimal(scratch, text, int(f.Type.Precision), int(f.Type.Scale)); fault == convert.OK {
			return decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}, scratch, nil
		}
	default:
		if n, fault = convert.Int(text, &f.Field, f.WallClock); fault == convert.OK {
			return decode.Slot{Kind: decode.Int, Int: n}, scratch, nil
		}
	}
	if fault == convert.Overflow {
		return d.failed(f, decode.OutOfRange, s, text, scratch)
	}
	return d.failed(f, decode.WrongType, s, text, scratch)
}

// asItIs gives text where it lies, or copied when it lies in the decoder.
func (d *decoder) asItIs(view decode.Slot, text, scratch []byte) (decode.Slot, []byte, error) {
	if view.Kind == decode.Made {
		view.Beg = uint32(len(scratch))
		scratch = append(scratch, text...)
		view.End = uint32(len(scratch))
	}
	return view, scratch, nil
}

// continuations counts the bytes that continue a character.
func continuations(text []byte) (n int) {
	for _, c := range text {
		if c&0xc0 == 0x80 {
			n++
		}
	}
	return n
}

// anyJSON is the plan that finds nothing in JSON but that it is JSON.
var anyJSON = json.Compile([]json.Path{{}})

func (d *decoder) isJSON(text []byte) bool {
	if d.checker == nil {
		d.checker = anyJSON.NewExtractor()
	}
	return d.checker.Extract(text, d.found[:]) == nil
}

func (d *decoder) failed(f *Field, reason decode.Reason, s decode.Slot, text, scratch []byte) (decode.Slot, []byte, error) {
	d.err = decode.Error{Reason: reason, Field: f.Name, Offset: int(s.Beg), Detail: convert.Quote(text) + " is no " + convert.TypeName(f.Field)}
	if reason == decode.OutOfRange {
		d.err.Detail = convert.Quote(text) + " does not fit " + convert.TypeName(f.Field)
	}
	return decode.Slot{}, scratch, &d.err
}
