//go:build integration

package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func readKafka(t testing.TB, topic string, more ...string) string {
	args := append([]string{"bootstrapServers => '" + env(t, "KAFKA_PLAINTEXT") + "'", "subscribe => '" + topic + "'"}, more...)
	return "read_kafka(" + strings.Join(args, ", ") + ")"
}

// warnings returns SHOW WARNINGS of the statement that conn ran last.
func warnings(t testing.TB, conn *sql.Conn) []string {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SHOW WARNINGS")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var level, message string
		var code int
		if err := rows.Scan(&level, &code, &message); err != nil {
			t.Fatal(err)
		}
		out = append(out, message)
	}
	return out
}

// transact produces n records to partition 0 in one transaction and ends it as told; "open" leaves it open until the test ends.
func transact(t *testing.T, topic, end string, n int) {
	t.Helper()
	cl, _ := client(t, kgo.TransactionalID(fmt.Sprintf("%s-%d", topic, time.Now().UnixNano())), kgo.TransactionTimeout(5*time.Minute))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		produce(t, cl, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%s-%d", end, i)})
	}
	var err error
	switch end {
	case "commit":
		err = cl.EndTransaction(t.Context(), kgo.TryCommit)
	case "abort":
		err = cl.EndTransaction(t.Context(), kgo.TryAbort)
	case "open":
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	// The coordinator answers before its markers are in the log; until then the transaction counts as open.
	_, adm := client(t)
	until(t, "the end of a transaction", func() (bool, error) {
		high, err := adm.ListEndOffsets(t.Context(), topic)
		if err != nil {
			return false, err
		}
		stable, err := adm.ListCommittedOffsets(t.Context(), topic)
		if err != nil {
			return false, err
		}
		h, _ := high.Lookup(topic, 0)
		s, _ := stable.Lookup(topic, 0)
		return h.Offset == s.Offset, errors.Join(h.Err, s.Err)
	})
}

// A bounded read must end at a log whose tail is a commit marker, an aborted transaction, or an open one: the position of the last record
// never reaches the end offset there, and readers that wait for it hang.
func TestTransactionsEndExactly(t *testing.T) {
	db := sharedServer(t).open(t, "")
	cl, adm := client(t)
	name := topic(t, adm, 1, nil)
	produce(t, cl, &kgo.Record{Topic: name, Value: []byte("plain")})
	transact(t, name, "commit", 3)
	if got := one[int](t, db, "SELECT COUNT(*) FROM "+readKafka(t, name)); got != 4 {
		t.Errorf("after a commit: %d rows, want 4", got)
	}
	transact(t, name, "abort", 5)
	for _, c := range []struct {
		isolation string
		want      int
	}{{"read_committed", 4}, {"read_uncommitted", 9}} {
		if got := one[int](t, db, "SELECT COUNT(*) FROM "+readKafka(t, name, "isolationLevel => '"+c.isolation+"'")); got != c.want {
			t.Errorf("after an abort, %s: %d rows, want %d", c.isolation, got, c.want)
		}
		if got := one[int](t, db, "SELECT COUNT(value) FROM "+readKafka(t, name, "isolationLevel => '"+c.isolation+"'")); got != c.want {
			t.Errorf("after an abort, %s, decoded: %d rows, want %d", c.isolation, got, c.want)
		}
	}
	transact(t, name, "open", 2)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var n int
	if err := conn.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+readKafka(t, name)).Scan(&n); err != nil || n != 4 {
		t.Errorf("with an open transaction: %d rows, %v, want 4", n, err)
	}
	if w := strings.Join(warnings(t, conn), "\n"); !strings.Contains(w, "2") || !strings.Contains(w, "transaction") {
		t.Errorf("no warning about the two offsets held back by the open transaction: %q", w)
	}
}

func TestCompactedTopic(t *testing.T) {
	db := sharedServer(t).open(t, "")
	cl, adm := client(t)
	name := topic(t, adm, 1, map[string]string{"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "1048576"})
	for round := range 5 {
		for k := range 20 {
			produce(t, cl, &kgo.Record{Topic: name, Key: fmt.Appendf(nil, "k%d", k), Value: fmt.Appendf(nil, "%d", round)})
		}
	}
	until(t, "compaction", func() (bool, error) {
		// The active segment is never compacted; a record of its own rolls it.
		produce(t, cl, &kgo.Record{Topic: name, Key: []byte("tick"), Value: []byte("tick")})
		var n int
		err := db.QueryRow("SELECT COUNT(*) FROM " + readKafka(t, name) + " WHERE key::string <> 'tick'").Scan(&n)
		return n == 20, err
	})
	if got := one[int](t, db, "SELECT COUNT(*) FROM "+readKafka(t, name)+" WHERE key::string <> 'tick' AND value::string = '4'"); got != 20 {
		t.Errorf("%d latest values, want 20", got)
	}
	count, decoded := one[int](t, db, "SELECT COUNT(*) FROM "+readKafka(t, name)), one[int](t, db, "SELECT COUNT(value) FROM "+readKafka(t, name))
	if count < 21 || decoded < 21 {
		t.Errorf("COUNT(*) = %d, COUNT(value) = %d", count, decoded)
	}
}

func TestDeletedRecordsAreReported(t *testing.T) {
	db := sharedServer(t).open(t, "")
	cl, adm := client(t)
	name := topic(t, adm, 1, nil)
	for i := range 100 {
		produce(t, cl, &kgo.Record{Topic: name, Value: fmt.Appendf(nil, "%d", i)})
	}
	if _, err := adm.DeleteRecords(t.Context(), kadm.Offsets{name: {0: {Topic: name, Partition: 0, At: 40}}}); err != nil {
		t.Fatal(err)
	}
	if got := one[int](t, db, "SELECT COUNT(*) FROM "+readKafka(t, name)); got != 60 {
		t.Errorf("earliest: %d rows, want 60", got)
	}
	start := fmt.Sprintf(`startingOffsets => '{"%s":{"0":10}}'`, name)
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM " + readKafka(t, name, start)).Scan(&n); err == nil || !strings.Contains(err.Error(), "31018") {
		t.Errorf("a start below the log gave %d, %v; want KAFKA_DATA_LOSS (31018)", n, err)
	}
	if got := one[int](t, db, "SELECT COUNT(*) FROM "+readKafka(t, name, start, "failOnDataLoss => false")); got != 60 {
		t.Errorf("clamped: %d rows, want 60", got)
	}
}

func TestSecuredListeners(t *testing.T) {
	cl, adm := client(t)
	name := topic(t, adm, 1, nil)
	produce(t, cl, &kgo.Record{Topic: name, Value: []byte("x")})
	dir := env(t, "KAFKA_TLS_DIR")
	s := start(t, t.TempDir(), "--files-dir", dir)
	db := s.open(t, "")
	pem := func(file string) string {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	sasl := func(mechanism, login, user, password string) []string {
		return []string{"`kafka.security.protocol` => 'SASL_PLAINTEXT'", "`kafka.sasl.mechanism` => '" + mechanism + "'",
			fmt.Sprintf("`kafka.sasl.jaas.config` => 'kafkashaded.org.apache.kafka.common.security.%s required username=\"%s\" password=\"%s\";'", login, user, password)}
	}
	plain, scram := "plain.PlainLoginModule", "scram.ScramLoginModule"
	for _, c := range []struct {
		name, listener string
		args           []string
		errno          string
	}{
		{"plain", "KAFKA_SASL", sasl("PLAIN", plain, "alice", "alice-secret"), ""},
		{"scram 256", "KAFKA_SASL", sasl("SCRAM-SHA-256", scram, "alice", "alice-secret"), ""},
		{"scram 512", "KAFKA_SASL", sasl("SCRAM-SHA-512", scram, "alice", "alice-secret"), ""},
		{"wrong password", "KAFKA_SASL", sasl("PLAIN", plain, "alice", "canary-4711"), "31013"},
		{"wrong scram password", "KAFKA_SASL", sasl("SCRAM-SHA-512", scram, "alice", "canary-4711"), "31013"},
		{"no acl", "KAFKA_SASL", sasl("PLAIN", plain, "bob", "bob-secret"), "31014"},
		{"no sasl", "KAFKA_SASL", nil, "31012"},
		{"ssl, ca file", "KAFKA_SSL", []string{"`kafka.security.protocol` => 'SSL'", "`kafka.ssl.truststore.type` => 'PEM'", "`kafka.ssl.truststore.location` => '" + filepath.Join(dir, "ca.pem") + "'"}, ""},
		{"ssl, ca inline", "KAFKA_SSL", []string{"`kafka.security.protocol` => 'SSL'", "`kafka.ssl.truststore.type` => 'PEM'", "`kafka.ssl.truststore.certificates` => '" + pem("ca.pem") + "'"}, ""},
		{"ssl, unknown ca", "KAFKA_SSL", []string{"`kafka.security.protocol` => 'SSL'"}, "31015"},
		{"plaintext to ssl", "KAFKA_SSL", nil, "31012"},
		{"ssl to plaintext", "KAFKA_PLAINTEXT", []string{"`kafka.security.protocol` => 'SSL'"}, "3101"},
		{"mtls", "KAFKA_MTLS", []string{"`kafka.security.protocol` => 'SSL'", "`kafka.ssl.truststore.type` => 'PEM'", "`kafka.ssl.truststore.certificates` => '" + pem("ca.pem") + "'",
			"`kafka.ssl.keystore.type` => 'PEM'", "`kafka.ssl.keystore.certificate.chain` => '" + pem("client.pem") + "'", "`kafka.ssl.keystore.key` => '" + pem("client.key") + "'"}, ""},
		{"mtls without certificate", "KAFKA_MTLS", []string{"`kafka.security.protocol` => 'SSL'", "`kafka.ssl.truststore.type` => 'PEM'", "`kafka.ssl.truststore.certificates` => '" + pem("ca.pem") + "'"}, "3101"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			q := "SELECT COUNT(*) FROM read_kafka(" + strings.Join(append([]string{"bootstrapServers => '" + env(t, c.listener) + "'", "subscribe => '" + name + "'"}, c.args...), ", ") + ")"
			var n int
			err := db.QueryRowContext(ctx, q).Scan(&n)
			switch {
			case c.errno == "" && (err != nil || n != 1):
				t.Errorf("%d rows, %v", n, err)
			case c.errno != "" && (err == nil || !strings.Contains(err.Error(), "Error "+c.errno)):
				t.Errorf("%d rows, %v; want error %s", n, err, c.errno)
			}
			if err != nil && strings.Contains(err.Error(), "canary-4711") {
				t.Errorf("the password is in the message: %v", err)
			}
		})
	}
	if strings.Contains(s.log.String(), "canary-4711") {
		t.Error("the password is in the log")
	}
}

func TestHeadersAndTimestamps(t *testing.T) {
	db := sharedServer(t).open(t, "")
	cl, adm := client(t)
	name := topic(t, adm, 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	produce(t, cl, &kgo.Record{Topic: name, Value: []byte("x"), Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}, {Key: "b", Value: []byte{0xff}}}})
	if got, want := one[string](t, db, "SELECT headers FROM "+readKafka(t, name, "includeHeaders => true")), `[{"key":"a","value":"1"},{"key":"a","value":null},{"key":"b","value":{"base64":"/w=="}}]`; strings.ReplaceAll(got, " ", "") != want {
		t.Errorf("headers %s, want %s", got, want)
	}
	if got := one[int](t, db, "SELECT timestampType FROM "+readKafka(t, name)+" WHERE timestamp > now() - interval 1 hour"); got != 1 {
		t.Errorf("timestampType %d, want 1", got)
	}
}
