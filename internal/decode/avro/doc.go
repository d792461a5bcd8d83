// Package avro decodes Avro's binary encoding into columns.
//
// Parse reads a schema leniently: topics of real life carry defaults that do not fit their type, decimals whose scale exceeds their precision
// and names with a dash, and their records can be read all the same. The library twmb/avro parses and names; the walk over records is
// ours, compiled from the writer's schema to a list of small instructions:
//
//	fields nobody wants      merged skips (n bytes, n varints, n strings), checked as strictly as wanted ones
//	numbers, text, bytes     final slots: a value or a view
//	decimals, enums, nested  the place in the record; Settle makes the text
//
// A column finds its field in the writer's schema by name, then by the aliases of the reader's field, else it has the reader's default or NULL. The
// value is converted to the column's type whatever Avro's own rules of resolution say, so a nullable field that became mandatory, a renamed
// record or a number that became text are no errors. Where both sides have a logical type the writer's tells what the bytes mean; where one side
// has none, the reader's decides.
//
// Nested values (records, arrays, maps, unions of several types) are JSON text in the writer's shape: numbers with all their digits, values of unions
// bare, bytes as base64, logical types as SQL would show them. A recursive type ends there, too.
//
// Encoder writes records, of JSON text or of rows; RecordJSON shows whole ones.
//
// A record in the single-object encoding (the two bytes C3 01 and the fingerprint of the writer's schema before it) is recognized by itself.
package avro
