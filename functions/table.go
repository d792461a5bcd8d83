package functions

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/planner/agg"
	"millrace/planner/expr"
)

const (
	groupOperators = "Operators"
	groupJSON      = "JSON"
	groupFormats   = "Formats"
	groupTime      = "Time"
	groupBytes     = "Bytes and text"
	groupKafka     = "Kafka"
	groupAggregate = "Aggregates"
)

// byRegistry tells of functions that decode by a schema registry, see RegistryFunctions.
const byRegistry = "With `map('schema.registry.address', url, 'schema.registry.subject', name)` as the schema it reads records that begin with the id of a schema in a registry, into the columns of " +
	"the subject; the map takes the arguments of read_kafka for a registry too, and the user needs KAFKA_READ."

// table is all functions there are. Sentences end with a full stop, examples run in the tests.
var table = []Function{
	{
		Name: "millrace_cast", Group: groupOperators, Internal: true,
		Args: "(x, 'TYPE')", Returns: "TYPE", Doc: "What `x::TYPE` becomes.",
		Example: "millrace_cast('12', 'BIGINT') + 1", Result: "13",
		least: 2, most: 2, build: buildCast(false),
	},
	{
		Name: "millrace_try_cast", Group: groupOperators, Internal: true,
		Args: "(x, 'TYPE')", Returns: "TYPE", Doc: "What `x ?:: TYPE` and `try_cast(x AS TYPE)` become.",
		Example: "millrace_try_cast('twelve', 'BIGINT')", Result: "NULL",
		least: 2, most: 2, build: buildCast(true),
	},
	{
		Name: "millrace_path", Group: groupOperators, Internal: true,
		Args: "(x, 'PATH')", Returns: "STRING, or JSON of JSON", Doc: "What `x:PATH` becomes.",
		Example: "millrace_path('{\"a\":{\"b\":[1,2.50]}}', 'a.b[1]')", Result: "2.50",
		least: 2, most: 2, build: buildPath,
	},
	{
		Name: "get_json_object", Group: groupJSON,
		Args: "(json STRING, path STRING)", Returns: "STRING",
		Doc: "Takes a part out of JSON text; the path is `$` and then `.name`, `['name']`, `[0]` or `[*]`, names match exactly. NULL when there is no such part, when it is null, or when the text " +
			"is not JSON. A path that cannot be read is an error.",
		Example: `get_json_object('{"items":[{"sku":"a"},{"sku":"b"}]}', '$.items[*].sku')`, Result: `["a","b"]`,
		least: 2, most: 2, build: buildGetJSONObject,
	},
	{
		Name: "parse_json", Group: groupJSON,
		Args: "(json STRING)", Returns: "JSON", Doc: "The same as `x::JSON`: text that is not JSON is an error.",
		Example: `parse_json('{"a":1.50}')`, Result: `{"a":1.50}`,
		least: 1, most: 1, build: buildParseJSON(false),
	},
	{
		Name: "try_parse_json", Group: groupJSON,
		Args: "(json STRING)", Returns: "JSON", Doc: "As parse_json, with NULL for text that is not JSON.",
		Example: `try_parse_json('{')`, Result: "NULL",
		least: 1, most: 1, build: buildParseJSON(true),
	},
	{
		Name: "variant_get", Group: groupJSON,
		Args: "(json JSON, path STRING [, type STRING])", Returns: "the type, else JSON",
		Doc:     "Takes a part out of JSON and casts it; path and type are constants, the path begins with `$`. NULL where there is no such part or it is null; a part that cannot be cast is an error.",
		Example: `variant_get('{"a":{"n":[1,2]}}', '$.a.n[1]', 'BIGINT') + 1`, Result: "3",
		least: 2, most: 3, build: buildVariantGet(false),
	},
	{
		Name: "try_variant_get", Group: groupJSON,
		Args: "(json JSON, path STRING [, type STRING])", Returns: "the type, else JSON", Doc: "As variant_get, with NULL for a part that cannot be cast.",
		Example: `try_variant_get('{"a":"x"}', '$.a', 'INT')`, Result: "NULL",
		least: 2, most: 3, build: buildVariantGet(true),
	},
	{
		Name: "from_json", Group: groupJSON,
		Args: "(json STRING, schema STRING or MAP [, options MAP])", Returns: "JSON",
		Doc: "Reads JSON by a schema, columns such as 'id BIGINT, name STRING' or one type such as 'ARRAY<INT>': an object with just these fields, each of its type, null where it has another, and so on inside STRUCT, ARRAY and MAP. " +
			"Text that is not JSON gives nulls, or an error with `map('mode', 'FAILFAST')`. Names match exactly. With `from_json(…) AS v` the fields are `v.name` with their types, and `v.*` all of them, in the same SELECT and in those that read v from a derived table, common table expression or view. Of a stored table they are `v:name::TYPE`. " + byRegistry,
		Example: `from_json('{"id":"7","x":1,"at":"2026-01-02"}', 'id BIGINT, at DATE, name STRING')`, Result: `{"id":7,"at":"2026-01-02","name":null}`,
		least: 2, most: 3, build: buildReader(expr.String, types.JSON, permissive, openFromJSON),
	},
	{
		Name: "to_json", Group: groupJSON,
		Args: "(x [, options MAP])", Returns: "STRING", Doc: "A value as JSON text: numbers and JSON as they are, all else as a string.",
		Example: `to_json('a "b"')`, Result: `"a \"b\""`,
		least: 1, most: 2, build: buildToJSON,
	},
	{
		Name: "schema_of_json", Group: groupJSON,
		Args: "(json STRING)", Returns: "STRING", Doc: "The type of a JSON value, as from_json and `schema` take it.",
		Example: `schema_of_json('{"id":1,"tags":["x"],"price":1.5}')`, Result: "STRUCT<id: BIGINT, tags: ARRAY<STRING>, price: DOUBLE>",
		least: 1, most: 1, build: buildSchemaOfJSON,
	},
	{
		Name: "json_object_keys", Group: groupJSON,
		Args: "(json STRING)", Returns: "JSON", Doc: "The names of the members of an object, in their order; NULL for what is no object.",
		Example: `json_object_keys('{"b":1,"a":{"c":2}}')`, Result: `["b","a"]`,
		least: 1, most: 1, build: strict(expr.Type{Kind: expr.JSON}, []expr.Kind{expr.String}, objectKeys),
	},
	{
		Name: "map", Group: groupJSON,
		Args: "(key, value, …)", Returns: "STRING",
		Doc:     "The text of a JSON object, for options that take one. A NULL key, or the same key twice, is an error.",
		Example: "map('client.id', 'report', 'fetch.min.bytes', 1)", Result: `{"client.id":"report","fetch.min.bytes":1}`,
		least: 0, most: -1, build: buildMap,
	},
	{
		Name: "from_avro", Group: groupFormats,
		Args: "(bytes BINARY, schema STRING or MAP [, options MAP])", Returns: "JSON",
		Doc: "Decodes Avro by a schema, a constant. " + byRegistry + " Bytes that cannot be decoded are an error, or NULL with " +
			"`map('mode', 'PERMISSIVE')`.",
		Example: `from_avro(x'0206416e6e', '{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"}]}')`, Result: `{"id":1,"name":"Ann"}`,
		least: 2, most: 3, build: buildReader(expr.Binary, types.JSON, failFast, openFromAvro),
	},
	{
		Name: "to_avro", Group: groupFormats,
		Args: "(json JSON, schema STRING)", Returns: "BINARY", Doc: "Encodes JSON as Avro by a schema, a constant: values of unions stand bare, members that are missing get their defaults.",
		Example: `hex(to_avro('{"id":1,"name":"Ann"}', '{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"}]}'))`, Result: "0206416E6E",
		least: 2, most: 2, build: buildWriter(openToAvro),
	},
	{
		Name: "from_protobuf", Group: groupFormats,
		Args: "(bytes BINARY, message STRING, schema STRING, BINARY or MAP [, options STRING])", Returns: "JSON",
		Doc: "Reads a Protobuf message. schema is the text of a .proto file, or as BINARY what protoc --include_imports --descriptor_set_out writes; message is a name in it. " +
			"Bytes that are no such message are an error, or NULL with the options map('mode', 'PERMISSIVE'). " + byRegistry + " With message '' it is the first one of the subject's schema.",
		Example: `from_protobuf(x'080112026869', 'M', 'syntax = "proto3"; message M { int32 id = 1; string name = 2; }')`, Result: `{"id":1,"name":"hi"}`,
		least: 3, most: 4, build: buildProtobuf(expr.Binary, expr.JSON, fromProtobuf),
	},
	{
		Name: "to_protobuf", Group: groupFormats,
		Args: "(value JSON, message STRING, schema STRING or BINARY [, options STRING])", Returns: "BINARY",
		Doc: "The Protobuf message that a JSON object describes: the inverse of from_protobuf, with the same schema and options. 64-bit integers may be strings, bytes are base64, times are text. " +
			"A field that the message does not have, or a value that does not fit, is an error that names it.",
		Example: `hex(to_protobuf('{"id": 1, "name": "hi"}', 'M', 'syntax = "proto3"; message M { int32 id = 1; string name = 2; }'))`, Result: "080112026869",
		least: 3, most: 4, build: buildProtobuf(expr.JSON, expr.Binary, toProtobuf),
	},
	{
		Name: "to_timestamp", Group: groupTime,
		Args: "(x [, format STRING])", Returns: "TIMESTAMP",
		Doc: "Without a format the same as `x::TIMESTAMP`: text is read as a date with an optional time and zone (UTC when there is none), a number as seconds since 1970. " +
			"A format has the letters above. A value that does not fit, or a format that cannot be read, is an error.",
		Example: "to_timestamp('31.12.2025 23:59', 'dd.MM.yyyy HH:mm')", Result: "2025-12-31 23:59:00",
		least: 1, most: 2, build: buildToTimestamp(false),
	},
	{
		Name: "try_to_timestamp", Group: groupTime,
		Args: "(x [, format STRING])", Returns: "TIMESTAMP",
		Doc:     "As to_timestamp, with NULL for a value that does not fit. A format that cannot be read is still an error.",
		Example: "try_to_timestamp('yesterday')", Result: "NULL",
		least: 1, most: 2, build: buildToTimestamp(true),
	},
	{
		Name: "timestamp_seconds", Group: groupTime,
		Args: "(seconds DECIMAL)", Returns: "TIMESTAMP", Doc: "The time so many seconds after 1970-01-01 00:00:00 UTC, with up to six digits behind the point.",
		Example: "timestamp_seconds(1700000000.25)", Result: "2023-11-14 22:13:20.25",
		least: 1, most: 1, build: buildTimestampSeconds,
	},
	{
		Name: "timestamp_millis", Group: groupTime,
		Args: "(milliseconds BIGINT)", Returns: "TIMESTAMP", Doc: "The time so many milliseconds after 1970-01-01 00:00:00 UTC.",
		Example: "timestamp_millis(1700000000123)", Result: "2023-11-14 22:13:20.123",
		least: 1, most: 1, build: strict(timestampType, []expr.Kind{expr.BigInt}, timestampOf(1000)),
	},
	{
		Name: "timestamp_micros", Group: groupTime,
		Args: "(microseconds BIGINT)", Returns: "TIMESTAMP", Doc: "The time so many microseconds after 1970-01-01 00:00:00 UTC.",
		Example: "timestamp_micros(1700000000123456)", Result: "2023-11-14 22:13:20.123456",
		least: 1, most: 1, build: strict(timestampType, []expr.Kind{expr.BigInt}, timestampOf(1)),
	},
	{
		Name: "unix_millis", Group: groupTime,
		Args: "(t TIMESTAMP)", Returns: "BIGINT", Doc: "Milliseconds since 1970-01-01 00:00:00 UTC, rounded down.",
		Example: "unix_millis(timestamp '2023-11-14 22:13:20.123456')", Result: "1700000000123",
		least: 1, most: 1, build: strict(expr.Type{Kind: expr.BigInt}, []expr.Kind{expr.Timestamp}, unixMillis),
	},
	{
		Name: "date_trunc", Group: groupTime,
		Args: "(unit STRING, t TIMESTAMP)", Returns: "TIMESTAMP",
		Doc:     "The beginning of the unit that t lies in: YEAR, QUARTER, MONTH, WEEK (from Monday), DAY, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, in any case. NULL for another unit.",
		Example: "date_trunc('WEEK', '2026-03-05 10:20:30')", Result: "2026-03-02 00:00:00",
		least: 2, most: 2, build: strict(timestampType, []expr.Kind{expr.String, expr.Timestamp}, dateTrunc),
	},
	{
		Name: "window_start", Group: groupTime,
		Args: "(t TIMESTAMP, width STRING [, slide STRING, start STRING])", Returns: "TIMESTAMP",
		Doc:     "The beginning of the window of a width, such as '5 minutes', that t lies in. Windows follow each other from 1970-01-01 on, moved by start. With a slide less than the width windows overlap, and a SELECT gives a row for each that t lies in: `GROUP BY window_start(t, '10 minutes', '5 minutes')`. `window(…)` gives both ends as a JSON object. A SELECT that groups by one `window(…)` may call its ends `window.start` and `window.end`.",
		Example: "window_start('2026-03-05 10:23:30', '15 minutes')", Result: "2026-03-05 10:15:00",
		least: 2, most: 5, build: buildWindow(timestampType, windowStart),
	},
	{
		Name: "window_end", Group: groupTime,
		Args: "(t TIMESTAMP, width STRING [, slide STRING, start STRING])", Returns: "TIMESTAMP", Doc: "The end of that window, which does not belong to it any more.",
		Example: "window_end('2026-03-05 10:23:30', '15 minutes')", Result: "2026-03-05 10:30:00",
		least: 2, most: 5, build: buildWindow(timestampType, windowEnd),
	},
	{
		Name: "millrace_window", Group: groupTime, Internal: true,
		Args: "(t TIMESTAMP, width STRING [, slide STRING, start STRING])", Returns: "JSON", Doc: "What `window(t, width)` becomes: the window as an object with start and end.",
		Example: "millrace_window('2026-03-05 10:23:30', '1 hour')", Result: `{"start":"2026-03-05 10:00:00","end":"2026-03-05 11:00:00"}`,
		least: 2, most: 5, build: buildWindow(expr.Type{Kind: expr.JSON}, windowOf),
	},
	{
		Name: "decode", Group: groupBytes,
		Args: "(bytes BINARY, charset STRING)", Returns: "STRING",
		Doc:     "Reads bytes as text in US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16 (big-endian unless a byte order mark says otherwise). Bytes that are no text in it are an error; `x::STRING` replaces them instead.",
		Example: "decode(x'e4', 'ISO-8859-1')", Result: "ä",
		least: 2, most: 2, build: strict(expr.Type{Kind: expr.String}, []expr.Kind{expr.Binary, expr.String}, decodeText),
	},
	{
		Name: "encode", Group: groupBytes,
		Args: "(text STRING, charset STRING)", Returns: "BINARY",
		Doc:     "The bytes of a text in a character set of decode (UTF-16 gets a big-endian byte order mark). A character that the set does not have is an error.",
		Example: "hex(encode('ä', 'UTF-16LE'))", Result: "E400",
		least: 2, most: 2, build: strict(expr.Type{Kind: expr.Binary}, []expr.Kind{expr.String, expr.String}, encodeText),
	},
	{
		Name: "to_binary", Group: groupBytes,
		Args: "(text STRING [, format STRING])", Returns: "BINARY", Doc: "The bytes that text stands for in a format: 'hex' (unless given), 'base64' or 'utf-8'. Text that is none is an error.",
		Example: "to_binary('4bf9', 'hex') = x'4bf9'", Result: "1",
		least: 1, most: 2, build: buildToBinary(false),
	},
	{
		Name: "try_to_binary", Group: groupBytes,
		Args: "(text STRING [, format STRING])", Returns: "BINARY", Doc: "As to_binary, with NULL for text that is none.",
		Example: "try_to_binary('xyz', 'base64')", Result: "NULL",
		least: 1, most: 2, build: buildToBinary(true),
	},
	{
		Name: "base64", Group: groupBytes,
		Args: "(bytes BINARY)", Returns: "STRING", Doc: "Bytes as base64, in one line.",
		Example: "base64('Millrace')", Result: "TWlsbHJhY2U=",
		least: 1, most: 1, build: strict(expr.Type{Kind: expr.String}, []expr.Kind{expr.Binary}, toBase64),
	},
	{
		Name: "unbase64", Group: groupBytes,
		Args: "(text STRING)", Returns: "BINARY", Doc: "The bytes that base64 stands for; other text is an error.",
		Example: "unbase64('TWlsbHJhY2U=')", Result: "Millrace",
		least: 1, most: 1, build: strict(expr.Type{Kind: expr.Binary}, []expr.Kind{expr.String}, fromBase64),
	},
	{
		Name: "header", Group: groupKafka,
		Args: "(headers JSON, key STRING)", Returns: "BINARY",
		Doc:     "The bytes of the first Kafka header with that key; NULL when there is none or it is null.",
		Example: `header('[{"key":"trace","value":"4bf9"}]', 'trace')`, Result: "4bf9",
		least: 2, most: 2, build: strict(expr.Type{Kind: expr.Binary}, []expr.Kind{expr.JSON, expr.String}, header),
	},
	{
		Name: "secret", Group: groupKafka,
		Args: "(scope STRING, key STRING)", Returns: "STRING",
		Doc: "A secret of the server: its variable MILLRACE_SECRET_SCOPE_KEY, else the file scope/key below --secrets-dir. Its value reaches only arguments of table functions that are secret, " +
			"such as `kafka.sasl.password`, and options of CREATE CONNECTION; everywhere else it is masked. It needs GRANT USAGE ON SECRET scope.",
		Example: "secret('kafka', 'password')", Result: "[redacted]",
		least: 2, most: 2, build: buildSecret,
	},
	{
		Name: "approx_count_distinct", Group: groupAggregate,
		Args: "(x [, error DOUBLE])", Returns: "BIGINT",
		Doc: "About how many different values there are, in little memory (HyperLogLog): exact up to 256 values, beyond that with a standard error of 1.6 %, or at most of the second argument, a constant of 0.0041 or more. " +
			"COUNT(DISTINCT x) is exact at any number. Texts are told apart byte by byte.",
		Example: "approx_count_distinct(x)", From: "(SELECT 'a' AS x UNION ALL SELECT 'b' UNION ALL SELECT 'a') AS t", Result: "2",
		least: 1, most: 2, build: aggregate(agg.NewApproxCountDistinct),
	},
	{
		Name: "collect_list", Group: groupAggregate,
		Args: "(x)", Returns: "JSON",
		Doc: "The values as a JSON array, without the NULLs; empty when there are none. Values of a topic come in any order. Numbers keep their digits, text, BINARY and times are strings. " +
			"With DISTINCT in front of x every value comes once.",
		Example: "collect_list(x)", From: "(SELECT 1.50 AS x UNION ALL SELECT NULL UNION ALL SELECT 2.25) AS t", Result: "[1.50,2.25]",
		least: 1, most: 1, build: aggregate(agg.NewCollectList),
	},
	{
		Name: "count_if", Group: groupAggregate,
		Args: "(condition BOOLEAN)", Returns: "BIGINT", Doc: "The number of rows where the condition is true. FALSE and NULL do not count.",
		Example: "count_if(x > 1)", From: "(SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT NULL) AS t", Result: "1",
		least: 1, most: 1, build: aggregate(agg.NewCountIf),
	},
	{
		Name: "max_by", Group: groupAggregate,
		Args: "(x, y)", Returns: "the type of x",
		Doc:     "x in the row where y is greatest. Rows where y is NULL are left out; x may be NULL. Where several rows have the greatest y it is the greatest x of these.",
		Example: "max_by(name, price)", From: "(SELECT 'tea' AS name, 3 AS price UNION ALL SELECT 'coffee', 4) AS t", Result: "coffee",
		least: 2, most: 2, build: aggregate(agg.NewMaxBy),
	},
	{
		Name: "min_by", Group: groupAggregate,
		Args: "(x, y)", Returns: "the type of x", Doc: "x in the row where y is least; else as max_by.",
		Example: "min_by(name, price)", From: "(SELECT 'tea' AS name, 3 AS price UNION ALL SELECT 'coffee', 4) AS t", Result: "tea",
		least: 2, most: 2, build: aggregate(agg.NewMinBy),
	},
	{
		Name: "percentile_approx", Group: groupAggregate,
		Args: "(x, fraction DOUBLE [, accuracy INT])", Returns: "the type of x, DOUBLE for DECIMAL and text",
		Doc: "The least of the values that at least the fraction of all values do not exceed: 0.5 gives the median. Exact while there are fewer values than the accuracy, 10000 unless told (at most 1000000); " +
			"of more, the rank of the result among n values is off by at most n/accuracy. x is a number or a time; fraction and accuracy are constants. NULLs are left out.",
		Example: "percentile_approx(x, 0.5)", From: "(SELECT 10 AS x UNION ALL SELECT 30 UNION ALL SELECT 1000) AS t", Result: "30",
		least: 2, most: 3, build: aggregate(agg.NewPercentileApprox),
	},
}

// aggregate builds an aggregate function.
func aggregate(build func(*sql.Context, []sql.Expression) (sql.Expression, error)) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, _ *Function, args []sql.Expression) (sql.Expression, error) {
		return build(ctx, args)
	}
}

var timestampType = expr.Type{Kind: expr.Timestamp}
