package server

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"millrace/internal/testkit"
)

const brokerPassword = "canary-5d2e-broker"

// secured is a broker that wants alice and her password, with the topic orders of three records.
func secured(t *testing.T) string {
	t.Helper()
	b := testkit.StartBroker(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", brokerPassword), kfake.Superuser("SCRAM-SHA-256", "alice", brokerPassword))
	b.Topic(t, "orders", 1, nil)
	cl := b.Client(t, kgo.SASL(scram.Auth{User: "alice", Pass: brokerPassword}.AsSha256Mechanism()))
	testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: []byte("1")}, &kgo.Record{Topic: "orders", Value: []byte("2")}, &kgo.Record{Topic: "orders", Value: []byte("3")})
	return b.Addrs[0]
}

// keyed gives a server the key of one repeated byte.
func keyed(t *testing.T, fill byte) func(*Config) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(hex.EncodeToString(bytes.Repeat([]byte{fill}, 32))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.KeyFile = file }
}

func login(mechanism string) string {
	return "`kafka.security.protocol` 'SASL_PLAINTEXT', kafka.sasl.mechanism = '" + mechanism + "', kafka.sasl.username => 'alice', kafka.sasl.password '" + brokerPassword + "'"
}

func jaas(mechanism, module string) string {
	return "kafka.security.protocol 'SASL_PLAINTEXT', kafka.sasl.mechanism '" + mechanism + "', kafka.sasl.jaas.config 'kafkashaded.org.apache.kafka.common.security." + module +
		` required username="alice" password="` + brokerPassword + `";'`
}

func TestConnectionsAreUsedByName(t *testing.T) {
	broker := secured(t)
	db := start(t, keyed(t, 1), func(c *Config) { c.DefaultConnection = "prod" }).root(t)
	do(t, db, "CREATE CONNECTION Prod TYPE kafka OPTIONS (bootstrapServers '"+broker+"', "+login("PLAIN")+")")
	do(t, db, "CREATE CREDENTIAL scram OPTIONS (hosts '127.0.0.1', "+jaas("SCRAM-SHA-256", "scram.ScramLoginModule")+")")
	want(t, db, "SELECT count(*) FROM read_kafka(connection => 'prod', subscribe => 'orders')", "count(*)\n3")
	want(t, db, "SELECT sum(value::string::int) FROM read_kafka(subscribe => 'orders')", "sum(value::string::int)\n6")
	want(t, db, "SELECT count(*) FROM read_kafka(bootstrapServers => '"+broker+"', serviceCredential => 'scram', subscribe => 'orders')", "count(*)\n3")
	want(t, db, "SELECT count(*) FROM read_kafka(connection => ?, subscribe => ?)", "count(*)\n3", "PROD", "orders")
	do(t, db, "CREATE VIEW v AS SELECT * FROM read_kafka(connection => 'prod', subscribe => 'orders')")
	want(t, db, "SELECT count(*) FROM v WHERE offset > 0", "count(*)\n2")
	want(t, db, "SHOW CONNECTIONS", "Name|Type|Brokers|Hosts|Login\nProd|kafka|"+broker+"||SASL_PLAINTEXT PLAIN")
	want(t, db, "SHOW CREDENTIALS", "Name|Type|Hosts|Login\nscram|kafka|127.0.0.1|SASL_PLAINTEXT SCRAM-SHA-256")
	want(t, db, "DESCRIBE CONNECTION prod", "Option|Value\nbootstrapServers|"+broker+"\nkafka.sasl.mechanism|PLAIN\nkafka.sasl.password|[redacted]\nkafka.sasl.username|[redacted]\nkafka.security.protocol|SASL_PLAINTEXT")
	want(t, db, "DESC CREDENTIAL scram", "Option|Value\nhosts|127.0.0.1\nkafka.sasl.jaas.config|[redacted]\nkafka.sasl.mechanism|SCRAM-SHA-256\nkafka.security.protocol|SASL_PLAINTEXT")

	for statement, e := range map[string]struct {
		number uint16
		text   string
	}{
		"CREATE CONNECTION prod OPTIONS (bootstrapServers 'k:9092')":                            {31031, "connection 'prod' exists"},
		"CREATE CONNECTION c OPTIONS (hosts 'k')":                                               {31003, "'bootstrapServers'"},
		"CREATE CONNECTION c OPTIONS (bootstrapServers 'k:9092', hosts 'other')":                {31004, "'hosts' does not cover"},
		"CREATE CONNECTION c OPTIONS (bootstrapServers 'k:9092', hosts '*')":                    {31002, "'hosts' holds '*'"},
		"CREATE CONNECTION c OPTIONS (bootstrapServers 'k:9092', kafka.sasl.pasword 'x')":       {31001, "did you mean"},
		"CREATE CONNECTION c OPTIONS (bootstrapServer 'k:9092')":                                {31001, "did you mean 'bootstrapServers'"},
		"CREATE CONNECTION c OPTIONS (bootstrapServers 'k:9092', kafka.sasl.mechanism 'PLAIN')": {31004, "needs another protocol"},
		"CREATE CONNECTION c TYPE mysql OPTIONS (bootstrapServers 'k:9092')":                    {1235, "TYPE 'mysql'"},
		"CREATE CONNECTION `a b` OPTIONS (bootstrapServers 'k:9092')":                           {31002, "'a b' is no name"},
		"CREATE CREDENTIAL c OPTIONS (" + login("PLAIN") + ")":                                  {31003, "'hosts'"},
		"CREATE CREDENTIAL c OPTIONS (hosts 'k', kafka.client.id 'x')":                          {31003, "'kafka.security.protocol'"},
		"DROP CONNECTION nope":                             {31030, "connection 'nope' does not exist"},
		"DROP CREDENTIAL prod":                             {31030, "credential 'prod' does not exist"},
		"DESCRIBE CONNECTION pro":                          {31030, "did you mean 'prod'"},
		"GRANT USAGE ON CONNECTION nope TO root@localhost": {31030, "connection 'nope'"},
		"SELECT 1 FROM read_kafka(connection => 'prodd', subscribe => 'orders')":                                                     {31030, "did you mean 'prod'"},
		"SELECT 1 FROM read_kafka(connection => 'prod', bootstrapServers => 'evil:1', subscribe => 'orders')":                        {31011, "broker 'evil:1', which is none of the hosts that connection 'prod' is for"},
		"SELECT 1 FROM read_kafka(serviceCredential => 'scram', bootstrapServers => 'localhost:1', subscribe => 'orders')":           {31011, "credential 'scram'"},
		"SELECT 1 FROM read_kafka(connection => 'prod', subscribe => 'orders', `kafka.ssl.endpoint.identification.algorithm` => '')": {31004, "says all about how to log in"},
	} {
		_, err := db.Exec(statement)
		state := "HY000"
		if e.number == 1235 {
			state = "42000"
		}
		wantError(t, err, e.number, state, e.text)
	}
	do(t, db, "CREATE CONNECTION IF NOT EXISTS prod OPTIONS (bootstrapServers 'k:9092')")
	do(t, db, "CREATE OR REPLACE CONNECTION prod OPTIONS (bootstrapServers '"+broker+"', "+jaas("PLAIN", "plain.PlainLoginModule")+")")
	want(t, db, "SELECT count(*) FROM v", "count(*)\n3")
	do(t, db, "DROP CONNECTION prod")
	do(t, db, "DROP CONNECTION IF EXISTS prod")
	_, err := rows(db, "SELECT count(*) FROM v")
	wantError(t, err, 31030, "HY000", "'prod' does not exist")
}

// Every broker that a credential is sent to is covered by its hosts, also one that the cluster advertises.
func TestAdvertisedBrokersAreBoundToTheHosts(t *testing.T) {
	broker := secured(t)
	db := start(t, keyed(t, 1)).root(t)
	_, port, _ := strings.Cut(broker, ":")
	do(t, db, "CREATE CREDENTIAL c OPTIONS (hosts 'localhost', "+login("PLAIN")+")")
	_, err := rows(db, "SELECT count(*) FROM read_kafka(bootstrapServers => 'localhost:"+port+"', serviceCredential => 'c', subscribe => 'orders')")
	wantError(t, err, 31011, "HY000", "broker '"+broker+"' is none of the hosts that credential 'c' is for")
	do(t, db, "CREATE OR REPLACE CREDENTIAL c OPTIONS (hosts 'localhost,127.0.0.*:"+port+"', "+login("PLAIN")+")")
	want(t, db, "SELECT count(*) FROM read_kafka(bootstrapServers => 'localhost:"+port+"', serviceCredential => 'c', subscribe => 'orders')", "count(*)\n3")
}

func TestOnlyWhoHasUsageUsesAConnection(t *testing.T) {
	broker := secured(t)
	r := start(t, keyed(t, 1))
	root := r.root(t)
	do(t, root, "CREATE USER bob IDENTIFIED BY 'pw'")
	do(t, root, "GRANT SELECT ON main.* TO bob")
	do(t, root, "CREATE USER maker IDENTIFIED BY 'pw'")
	do(t, root, "GRANT SELECT ON main.* TO maker")
	do(t, root, "GRANT STREAMING_ADMIN ON *.* TO maker")
	do(t, root, "CREATE CONNECTION prod OPTIONS (bootstrapServers '"+broker+"', "+login("PLAIN")+")")
	bob, maker := r.connect(t, "bob:pw@/main"), r.connect(t, "maker:pw@/main")
	read := "SELECT count(*) FROM read_kafka(connection => 'prod', subscribe => 'orders')"
	denied := func(db *sql.DB, statement, text string) {
		t.Helper()
		_, err := rows(db, statement)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %s", statement, err, text)
		}
	}
	denied(bob, read, "1142")
	denied(bob, "DROP CONNECTION prod", "STREAMING_ADMIN")
	denied(bob, "CREATE CONNECTION c OPTIONS (bootstrapServers 'k:9092')", "STREAMING_ADMIN")
	denied(bob, "DESCRIBE CONNECTION prod", "you may not use connection 'prod'")
	denied(bob, "GRANT USAGE ON CONNECTION prod TO bob", "may not grant")
	want(t, bob, "SHOW CONNECTIONS", "Name|Type|Brokers|Hosts|Login")

	do(t, root, "GRANT KAFKA_READ ON *.* TO bob")
	denied(bob, read, "you may not use connection 'prod'")
	denied(bob, strings.ReplaceAll(read, "prod", "nope"), "you may not use connection 'nope'") // whether it exists is not told
	do(t, root, "REVOKE KAFKA_READ ON *.* FROM bob")

	do(t, root, "GRANT USAGE ON CONNECTION Prod TO bob")
	want(t, bob, read, "count(*)\n3") // USAGE is enough, and for nothing else
	want(t, bob, "SELECT count(*) FROM read_kafka(connection => ?, subscribe => ?)", "count(*)\n3", "prod", "orders")
	if _, err := rows(bob, "SELECT count(*) FROM read_kafka(connection => ?, subscribe => ?)", "nope", "orders"); err == nil || !strings.Contains(err.Error(), "you may not use connection 'nope'") {
		t.Error(err)
	}
	want(t, bob, "SELECT topic, partitions FROM kafka_topics(connection => 'prod', subscribe => 'orders')", "topic|partitions\norders|1")
	denied(bob, "SELECT 1 FROM read_kafka(bootstrapServers => '"+broker+"', subscribe => 'orders')", "1142")
	denied(bob, "GRANT USAGE ON CONNECTION prod TO maker", "may not grant")
	want(t, bob, "SHOW CONNECTIONS", "Name|Type|Brokers|Hosts|Login\nprod|kafka|"+broker+"||SASL_PLAINTEXT PLAIN")
	if grants, err := rows(root, "SHOW GRANTS FOR bob"); err != nil || !strings.Contains(grants, "\nGRANT USAGE ON CONNECTION `prod` TO `bob`@`%`") {
		t.Errorf("%s %v", grants, err)
	}
	do(t, root, "REVOKE USAGE ON CONNECTION prod FROM bob")
	denied(bob, read, "1142")

	// Who makes one may use it and pass that on, and that ends with it.
	do(t, maker, "CREATE CONNECTION mine OPTIONS (bootstrapServers '"+broker+"', "+login("PLAIN")+")")
	want(t, maker, strings.ReplaceAll(read, "prod", "mine"), "count(*)\n3")
	do(t, maker, "GRANT USAGE ON CONNECTION mine TO bob")
	want(t, bob, strings.ReplaceAll(read, "prod", "mine"), "count(*)\n3")
	denied(maker, read, "1142")
	do(t, root, "DROP CONNECTION mine")
	do(t, root, "CREATE CONNECTION mine OPTIONS (bootstrapServers '"+broker+"', "+login("PLAIN")+")")
	denied(bob, strings.ReplaceAll(read, "prod", "mine"), "1142")
}

func TestSecretsNeedAKey(t *testing.T) {
	t.Setenv(keyVariable, "")
	dir := t.TempDir()
	at := func(c *Config) { c.DataDir = dir }
	broker := secured(t)
	create := "CREATE CONNECTION prod OPTIONS (bootstrapServers '" + broker + "', " + login("PLAIN") + ")"
	r := start(t, at)
	db := r.root(t)
	_, err := db.Exec(create)
	wantError(t, err, 31032, "HY000", "'kafka.sasl.password' is a secret, and this server has no key")
	do(t, db, "CREATE CONNECTION open OPTIONS (bootstrapServers 'k:9092')")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, at, keyed(t, 1))
	do(t, r.root(t), create)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	read := "SELECT count(*) FROM read_kafka(connection => 'prod', subscribe => 'orders')"
	for _, change := range []func(*Config){func(*Config) {}, keyed(t, 2)} {
		r = start(t, at, change)
		_, err = rows(r.root(t), read)
		wantError(t, err, 31032, "HY000", "connection 'prod' cannot be opened")
		want(t, r.root(t), "SHOW CONNECTIONS", "Name|Type|Brokers|Hosts|Login\nopen|kafka|k:9092||PLAINTEXT\nprod|kafka|||sealed: the key is missing or another")
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(keyVariable, hex.EncodeToString(bytes.Repeat([]byte{1}, 32)))
	want(t, start(t, at).root(t), read, "count(*)\n3")
	if _, err := New(Config{KeyFile: filepath.Join(dir, "nope")}); err == nil || !strings.Contains(err.Error(), "--key-file") {
		t.Error(err)
	}
	t.Setenv(keyVariable, "hunter2hunter2")
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), keyVariable) || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestSecretFunctionFeedsSecretArgumentsOnly(t *testing.T) {
	broker := secured(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"files/broker.pw": brokerPassword + "\n", "outside": brokerPassword} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("MILLRACE_SECRET_KAFKA_BROKER_PW", brokerPassword)
	r := start(t, keyed(t, 1), func(c *Config) { c.SecretsDir = dir })
	root := r.root(t)
	do(t, root, "CREATE USER bob IDENTIFIED BY 'pw'")
	do(t, root, "GRANT SELECT ON main.* TO bob")
	do(t, root, "GRANT KAFKA_READ ON *.* TO bob")
	bob := r.connect(t, "bob:pw@/main")
	read := func(password string) string {
		return "SELECT count(*) FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'orders', `kafka.security.protocol` => 'SASL_PLAINTEXT', " +
			"`kafka.sasl.mechanism` => 'PLAIN', " + password + ")"
	}
	fromVariable := read("`kafka.sasl.username` => 'alice', `kafka.sasl.password` => secret('Kafka', 'broker-pw')")
	_, err := rows(bob, fromVariable)
	wantError(t, err, 1142, "42000", "you may not use the secrets of scope 'kafka'")
	do(t, root, "GRANT USAGE ON SECRET kafka TO bob")
	want(t, bob, fromVariable, "count(*)\n3")
	want(t, bob, read("`kafka.sasl.jaas.config` => concat('org.apache.kafka.common.security.plain.PlainLoginModule required username=\"alice\" password=\"', secret('kafka', 'broker_pw'), '\";')"), "count(*)\n3")
	want(t, root, read("`kafka.sasl.username` => 'alice', `kafka.sasl.password` => secret('files', 'broker.pw')"), "count(*)\n3")
	want(t, bob, "SELECT secret('kafka', 'broker_pw') AS a, upper(secret('kafka', 'nope')) AS b", "a|b\n[redacted]|[REDACTED]")
	do(t, root, "SET @p = secret('kafka', 'broker_pw')")
	want(t, root, "SELECT @p", "@p\n[redacted]")
	for call, text := range map[string]string{
		"SELECT 1 FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => secret('kafka', 'broker_pw'))":                                                                                                              "secret() may not stand in 'subscribe'",
		"SELECT 1 FROM read_kafka(bootstrapServers => secret('kafka', 'broker_pw'), subscribe => 'x')":                                                                                                                           "secret() may not stand in 'bootstrapServers'",
		"SELECT 1 FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'x', consumerConfig => map('client.id', secret('kafka', 'broker_pw')))":                                                                     "secret() may not stand in",
		"SELECT 1 FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'x', `kafka.sasl.password` => secret('kafka', 'broker_pw')::int)":                                                                           "cannot be evaluated",
		"SELECT 1 FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'x', `kafka.sasl.password` => secret('kafka', '../outside'))":                                                                               "is no key",
		"SELECT 1 FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'x', `kafka.sasl.password` => secret('kaf_ka', 'x'))":                                                                                       "is no scope",
		"SELECT 1 FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'x', `kafka.sasl.password` => secret('kafka', 'nope'))":                                                                                     "does not exist",
		"SELECT 1 FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'x', `kafka.sasl.jaas.config` => secret('kafka', 'broker_pw'), `kafka.security.protocol` => 'SASL_SSL', `kafka.sasl.mechanism` => 'PLAIN')": "cannot be parsed",
	} {
		_, err := rows(bob, call)
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), brokerPassword) {
			t.Errorf("%s\n%v, want %s", call, err, text)
		}
	}
	do(t, root, "CREATE CONNECTION stored OPTIONS (bootstrapServers '"+broker+"', kafka.security.protocol 'SASL_PLAINTEXT', kafka.sasl.mechanism 'PLAIN', kafka.sasl.username 'alice', kafka.sasl.password secret('files', 'broker.pw'))")
	want(t, root, "SELECT count(*) FROM read_kafka(connection => 'stored', subscribe => 'orders')", "count(*)\n3")
}

// The canary must be in no output of any kind: results, errors, process list, EXPLAIN, log, metrics, the catalog's file.
func TestNothingShowsWhatAConnectionHolds(t *testing.T) {
	broker := secured(t)
	t.Setenv("MILLRACE_SECRET_KAFKA_PW", brokerPassword)
	dir := t.TempDir()
	r := start(t, keyed(t, 1), func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	do(t, db, "SET GLOBAL long_query_time = 0.0000001")
	var out strings.Builder
	show := func(statement string) {
		got, err := rows(db, statement)
		fmt.Fprintln(&out, got, err)
	}
	wrong := strings.ReplaceAll(login("PLAIN"), "alice", "nobody")
	for _, statement := range []string{
		"CREATE CONNECTION c OPTIONS (bootstrapServers '" + broker + "', " + login("PLAIN") + ")",
		"CREATE CONNECTION c OPTIONS (bootstrapServers '" + broker + "', " + login("PLAIN") + ") x",
		"CREATE CONNECTION c OPTIONS (bootstrapServers '" + broker + "', " + login("PLAIN") + "",
		"CREATE CONNECTION c OPTIONS (bootstrapServers '" + broker + "', kafka.pasword '" + brokerPassword + "')",
		"CREATE CONNECTION wrong OPTIONS (bootstrapServers '" + broker + "', " + wrong + ")",
		"CREATE CREDENTIAL d OPTIONS (hosts '127.0.0.1', " + jaas("SCRAM-SHA-256", "scram.ScramLoginModule") + ")",
		"CREATE CREDENTIAL d OPTIONS (hosts '127.0.0.1', " + jaas("PLAIN", "scram.ScramLoginModule") + ")",
		"SHOW CONNECTIONS", "SHOW CREDENTIALS", "DESCRIBE CONNECTION c", "DESCRIBE CREDENTIAL d", "SHOW GRANTS", "SHOW WARNINGS",
		"EXPLAIN SELECT value FROM read_kafka(connection => 'c', subscribe => 'orders')",
		"EXPLAIN ANALYZE SELECT value FROM read_kafka(connection => 'c', subscribe => 'orders')",
		"EXPLAIN SELECT value FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'orders', `kafka.security.protocol` => 'SASL_PLAINTEXT', `kafka.sasl.mechanism` => 'PLAIN', `kafka.sasl.username` => 'alice', `kafka.sasl.password` => secret('kafka', 'pw'))",
		"SELECT value FROM read_kafka(connection => 'wrong', subscribe => 'orders')",
		"SELECT value FROM read_kafka(connection => 'c', subscribe => 'nope')",
		"SELECT secret('kafka', 'pw')",
		"SHOW FULL PROCESSLIST",
		"SELECT * FROM mysql.user",
		"SELECT * FROM information_schema.processlist",
	} {
		show(statement)
	}
	body := metricsText(t, r)
	file, err := json.Marshal(r.catalog.State())
	if *givenStore == "" {
		file, err = os.ReadFile(filepath.Join(dir, "catalog.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"results and errors": out.String(), "log": r.log.String(), "metrics": body, "catalog": string(file)} {
		if i := strings.Index(text, brokerPassword); i >= 0 {
			t.Errorf("the canary is in %s: …%s…", where, text[max(0, i-300):min(len(text), i+100)])
		}
	}
	if !strings.Contains(out.String(), "as the user of connection 'wrong' by PLAIN") {
		t.Errorf("a wrong password is not told by the connection's name:\n%s", out.String())
	}
	if strings.Contains(string(file), broker) {
		t.Error("the catalog shows the brokers")
	}
}

func TestConnectionsByPreparedStatements(t *testing.T) {
	db := start(t).root(t)
	for _, statement := range []string{"CREATE CONNECTION c OPTIONS (bootstrapServers 'k:9092')", "GRANT USAGE ON CONNECTION c TO root@localhost", "DROP CONNECTION IF EXISTS other"} {
		st, err := db.Prepare(statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		if _, err := st.Exec(); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	for statement, want := range map[string]string{"SHOW CONNECTIONS": "c", "DESCRIBE CONNECTION c": "bootstrapServers"} {
		st, err := db.Prepare(statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		rs, err := st.Query()
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		columns, err := rs.Columns()
		if err != nil || !rs.Next() {
			t.Fatalf("%s: no row: %v %v", statement, err, rs.Err())
		}
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(string)
		}
		if err := rs.Scan(values...); err != nil || *values[0].(*string) != want {
			t.Errorf("%s: %v %v", statement, err, values)
		}
		if err := rs.Close(); err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}
