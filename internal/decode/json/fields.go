package json

import (
	"context"
	"errors"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
)

// Field is a column made of a value in JSON records.
//
// A string is converted to the column's type as a cast would; a number or boolean in a Text column is its text, an object or array there its JSON. Numbers in
// a Timestamp are seconds since 1970, unless Unit says otherwise. Everything else of another type is a field error.
type Field struct {
	column.Field
	// Path leads to the value; nil is the member of the record with the column's name.
	Path Path
	// WallClock drops the zone of a time in place of converting it to UTC.
	WallClock bool
	// Unit is what numbers count in a Date, Time or Timestamp column.
	Unit Unit
	// Unscaled says that a string in a Decimal column is base64 of the number without its point, in two's complement with the highest byte first, as Kafka
	// Connect writes decimals.
	Unscaled bool
	// Point is the number of digits behind the point of an Unscaled number, which the column may round to fewer.
	Point uint8
	// KeepNull gives the JSON null of a record as JSON null, not as NULL; it is for JSON columns.
	KeepNull bool
	// Shape, of a JSON column, is the type of the value's parts; nil for any value, which is shown as it stands.
	Shape *Shape
}

// Schema is the columns of JSON records.
type Schema struct {
	fields []Field
	plain  []column.Field
	// object says that a record must be an object.
	object bool
}

var _ decode.Schema = (*Schema)(nil)

// NewSchema is the schema of records that are objects with some fields, or of values of any type when the only field is the whole record (Path{}).
func NewSchema(fields []Field) *Schema {
	whole := len(fields) == 1 && fields[0].Path != nil && len(fields[0].Path) == 0
	return newSchema(fields, !whole)
}

// Whole is the schema of records that are any JSON value, which is the one column.
func Whole(name string) *Schema {
	return newSchema([]Field{{Field: column.Field{Name: name, Type: column.Type{Kind: column.JSON}, Nullable: true}, Path: Path{}, KeepNull: true}}, false)
}

func newSchema(fields []Field, object bool) *Schema {
	s := &Schema{fields: fields, plain: make([]column.Field, len(fields)), object: object}
	for i, f := range fields {
		s.plain[i] = f.Field
	}
	return s
}

// Fields implements decode.Schema.
func (s *Schema) Fields() []column.Field { return s.plain }

// Compile implements decode.Schema.
func (s *Schema) Compile(wanted []int) (decode.Plan, error) {
	fields := make([]Field, len(wanted))
	for at, i := range wanted {
		fields[at] = s.fields[i]
	}
	return newPlan(fields, s.object), nil
}

func newPlan(fields []Field, object bool) *fieldPlan {
	p := &fieldPlan{fields: fields, object: object}
	paths := []Path{{}} // the first is the record itself
	for _, f := range fields {
		if f.Path == nil {
			f.Path = Path{{Kind: Name, Name: f.Name}}
		}
		paths = append(paths, f.Path)
	}
	p.paths = Compile(paths)
	return p
}

type fieldPlan struct {
	fields []Field
	paths  *Plan
	object bool
}

func (p *fieldPlan) NewDecoder(context.Context) decode.Decoder { return p.newDecoder() }

func (p *fieldPlan) newDecoder() *fieldDecoder {
	return &fieldDecoder{fieldPlan: p, x: p.paths.NewExtractor(), values: make([]Value, len(p.fields)+1), shapers: newShapers(p.fields)}
}

// fieldDecoder is the decode.Decoder. A Lazy slot has the place of the value, and its type and flags in Aux.
type fieldDecoder struct {
	*fieldPlan
	x *Extractor
	// values has the record itself, and then the fields.
	values []Value
	// shapers are those of the fields that have a shape, nil when none has.
	shapers []*shaper
	text    []byte
	err     decode.Error
}

// Locate implements decode.Decoder.
func (d *fieldDecoder) Locate(record []byte, slots []decode.Slot) error {
	if len(record) == 0 {
		d.err = decode.Error{Reason: decode.Empty, Offset: -1}
		return &d.err
	}
	if err := d.x.Extract(record, d.values); err != nil {
		return d.notJSON(err, len(record))
	}
	if root := &d.values[0]; d.object && root.Type != Object {
		d.err = decode.Error{Reason: decode.WrongType, Offset: int(root.Off), Detail: "an object is expected, found " + article[root.Type]}
		return &d.err
	}
	values := d.values[1:]
	for i := range d.fields {
		d.fields[i].locate(record, &values[i], &slots[i])
	}
	return nil
}

func (d *fieldDecoder) notJSON(err error, length int) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	d.err = e.Data(length)
	return &d.err
}

// Data is e as the error of a record of some length.
func (e *Error) Data(length int) decode.Error {
	data := decode.Error{Reason: decode.Malformed, Offset: e.Offset}
	switch {
	case e.Reason == InvalidUTF8:
		data.Reason = decode.InvalidUTF8
	case e.Reason == TooDeep:
		data.Reason = decode.TooDeep
	case e.Reason == TooLong:
		data = decode.Error{Reason: decode.OutOfRange, Offset: -1, Detail: "longer than 4 GiB"}
	case e.Offset >= length:
		data.Reason = decode.Truncated
	}
	return data
}

// locate fills s with what Locate says of a value: final where it takes little work, Lazy elsewhere. Slots are written member by member: a struct of small
// members that is copied at once waits for its own stores.
func (f *Field) locate(record []byte, v *Value, s *decode.Slot) {
	switch v.Type {
	case Missing:
		*s = decode.Slot{}
		return
	case Null:
		if *s = (decode.Slot{}); f.KeepNull {
			s.Kind, s.Beg, s.End = decode.View, v.Off, v.End
		}
		return
	}
	switch f.Type.Kind {
	case column.Bool:
		if v.Type == True || v.Type == False {
			s.Kind, s.Int = decode.Int, int64(v.Type-False)
			return
		}
	case column.Int32, column.Int64:
		if v.Type == Number && v.Flags&Fractional == 0 {
			if n, fault := convert.Int64(record[v.Off:v.End]); fault == convert.OK && f.holds(n) {
				s.Kind, s.Int = decode.Int, n
				return
			}
		}
	case column.Text:
		switch {
		case f.Width > 0 && v.End-v.Off-2 > f.Width: // a text of no more bytes than the column has characters fits
		case v.Type != String:
			s.Kind, s.Beg, s.End = decode.View, v.Off, v.End
			return
		case v.Flags&Escaped == 0:
			s.Kind, s.Beg, s.End = decode.View, v.Off+1, v.End-1
			return
		}
	case column.JSON:
		if f.Shape == nil {
			s.Kind, s.Beg, s.End = decode.View, v.Off, v.End
			return
		}
	}
	s.Kind, s.Beg, s.End, s.Aux = decode.Lazy, v.Off, v.End, uint32(v.Type)|uint32(v.Flags)<<8
}

// article names a JSON type in a sentence.
var article = [...]string{Missing: "nothing", Null: "null", False: "a boolean", True: "a boolean", Number: "a number", String: "a string", Object: "an object", Array: "an array"}
