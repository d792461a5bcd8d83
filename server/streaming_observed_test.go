package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

func TestCommitsAndFreshnessAreMeasured(t *testing.T) {
	b, _, produce := ordersTopic(t, 10)
	r := start(t)
	create(t, r, b, "t", "")
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	produce(10, 20)
	comes(t, r, "SELECT count(*) FROM t", "20")
	labels := `{database="main",table="t"}`
	text := metricsText(t, r)
	for _, name := range []string{"commit", "freshness"} {
		count := metricIn(t, text, "millrace_streaming_table_"+name+"_seconds_count"+labels)
		sum := metricIn(t, text, "millrace_streaming_table_"+name+"_seconds_sum"+labels)
		all := metricIn(t, text, "millrace_streaming_table_"+name+`_seconds_bucket{database="main",table="t",le="+Inf"}`)
		if count < 1 || all != count || sum <= 0 || sum > 20*count {
			t.Errorf("%s: %v in %v s, %v in all buckets", name, count, sum, all)
		}
	}
}

// A topic of nothing but bad records left only the number of them, or would have pushed everything else out of the log.
func TestTheEventLogTellsOfBadRecordsOnceInAWhile(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	cl := b.Client(t)
	r := start(t)
	create(t, r, b, "t", "")
	for i := range 20 {
		testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: fmt.Appendf(nil, `{"id":"x%d"}`, i)})
	}
	comes(t, r, "SELECT count(*) FROM `t$errors`", "20")
	bad := "SELECT level, message LIKE '%bad, the last at offset % of partition 0 of topic ''orders'': %' FROM information_schema.streaming_event_log WHERE event_type = 'bad_records'"
	comes(t, r, bad, "WARN|1")
	do(t, r.root(t), "ALTER STREAMING TABLE t PAUSE") // what is left is told when the table stops
	comes(t, r, bad+" AND message LIKE '%offset 19 %x19%'", "WARN|1")
	if got, err := values(r.root(t), "SELECT sum(CAST(substring_index(message, ' ', 1) AS SIGNED)), count(*) <= 2 FROM information_schema.streaming_event_log WHERE event_type = 'bad_records'"); err != nil || got != "20|1" {
		t.Errorf("%s, %v", got, err)
	}
}

// A definition lies in the catalog as it was written.
func TestDefinitionsHoldNoSecrets(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	t.Setenv("MILLRACE_SECRET_KAFKA_PASSWORD", "hunter2")
	r := start(t)
	db := r.root(t)
	create := func(password string) error {
		_, err := rows(db, fmt.Sprintf("CREATE STREAMING TABLE t AS SELECT offset FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest', `kafka.ssl.truststore.password` => %s)",
			b.Addrs[0], password))
		return err
	}
	err := create("'hunter2'")
	wantError(t, err, 31005, "HY000", "holds a secret")
	if strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	gives(t, db, "SHOW TABLES", "")
	if err := create("secret('kafka', 'password')"); err != nil && strings.Contains(err.Error(), "holds a secret") {
		t.Error(err)
	}
}

// The clock stands still within a commit; chance does not.
func TestQueriesThatAskForTheTimeOrForChance(t *testing.T) {
	b, _, produce := ordersTopic(t, 10)
	r := start(t)
	do(t, r.root(t), fmt.Sprintf("CREATE STREAMING TABLE t AS SELECT value:id::bigint AS id, now(6) AS seen, rand() AS r, uuid() AS u FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0]))
	gives(t, r.root(t), "SELECT count(*), count(DISTINCT seen), count(DISTINCT r), count(DISTINCT u) FROM t", "10|1|10|10")
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	produce(10, 12)
	comes(t, r, "SELECT count(*), count(DISTINCT r), count(DISTINCT u), count(DISTINCT seen) BETWEEN 2 AND 3, max(seen) <= now(6) FROM t", "12|12|12|1|1")
}

// Each streaming table that read was a connection of its owner's in the list, asleep, which KILL said it had ended, and which stayed.
func TestStreamingTablesAreNoConnections(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r := start(t)
	create(t, r, b, "t", "")
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	const others = "SELECT count(*), coalesce(min(id), 0) FROM information_schema.processlist WHERE id >= 2147483648"
	gives(t, r.root(t), others, "0|0")
	if _, err := rows(r.root(t), "KILL 2147483649"); err == nil || !strings.Contains(err.Error(), "there is no connection 2147483649") {
		t.Errorf("KILL: %v", err)
	}
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	do(t, r.root(t), "DROP STREAMING TABLE t")
}
