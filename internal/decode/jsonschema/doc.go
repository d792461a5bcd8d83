// Package jsonschema reads the columns of JSON records off a JSON Schema, drafts 4 to 2020-12.
//
// A JSON Schema describes which documents are valid; it is not a list of columns. This package looks for what can be one: the properties of the record's
// object, each with the narrowest type that holds every value that the schema allows. It does not validate records.
//
//	boolean                           BOOLEAN
//	integer                           BIGINT; BIGINT UNSIGNED or DECIMAL(n,0) where minimum and maximum need it
//	number                            DOUBLE; DECIMAL(38,s) where multipleOf is 10^-s
//	string                            text; VARCHAR(n) where maxLength is at most 16383
//	string, format                    date-time TIMESTAMP(6), date DATE, time TIME(6), uuid CHAR(36); others text
//	string, contentEncoding base64    bytes
//	enum, const                       text, BIGINT, BOOLEAN
//	array, object, no type            JSON
//	T or null                         as T
//	several types, oneOf, anyOf       the widest number when all are numbers, the type when all are of one, else JSON
//	allOf                             the properties of all
//	$ref                              what it refers to: $defs, definitions, any place in the document, $id and $anchor, or a reference by name; JSON where
//	                                  a type holds itself
//
// What Kafka Connect and Debezium add is read too: connect.type, connect.index, and the titles of their logical types (Decimal, Date, Time, Timestamp and
// kin), whose numbers count other units.
package jsonschema
