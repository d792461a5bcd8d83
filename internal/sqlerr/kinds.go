package sqlerr

// Kinds that MySQL has a number for.
var (
	Syntax        = kind("SYNTAX", 1064, "42000", User, false, "The statement cannot be parsed; the message shows the place.")
	EmptyQuery    = kind("EMPTY_QUERY", 1065, "42000", User, false, "The statement holds nothing but white space or comments.")
	NoDatabase    = kind("NO_DATABASE", 1049, "42000", User, false, "The database does not exist.")
	NoTable       = kind("NO_TABLE", 1146, "42S02", User, false, "The table does not exist.")
	NoColumn      = kind("NO_COLUMN", 1054, "42S22", User, false, "The column does not exist.")
	AccessDenied  = kind("ACCESS_DENIED", 1045, "28000", User, false, "User, host or password is wrong.")
	NotGranted    = kind("NOT_GRANTED", 1142, "42000", User, false, "The user lacks a privilege; the message names it.")
	BadValue      = kind("BAD_VALUE", 1292, "22007", User, false, "A value cannot be converted to the wanted type.")
	OutOfRange    = kind("OUT_OF_RANGE", 1690, "22003", User, false, "A number does not fit its type.")
	Timeout       = kind("TIMEOUT", 3024, "HY000", User, true, "The statement ran longer than max_execution_time.")
	Interrupted   = kind("INTERRUPTED", 1317, "70100", User, true, "The statement was killed.")
	TooManyConns  = kind("TOO_MANY_CONNECTIONS", 1040, "08004", User, true, "max_connections is reached.")
	PacketTooBig  = kind("PACKET_TOO_BIG", 1153, "08S01", User, false, "A packet is larger than max_allowed_packet.")
	BadParameters = kind("BAD_PARAMETERS", 1210, "HY000", User, false, "EXECUTE was given the wrong number of parameters, or LIMIT what is no number of rows.")
	Malformed     = kind("MALFORMED_PACKET", 1835, "HY000", User, false, "The client sent bytes that are not the MySQL protocol.")
	UnknownCmd    = kind("UNKNOWN_COMMAND", 1047, "08S01", User, false, "The protocol command is not one Millrace knows.")
	BadHandshake  = kind("BAD_HANDSHAKE", 1043, "08S01", User, false, "The client's login packets are not a handshake that Millrace speaks.")
	InsecureLogin = kind("INSECURE_TRANSPORT", 3159, "HY000", User, false, "The server wants TLS (--require-secure-transport).")
	HostBlocked   = kind("HOST_BLOCKED", 1129, "HY000", User, true, "Too many failed logins from the host; wait a few seconds.")
	NoStatement   = kind("NO_PREPARED_STATEMENT", 1243, "HY000", User, false, "The prepared statement was closed or never existed.")
	TooManyStmts  = kind("TOO_MANY_PREPARED_STATEMENTS", 1461, "42000", User, false, "The connection holds too many prepared statements.")
	ServerGone    = kind("SERVER_SHUTDOWN", 1053, "08S01", External, true, "The server is shutting down.")
	NotSupported  = kind("NOT_SUPPORTED", 1235, "42000", User, false, "The construct is known but not supported in this version.")
	Unexpected    = kind("INTERNAL", 1105, "HY000", Internal, false, "A fault of Millrace itself; the log has more.")
)

// Kinds of Millrace's own, from 31001. Numbers are never reused.
var (
	OptionUnknown   = kind("OPTION_UNKNOWN", 31001, "HY000", User, false, "An argument name is not known; the hint names the nearest.")
	OptionInvalid   = kind("OPTION_INVALID", 31002, "HY000", User, false, "An argument has a value that is not allowed.")
	OptionMissing   = kind("OPTION_MISSING", 31003, "HY000", User, false, "A required argument is missing.")
	OptionConflict  = kind("OPTION_CONFLICT", 31004, "HY000", User, false, "Arguments contradict each other or were given twice.")
	OptionForbidden = kind("OPTION_FORBIDDEN", 31005, "HY000", User, false, "A client property is under the engine's control; the message says why.")

	KafkaUnreachable    = kind("KAFKA_UNREACHABLE", 31010, "HY000", External, true, "No broker could be reached; the message names address and cause.")
	KafkaHostRefused    = kind("KAFKA_HOST_REFUSED", 31011, "HY000", User, false, "The address is not covered by --allow-hosts.")
	KafkaProtocol       = kind("KAFKA_PROTOCOL_MISMATCH", 31012, "HY000", User, false, "The port answers, but not as the given security.protocol expects.")
	KafkaAuth           = kind("KAFKA_AUTHENTICATION_FAILED", 31013, "HY000", User, false, "The broker refused user, password or certificate.")
	KafkaNotAuthorized  = kind("KAFKA_NOT_AUTHORIZED", 31014, "HY000", User, false, "An ACL is missing; the message names resource and operation.")
	KafkaTLS            = kind("KAFKA_TLS_FAILED", 31015, "HY000", User, false, "The TLS handshake failed; the message names the cause.")
	KafkaTopicNotFound  = kind("KAFKA_TOPIC_NOT_FOUND", 31016, "HY000", User, false, "A named topic or partition does not exist.")
	KafkaTopicRecreated = kind("KAFKA_TOPIC_RECREATED", 31017, "22000", External, false, "The topic was deleted and created again during the read.")
	KafkaDataLoss       = kind("KAFKA_DATA_LOSS", 31018, "22000", External, false, "Records of the range are gone (retention, truncation).")
	KafkaCorrupt        = kind("KAFKA_CORRUPT_BATCH", 31019, "22000", External, false, "A record batch fails its checksum or cannot be decompressed; the message names topic, partition, offset.")
	KafkaBatchTooLarge  = kind("KAFKA_BATCH_TOO_LARGE", 31020, "HY000", User, false, "A record batch is larger than the decompression limit.")
	KafkaFetchFailed    = kind("KAFKA_FETCH_FAILED", 31021, "HY000", External, true, "Fetching failed for longer than the retry budget; the message gives the last cause.")
	KafkaOffsets        = kind("KAFKA_BAD_OFFSETS", 31022, "HY000", User, false, "Starting and ending offsets do not fit the partitions or each other.")

	KafkaWriteFailed = kind("KAFKA_WRITE_FAILED", 31080, "HY000", External, true, "A record was not acknowledged by its broker, or a transaction not committed; the message gives the cause.")
	SinkRow          = kind("SINK_ROW", 31081, "22000", User, false, "A row cannot be written to a topic; the message names the row and what is wrong with it.")

	StreamEndless = kind("STREAM_ENDLESS", 31024, "HY000", User, false, "The statement needs all rows of a STREAM read, which has no end; the hint says how to bound it.")

	TableState = kind("STREAMING_TABLE_STATE", 31025, "HY000", User, false, "The streaming table is in a state in which this cannot be done; the message says which.")

	NeedsFull = kind("NEEDS_FULL_REFRESH", 31026, "HY000", User, false, "The change of a streaming table needs its rows to be made anew; the message says why.")

	RuleViolated = kind("RULE_VIOLATED", 31027, "22000", User, false, "A row of a streaming table violates NOT NULL, or an expectation with FAIL UPDATE; the message names column or expectation, topic, partition, offset and row.")

	NoConnection     = kind("NO_CONNECTION", 31030, "HY000", User, false, "There is no connection, credential or secret of that name.")
	ConnectionExists = kind("CONNECTION_EXISTS", 31031, "HY000", User, false, "A connection or credential of that name exists.")
	KeyNeeded        = kind("KEY_NEEDED", 31032, "HY000", User, false, "Secrets can be stored or used only with the key of --key-file or MILLRACE_KEY.")

	BadRecord = kind("BAD_RECORD", 31050, "22000", User, false, "A record cannot be decoded and mode is FAILFAST; the message names topic, partition, offset and reason.")

	StoreFull    = kind("STORE_FULL", 31060, "HY000", External, true, "The disk that tables are stored on is full; what was committed before is safe.")
	StoreCorrupt = kind("STORE_CORRUPT", 31061, "HY000", External, false, "Stored bytes are not what was written; the message names table, segment and column. Other data can be read.")
	StoreLocked  = kind("STORE_LOCKED", 31062, "HY000", User, true, "Another process has the data directory open.")
	StoreFormat  = kind("STORE_FORMAT", 31063, "HY000", User, false, "The data directory was written by a newer version of Millrace.")
	StoreFailed  = kind("STORE_FAILED", 31064, "HY000", External, true, "Reading or writing the data directory, or the database of --store, failed; the message gives the cause.")
	AtOnce       = kind("CHANGED_AT_ONCE", 31066, "HY000", External, true, "Another server that shares the catalog has changed the same thing at the same moment.")
	StoreAway    = kind("STORE_UNREACHABLE", 31065, "HY000", External, true, "PostgreSQL, which --store names, does not answer, or refuses; the message gives the cause.")

	RegistryUnreachable = kind("REGISTRY_UNREACHABLE", 31070, "HY000", External, true, "The schema registry does not answer, or not without a fault of its own; the message names address and cause.")
	RegistryAuth        = kind("REGISTRY_AUTHENTICATION_FAILED", 31071, "HY000", User, false, "The schema registry refused user, password, token or certificate, or the right to read.")
	RegistryHostRefused = kind("REGISTRY_HOST_REFUSED", 31072, "HY000", User, false, "The address of the schema registry is not covered by --allow-hosts.")
	RegistryTLS         = kind("REGISTRY_TLS_FAILED", 31073, "HY000", User, false, "The TLS handshake with the schema registry failed; the message names the cause.")
	RegistryProtocol    = kind("REGISTRY_PROTOCOL_MISMATCH", 31074, "HY000", User, false, "The address answers, but not as a schema registry does.")
	RegistryNotFound    = kind("REGISTRY_NOT_FOUND", 31075, "HY000", User, false, "The schema registry has no such subject, version or schema.")
	SchemaEvolved       = kind("REGISTRY_SCHEMA_EVOLVED", 31076, "HY000", User, false, "A streaming table with schemaEvolution => 'restart' has met records of a newer version of its subject.")
	RegistryTimeout     = kind("REGISTRY_TIMEOUT", 31078, "HY000", External, true, "The schema registry takes connections and does not answer in time.")
	RegistryRefused     = kind("REGISTRY_REFUSED", 31077, "HY000", User, false, "The schema registry does not take a schema, as a rule because it is not compatible with the one before.")

	ScanMemory = kind("SCAN_MEMORY", 31040, "HY000", User, false, "The statement needs more memory than its budget.")
	TempSpace  = kind("TEMP_SPACE", 31041, "HY000", External, true, "The statement has outgrown its memory, and its temporary file cannot be written or read; the message says why.")

	ExportFailed = kind("EXPORT_FAILED", 31085, "HY000", External, true, "The file or folder of EXPORT or BACKUP cannot be written; the message gives the cause. Nothing of it is left.")
)

// Kinds returns every kind, in the order of declaration. The docs are generated from it.
func Kinds() []*Kind { return append([]*Kind(nil), kinds...) }

var kinds []*Kind

func kind(symbol string, errno uint16, state string, f Fault, retry bool, doc string) *Kind {
	k := &Kind{Symbol: symbol, Errno: errno, State: state, Fault: f, Retry: retry, Doc: doc}
	kinds = append(kinds, k)
	return k
}
