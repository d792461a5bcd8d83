package readkafka

import (
	"slices"

	"millrace/internal/kafka"
	"millrace/internal/option"
)

//go:generate go test -tags gms_pure_go . -run TestOptionsDocIsCurrent -rewrite

// Reasons that several arguments share.
const (
	noGroup      = "a read joins no consumer group and commits nothing"
	onlyStream   = "only a STREAM read has triggers"
	noPolling    = "nothing is polled: a bounded read ends at the offsets fixed at its start"
	retriesOwn   = "offset look-ups are retried within the connect time-out"
	endingStream = "ending offset not valid in streaming queries"
)

var formats = []string{"raw", "string", "json", "avro", "proto", "csv", "debezium", "short", "int", "long", "float", "double", "uuid"}

// Arguments is the table of everything read_kafka takes. Names follow Databricks; the aliases are those of Spark, Beam and Managed I/O for Kafka.
var Arguments = option.New("read_kafka", "argument", "", " => ", slices.Concat(
	ConnectionArguments(), topicArguments(), boundArguments(), readingArguments(), formatArguments(), RegistryArguments(), subjectArguments())...)

func topicArguments() []option.Option {
	return []option.Option{
		{Name: "subscribe", Aliases: []string{"topic", "topics"}, Type: option.List,
			Doc: "The topics to read; exactly one of `subscribe`, `subscribePattern` and `assign` is given.", Example: "'orders,payments'"},
		{Name: "subscribePattern", Aliases: []string{"topicPattern"}, Type: option.String,
			Doc: "A regular expression (RE2) that the whole name of a topic must match; topics whose names begin with __ are left out.", Example: "'orders-.*'"},
		{Name: "assign", Type: option.JSON,
			Doc: "The partitions to read, by topic.", Example: `'{"orders":[0,1],"payments":[2]}'`},
		{Name: "missingTopic", Type: option.Enum, Words: []string{"error", "wait", "skip"}, Default: "error",
			Doc: "What to do when a named topic or partition does not exist: fail, wait for it (STREAM only), or leave it out with a warning.", Example: "'skip'"},
		{Name: "partitionDiscoveryInterval", Aliases: []string{"dynamicReadPollIntervalSeconds"}, Type: option.Scalar, DefaultNote: "`5s`",
			Batch: option.Ignored, Reason: "a read with an end fixes its partitions at its start",
			Doc: "How often a STREAM looks for new topics and partitions: a time, or a number of seconds.", Example: "'5s'"},
	}
}

// ConnectionArguments say how to reach a cluster. Other table functions that do have them too.
func ConnectionArguments() []option.Option {
	return []option.Option{
		{Name: "bootstrapServers", Aliases: []string{"kafka.bootstrap.servers"}, Type: option.List, DefaultNote: "those of `connection`, else of the server's default connection",
			Doc: "The brokers to ask first: host:port with commas between them.", Example: "'broker1:9092,broker2:9092'"},
		{Name: "connection", Type: option.String, Doc: "A connection made by CREATE CONNECTION, which holds brokers and how to log in.", Example: "'prod'"},
		{Name: "serviceCredential", Aliases: []string{"databricks.serviceCredential"}, Type: option.String,
			Doc: "A credential made by CREATE CREDENTIAL, which holds how to log in at the brokers that it is for.", Example: "'reader'"},
		{Name: "serviceCredentialScope", Aliases: []string{"databricks.serviceCredential.scope"}, Type: option.String, Batch: option.Ignored, Stream: option.Ignored,
			Reason: "a credential is stored with all it needs", Doc: "Accepted for statements written for Databricks.", Example: "'scope'"},
		{Name: "kafka.*", Type: option.Scalar, SecretName: kafka.Properties.IsSecret,
			Doc: "A property of Java clients; the list is below.", Example: "'SASL_SSL'"},
		{Name: "consumerConfigUpdates", Aliases: []string{"consumerConfig"}, Type: option.Map, Secret: true,
			Doc: "Client properties as a map, with or without the prefix kafka.", Example: `'{"security.protocol":"SSL"}'`},
	}
}

func boundArguments() []option.Option {
	return []option.Option{
		{Name: "startingOffsets", Aliases: []string{"autoOffsetResetConfig"}, Type: option.JSON, DefaultNote: "`earliest`; STREAM: `latest`",
			Doc:     "Where to start: earliest, latest (STREAM only), or an offset for every partition, where -2 is earliest and -1 latest. A start is inclusive.",
			Example: `'{"orders":{"0":23,"1":-2}}'`},
		{Name: "endingOffsets", Type: option.JSON, DefaultNote: "`latest`", Stream: option.Refused, Reason: endingStream,
			Doc:     "Where to end: latest, or an offset for every partition, where -1 is latest. An end is exclusive.",
			Example: `'{"orders":{"0":100,"1":-1}}'`},
		{Name: "startingTimestamp", Aliases: []string{"startReadTime"}, Type: option.Timestamp,
			Doc: "Start each partition at its first record at or after this time; wins over the other starting arguments.", Example: "1700000000000"},
		{Name: "endingTimestamp", Aliases: []string{"stopReadTime"}, Type: option.Timestamp, Stream: option.Refused, Reason: "ending timestamp not valid in streaming queries",
			Doc: "End each partition before its first record at or after this time; wins over the other ending arguments.", Example: "1700000000000"},
		{Name: "startingOffsetsByTimestamp", Type: option.JSON,
			Doc: "A starting time in milliseconds for every partition; wins over `startingOffsets`.", Example: `'{"orders":{"0":1700000000000,"1":1700000000000}}'`},
		{Name: "endingOffsetsByTimestamp", Type: option.JSON, Stream: option.Refused, Reason: endingStream,
			Doc: "An ending time in milliseconds for every partition; wins over `endingOffsets`.", Example: `'{"orders":{"0":1700000000000,"1":1700000000000}}'`},
		{Name: "startingOffsetsByTimestampStrategy", Type: option.Enum, Words: []string{"latest", "error"}, Default: "latest",
			Doc: "What to do when a partition has no record at or after the starting time: start at its end, or fail.", Example: "'error'"},
		{Name: "isolationLevel", Aliases: []string{"kafka.isolation.level"}, Type: option.Enum, Words: []string{"read_committed", "read_uncommitted"}, Default: "read_committed",
			Doc: "Whether records of open and aborted transactions are left out; also decides what latest means.", Example: "'read_uncommitted'"},
		{Name: "failOnDataLoss", Type: option.Bool, Default: "true",
			Doc: "Whether a range that the log no longer holds is an error; otherwise it is cut and a warning counts what is gone.", Example: "false"},
		{Name: "timestampSkew", Type: option.Duration,
			Doc: "How far records may be out of time order; lets a predicate on timestamp end a read early.", Example: "'10m'"},
	}
}

func readingArguments() []option.Option {
	return []option.Option{
		{Name: "includeHeaders", Type: option.Bool, Default: "false", Doc: "Adds the column headers.", Example: "true"},
		{Name: "minPartitions", Type: option.Int, Min: 1, Doc: "A hint: read in at least so many parts.", Example: "8"},
		{Name: "maxRecordsPerPartition", Type: option.Long, Min: 1, Doc: "A hint: read in parts of at most so many offsets.", Example: "1000000"},
		{Name: "maxOffsetsPerTrigger", Aliases: []string{"maxRecords"}, Type: option.Long, Min: 1, Batch: option.Ignored, Reason: onlyStream,
			Doc: "The most offsets that one batch of a streaming table takes.", Example: "100000"},
		{Name: "minOffsetsPerTrigger", Type: option.Long, Min: 1, Batch: option.Refused, Reason: onlyStream,
			Doc: "How many offsets must wait before a batch begins.", Example: "1000"},
		{Name: "maxTriggerDelay", Type: option.Duration, Default: "15m", Batch: option.Refused, Reason: onlyStream,
			Doc: "The longest that minOffsetsPerTrigger may hold a batch back.", Example: "'5m'"},
		{Name: "bytesEstimateWindowLength", Type: option.Duration, Default: "300s", Batch: option.Refused, Stream: option.Later, Reason: onlyStream,
			Doc: "The window over which the bytes behind are estimated.", Example: "'10m'"},
		{Name: "maxReadTimeSeconds", Type: option.Scalar,
			Doc: "Stop after this time, with a warning that names what was not read; fractions of a second are allowed.", Example: "30"},
		{Name: "maxNumRecords", Type: option.Long, Min: 1,
			Doc: "Stop after so many records of all partitions together, with a warning that names what was not read.", Example: "1000"},
		{Name: "groupId", Aliases: []string{"kafka.group.id"}, Type: option.String, Batch: option.Ignored, Reason: noGroup,
			Doc: "The consumer group that a streaming table with `commitOffsets` shows its positions to. It must have no members.", DefaultNote: "`groupIdPrefix`, a dash, database and table", Example: "'reports'"},
		{Name: "groupIdPrefix", Type: option.String, Batch: option.Ignored, Reason: noGroup,
			Doc: "How the name of that group begins when `groupId` does not say it.", DefaultNote: "`millrace`", Example: "'reports'"},
		{Name: "kafkaConsumer.pollTimeoutMs", Type: option.Long, Min: 1, Batch: option.Ignored, Stream: option.Ignored, Reason: noPolling,
			Doc: "Accepted for statements written for Spark.", Example: "120000"},
		{Name: "consumerPollingTimeout", Type: option.Long, Min: 1, Batch: option.Ignored, Stream: option.Ignored, Reason: noPolling,
			Doc: "Accepted for pipelines written for Beam.", Example: "2"},
		{Name: "fetchOffset.numRetries", Type: option.Int, Batch: option.Ignored, Stream: option.Ignored, Reason: retriesOwn,
			Doc: "Accepted for statements written for Spark.", Example: "3"},
		{Name: "fetchOffset.retryIntervalMs", Type: option.Long, Batch: option.Ignored, Stream: option.Ignored, Reason: retriesOwn,
			Doc: "Accepted for statements written for Spark.", Example: "1000"},
		{Name: "readers", Type: option.Int, Min: 1, Max: 64, DefaultNote: "two a processor, 16 at most", Stream: option.Later, Doc: "How many readers work at once.", Example: "4"},
		{Name: "redistribute", Aliases: []string{"redistributed"}, Type: option.Bool, Default: "false", Stream: option.Later,
			Doc:     "Decode and compute on lanes of their own, one a processor, behind the readers; a LIMIT without ORDER BY keeps the order of offsets and does not use them.",
			Example: "true"},
		{Name: "redistributeNumKeys", Type: option.Long, Default: "0", Stream: option.Later,
			Doc: "The most lanes that redistribute uses; more than there are processors make no difference, and 0 leaves it to them.", Example: "2"},
		{Name: "redistributeByRecordKey", Type: option.Bool, Default: "false", Stream: option.Later,
			Doc: "Keeps records of one key in their order behind redistribute; of a read with an end the order is not promised with or without it.", Example: "true"},
		{Name: "allowDuplicates", Type: option.Bool, Default: "false", Stream: option.Later,
			Doc: "Lets redistribute deliver records twice; a read with an end delivers each once all the same.", Example: "true"},
		{Name: "offsetDeduplication", Type: option.Bool, Default: "false", Stream: option.Later,
			Doc: "Leaves out by their offsets what redistribute delivers twice; a read with an end delivers each record once all the same.", Example: "true"},
		{Name: "deduplicate", Type: option.Enum, Words: []string{"offset"}, Stream: option.Later,
			Doc: "Leaves out by their offsets what is delivered twice; a read with an end delivers each record once all the same.", Example: "'offset'"},
		{Name: "commitOffsets", Aliases: []string{"commitOffsetsInFinalize", "commitOffsetInFinalize"}, Type: option.Bool, Default: "false", Batch: option.Ignored, Reason: noGroup,
			Doc: "A streaming table shows its positions to a consumer group, for tools that watch lag, once it has committed them itself. It never reads them back, and goes on when that fails.", Example: "true"},
		{Name: "timestampPolicy", Type: option.Scalar, Batch: option.Later, Stream: option.Later, Doc: "How event time advances.", Example: "'CreateTime'"},
		{Name: "maxDelay", Type: option.Scalar, Batch: option.Later, Stream: option.Later, Doc: "How late records may be for timestampPolicy.", Example: "'10s'"},
	}
}

func formatArguments() []option.Option {
	return []option.Option{
		{Name: "format", Aliases: []string{"dataFormat", "valueFormat"}, Type: option.Enum, Words: formats, Default: "raw",
			Doc: "How values are decoded; docs/formats.md has the columns of each.", Example: "'json'"},
		{Name: "keyFormat", Type: option.Enum, Words: formats, Default: "raw", Doc: "How keys are decoded; their columns come first.", Example: "'string'"},
		{Name: "schema", Type: option.String,
			Doc: "The fields of values: columns with types (json, csv), JSON Schema (json), an Avro schema in JSON (avro), or the text of a .proto file (proto).", Example: "'id BIGINT, name STRING'"},
		{Name: "inferSchema", Type: option.Bool, Default: "false",
			Doc: "Finds the fields of JSON values in a sample of up to 1,000 records, when the statement is planned; DESCRIBE shows them.", Example: "true"},
		{Name: "mode", Type: option.Enum, Words: []string{"PERMISSIVE", "DROPMALFORMED", "FAILFAST"}, Default: "PERMISSIVE",
			Doc:     "What becomes of a record that cannot be decoded, or has a field of another type: NULL and the reason in _error, left out and counted in a warning, or an error.",
			Example: "'DROPMALFORMED'"},
		{Name: "errorHandling", Type: option.Scalar,
			Doc:     "Managed I/O's: the output for bad records, a name or map('output', name). They are left out as with mode => 'DROPMALFORMED'; a streaming table keeps them in its table of errors, whatever the name.",
			Example: "'errors'"},
		{Name: "tombstones", Type: option.Enum, Words: []string{"keep", "skip"}, Default: "keep",
			Doc: "Whether records without a value are rows, with NULL fields, or left out.", Example: "'skip'"},
		{Name: "schemaEvolution", Type: option.Enum, Words: []string{"none", "add_columns", "restart"}, Default: "none", Batch: option.Ignored, Reason: "a read has the columns of the schema at its start",
			Doc:     "What a streaming table does when its subject in the schema registry has a newer version: keep its columns, add the new ones, or fail until somebody resumes it, which adds them.",
			Example: "'add_columns'"},
		{Name: "delimiter", Aliases: []string{"sep"}, Type: option.String, Default: ",", Doc: "What stands between the fields of csv, one or more characters.", Example: "';'"},
		{Name: "quote", Type: option.String, AllowEmpty: true, Default: `"`, Doc: "The character around fields of csv in which delimiters may stand; empty for none.", Example: `'"'`},
		{Name: "escape", Type: option.String, AllowEmpty: true, Default: `\`, Doc: "The character of csv that takes the meaning from a quote in a quoted field; empty for none.", Example: `'|'`},
		{Name: "comment", Type: option.String, AllowEmpty: true, DefaultNote: "none", Doc: "The character that begins lines of csv that are none of the data.", Example: "'#'"},
		{Name: "header", Type: option.Bool, Default: "false", Doc: "Whether each csv record has a first line with the names of its fields.", Example: "true"},
		{Name: "nullValue", Type: option.String, AllowEmpty: true, DefaultNote: "the empty text", Doc: "The text of a csv field, without quotes, that is NULL.", Example: "'NULL'"},
		{Name: "ignoreLeadingWhiteSpace", Type: option.Bool, Default: "false", Doc: "Whether blanks before a csv field are dropped.", Example: "true"},
		{Name: "ignoreTrailingWhiteSpace", Type: option.Bool, Default: "false", Doc: "Whether blanks behind a csv field are dropped.", Example: "true"},
		{Name: "messageName", Type: option.String, DefaultNote: "the first message of `schema`",
			Doc: "The Protobuf message that values are, with its package.", Example: "'shop.Order'"},
		{Name: "descFilePath", Aliases: []string{"fileDescriptorPath"}, Type: option.String,
			Doc: "A file below --files-dir with the Protobuf descriptors of values: what protoc --include_imports --descriptor_set_out writes.", Example: "'orders.desc'"},
	}
}
