package sqlerr

// Advice says what to do about an error of the kind, for docs/errors.md. A message often has a hint that knows more.
func (k *Kind) Advice() string {
	if a, ok := advice[k]; ok {
		return a
	}
	switch {
	case k.Fault == External:
		return "Look at the system that the message names, and run the statement again."
	case k.Retry:
		return "Run the statement again."
	default:
		return "Change the statement as the message says."
	}
}

var advice = map[*Kind]string{
	Syntax:        "Look at the place that the message points to.",
	NoDatabase:    "`SHOW DATABASES` lists those that you may see.",
	NoTable:       "`SHOW TABLES` lists them; a topic is read with `read_kafka`, not by its name.",
	NoColumn:      "`DESCRIBE t`, or `DESCRIBE read_kafka(…)`, lists the columns; fields of a value are reached by a path such as `value::string:field`.",
	AccessDenied:  "Check user, password and the host that you come from. Root may log in only from the machine itself.",
	NotGranted:    "An administrator grants what the message names, for example `GRANT KAFKA_READ ON *.* TO you`.",
	BadValue:      "Mend the value, or write `?::` or `try_cast` to get NULL in its place.",
	OutOfRange:    "Use a larger type, or `?::` or `try_cast` to get NULL.",
	Timeout:       "Narrow the statement, or raise `max_execution_time`.",
	TooManyConns:  "Close connections that are not used, or raise `max_connections`.",
	PacketTooBig:  "Raise `max_allowed_packet` in server and client, or send less at once.",
	InsecureLogin: "Turn TLS on in the client.",
	HostBlocked:   "Wait, then log in with the right password.",
	NoStatement:   "Prepare the statement again.",
	TooManyStmts:  "Close prepared statements that are not used.",
	ServerGone:    "Connect again when the server is back.",
	NotSupported:  "Leave the construct out; CHANGELOG.md says when it comes.",
	Unexpected:    "Report it, with what the log of the server says at that time.",

	OptionUnknown:   "docs/options.md lists every argument and its other spellings.",
	OptionInvalid:   "The message says what is allowed; docs/options.md has an example of each argument.",
	OptionMissing:   "Give the argument that the message names.",
	OptionConflict:  "Keep one of the arguments that the message names.",
	OptionForbidden: "Leave the property out, or use the argument that the message names in its place.",

	KafkaUnreachable:    "Check that a broker listens at the address, that the network lets you reach it, and what the brokers advertise (`advertised.listeners`): clients go on to those addresses.",
	KafkaHostRefused:    "An administrator of the server adds the address to `--allow-hosts`; link-local and metadata addresses have to be named there.",
	KafkaProtocol:       "Make `kafka.security.protocol` and the port fit each other: a broker has a port for each protocol.",
	KafkaAuth:           "Check user, password, certificate and `kafka.sasl.mechanism`.",
	KafkaNotAuthorized:  "Grant the Kafka principal DESCRIBE and READ on the topic (DESCRIBE on the group for `kafka_consumer_groups`). A read needs no consumer group.",
	KafkaTLS:            "Give the authority that signed the brokers' certificates (`kafka.ssl.truststore.certificates` or `.location`), and use the name that the certificate is for.",
	KafkaTopicNotFound:  "`SELECT topic FROM kafka_topics(…)` lists what there is; names depend on case. `missingTopic => 'skip'` leaves out what does not exist.",
	KafkaTopicRecreated: "Run the statement again to read the new topic.",
	KafkaDataLoss:       "Start later (`startingOffsets => 'earliest'`), or read what is left with `failOnDataLoss => false`, which warns and counts what is gone.",
	KafkaCorrupt:        "The record batch is broken on the broker, or was on the way: read around it with a predicate on `offset`, and look at the broker's disks. `kafka.check.crcs` set to false skips the checksum.",
	KafkaBatchTooLarge:  "Raise `--memory-limit`, which bounds it, or read around the batch with a predicate on `offset`.",
	KafkaFetchFailed:    "Look at the brokers; raise `kafka.default.api.timeout.ms` when failures of this length are to be sat out.",
	KafkaOffsets:        "Name exactly the partitions that are read; -2 is the earliest offset, -1 the latest.",
	RegistryRefused:     "Change the columns or the schema so that they are compatible with what is registered, or register under another `schemaRegistrySubject`.",
	KafkaWriteFailed:    "Look at the brokers, and run the statement again: without `exactlyOnce` the rows that were written before the error are then written twice.",
	SinkRow:             "Mend the row, or leave it out by a WHERE; docs/sinks.md says what the columns may hold.",
	StreamEndless:       "Bound the read by `max_read_time_seconds` or `max_num_records`, put a `LIMIT` inside, or leave `STREAM` out; docs/tails.md has examples.",
	TableState:          "`SHOW STREAMING TABLES` gives state and reason; `ALTER STREAMING TABLE … RESUME` or `REFRESH STREAMING TABLE` goes on.",
	NeedsFull:           "`REFRESH STREAMING TABLE … FULL` reads everything anew that Kafka still has; or make a new table beside the old one.",
	RuleViolated:        "Change the rule by `CREATE OR REFRESH STREAMING TABLE`, for example to `ON VIOLATION DROP ROW`, or make the query give another value; the table goes on at the record that the message names.",
	BadRecord:           "`mode => 'PERMISSIVE'` keeps such records as NULLs with the reason in `_error`, `mode => 'DROPMALFORMED'` leaves them out.",
	RegistryUnreachable: "Check that the registry listens at the URL and that the network lets the server reach it. It is not bad data: no record was judged.",
	RegistryTimeout:     "Look at what hangs: the registry, its database, or a proxy before it. `schemaRegistryTimeout` allows more time. It is not bad data: no record was judged.",
	RegistryAuth:        "Check the user and password or the token of the registry, and what they may read there.",
	RegistryHostRefused: "An administrator of the server adds the address to `--allow-hosts`; link-local and metadata addresses have to be named there.",
	RegistryTLS:         "Give the authority that signed the registry's certificate, and use the name that the certificate is for.",
	RegistryProtocol:    "Give the base URL of the registry's Confluent-compatible API, for example `https://registry:8081` or, for Apicurio, `http://registry:8080/apis/ccompat/v7`.",
	RegistryNotFound:    "`SELECT subject FROM schema_registry_subjects(…)` lists what there is. The subject of a topic's values is by default its name and `-value`.",
	SchemaEvolved:       "`ALTER STREAMING TABLE … RESUME` or `REFRESH STREAMING TABLE` takes the new columns over, and reads on from the first of these records.",
	NoConnection:        "`SHOW CONNECTIONS` and `SHOW CREDENTIALS` list what you may use.",
	ConnectionExists:    "Take another name, or `CREATE OR REPLACE`.",
	KeyNeeded:           "Start the server with `--key-file`, or with MILLRACE_KEY in its environment.",
	StoreFull:           "Free space on the disk of the data directory, or drop tables; writing goes on by itself then.",
	StoreCorrupt:        "Look at the disk. A streaming table is read anew by `REFRESH STREAMING TABLE … FULL`, as long as Kafka has the records; `TRUNCATE` empties any other.",
	StoreLocked:         "Stop the other process, or give this one a `--data-dir` of its own.",
	StoreFormat:         "Start the version that the message names, or a newer one.",
	StoreFailed:         "Look at the disk and at the permissions of the data directory, or at the log of the database.",
	AtOnce:              "Run the statement again.",
	StoreAway:           "See that PostgreSQL runs, that the network lets the server reach it, and what its log says. Millrace goes on by itself once it answers.",
	ScanMemory:          "Read fewer groups or rows at once (a narrower predicate, a LIMIT), or raise `--memory-limit`.",
	TempSpace:           "Make room on the disk of the data folder, raise `--temp-limit`, or have less to keep: a narrower predicate, fewer columns in ORDER BY and GROUP BY, more `--memory-limit`.",
	ExportFailed:        "Make room on the disk of `--export-dir`, or let the server write there; then run the statement again.",

	Interrupted:      "Somebody killed the statement, or its client went away.",
	NonUniqueTable:   "Give one of the tables an alias.",
	AmbiguousColumn:  "Write the table's name or alias before the column's.",
	NotGrouped:       "Group by the column, or put it into an aggregate such as `max` or `any_value`.",
	BadView:          "`SHOW CREATE VIEW` shows what the view reads; create what is missing, or the view anew.",
	PrivilegeNeeded:  "An administrator grants what the message names.",
	DatabaseDenied:   "An administrator grants you a privilege on the database.",
	FilesRefused:     "Files are read only below `--files-dir`, and written only below `--export-dir`, by EXPORT and BACKUP.",
	FileExists:       "Name another file or folder; EXPORT takes OVERWRITE.",
	NoThread:         "`SHOW PROCESSLIST` lists the connections.",
	KillDenied:       "`KILL` of another user's connection needs SUPER.",
	UnknownTimeZone:  "Use an offset such as `+02:00`, or a name of the time zone database such as `Europe/Berlin`.",
	Malformed:        "The client is broken, or something between it and the server is.",
	ForeignKeyChild:  "Insert the row that is referred to first.",
	ForeignKeyParent: "Delete the rows that refer to it first.",
}
