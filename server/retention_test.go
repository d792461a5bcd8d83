package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// agedTopic is a topic of n records in two partitions, of which every second one is two hours old.
func agedTopic(t *testing.T, n int) (*testkit.Broker, func(from, to int)) {
	t.Helper()
	b := testkit.StartBroker(t)
	b.Topic(t, "events", 2, nil)
	cl := b.Client(t)
	produce := func(from, to int) {
		t.Helper()
		var list []*kgo.Record
		for i := from; i < to; i++ {
			at := time.Now()
			if i%4 < 2 {
				at = at.Add(-2 * time.Hour)
			}
			list = append(list, &kgo.Record{Topic: "events", Partition: int32(i % 2), Timestamp: at, Value: fmt.Appendf(nil, `{"id":%d}`, i)})
		}
		testkit.Produce(t, cl, list...)
	}
	produce(0, n)
	return b, produce
}

func TestRetentionRemovesOldRowsAndKeepsPositions(t *testing.T) {
	b, produce := agedTopic(t, 1000)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	do(t, db, fmt.Sprintf("CREATE STREAMING TABLE t TBLPROPERTIES ('retention' = '1 hour') AS SELECT value:id::bigint AS id, `timestamp` AS ts FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'events', startingOffsets => 'earliest')", b.Addrs[0]))
	comes(t, r, "SELECT count(*), count(DISTINCT id), min(id) FROM t", "500|500|2")
	gives(t, db, "SELECT sum(next_offset) FROM information_schema.streaming_table_partitions", "1000")
	comes(t, r, "SELECT retention, retention_column, expired_rows > 0, last_expired IS NULL, retention_error FROM information_schema.streaming_tables", "1 hour|ts|1|0|NULL")
	comes(t, r, "SELECT level, count(*) > 0 FROM information_schema.streaming_event_log WHERE event_type = 'rows_expired' AND message LIKE '%rows were removed%1h0m0s%' GROUP BY level", "INFO|1")

	// Also while it is paused, and by a definition that was changed.
	do(t, db, "ALTER STREAMING TABLE t UNSET TBLPROPERTIES ('retention')")
	produce(1000, 1100)
	comes(t, r, "SELECT count(*) FROM t", "600")
	do(t, db, "ALTER STREAMING TABLE t PAUSE")
	do(t, db, "ALTER STREAMING TABLE t SET TBLPROPERTIES ('retention' = 'PT90M', 'retention.column' = 'TS')")
	comes(t, r, "SELECT count(*) FROM t", "550")
	if got, err := values(db, "SHOW CREATE TABLE t"); err != nil || !strings.Contains(got, "'retention' = 'PT90M'") {
		t.Errorf("SHOW CREATE TABLE: %q, %v", got, err)
	}
	comes(t, r, "SELECT expired_rows FROM information_schema.streaming_tables", "550")
	if text := metricsText(t, r); !strings.Contains(text, `millrace_streaming_table_expired_rows_total{database="main",table="t"} 550`) {
		t.Error("no metric tells of 550 rows")
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	// What was removed is not read again.
	r = start(t, func(c *Config) { c.DataDir = dir })
	db = r.root(t)
	gives(t, db, "SELECT count(*), count(DISTINCT id) FROM t", "550|550")
	produce(1100, 1200)
	do(t, db, "ALTER STREAMING TABLE t RESUME")
	do(t, db, "REFRESH STREAMING TABLE t") // what a load brings is looked at when it is through
	comes(t, r, "SELECT count(*), count(DISTINCT id), max(id) FROM t", "600|600|1199")
}

func TestRetentionNeedsAColumnWithAPointInTime(t *testing.T) {
	b, _ := agedTopic(t, 4)
	r := start(t)
	db := r.root(t)
	create := func(name, columns, properties string) error {
		_, err := rows(db, fmt.Sprintf("CREATE STREAMING TABLE %s TBLPROPERTIES (%s) AS SELECT %s FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'events', startingOffsets => 'earliest')", name, properties, columns, b.Addrs[0]))
		return err
	}
	for _, c := range []struct {
		columns, properties string
		code                uint16
		message             string
	}{
		{"value", "'retention' = '7 days'", 31003, "the table has no column with a point in time"},
		{"`timestamp` AS a, `timestamp` AS b", "'retention' = '7 days'", 31003, "allowed are 'a', 'b'"},
		{"`timestamp` AS a, offset", "'retention' = '7 days', 'retention.column' = 'offset'", 31002, "'offset', which is no DATETIME, TIMESTAMP or DATE"},
		{"`timestamp` AS a", "'retention' = '7 days', 'retention.column' = 'b'", 31002, "'b', which the table does not have"},
		{"`timestamp` AS a", "'retention' = '7'", 31002, "a unit is expected"},
		{"`timestamp` AS a", "'retention' = '1 ms'", 31002, "allowed is 1s and more"},
		{"`timestamp` AS a", "'retention' = 'P1M'", 31002, "ISO 8601"},
		{"`timestamp` AS a", "'retention.column' = 'a'", 31004, "there is no 'retention'"},
	} {
		wantError(t, create("x", c.columns, c.properties), c.code, "HY000", c.message)
	}
	gives(t, db, "SELECT count(*) FROM information_schema.streaming_tables", "0")
	if err := create("x", "`timestamp`, `timestamp` AS other", "'retention' = '2 weeks'"); err != nil {
		t.Fatal(err)
	}
	gives(t, db, "SELECT retention_column FROM information_schema.streaming_tables", "timestamp")
	_, err := rows(db, "ALTER STREAMING TABLE x SET TBLPROPERTIES ('retention.column' = 'nope')")
	wantError(t, err, 31002, "HY000", "allowed are 'timestamp', 'other'")
	_, err = rows(db, "ALTER STREAMING TABLE x UNSET TBLPROPERTIES ('retention')")
	if err != nil {
		t.Error(err)
	}
	_, err = rows(db, "ALTER STREAMING TABLE x UNSET TBLPROPERTIES ('retentoin')")
	wantError(t, err, 31001, "HY000", "'retention'")
}
