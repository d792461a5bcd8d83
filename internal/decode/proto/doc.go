// Package proto decodes Protobuf records into typed columns, straight from the wire.
//
// A schema is proto text, as a schema registry keeps it (ParseText), or the descriptor set that protoc writes (ParseDescriptorSet). Both give Files,
// and a Message of these is a decode.Schema: one column per field.
//
//	files, err := proto.ParseText(text, references)
//	message, err := files.Message("shop.PageView")
//	plan, err := message.Compile(wanted)
//
// # What a record's bytes mean
//
// The fields of a message come in any order, more than once, and in pieces: of a scalar the last one counts, pieces of a message are merged, of the
// members of a oneof the last one that came is the only one. A field that the schema does not have, or with a wire type that the schema does not
// give it, is none of the schema's: it is skipped. What the schema does know is checked whether wanted or not, in nested messages too, so that a
// bad record is bad for every query. The reference in all this is google.golang.org/protobuf, the oracle of the tests.
//
// # Columns
//
//	bool                            BOOLEAN
//	int32, sint32, sfixed32         INT
//	int64, sint64, sfixed64         BIGINT
//	uint32, fixed32                 INT UNSIGNED
//	uint64, fixed64                 BIGINT UNSIGNED
//	float, double                   FLOAT, DOUBLE; NaN and the infinities, which SQL lacks, are a field error
//	string, bytes                   text, bytes
//	enum                            text: the name, or the number where the schema has no name for it
//	google.protobuf.Timestamp       DATETIME(6) UTC, nanoseconds cut off
//	google.protobuf.Duration        BIGINT, microseconds
//	google.protobuf.Int32Value …    the scalar, NULL when absent
//	google.type.Date, TimeOfDay     DATE, TIME(6)
//	confluent.type.Decimal          DECIMAL by the field's parameters precision and scale, without these text
//	repeated, map, message, group   JSON
//
// A field that is not in the record is NULL when the schema can tell it from one that is (optional, a message, a member of a oneof); otherwise it is its
// default: zero, "", an empty list, the first name of an enum, or what the schema says. The same holds inside of JSON, where such a NULL is left out.
//
// In JSON text names are those of the schema, 64-bit integers are numbers with all digits, bytes are base64, and the well-known types are as
// Protobuf's own JSON mapping has them. A google.protobuf.Any whose type the schema knows is shown with its fields, another one with its bytes.
//
// # Whole records
//
// RecordJSON shows a whole record as JSON, Encoder writes records of JSON or of rows of columns: what the SQL functions from_protobuf and to_protobuf and
// sinks need.
package proto
