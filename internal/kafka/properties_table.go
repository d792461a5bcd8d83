package kafka

import "millrace/internal/option"

// Reasons that several properties share.
const (
	noGroup       = "a read joins no consumer group and commits nothing"
	noBackOff     = "the engine paces its retries itself, within default.api.timeout.ms"
	noProducer    = "it is a property of producers and a read writes nothing"
	noJavaClass   = "it names a Java class, and Millrace runs none"
	noJavaRuntime = "it tunes the Java runtime"
	noMetrics     = "metrics are served by the server at /metrics"
)

// Properties is the table of Java client properties: what becomes of each when a user pastes the settings of a Java client. Names may carry the prefix
// kafka. as read_kafka spells them.
var Properties = option.New("Kafka", "client property", "kafka.", "=", append(append(append(
	connectionProperties(), saslProperties()...), tlsProperties()...), foreignProperties()...)...)

func connectionProperties() []option.Option {
	return []option.Option{
		{Name: "bootstrap.servers", Type: option.List, Doc: "The brokers to ask first, host:port each.", Example: "broker1:9092,broker2:9092"},
		{Name: "client.id", Type: option.String, Default: "millrace", Doc: "The name by which brokers log and throttle the client.", Example: "reports"},
		{Name: "client.rack", Type: option.String, Doc: "Where the server runs, so that brokers can offer a nearer replica.", Example: "eu-west-1a"},
		{Name: "security.protocol", Type: option.Enum, Words: []string{string(Plaintext), string(SSL), string(SASLPlaintext), string(SASLSSL)}, Default: string(Plaintext), Doc: "Whether connections are encrypted and authenticated.", Example: "SASL_SSL"},
		{Name: "fetch.max.bytes", Type: option.Int, Min: 1, DefaultNote: "sized by the engine", Doc: "The most that one fetch answer holds.", Example: "52428800"},
		{Name: "max.partition.fetch.bytes", Type: option.Int, Min: 1, DefaultNote: "sized by the engine", Doc: "The most that one fetch answer holds of one partition.", Example: "1048576"},
		{Name: "fetch.min.bytes", Type: option.Int, Min: 1, Default: "1", Doc: "How much a broker gathers before it answers.", Example: "1"},
		{Name: "fetch.max.wait.ms", Type: option.Int, Min: 1, DefaultNote: "`100`", Doc: "How long a broker waits for fetch.min.bytes.", Example: "500"},
		{Name: "check.crcs", Type: option.Bool, Default: "true", Doc: "Whether the checksum of each record batch is verified.", Example: "true"},
		{Name: "receive.buffer.bytes", Type: option.Int, Min: -1, DefaultNote: "sized by the operating system", Doc: "The receive buffer of each socket; -1 and 0 leave it to the operating system, which adapts it.", Example: "524288"},
		{Name: "send.buffer.bytes", Type: option.Int, Min: -1, DefaultNote: "sized by the operating system", Doc: "The send buffer of each socket; -1 and 0 leave it to the operating system.", Example: "131072"},
		{Name: "request.timeout.ms", Type: option.Int, Min: 1, Default: "30000", Doc: "How long one request may take.", Example: "30000"},
		{Name: "default.api.timeout.ms", Type: option.Int, Min: 1, Default: "60000", Doc: "How long a fetch may keep failing for a passing cause before the statement fails.", Example: "60000"},
		{Name: "socket.connection.setup.timeout.ms", Type: option.Int, Min: 1, Default: "5000", Doc: "How long one connection may take to come about, TLS included.", Example: "10000"},
		{Name: "socket.connection.setup.timeout.max.ms", Type: option.Int, Min: 1, Default: "10000", Doc: "How long the cluster may take to be reached in all.", Example: "30000"},
	}
}

func saslProperties() []option.Option {
	return []option.Option{
		{Name: "sasl.mechanism", Aliases: []string{"sasl.mechanisms"}, Type: option.Enum, Words: []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"}, Doc: "How to log in; OAUTHBEARER, AWS_MSK_IAM and GSSAPI are not supported yet.", Example: "SCRAM-SHA-512"},
		{Name: "sasl.jaas.config", Type: option.String, Secret: true, Doc: "User and password as a Java client takes them, also with the packages kafkashaded. and shadedmskiam.", Example: `org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`},
		{Name: "sasl.username", Type: option.String, Secret: true, Doc: "The user, in place of sasl.jaas.config.", Example: "reader"},
		{Name: "sasl.password", Type: option.String, Secret: true, Doc: "The password, in place of sasl.jaas.config.", Example: "…"},
		{Name: "sasl.login.callback.handler.class", Type: option.Scalar, Batch: option.Later, Doc: "How OAUTHBEARER gets its tokens."},
		{Name: "sasl.client.callback.handler.class", Type: option.Scalar, Batch: option.Later, Doc: "How AWS_MSK_IAM signs."},
		{Name: "sasl.oauthbearer.*", Type: option.Scalar, Batch: option.Later, SecretName: option.LooksSecret, Doc: "Tokens of OAUTHBEARER."},
		{Name: "sasl.kerberos.*", Type: option.Scalar, Batch: option.Later, Doc: "Kerberos."},
		{Name: "sasl.login.class", Batch: option.Refused, Reason: noJavaClass},
		{Name: "sasl.login.*", Type: option.Scalar, Batch: option.Ignored, Reason: "the engine logs in anew when a session ends"},
	}
}

func tlsProperties() []option.Option {
	store := []string{"PEM", "JKS", "PKCS12"}
	return []option.Option{
		{Name: "ssl.truststore.location", Type: option.String, Doc: "A PEM file below --files-dir with the certificates to trust; JKS and PKCS12 are not supported yet.", Example: "ca.pem", DefaultNote: "the machine's"},
		{Name: "ssl.truststore.certificates", Type: option.String, Doc: "The certificates to trust as PEM text.", Example: "-----BEGIN CERTIFICATE----- …"},
		{Name: "ssl.truststore.type", Type: option.Enum, Words: store, DefaultNote: "PEM when the content is", Doc: "The format of the trust store.", Example: "PEM"},
		{Name: "ssl.truststore.password", Type: option.String, Secret: true, AllowEmpty: true, Batch: option.Ignored, Reason: "a trust store in PEM has no password"},
		{Name: "ssl.keystore.location", Type: option.String, Doc: "A PEM file below --files-dir with the client's certificate chain and key.", Example: "client.pem"},
		{Name: "ssl.keystore.certificate.chain", Type: option.String, Doc: "The client's certificate chain as PEM text.", Example: "-----BEGIN CERTIFICATE----- …"},
		{Name: "ssl.keystore.key", Type: option.String, Secret: true, Doc: "The client's private key as PEM text, unencrypted.", Example: "-----BEGIN PRIVATE KEY----- …"},
		{Name: "ssl.keystore.type", Type: option.Enum, Words: store, DefaultNote: "PEM when the content is", Doc: "The format of the key store.", Example: "PEM"},
		{Name: "ssl.keystore.password", Type: option.String, Secret: true, AllowEmpty: true, Batch: option.Ignored, Reason: "a key store in PEM has no password"},
		{Name: "ssl.key.password", Type: option.String, Secret: true, AllowEmpty: true, Batch: option.Later, Doc: "The password of an encrypted private key."},
		{Name: "ssl.endpoint.identification.algorithm", Type: option.String, AllowEmpty: true, Default: "https", Doc: "Empty verifies the broker's certificate chain and not its host name.", Example: "https"},
		{Name: "ssl.protocol", Type: option.Enum, Words: []string{"TLS", "TLSv1.2", "TLSv1.3"}, Default: "TLS", Doc: "The highest version of TLS; TLS means the highest there is.", Example: "TLSv1.3"},
		{Name: "ssl.enabled.protocols", Type: option.List, DefaultNote: "`TLSv1.2,TLSv1.3`", Doc: "The versions of TLS to offer.", Example: "TLSv1.3"},
		{Name: "ssl.cipher.suites", Type: option.List, DefaultNote: "the secure ones", Doc: "The cipher suites to offer under TLS 1.2; those of TLS 1.3 are fixed.", Example: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
		{Name: "ssl.secure.random.implementation", Type: option.Scalar, Batch: option.Ignored, Reason: noJavaRuntime},
		{Name: "ssl.trustmanager.algorithm", Type: option.Scalar, Batch: option.Ignored, Reason: noJavaRuntime},
		{Name: "ssl.keymanager.algorithm", Type: option.Scalar, Batch: option.Ignored, Reason: noJavaRuntime},
		{Name: "ssl.provider", Batch: option.Refused, Reason: noJavaClass},
		{Name: "ssl.engine.factory.class", Batch: option.Refused, Reason: noJavaClass},
		{Name: "security.providers", Batch: option.Refused, Reason: noJavaClass},
	}
}

// foreignProperties are those that the engine decides itself, those of other clients, and those that only a Java client has a use for.
func foreignProperties() []option.Option {
	refused := []struct{ name, reason string }{
		{"auto.offset.reset", "the engine tracks offsets itself; use startingOffsets"},
		{"key.deserializer", "keys are read as bytes; decode them in SQL or with keyFormat"},
		{"value.deserializer", "values are read as bytes; decode them in SQL or with format"},
		{"key.serializer", noProducer},
		{"value.serializer", noProducer},
		{"enable.auto.commit", "a read commits nothing to Kafka; positions are kept with the rows"},
		{"interceptor.classes", "an interceptor could change records, and it names a Java class"},
		{"isolation.level", "it belongs to one read; use isolationLevel"},
	}
	for _, name := range []string{"acks", "batch.size", "buffer.memory", "compression.type", "delivery.timeout.ms", "enable.idempotence", "linger.ms",
		"max.block.ms", "max.in.flight.requests.per.connection", "max.request.size", "partitioner.class", "transactional.id", "transaction.timeout.ms"} {
		refused = append(refused, struct{ name, reason string }{name, noProducer})
	}
	var options []option.Option
	for _, r := range refused {
		options = append(options, option.Option{Name: r.name, Batch: option.Refused, Stream: option.Refused, Reason: r.reason})
	}
	for _, group := range []struct {
		reason string
		names  []string
	}{
		{noGroup, []string{"group.id", "group.instance.id", "group.protocol", "group.remote.assignor", "session.timeout.ms", "heartbeat.interval.ms",
			"max.poll.interval.ms", "partition.assignment.strategy", "auto.commit.interval.ms"}},
		{"the engine sizes its batches itself", []string{"max.poll.records"}},
		{noBackOff, []string{"retries", "retry.backoff.ms", "retry.backoff.max.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms"}},
		{"the server keeps connections and metadata for all statements", []string{"connections.max.idle.ms", "metadata.max.age.ms", "metadata.recovery.strategy", "metadata.recovery.rebootstrap.trigger.ms"}},
		{"a read never creates a topic", []string{"allow.auto.create.topics"}},
		{"internal topics are read only by name", []string{"exclude.internal.topics"}},
		{"every address of a name is tried", []string{"client.dns.lookup"}},
		{noMetrics, []string{"metric.reporters", "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "enable.metrics.push", "auto.include.jmx.reporter"}},
	} {
		for _, name := range group.names {
			options = append(options, option.Option{Name: name, Type: option.Scalar, Batch: option.Ignored, Stream: option.Ignored, Reason: group.reason})
		}
	}
	return append(options, option.Option{Name: "schema.registry.*", Type: option.Scalar, Batch: option.Later, SecretName: option.LooksSecret, Doc: "The client of a schema registry."})
}
