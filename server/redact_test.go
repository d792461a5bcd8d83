package server

import (
	"strings"
	"testing"
)

// The canary must not be found in what redact gives, whatever form the statement takes.
const canary = "canary-3f1c"

func TestRedactFindsSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"identified by":           `CREATE USER a IDENTIFIED BY 'canary-3f1c' REQUIRE SSL`,
		"identified with by":      `CREATE USER 'a'@'%' IDENTIFIED WITH caching_sha2_password BY 'canary-3f1c'`,
		"identified as":           `create user a identified with mysql_native_password as '*canary-3f1c'`,
		"double quotes":           `ALTER USER a IDENTIFIED BY "canary-3f1c"`,
		"set password":            `SET PASSWORD FOR 'a' = 'canary-3f1c'`,
		"password function":       `SET PASSWORD = PASSWORD('canary-3f1c')`,
		"several users":           `CREATE USER a IDENTIFIED BY 'canary-3f1c', b IDENTIFIED BY 'canary-3f1c'`,
		"named argument":          "SELECT * FROM read_kafka(subscribe => 't', `kafka.sasl.jaas.config` => 'org.x.PlainLoginModule required username=\"u\" password=\"canary-3f1c\";')",
		"argument expression":     "SELECT * FROM read_kafka(`kafka.ssl.key.password` => concat('canary', '-3f1c', 'canary-3f1c'), subscribe => 't')",
		"rewritten argument":      `SELECT * FROM read_kafka('#named', 'kafka.sasl.jaas.config', 'canary-3f1c', 'subscribe', 't')`,
		"map":                     `SELECT * FROM read_kafka(consumer_config_updates => map('sasl.jaas.config', 'canary-3f1c'))`,
		"json":                    `SELECT * FROM read_kafka(consumer_config_updates => '{"ssl.keystore.password": "canary-3f1c"}')`,
		"property text":           `SELECT 'sasl.jaas.config=PlainLoginModule password="canary-3f1c"'`,
		"pem key":                 "SELECT * FROM read_kafka(`kafka.ssl.keystore.key` => '-----BEGIN PRIVATE KEY-----\ncanary-3f1c')",
		"user variable":           `SET @kafka_password := 'canary-3f1c'`,
		"options":                 `CREATE CONNECTION c OPTIONS (password 'x', password = 'canary-3f1c')`,
		"option without sign":     "CREATE CONNECTION c OPTIONS (bootstrapServers 'k:9092', `kafka.sasl.jaas.config` 'canary-3f1c')",
		"option with dots":        `CREATE CREDENTIAL c OPTIONS (hosts 'k', kafka.sasl.password 'canary-3f1c')`,
		"option as text":          `CREATE OR REPLACE CREDENTIAL c OPTIONS ('hosts' 'k', 'kafka.ssl.key.password' 'canary-3f1c')`,
		"option with a slip":      `CREATE CONNECTION IF NOT EXISTS c OPTIONS (kafka.sasl.pasword 'canary-3f1c')`,
		"option and arrow":        `CREATE CONNECTION c OPTIONS (kafka.sasl.aws.session.token => 'canary-3f1c')`,
		"unterminated":            `CREATE USER a IDENTIFIED BY 'canary-3f1c`,
		"no grammar":              `CREATE USERR a IDENTIFIED BY 'canary-3f1c' ('`,
		"comment between":         `CREATE USER a IDENTIFIED BY /* x */ 'canary-3f1c'`,
		"secret comment":          `SELECT 1 /* password canary-3f1c */`,
		"version comment":         `CREATE USER a /*!50000 IDENTIFIED BY 'canary-3f1c' */`,
		"second statement":        `SELECT 1; CREATE USER a IDENTIFIED BY 'canary-3f1c'`,
		"identified by then more": `CREATE USER a IDENTIFIED BY 'canary-3f1c' COMMENT 'hello'`,
		"no backslash escapes":    `CREATE USER a IDENTIFIED BY 'x\', b IDENTIFIED BY 'canary-3f1c'`,
		"backslash escapes":       `CREATE USER a COMMENT 'it\'s', b IDENTIFIED BY 'canary-3f1c'`,
		"adjacent literals":       `CREATE USER a IDENTIFIED BY 'x' 'canary-3f1c'`,
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
		`SELECT password FROM users WHERE name = 'bob'`:                             `SELECT password FROM users WHERE name = 'bob'`,
		`CREATE USER a IDENTIFIED BY 'x' COMMENT 'hello'`:                           `CREATE USER a IDENTIFIED BY '***' COMMENT 'hello'`,
		"SELECT value FROM read_kafka(`kafka.x.password` => 'p', subscribe => 't')": "SELECT value FROM read_kafka(`kafka.x.password` => '***', subscribe => 't')",
		`CREATE CONNECTION c OPTIONS (kafka.client.id 'x'); SELECT 'shown'`:         `CREATE CONNECTION c OPTIONS (kafka.client.id '***'); SELECT 'shown'`,
		`SELECT 1 FROM read_kafka(serviceCredential => 'c', subscribe => 't')`:      `SELECT 1 FROM read_kafka(serviceCredential => 'c', subscribe => 't')`,
		`SELECT connection_id(), 'options'`:                                         `SELECT connection_id(), 'options'`,
		`CREATE USER a IDENTIFIED BY 'x'; SELECT 'shown'`:                           `CREATE USER a IDENTIFIED BY '***'; SELECT 'shown'`,
	} {
		if got := redact(text).text; got != want {
			t.Errorf("redact(%s)\n got %s\nwant %s", text, got, want)
		}
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
