package server

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"millrace/internal/testkit"
)

// The canary must not be found in what redact gives, whatever form the statement takes.
const canary = "canary-3f1c"

func TestRedactFindsSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"identified by":                `CREATE USER a IDENTIFIED BY 'canary-3f1c' REQUIRE SSL`,
		"identified with by":           `CREATE USER 'a'@'%' IDENTIFIED WITH caching_sha2_password BY 'canary-3f1c'`,
		"identified as":                `create user a identified with mysql_native_password as '*canary-3f1c'`,
		"double quotes":                `ALTER USER a IDENTIFIED BY "canary-3f1c"`,
		"set password":                 `SET PASSWORD FOR 'a' = 'canary-3f1c'`,
		"password function":            `SET PASSWORD = PASSWORD('canary-3f1c')`,
		"several users":                `CREATE USER a IDENTIFIED BY 'canary-3f1c', b IDENTIFIED BY 'canary-3f1c'`,
		"named argument":               "SELECT * FROM read_kafka(subscribe => 't', `kafka.sasl.jaas.config` => 'org.x.PlainLoginModule required username=\"u\" password=\"canary-3f1c\";')",
		"argument expression":          "SELECT * FROM read_kafka(`kafka.ssl.key.password` => concat('canary', '-3f1c', 'canary-3f1c'), subscribe => 't')",
		"rewritten argument":           `SELECT * FROM read_kafka('#named', 'kafka.sasl.jaas.config', 'canary-3f1c', 'subscribe', 't')`,
		"map":                          `SELECT * FROM read_kafka(consumer_config_updates => map('sasl.jaas.config', 'canary-3f1c'))`,
		"json":                         `SELECT * FROM read_kafka(consumer_config_updates => '{"ssl.keystore.password": "canary-3f1c"}')`,
		"property text":                `SELECT 'sasl.jaas.config=PlainLoginModule password="canary-3f1c"'`,
		"pem key":                      "SELECT * FROM read_kafka(`kafka.ssl.keystore.key` => '-----BEGIN PRIVATE KEY-----\ncanary-3f1c')",
		"url":                          `SELECT * FROM read_kafka(subscribe => 't', schemaRegistryUrl => 'http://u:canary-3f1c@a:1,http://v:canary-3f1c@b:1')`,
		"user variable":                `SET @kafka_password := 'canary-3f1c'`,
		"options":                      `CREATE CONNECTION c OPTIONS (password 'x', password = 'canary-3f1c')`,
		"option without sign":          "CREATE CONNECTION c OPTIONS (bootstrapServers 'k:9092', `kafka.sasl.jaas.config` 'canary-3f1c')",
		"option with dots":             `CREATE CREDENTIAL c OPTIONS (hosts 'k', kafka.sasl.password 'canary-3f1c')`,
		"option as text":               `CREATE OR REPLACE CREDENTIAL c OPTIONS ('hosts' 'k', 'kafka.ssl.key.password' 'canary-3f1c')`,
		"option with a slip":           `CREATE CONNECTION IF NOT EXISTS c OPTIONS (kafka.sasl.pasword 'canary-3f1c')`,
		"option and arrow":             `CREATE CONNECTION c OPTIONS (kafka.sasl.aws.session.token => 'canary-3f1c')`,
		"argument with a slip":         `SELECT * FROM read_kafka(subscribe => 't', kafka.sasl.jas.config => 'canary-3f1c')`,
		"another slip":                 "SELECT * FROM read_kafka(`kafka.sasl.jaas.confg` => 'canary-3f1c')",
		"slip and expression":          `SELECT * FROM read_kafka(kafkasaslpw => concat('canary-3f1c', lower('canary-3f1c')), subscribe => 't')`,
		"slip of a function":           `SELECT * FROM kafka_topics(pw => "canary-3f1c")`,
		"slip in a map":                `SELECT * FROM read_kafka(consumer_config_updates => map('client.id', 'x', 'sasl.jas.config', 'canary-3f1c'))`,
		"slip in an object":            `SELECT * FROM read_kafka(consumerConfig => '{"client.id": "x", "sasl.jas.config": "canary-3f1c"}')`,
		"slip in a flow":               `INSERT INTO write_kafka(producerConfigUpdates => '{"sasl.jas.config": "canary-3f1c"', topic => 't') SELECT 1`,
		"slip of a registry":           "SELECT * FROM read_kafka(`confluent.schema.registry.basic.usr` => 'u:canary-3f1c')",
		"slip beside an expression":    `SELECT * FROM read_kafka(consumerConfig => map('client.id', concat('a', 'b'), 'sasl.jas.config', concat('x', 'canary-3f1c')))`,
		"name that is an expression":   `SELECT * FROM read_kafka(consumerConfig => map(concat('sasl.jas', 'client.id'), 'canary-3f1c'))`,
		"text that is no object":       `SELECT * FROM read_kafka(consumerConfig => 'sasl.jas.config=canary-3f1c')`,
		"slip in a decoder's map":      `SELECT from_avro(unhex(hex(value)), map('schema.registry.address', 'http://h:1', 'schema.registry.basic.usr', 'u:canary-3f1c')) FROM t`,
		"slip in a decoder's address":  "SELECT `from_json`(value, MAP('schema.registry.adres', 'http://canary-3f1c:1'), map('mode', 'PERMISSIVE'))",
		"slip after a mode":            `SELECT from_protobuf(value, '', map('mode', 'FAILFAST', 'schema.registry.bearer.tokn', concat('x', 'canary-3f1c')))`,
		"slip in a decoder in another": `SELECT from_json(from_avro(x, map('schema.registry.bearer.tokn', 'x')), map('schema.registry.bearer.tokn', 'canary-3f1c'))`,
		"slip in a decoder's object":   `SELECT from_avro(value, '{"schema.registry.address": "http://h:1", "schema.registry.basic.usr": "u:canary-3f1c"}')`,
		"unterminated":                 `CREATE USER a IDENTIFIED BY 'canary-3f1c`,
		"no grammar":                   `CREATE USERR a IDENTIFIED BY 'canary-3f1c' ('`,
		"comment between":              `CREATE USER a IDENTIFIED BY /* x */ 'canary-3f1c'`,
		"secret comment":               `SELECT 1 /* password canary-3f1c */`,
		"version comment":              `CREATE USER a /*!50000 IDENTIFIED BY 'canary-3f1c' */`,
		"second statement":             `SELECT 1; CREATE USER a IDENTIFIED BY 'canary-3f1c'`,
		"identified by then more":      `CREATE USER a IDENTIFIED BY 'canary-3f1c' COMMENT 'hello'`,
		"no backslash escapes":         `CREATE USER a IDENTIFIED BY 'x\', b IDENTIFIED BY 'canary-3f1c'`,
		"backslash escapes":            `CREATE USER a COMMENT 'it\'s', b IDENTIFIED BY 'canary-3f1c'`,
		"adjacent literals":            `CREATE USER a IDENTIFIED BY 'x' 'canary-3f1c'`,
	} {
		t.Run(name, func(t *testing.T) {
			r := redact(text)
			if strings.Contains(r.text, canary) {
				t.Errorf("found in %s", r.text)
			}
			if message := r.scrub("near '" + canary + "'"); name != "argument expression" && len(r.secrets) > 0 && strings.Contains(r.secrets[0], canary) && r.secrets[0] == canary && strings.Contains(message, canary) {
				t.Errorf("found in message %s", message)
			}
		})
	}
}

func TestRedactKeepsTheRest(t *testing.T) {
	for text, want := range map[string]string{
		`SELECT 1`: `SELECT 1`,
		`SELECT 'http://h:8081/a@b', 'http://u@h'`:                                                                                 `SELECT 'http://h:8081/a@b', 'http://u@h'`,
		`SELECT password FROM users WHERE name = 'bob'`:                                                                            `SELECT password FROM users WHERE name = 'bob'`,
		`CREATE USER a IDENTIFIED BY 'x' COMMENT 'hello'`:                                                                          `CREATE USER a IDENTIFIED BY '***' COMMENT 'hello'`,
		"SELECT value FROM read_kafka(`kafka.x.password` => 'p', subscribe => 't')":                                                "SELECT value FROM read_kafka(`kafka.x.password` => '***', subscribe => 't')",
		`CREATE CONNECTION c OPTIONS (kafka.client.id 'x'); SELECT 'shown'`:                                                        `CREATE CONNECTION c OPTIONS (kafka.client.id '***'); SELECT 'shown'`,
		`SELECT 1 FROM read_kafka(serviceCredential => 'c', subscribe => 't')`:                                                     `SELECT 1 FROM read_kafka(serviceCredential => 'c', subscribe => 't')`,
		"SELECT 1 FROM read_kafka(`kafka.client.id` => 'a', topics => concat('b', 'c'), starting_offsets => 'latest')":             "SELECT 1 FROM read_kafka(`kafka.client.id` => 'a', topics => concat('b', 'c'), starting_offsets => 'latest')",
		`SELECT 1 FROM read_kafka(kafka.clientid => 'a', subscribe => 'b') WHERE value = 'c'`:                                      "SELECT 1 FROM read_kafka(kafka.clientid => '***', subscribe => 'b') WHERE value = 'c'",
		`SELECT 1 FROM read_kafka(consumerConfigUpdates => map('client.id', 'a', 'kafka.fetch.max.bytes', '1'), subscribe => 'b')`: `SELECT 1 FROM read_kafka(consumerConfigUpdates => map('client.id', 'a', 'kafka.fetch.max.bytes', '1'), subscribe => 'b')`,
		`SELECT 1 FROM read_kafka(consumerConfigUpdates => '{"client.id": "a"}')`:                                                  `SELECT 1 FROM read_kafka(consumerConfigUpdates => '{"client.id": "a"}')`,
		"SELECT 1 FROM read_kafka(`confluent.schema.registry.ssl.truststore.location` => 'a')":                                     "SELECT 1 FROM read_kafka(`confluent.schema.registry.ssl.truststore.location` => 'a')",
		`SELECT from_avro(x, map('schema.registry.address', 'http://h:1', 'schemaRegistrySubject', 's', 'schema.registry.ssl.truststore.location', 'f', 'MODE', 'FAILFAST')), map('a', 'b')`: `SELECT from_avro(x, map('schema.registry.address', 'http://h:1', 'schemaRegistrySubject', 's', 'schema.registry.ssl.truststore.location', 'f', 'MODE', 'FAILFAST')), map('a', 'b')`,
		`SELECT from_json('{"a": "b"}', 'a STRING', map('mode', 'PERMISSIVE')), from_avro(x, '{"type": "record", "name": "R", "fields": []}')`:                                               `SELECT from_json('{"a": "b"}', 'a STRING', map('mode', 'PERMISSIVE')), from_avro(x, '{"type": "record", "name": "R", "fields": []}')`,
		`SELECT from_json(x, map('mod', 'a')), map('mod', 'a')`:                                        `SELECT from_json(x, map('mod', '***')), map('mod', 'a')`,
		`SELECT connection_id(), 'options'`:                                                            `SELECT connection_id(), 'options'`,
		"SELECT 1 FROM read_kafka(`kafka.sasl.password` => Secret ( 'a', 'k.1-x' ), subscribe => 't')": "SELECT 1 FROM read_kafka(`kafka.sasl.password` => Secret ( 'a', 'k.1-x' ), subscribe => 't')",
		"SELECT 1 FROM read_kafka(`kafka.sasl.password` => secret('p'))":                               "SELECT 1 FROM read_kafka(`kafka.sasl.password` => secret('***'))",
		"SELECT 1 FROM read_kafka(`kafka.sasl.password` => concat(secret('a', 'b'), 'c'))":             "SELECT 1 FROM read_kafka(`kafka.sasl.password` => concat(secret('a', 'b'), '***'))",
		`CREATE USER a IDENTIFIED BY 'x'; SELECT 'shown'`:                                              `CREATE USER a IDENTIFIED BY '***'; SELECT 'shown'`,
	} {
		if got := redact(text).text; got != want {
			t.Errorf("redact(%s)\n got %s\nwant %s", text, got, want)
		}
	}
}

// A password was a word of a hint, and the user read a hint with a hole in it.
func TestPasswordsThatAreWordsLeaveHintsWhole(t *testing.T) {
	db := start(t).root(t)
	err := attempt(db, "SELECT * FROM read_kafka(bootstrapServers => 'b:1', subscribe => 't', `kafka.sasl.password` => 'mean', startingOffset => 'latest')")
	if err == nil || !strings.Contains(err.Error(), "did you mean 'startingOffsets'?") {
		t.Error(err)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(`CREATE USER a IDENTIFIED BY '`, `x`)
	f.Add("SELECT `", "password'\\")
	f.Fuzz(func(t *testing.T, before, secret string) {
		redact(before + secret) // must not panic
		if strings.ContainsAny(secret, `'"\`+"`") || len(secret) < 6 || strings.Contains("CREATE USER u IDENTIFIED BY ''***'", secret) {
			return
		}
		if r := redact(`CREATE USER u IDENTIFIED BY '` + secret + `'`); strings.Contains(r.text, secret) {
			t.Errorf("%q found in %q", secret, r.text)
		}
	})
}

// A definition of a view lies in the catalog as it was written, and is shown to whoever may read the view.
func TestSecretsInViewsAreWarnedOfAndShownToNobody(t *testing.T) {
	b := testkit.StartBroker(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "hunter2-canary"))
	b.Topic(t, "orders", 1, nil)
	t.Setenv("MILLRACE_SECRET_KAFKA_PASSWORD", "hunter2-canary")
	r := start(t)
	db := r.root(t)
	for name, c := range map[string]struct{ password, shown, warning string }{
		"clear": {"'hunter2-canary'", "'***'", "Warning|1105|view 'clear' holds a secret, which is kept in clear with its definition: name it, by secret('scope', 'key') or by connection => 'name' of a CREATE CONNECTION"},
		"named": {"secret('kafka', 'password')", "secret('kafka', 'password')", ""},
	} {
		t.Run(name, func(t *testing.T) {
			query := "SELECT count(*) FROM read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 'orders', `kafka.security.protocol` => 'SASL_PLAINTEXT', `kafka.sasl.mechanism` => 'PLAIN', `kafka.sasl.username` => 'u', `kafka.sasl.password` => "
			do(t, db, "CREATE VIEW "+name+" AS "+query+c.password+")")
			gives(t, db, "SHOW WARNINGS", c.warning)
			gives(t, db, "SELECT view_definition FROM information_schema.views WHERE table_name = '"+name+"'", query+c.shown+")")
			for _, show := range []string{"SHOW CREATE VIEW ", "SHOW CREATE TABLE "} {
				if got, err := values(db, show+name); err != nil || !strings.Contains(got, query+c.shown+")") {
					t.Errorf("%s: %s, %v", show, got, err)
				}
			}
			do(t, db, "RENAME TABLE "+name+" TO "+name+"_2") // the definition itself is whole
			gives(t, db, "SHOW WARNINGS", "")
			gives(t, db, "SELECT * FROM "+name+"_2", "0")
		})
	}
	if strings.Contains(r.log.String(), "hunter2-canary") {
		t.Error("the log has the secret")
	}
}
