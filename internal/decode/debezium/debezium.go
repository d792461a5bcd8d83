// Package debezium decodes the records of Debezium and other change data capture: envelopes with a row before and after a change.
//
//	{"before": null, "after": {"id": 1}, "source": {"ts_ms": 1700000000000, …}, "op": "c", "ts_ms": …}
//
// The columns are the fields of the row as it is after the change, or as it was before it was deleted, then _op, _source_ts (when the database made the change) and
// _before (the whole row before it, as JSON). Where the envelope lies in the member payload, beside its schema, as Kafka Connect's converter writes it, it is found
// there.
package debezium

import (
	"context"
	"errors"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// Columns are those behind the fields of the row.
var Columns = []column.Field{
	{Name: "_op", Type: column.Type{Kind: column.Text}, Nullable: true},
	{Name: "_source_ts", Type: column.Type{Kind: column.Timestamp, Scale: 6}, Nullable: true},
	{Name: "_before", Type: column.Type{Kind: column.JSON}, Nullable: true},
}

// The numbers of Columns behind the fields.
const (
	opColumn = iota
	sourceColumn
	beforeColumn
)

// Schema is the columns of envelopes in JSON.
type Schema struct {
	row    decode.Schema
	fields []column.Field
}

var _ decode.Schema = (*Schema)(nil)

// NewSchema is the schema of envelopes around rows with some fields; paths of the fields lead from the row.
func NewSchema(fields []json.Field) *Schema {
	s := &Schema{row: json.NewSchema(fields)}
	s.fields = append(append(s.fields, s.row.Fields()...), Columns...)
	return s
}

// Fields implements decode.Schema.
func (s *Schema) Fields() []column.Field { return s.fields }

// Compile implements decode.Schema.
func (s *Schema) Compile(wanted []int) (decode.Plan, error) {
	rows := len(s.row.Fields())
	p := &plan{wanted: wanted}
	var inRow []int
	for _, i := range wanted {
		if i < rows {
			inRow = append(inRow, i)
		}
	}
	p.inRow, p.rows = len(inRow), rows
	var err error
	p.row, err = s.row.Compile(inRow)
	return p, err
}

// plan implements decode.Plan. wanted are ascending, so those of the row come first: inRow of them.
type plan struct {
	row         decode.Plan
	wanted      []int
	inRow, rows int
}

func (p *plan) NewDecoder(ctx context.Context) decode.Decoder {
	return &decoder{plan: p, row: p.row.NewDecoder(ctx), x: envelopes.NewExtractor(), values: make([]json.Value, envelopes.Paths())}
}

// The members of an envelope, by their places among the paths.
const (
	op = iota
	sourceMillis
	sourceMicros
	before
	after
	members
)

// envelopes finds an envelope as the record itself, as its payload, and what kind of values these are.
var envelopes = func() *json.Plan {
	paths := []json.Path{}
	for _, in := range []json.Path{{}, {{Name: "payload"}}} {
		for _, path := range []json.Path{{{Name: "op"}}, {{Name: "source"}, {Name: "ts_ms"}}, {{Name: "source"}, {Name: "ts_us"}}, {{Name: "before"}}, {{Name: "after"}}} {
			paths = append(paths, append(append(json.Path{}, in...), path...))
		}
	}
	return json.Compile(append(paths, json.Path{}, json.Path{{Name: "payload"}}))
}()

const (
	wholeRecord = 2 * members
	payload     = 2*members + 1
)

type decoder struct {
	*plan
	row    decode.Decoder
	x      *json.Extractor
	values []json.Value
	err    decode.Error
}

// Locate implements decode.Decoder. Fields of the row are where the decoder of the row finds them, counted from the start of the record.
func (d *decoder) Locate(record []byte, slots []decode.Slot) error {
	if len(record) == 0 {
		d.err = decode.Error{Reason: decode.Empty, Offset: -1}
		return &d.err
	}
	if err := d.x.Extract(record, d.values); err != nil {
		return d.broken(err, len(record))
	}
	envelope := d.values[:members]
	if envelope[op].Type == json.Missing && d.values[payload].Type != json.Missing {
		envelope = d.values[members : 2*members]
		if d.values[payload].Type == json.Null {
			clear(slots) // a tombstone with a schema
			return nil
		}
	}
	if envelope[op].Type != json.String {
		d.err = decode.Error{Reason: decode.WrongType, Offset: int(d.values[wholeRecord].Off), Detail: "the record is no Debezium envelope: it has no 'op'"}
		return &d.err
	}
	row := envelope[after]
	if row.IsNull() {
		row = envelope[before]
	}
	switch {
	case row.IsNull():
		clear(slots[:d.inRow])
	default:
		if err := d.row.Locate(record[row.Off:row.End], slots[:d.inRow]); err != nil {
			return d.shift(err, int(row.Off))
		}
		for i := range slots[:d.inRow] {
			if s := &slots[i]; s.Kind == decode.View || s.Kind == decode.Lazy {
				s.Beg += row.Off
				s.End += row.Off
			}
		}
	}
	for i, n := range d.wanted[d.inRow:] {
		slots[d.inRow+i] = d.member(record, envelope, n-d.rows)
	}
	return nil
}

// member is the slot of one of Columns.
func (d *decoder) member(record []byte, envelope []json.Value, n int) decode.Slot {
	switch n {
	case opColumn:
		v := envelope[op]
		return decode.Slot{Kind: decode.View, Beg: v.Off + 1, End: v.End - 1}
	case beforeColumn:
		if v := envelope[before]; !v.IsNull() {
			return decode.Slot{Kind: decode.View, Beg: v.Off, End: v.End}
		}
	case sourceColumn:
		v, scale := envelope[sourceMicros], int64(1)
		if v.Type != json.Number {
			v, scale = envelope[sourceMillis], 1000
		}
		if v.Type != json.Number {
			break
		}
		t, fault := convert.Int64(v.Raw(record))
		if fault == convert.OK && convert.InTimestampRange(t) && convert.InTimestampRange(t*scale) {
			return decode.Slot{Kind: decode.Int, Int: t * scale}
		}
	}
	return decode.Slot{}
}

// Settle implements decode.Decoder: only fields of the row are Lazy, and their places are those in the record.
func (d *decoder) Settle(record []byte, i int, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	return d.row.Settle(record, i, s, scratch)
}

// broken is the error of a record that is not JSON.
func (d *decoder) broken(err error, length int) error {
	var e *json.Error
	if !errors.As(err, &e) {
		return err
	}
	d.err = e.Data(length)
	return &d.err
}

// shift moves the place of an error in a row.
func (d *decoder) shift(err error, n int) error {
	var e *decode.Error
	if !errors.As(err, &e) {
		return err
	}
	d.err = *e
	if d.err.Offset >= 0 {
		d.err.Offset += n
	}
	return &d.err
}
