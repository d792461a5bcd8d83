package writekafka

import (
	"slices"

	"millrace/functions/readkafka"
	"millrace/internal/option"
)

//go:generate go test -tags gms_pure_go . -run TestOptionsDocIsCurrent -rewrite

// Reasons that several arguments share.
const (
	serialized = "keys and values are written as format and keyFormat say"
	filled     = "a batch is sent as soon as its partition can take it; kafka.max.request.size bounds it"
	retries    = "a record is sent again until kafka.delivery.timeout.ms is over"
)

// Arguments is the table of everything write_kafka takes. Names follow the sinks of Spark and Databricks; the aliases are those of Beam, of Managed I/O for
// Kafka and of Java's clients.
var Arguments = option.New(Name, "argument", "", " => ", slices.Concat(connectionArguments(), topicArguments(), formatArguments(), registryArguments(), producerArguments())...).On("docs/write-kafka.md")

// connectionArguments are those of read_kafka, but for the map of client properties, which has the name that sinks have for it.
func connectionArguments() []option.Option {
	list := readkafka.ConnectionArguments()
	for i := range list {
		if list[i].Name == "consumerConfigUpdates" {
			list[i].Name, list[i].Aliases = "producerConfigUpdates", []string{"producerConfig"}
		}
	}
	return list
}

func topicArguments() []option.Option {
	return []option.Option{
		{Name: "topic", Type: option.String, DefaultNote: "the column `topic`",
			Doc: "The topic that every row is written to; it takes precedence over a column of that name. It must exist.", Example: "'orders_eu'"},
		{Name: "includeHeaders", Type: option.Bool, Default: "false", Doc: "Whether the column `headers` is written.", Example: "true"},
		{Name: "errorHandling", Type: option.Scalar, DefaultNote: "they end the write",
			Doc:     "Managed I/O's: the topic for rows that cannot be written, a name or map('output', name). It gets an object of each, with error_message and failed_row; it must exist.",
			Example: "'shipments_errors'"},
		{Name: "partitioner", Type: option.Enum, Words: []string{"murmur2", "sticky", "roundrobin"}, Default: "murmur2",
			Doc:     "Where rows go that name no partition: by a hash of the key as in Java's clients, those without a key by turns of some 64 KiB; by such turns whatever the key; or one by one in turn.",
			Example: "'roundrobin'"},
	}
}

// The words of format and keyFormat. protobuf is what Managed I/O and proto what read_kafka calls the same.
var (
	valueFormats = []string{"raw", "string", "json", "avro", "proto", "protobuf", "csv"}
	keyFormats   = []string{"raw", "string", "json", "avro", "proto", "protobuf", "short", "int", "long", "float", "double"}
)

func formatArguments() []option.Option {
	return []option.Option{
		{Name: "format", Aliases: []string{"dataFormat", "valueFormat"}, Type: option.Enum, Words: valueFormats, DefaultNote: "the column `value` as it is",
			Doc:     "How the columns that are no metadata become the value: json, avro, proto (or protobuf) and csv make a record of them, string text of the only one, raw takes its bytes.",
			Example: "'json'"},
		{Name: "keyFormat", Type: option.Enum, Words: keyFormats, Default: "raw", Doc: "How the column `key` becomes the key.", Example: "'long'"},
		{Name: "keySchema", Type: option.String, DefaultNote: "one made of the column",
			Doc: "The schema of keys: of Avro in JSON (avro), the text of a .proto file with one message (proto), or JSON Schema for the registry (json).", Example: `'"string"'`},
		{Name: "metadataColumns", Type: option.List, DefaultNote: "`key,headers,topic,partition,timestamp`",
			Doc: "With format: which columns are parts of the record; others of these names are data.", Example: "'key'"},
		{Name: "ignoreNullFields", Type: option.Bool, Default: "false", Doc: "Whether json leaves NULLs out.", Example: "true"},
		{Name: "schema", Type: option.String, DefaultNote: "one made of the columns",
			Doc: "The schema of values: of Avro in JSON (avro), the text of a .proto file (proto), or JSON Schema for the registry (json).", Example: `'{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}'`},
		{Name: "messageName", Type: option.String, DefaultNote: "the first message of `schema`", Doc: "The Protobuf message that values are, with its package.", Example: "'shop.Order'"},
		{Name: "descFilePath", Aliases: []string{"fileDescriptorPath"}, Type: option.String,
			Doc: "A file below --files-dir with the Protobuf descriptors of values: what protoc --include_imports --descriptor_set_out writes.", Example: "'orders.desc'"},
		{Name: "delimiter", Aliases: []string{"sep"}, Type: option.String, Default: ",", Doc: "What stands between the fields of csv.", Example: "';'"},
		{Name: "quote", Type: option.String, AllowEmpty: true, Default: `"`, Doc: "The character around fields of csv that need it.", Example: `'"'`},
		{Name: "escape", Type: option.String, AllowEmpty: true, Default: `\`, Doc: "What stands before a quote in a quoted field of csv.", Example: `'"'`},
		{Name: "nullValue", Type: option.String, AllowEmpty: true, DefaultNote: "the empty text", Doc: "The text of a csv field that is NULL.", Example: "'NULL'"},
	}
}

// registryArguments are those of read_kafka, where clients of Managed I/O may also give the URL among client properties.
func registryArguments() []option.Option {
	list := readkafka.RegistryArguments()
	for i := range list {
		switch list[i].Name {
		case "schemaRegistryUrl":
			list[i].Aliases = append(slices.Clone(list[i].Aliases), "kafka.schema.registry.url")
		case "confluent.schema.registry.*":
			list[i].Aliases = append(slices.Clone(list[i].Aliases), "kafka.schema.registry.*")
		}
	}
	return append(list,
		option.Option{Name: "schemaRegistrySubject", Aliases: []string{"confluentSchemaRegistrySubject"}, Type: option.String, DefaultNote: "the topic's name with -value",
			Doc: "The subject of the schema of values.", Example: "'orders-value'"},
		option.Option{Name: "keySubject", Type: option.String, DefaultNote: "the topic's name with -key",
			Doc: "The subject of the schema of keys. Keys of json have a schema in the registry only when it is given.", Example: "'orders-key'"},
		option.Option{Name: "autoRegisterSchemas", Aliases: []string{"auto.register.schemas", "kafka.auto.register.schemas"}, Type: option.Bool, Default: "true",
			Doc: "Whether the schema is registered; otherwise values are written by the version of the subject that is there.", Example: "false"},
		option.Option{Name: "schemaRegistryVersion", Type: option.Scalar, Default: "latest", Doc: "That version: a number, or latest.", Example: "3"},
	)
}

func producerArguments() []option.Option {
	return []option.Option{
		{Name: "exactlyOnce", Type: option.Bool, Default: "false",
			Doc: "Whether the rows are written in transactions: those of a statement all or none, those of a flow each once, for consumers that read committed records.", Example: "true"},
		{Name: "transactionalId", Aliases: []string{"kafka.transactional.id"}, Type: option.String, DefaultNote: "one of the statement's own; of a flow, one that never changes",
			Doc: "The transactional id of an exactlyOnce statement; it fences an earlier writer with the same.", Example: "'import-1'"},
		{Name: "kafka.transaction.timeout.ms", Type: option.Int, Min: 1000, DefaultNote: "600000; of a flow, 60000",
			Doc: "After how long the broker aborts a transaction that nobody ends; a statement that takes longer fails.", Example: "900000"},
		{Name: "acks", Aliases: []string{"kafka.acks"}, Type: option.Scalar, Default: "all",
			Doc: "Whose acknowledgement a record needs: all in-sync replicas (all or -1), the leader (1) or nobody (0). Less than all also turns idempotence off.", Example: "'all'"},
		{Name: "compression", Aliases: []string{"compressionType", "kafka.compression.type"}, Type: option.Enum, Words: []string{"none", "gzip", "snappy", "lz4", "zstd"}, Default: "lz4",
			Doc: "How batches are compressed.", Example: "'zstd'"},
		{Name: "kafka.enable.idempotence", Type: option.Bool, Default: "true", Doc: "Whether brokers drop what a retry sends twice.", Example: "false"},
		{Name: "kafka.linger.ms", Type: option.Int, Default: "10", Max: 60_000, Doc: "How long a batch that is not full waits for more rows, while there are some; the last ones do not wait.", Example: "0"},
		{Name: "kafka.delivery.timeout.ms", Type: option.Int, Min: 1, Default: "120000", Doc: "After how long without any acknowledgement a write fails.", Example: "30000"},
		{Name: "kafka.max.request.size", Type: option.Int, Min: 1024, Max: 1 << 30, Default: "1000012", Doc: "The most bytes of a batch before compression, and so of a record.", Example: "4000000"},
		{Name: "kafka.buffer.memory", Type: option.Long, Min: 1 << 16, Max: 1 << 32, DefaultNote: "32 MiB, or a sixteenth of --memory-limit where that is less",
			Doc: "The most bytes that wait for their acknowledgement; reading waits while there are more.", Example: "8388608"},
		{Name: "kafka.batch.size", Type: option.Scalar, Batch: option.Ignored, Reason: filled, Doc: "Accepted for statements written for Spark.", Example: "16384"},
		{Name: "kafka.max.in.flight.requests.per.connection", Type: option.Scalar, Batch: option.Ignored, Reason: "it does not change what is written",
			Doc: "Accepted for statements written for Spark.", Example: "5"},
		{Name: "kafka.retries", Type: option.Scalar, Batch: option.Ignored, Reason: retries, Doc: "Accepted for statements written for Spark.", Example: "3"},
		{Name: "kafka.max.block.ms", Type: option.Scalar, Batch: option.Ignored, Reason: retries, Doc: "Accepted for statements written for Spark.", Example: "60000"},
		{Name: "kafka.partitioner.class", Batch: option.Refused, Reason: "it names a Java class; use partitioner"},
		{Name: "kafka.key.serializer", Batch: option.Refused, Reason: serialized},
		{Name: "kafka.value.serializer", Batch: option.Refused, Reason: serialized},
	}
}
