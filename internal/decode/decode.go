// Package decode is the contract between the formats of records (packages below it) and what computes on their fields.
//
// A format turns a schema into a Schema, the list of columns that its records have. A query wants some of them: Compile plans once how to find
// these, each lane of a scan makes a Decoder of the plan, and the Decoder walks each record once:
//
//	plan, err := schema.Compile(wanted)        // immutable, shared by all lanes
//	d := plan.NewDecoder(ctx)                  // scratch, one per goroutine
//	for _, record := range records {
//		err := d.Locate(record, slots)     // slots[i] belongs to wanted[i]
//	}
//
// # Locate, then settle
//
// Finding a field is cheap and making a value of its column's type of it may not be: digits to a DECIMAL, a nested record to JSON text. So
// Locate only notes in a Slot what it found, as a final value where that costs nothing (an Avro long) and as a place to come back to where it does
// (Lazy). Settle makes the value. A filter settles its own columns first and the others only in the rows that pass.
//
// # Bad data
//
// There are two kinds, kept apart. A record error (*Error from Locate) is a record that cannot be read at all: every field is NULL. A field error
// (*Error from Settle) is one field without a value of its type: that field is NULL. Any other error (a registry that does not answer) says
// nothing about the data and ends the scan.
//
// Locate checks the whole record, wanted or not, so that whether a record is bad never depends on what was asked of it. Every length that a record
// states is checked against the bytes that are left before it is used, nesting is bounded by MaxDepth, nothing is allocated by a
// count from a record, and a bad record leaves no trace in the decoder.
package decode

import (
	"context"
	"fmt"

	"millrace/internal/column"
)

// MaxDepth is the number of containers that may lie in each other, in every format.
const MaxDepth = 1000

// Schema is the columns of a format's records. It is immutable.
type Schema interface {
	// Fields are the columns, in order. The caller must not change them.
	Fields() []column.Field
	// Compile plans the decoding of some fields: ascending numbers into Fields without duplicates. None is allowed: records are then only
	// checked.
	Compile(wanted []int) (Plan, error)
}

// Plan decodes the wanted fields of records of one schema. It is immutable and shared by lanes.
type Plan interface {
	// NewDecoder makes the decoder of one goroutine. ctx ends what the decoder may have to wait for (a schema that a record names).
	NewDecoder(ctx context.Context) Decoder
}

// Decoder decodes records one at a time. It belongs to one goroutine.
type Decoder interface {
	// Locate checks record and fills slots, one per wanted field; it overwrites all of them. On an error the slots are unspecified. record must not
	// be longer than 4 GiB less one byte. Neither record nor slots are kept. An *Error is valid until the next call.
	Locate(record []byte, slots []Slot) error
	// Settle makes the value of a Lazy slot that Locate filled for wanted field number i of the same record; other calls of Locate may lie
	// between. The result is Null, Int, Float, View or Made; bytes of a Made value are appended to scratch, which is returned grown, and
	// Beg and End count from its beginning. A field error is an *Error, valid until the next call; the field is then NULL and scratch may have grown,
	// unless the error is Partial: then the result holds as well.
	Settle(record []byte, i int, s Slot, scratch []byte) (Slot, []byte, error)
}

// Headed is a Decoder of records whose schema may be named beside them, in a header, instead of at their beginning.
type Headed interface {
	Decoder
	// SetHeader says what the header of a record holds that the next calls of Locate and Settle are for, until it is called again; nil for a record
	// without it. It is not kept beyond the next call.
	SetHeader(id []byte)
}

// Kind says what a Slot holds.
type Kind uint8

const (
	// Null: the record has no such field, or a null there.
	Null Kind = iota
	// Int: Slot.Int is the value, as column.Vector.Int holds values of the field's type.
	Int
	// Float: Slot.Int has the bits of the float64 (math.Float64bits).
	Float
	// View: the value is record[Beg:End] as it stands, valid as column.Vector.Data of the field's type (UTF-8 checked).
	View
	// Lazy: there is something, and Settle makes the value of it. What the other members mean is the decoder's affair.
	Lazy
	// Made: the value is scratch[Beg:End]; only Settle returns it.
	Made
)

// Slot is what Locate found of one field in one record.
type Slot struct {
	Int      int64
	Beg, End uint32
	// Aux is the decoder's own.
	Aux  uint32
	Kind Kind
}

// Reason is the class of a fault in the data. Its text is what users see and group by.
type Reason uint8

const (
	// Malformed: the record does not follow the grammar of its format.
	Malformed Reason = iota
	// Truncated: the record ends too early.
	Truncated
	// TrailingBytes: something follows the record.
	TrailingBytes
	// InvalidUTF8: text that is not UTF-8.
	InvalidUTF8
	// TooDeep: containers lie in each other deeper than MaxDepth.
	TooDeep
	// NoSchemaID: the record does not begin as records written with a schema registry do.
	NoSchemaID
	// UnknownSchemaID: the registry has no schema with the record's id, or it is of another type.
	UnknownSchemaID
	// WrongType: a field's value is not of the column's type.
	WrongType
	// OutOfRange: a field's value does not fit the column's type.
	OutOfRange
	// Empty: the record has no bytes, in a format that has no empty records.
	Empty
)

var reasons = [...]string{"malformed", "truncated", "trailing bytes", "invalid UTF-8", "nested too deep", "no schema id", "unknown schema id",
	"wrong type", "out of range", "empty"}

func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// Error is bad data: a record error when Field is empty, else a field error.
type Error struct {
	Reason Reason
	// Field is the column of a field error.
	Field string
	// Offset is the byte of the record where it was noticed, -1 when there is no such place.
	Offset int
	// Detail says more, "" when there is no more to say: what was found and what was expected, never more than a few words of the data.
	Detail string
	// Partial, of a field error, says that the field has a value all the same: only a part of it is wrong, and null in it.
	Partial bool
}

func (e *Error) Error() string {
	s := e.Reason.String()
	if e.Field != "" {
		s = "'" + e.Field + "': " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Offset >= 0 {
		s = fmt.Sprintf("%s at byte %d", s, e.Offset)
	}
	return s
}

// Mode says what becomes of bad data.
type Mode uint8

const (
	// Permissive keeps the row: NULL in place of what is bad, and the reason in _error.
	Permissive Mode = iota
	// DropMalformed leaves the row out and counts it.
	DropMalformed
	// FailFast ends the query with an error that names topic, partition, offset and reason.
	FailFast
)

func (m Mode) String() string { return [...]string{"PERMISSIVE", "DROPMALFORMED", "FAILFAST"}[m] }
