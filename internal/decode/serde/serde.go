// Package serde decodes what Kafka's own serializers write: one number, a UUID or a text, mostly as a key.
//
//	short    2 bytes     SMALLINT
//	int      4 bytes     INT
//	long     8 bytes     BIGINT
//	float    4 bytes     FLOAT; NaN and the infinities, which SQL lacks, are a field error
//	double   8 bytes     DOUBLE, likewise
//	uuid     36 letters  CHAR(36)
//	string   UTF-8       text
//
// Numbers are big-endian. A record of another length is malformed.
package serde

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/sqlerr"
)

// Schema is the one column of such records. It implements decode.Schema and decode.Plan.
type Schema struct {
	kind   kind
	fields []column.Field
}

var _ decode.Schema = (*Schema)(nil)

type kind struct {
	name string
	// size is the length of a record, -1 for any.
	size  int
	typ   column.Kind
	width uint32
	fixed bool
}

var kinds = []kind{
	{"short", 2, column.Int32, 16, false},
	{"int", 4, column.Int32, 0, false},
	{"long", 8, column.Int64, 0, false},
	{"float", 4, column.Float64, 32, false},
	{"double", 8, column.Float64, 0, false},
	{"uuid", 36, column.Text, 36, true},
	{"string", -1, column.Text, 0, false},
}

// Names are the formats that New takes.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// New is the schema of a format, in any case of letters, with the column's name. An error is an sqlerr error.
func New(format, name string) (*Schema, error) {
	for _, k := range kinds {
		if strings.EqualFold(k.name, format) {
			return &Schema{kind: k, fields: []column.Field{{Name: name, Type: column.Type{Kind: k.typ}, Width: k.width, Fixed: k.fixed, Nullable: true}}}, nil
		}
	}
	return nil, sqlerr.New(sqlerr.OptionInvalid, "%q is none of Kafka's own formats: %s", format, strings.Join(Names(), ", "))
}

// Fields implements decode.Schema.
func (s *Schema) Fields() []column.Field { return s.fields }

// Compile implements decode.Schema.
func (s *Schema) Compile(wanted []int) (decode.Plan, error) { return s, nil }

// NewDecoder makes a decoder; it waits for nothing.
func (s *Schema) NewDecoder(context.Context) decode.Decoder { return &decoder{Schema: s} }

type decoder struct {
	*Schema
	err decode.Error
}

func (d *decoder) fail(reason decode.Reason, detail string) error {
	d.err = decode.Error{Reason: reason, Offset: -1, Detail: detail}
	return &d.err
}

// Locate implements decode.Decoder. slots is empty when only the check is wanted.
func (d *decoder) Locate(record []byte, slots []decode.Slot) error {
	if size := d.kind.size; size >= 0 && len(record) != size {
		reason := decode.Truncated
		if len(record) > size {
			reason = decode.TrailingBytes
		}
		return d.fail(reason, strconv.Itoa(len(record))+" bytes, "+d.kind.name+" has "+strconv.Itoa(size))
	}
	s := decode.Slot{Kind: decode.Int}
	switch d.kind.name {
	case "short":
		s.Int = int64(int16(binary.BigEndian.Uint16(record)))
	case "int":
		s.Int = int64(int32(binary.BigEndian.Uint32(record)))
	case "long":
		s.Int = int64(binary.BigEndian.Uint64(record))
	case "float":
		s = float(float64(math.Float32frombits(binary.BigEndian.Uint32(record))))
	case "double":
		s = float(math.Float64frombits(binary.BigEndian.Uint64(record)))
	case "uuid":
		if !isUUID(record) {
			return d.fail(decode.Malformed, "no UUID")
		}
		s = decode.Slot{Kind: decode.View, End: uint32(len(record))}
	default:
		if !utf8.Valid(record) {
			return d.fail(decode.InvalidUTF8, "")
		}
		s = decode.Slot{Kind: decode.View, End: uint32(len(record))}
	}
	if len(slots) > 0 {
		slots[0] = s
	}
	return nil
}

// float is a slot with a number, Lazy when Settle has to refuse it.
func float(x float64) decode.Slot {
	s := decode.Slot{Kind: decode.Float, Int: int64(math.Float64bits(x))}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		s.Kind = decode.Lazy
	}
	return s
}

// Settle implements decode.Decoder: only what is not finite is Lazy.
func (d *decoder) Settle(_ []byte, _ int, _ decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	d.err = decode.Error{Reason: decode.OutOfRange, Field: d.fields[0].Name, Offset: 0, Detail: "a number that is not finite"}
	return decode.Slot{}, scratch, &d.err
}

// isUUID reports whether b, of 36 bytes, is a UUID as text.
func isUUID(b []byte) bool {
	for i, c := range b {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f'
		if dash && c != '-' || !dash && !hex {
			return false
		}
	}
	return true
}
