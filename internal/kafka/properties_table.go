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
		{Name: "sasl.mechanism", Aliases: []string{"sasl.mechanisms"}, Type: option.Enum, Words: []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"}, Doc: "How to log in.", Example: "SCRAM-SHA-512"},
		{Name: "sasl.jaas.config", Type: option.String, Secret: true, Doc: "The line of a login module as a Java client takes it, also with the packages kafkashaded. and shadedmskiam.", Example: `org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`},
		{Name: "sasl.username", Type: option.String, Secret: true, Doc: "The user of PLAIN and SCRAM, in place of sasl.jaas.config.", Example: "reader"},
		{Name: "sasl.password", Type: option.String, Secret: true, Doc: "The password of PLAIN and SCRAM, in place of sasl.jaas.config.", Example: "…"},
		{Name: "sasl.login.callback.handler.class", Type: option.String, Doc: "How OAUTHBEARER gets its tokens: the classes of Apache Kafka and of Google are known.", Example: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"},
		{Name: "sasl.client.callback.handler.class", Type: option.String, Doc: "How AWS_MSK_IAM signs: the class of Amazon is known.", Example: "software.amazon.msk.auth.iam.IAMClientCallbackHandler"},
		{Name: "sasl.oauthbearer.token.endpoint.url", Type: option.String, Doc: "Where OAUTHBEARER gets its tokens by the client credentials grant; file: names a file below --files-dir that holds one.", Example: "https://login.example.com/oauth2/token"},
		{Name: "sasl.oauthbearer.client.credentials.client.id", Type: option.String, Doc: "The client, in place of clientId in sasl.jaas.config.", Example: "reports"},
		{Name: "sasl.oauthbearer.client.credentials.client.secret", Type: option.String, Secret: true, Doc: "Its secret, in place of clientSecret in sasl.jaas.config.", Example: "…"},
		{Name: "sasl.oauthbearer.scope", Type: option.String, Doc: "The scope to ask for, in place of scope in sasl.jaas.config.", Example: "kafka.read"},
		{Name: "sasl.oauthbearer.header.urlencode", Type: option.Bool, Default: "false", Doc: "Whether client and secret are URL-encoded, as RFC 6749 has it and some endpoints insist.", Example: "true"},
		{Name: "sasl.oauthbearer.google.credentials", Type: option.String, Secret: true, Doc: "The key file of a Google service account, as JSON or in base64, for Managed Service for Apache Kafka.", Example: `{"type":"service_account", …}`},
		{Name: "sasl.oauthbearer.google.credentials.location", Type: option.String, Doc: "The same as a file below --files-dir.", Example: "key.json"},
		{Name: "sasl.oauthbearer.assertion.*", Type: option.Scalar, Batch: option.Later, SecretName: option.LooksSecret, Doc: "The JWT bearer grant."},
		{Name: "sasl.oauthbearer.jwt.*", Batch: option.Refused, Reason: noJavaClass},
		{Name: "sasl.oauthbearer.*", Type: option.Scalar, Batch: option.Ignored, SecretName: option.LooksSecret, Reason: "tokens are checked by the brokers"},
		{Name: "sasl.aws.access.key.id", Type: option.String, Secret: true, Doc: "The access key of AWS_MSK_IAM.", Example: "AKIA…"},
		{Name: "sasl.aws.secret.access.key", Type: option.String, Secret: true, Doc: "Its secret.", Example: "…"},
		{Name: "sasl.aws.session.token", Type: option.String, Secret: true, Doc: "The session token of an access key that expires.", Example: "…"},
		{Name: "sasl.kerberos.service.name", Type: option.String, Doc: "The name of the brokers' principal for GSSAPI.", Example: "kafka"},
		{Name: "sasl.kerberos.kdc", Type: option.List, Doc: "The key distribution centers of the realm, in place of a krb5.conf.", Example: "kdc.example.com:88"},
		{Name: "sasl.kerberos.*", Type: option.Scalar, Batch: option.Ignored, Reason: "a ticket is asked for at each login"},
		{Name: "sasl.login.class", Batch: option.Refused, Reason: noJavaClass},
		{Name: "sasl.login.*", Type: option.Scalar, Batch: option.Ignored, Reason: "the engine logs in anew when a session ends"},
	}
}

func tlsProperties() []option.Option {
	store := []string{"PEM", "JKS", "PKCS12"}
	return []option.Option{
		{Name: "ssl.truststore.location", Type: option.String, Doc: "A PEM, JKS or PKCS12 file below --files-dir with the certificates to trust.", Example: "ca.pem", DefaultNote: "the machine's"},
		{Name: "ssl.truststore.certificates", Type: option.String, Doc: "The certificates to trust as PEM text, or a JKS or PKCS12 store in base64.", Example: "-----BEGIN CERTIFICATE----- …"},
		{Name: "ssl.truststore.type", Type: option.Enum, Words: store, DefaultNote: "recognised", Doc: "The format of the trust store.", Example: "PEM"},
		{Name: "ssl.truststore.password", Type: option.String, Secret: true, AllowEmpty: true, Doc: "The password of a JKS or PKCS12 trust store; without one, a JKS store is not checked for changes.", Example: "…"},
		{Name: "ssl.keystore.location", Type: option.String, Doc: "A PEM, JKS or PKCS12 file below --files-dir with the client's certificate chain and key.", Example: "client.pem"},
		{Name: "ssl.keystore.certificate.chain", Type: option.String, Secret: true, Doc: "The client's certificate chain as PEM text, or a JKS or PKCS12 store in base64.", Example: "-----BEGIN CERTIFICATE----- …"},
		{Name: "ssl.keystore.key", Type: option.String, Secret: true, Doc: "The client's private key as PEM text; an encrypted one needs ssl.key.password.", Example: "-----BEGIN PRIVATE KEY----- …"},
		{Name: "ssl.keystore.type", Type: option.Enum, Words: store, DefaultNote: "recognised", Doc: "The format of the key store.", Example: "PEM"},
		{Name: "ssl.keystore.password", Type: option.String, Secret: true, AllowEmpty: true, Doc: "The password of a JKS or PKCS12 key store.", Example: "…"},
		{Name: "ssl.key.password", Type: option.String, Secret: true, AllowEmpty: true, Doc: "The password of the private key, for an encrypted one in PEM, or one that differs from the store's.", DefaultNote: "the store's", Example: "…"},
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
