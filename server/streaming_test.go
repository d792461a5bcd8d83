package server

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// comes waits for a query to give a result.
func comes(t *testing.T, r *running, query, result string) {
	t.Helper()
	db := r.root(t)
	deadline := time.Now().Add(testkit.Patience)
	for {
		got, err := values(db, query)
		if err == nil && got == result {
			return
		}
		if time.Now().After(deadline) {
			state, _ := rows(db, "SHOW STREAMING TABLES")
			t.Fatalf("%s gives %q, %v, want %q\n%s", query, got, err, result, state)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// values are the rows of a query without the heading.
func values(db *sql.DB, query string) (string, error) {
	got, err := rows(db, query)
	_, got, _ = strings.Cut(got, "\n")
	return got, err
}

// gives wants a query to have these rows.
func gives(t *testing.T, db *sql.DB, query, result string) {
	t.Helper()
	if got, err := values(db, query); err != nil || got != result {
		t.Errorf("%s\ngives %q, %v, want %q", query, got, err, result)
	}
}

// ordersTopic is a broker with a topic of n JSON records in two partitions, and a client to add more.
func ordersTopic(t *testing.T, n int) (*testkit.Broker, *kgo.Client, func(from, to int)) {
	t.Helper()
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 2, nil)
	cl := b.Client(t)
	produce := func(from, to int) {
		t.Helper()
		var list []*kgo.Record
		for i := from; i < to; i++ {
			list = append(list, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, `{"id":%d,"country":"%c","amount":%d.5}`, i, 'A'+i%3, i)})
		}
		testkit.Produce(t, cl, list...)
	}
	if n > 0 {
		produce(0, n)
	}
	return b, cl, produce
}

func ordersTable(b *testkit.Broker) string {
	return fmt.Sprintf(`CREATE STREAMING TABLE orders AS SELECT value:id::bigint AS id, value:country AS country, value:amount::double AS amount, `+"`timestamp`"+` AS ts
		FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest') WHERE value:id::bigint >= 0`, b.Addrs[0])
}

func TestAStreamingTableLoadsFollowsAndResumes(t *testing.T) {
	b, _, produce := ordersTopic(t, 1000)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	do(t, db, ordersTable(b))
	gives(t, db, "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM orders", "1000|1000|0|999")
	gives(t, db, "SELECT country, count(*), sum(amount) FROM orders WHERE id < 6 GROUP BY country ORDER BY country", "A|2|4\nB|2|6\nC|2|8")
	gives(t, db, "SELECT id FROM orders ORDER BY id DESC LIMIT 2", "999\n998")
	gives(t, db, "SELECT a.id FROM orders a JOIN orders b ON a.id = b.id WHERE a.id = 7", "7")
	produce(1000, 1010)
	comes(t, r, "SELECT count(*), max(id) FROM orders", "1010|1009")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	produce(1010, 1020)
	r = start(t, func(c *Config) { c.DataDir = dir })
	comes(t, r, "SELECT count(*), count(DISTINCT id), max(id) FROM orders", "1020|1020|1019")
	db = r.root(t)
	do(t, db, "DROP TABLE orders")
	wantError(t, func() error { _, err := rows(db, "SELECT * FROM orders"); return err }(), 1146, "42S02", "does not exist")
}

func TestStatementsOnStreamingTables(t *testing.T) {
	b, _, produce := ordersTopic(t, 100)
	r := start(t)
	db := r.root(t)
	read := fmt.Sprintf("STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0])
	do(t, db, "CREATE STREAMING TABLE t (id BIGINT, note STRING, PRIMARY KEY (id)) CLUSTER BY (id) TBLPROPERTIES ('trigger' = 'manual', 'durability' = 'async') AS SELECT value:id::bigint AS id FROM "+read)
	gives(t, db, "SELECT count(*), count(note) FROM t", "100|0")
	produce(100, 150)
	gives(t, db, "SELECT count(*) FROM t", "100")
	do(t, db, "REFRESH STREAMING TABLE t")
	gives(t, db, "SELECT count(*) FROM t", "150")
	do(t, db, "REFRESH TABLE t FULL")
	gives(t, db, "SELECT count(*), count(DISTINCT id) FROM t", "150|150")

	do(t, db, "CREATE STREAMING TABLE IF NOT EXISTS t AS SELECT value:id::bigint AS id FROM "+read)
	gives(t, db, "SHOW COUNT(*) WARNINGS", "1")
	do(t, db, "CREATE OR REFRESH STREAMING TABLE t (id BIGINT, note STRING, country STRING) AS SELECT value:id::bigint AS id, value:country AS country FROM "+read)
	produce(150, 160)
	comes(t, r, "SELECT count(*), count(country) FROM t", "160|10")
	do(t, db, "CREATE OR REFRESH STREAMING TABLE t (id BIGINT, note STRING, country STRING) AS SELECT value:id::bigint AS id, value:country AS country FROM "+strings.Replace(read, "earliest", "latest", 1))
	if got, err := values(db, "SHOW WARNINGS"); err != nil || !strings.Contains(got, "another start has no effect") {
		t.Errorf("a start that is changed: %q, %v", got, err)
	}
	gives(t, db, "SELECT count(*) FROM t", "160")
	do(t, db, "ALTER STREAMING TABLE t PAUSE")
	gives(t, db, "SELECT state, lag FROM information_schema.streaming_tables", "paused|0")
	produce(160, 170)
	do(t, db, "ALTER STREAMING TABLE t ADD COLUMN extra DOUBLE")
	do(t, db, "ALTER STREAMING TABLE t SET TBLPROPERTIES ('max_batch_rows' = '1000')")
	gives(t, db, "SELECT count(*), count(extra) FROM t", "160|0")
	do(t, db, "ALTER STREAMING TABLE t RESUME")
	comes(t, r, "SELECT count(*) FROM t", "170")
	comes(t, r, "SELECT state, lag, last_refresh IS NULL FROM information_schema.streaming_tables", "running|0|0") // a moment after the rows
	if got, err := values(db, "SHOW CREATE TABLE t"); err != nil || !strings.Contains(got, "CREATE OR REFRESH STREAMING TABLE `t` (\n  `id` BIGINT") {
		t.Errorf("SHOW CREATE TABLE: %q, %v", got, err)
	}
	if got, err := values(db, "DESCRIBE EXTENDED t"); err != nil || !strings.Contains(got, "Type|STREAMING_TABLE") || !strings.Contains(got, "State|running") {
		t.Errorf("DESCRIBE EXTENDED: %q, %v", got, err)
	}
	if got, err := values(db, "SHOW STREAMING TABLES LIKE 't%'"); err != nil || !strings.HasPrefix(got, "main|t|running|NULL|170|0|") {
		t.Errorf("SHOW STREAMING TABLES: %q, %v", got, err)
	}
	gives(t, db, "SELECT count(*), sum(lag) FROM information_schema.streaming_table_partitions", "2|0")
	if got, err := values(db, "SELECT batch_id, num_input_rows FROM information_schema.streaming_table_progress"); err != nil || got == "" {
		t.Errorf("progress: %q, %v", got, err)
	}
	if got, err := values(db, "SELECT event_type, level FROM information_schema.streaming_event_log WHERE table_name = 't'"); err != nil || !strings.Contains(got, "paused|INFO") {
		t.Errorf("event log: %q, %v", got, err)
	}
	if got, err := values(db, "SELECT event_type, level, origin->>'$.dataset_name' FROM event_log(TABLE(main.t)) WHERE event_type = 'paused'"); err != nil || got != "paused|INFO|main.t" {
		t.Errorf("event_log: %q, %v", got, err)
	}
	do(t, db, "CREATE STREAMING TABLE other.x AS SELECT offset FROM "+read)
	gives(t, db, "SHOW WARNINGS", "Warning|1105|database 'other' was created")
	do(t, db, "DROP STREAMING TABLE other.x")
	do(t, db, "DROP STREAMING TABLE IF EXISTS other.x")
	do(t, db, "DROP DATABASE other")
	do(t, db, "CREATE STREAMING TABLE late AS SELECT value FROM "+strings.Replace(read, ", startingOffsets => 'earliest'", "", 1))
	gives(t, db, "SHOW WARNINGS", "Warning|1105|the table starts at the end of its topics: 170 existing records are not read; use startingOffsets => 'earliest' to read them")
	do(t, db, "SET SESSION streaming_table_create = 'no_validate'")
	do(t, db, "CREATE STREAMING TABLE blind AS SELECT offset FROM STREAM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 'x')")
	do(t, db, "SET SESSION streaming_table_create = 'async'")
	do(t, db, "CREATE STREAMING TABLE soon AS SELECT offset FROM "+read)
	comes(t, r, "SELECT count(*) FROM soon", "170")
}

func TestACreateThatFailsLeavesNothing(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r := start(t, func(c *Config) { c.MemoryLimit = "1GiB" })
	db := r.root(t)
	do(t, db, "CREATE TABLE taken (id INT)")
	read := func(more string) string {
		return fmt.Sprintf("STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders'%s)", b.Addrs[0], more)
	}
	for name, c := range map[string]struct{ statement, text string }{
		"a broker that is not there":     {"CREATE STREAMING TABLE t AS SELECT offset FROM STREAM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 'orders', `kafka.request.timeout.ms` => '500')", "127.0.0.1:1"},
		"a topic that is not there":      {strings.Replace("CREATE STREAMING TABLE t AS SELECT offset FROM "+read(""), "'orders'", "'order'", 1), "topic 'order' does not exist"},
		"an option that is not there":    {"CREATE STREAMING TABLE t AS SELECT offset FROM " + read(", startingOfsets => 'earliest'"), "did you mean 'startingOffsets'"},
		"a property that is not there":   {"CREATE STREAMING TABLE t TBLPROPERTIES ('triger' = 'manual') AS SELECT offset FROM " + read(""), "trigger"},
		"a property for later":           {"CREATE STREAMING TABLE t TBLPROPERTIES ('merge' = 'upsert') AS SELECT offset FROM " + read(""), "not supported yet"},
		"a column that is not there":     {"CREATE STREAMING TABLE t AS SELECT offst FROM " + read(""), "offst"},
		"a type that does not fit":       {"CREATE STREAMING TABLE t (offset STRING) AS SELECT offset FROM " + read(""), "declared string, and the query gives bigint"},
		"a column that the list lacks":   {"CREATE STREAMING TABLE t (a BIGINT) AS SELECT offset FROM " + read(""), "lacks"},
		"a key of no column":             {"CREATE STREAMING TABLE t (offset BIGINT, PRIMARY KEY (id)) AS SELECT offset FROM " + read(""), "'id'"},
		"two columns of one name":        {"CREATE STREAMING TABLE t AS SELECT offset, offset FROM " + read(""), "two columns"},
		"no STREAM":                      {strings.Replace("CREATE STREAMING TABLE t AS SELECT offset FROM "+read(""), "STREAM read", "read", 1), "STREAM"},
		"no read at all":                 {"CREATE STREAMING TABLE t AS SELECT 1 AS one", "reads no stream"},
		"an aggregate":                   {"CREATE STREAMING TABLE t AS SELECT count(*) AS n FROM " + read(""), "not supported yet"},
		"a join":                         {"CREATE STREAMING TABLE t AS SELECT a.offset FROM " + read("") + " a JOIN taken ON a.offset = taken.id", "not supported yet"},
		"a limit":                        {"CREATE STREAMING TABLE t AS SELECT offset FROM " + read("") + " LIMIT 5", "not supported yet"},
		"an end":                         {"CREATE STREAMING TABLE t AS SELECT offset FROM " + read(", max_num_records => 5"), "no end"},
		"offsets of another topic":       {"CREATE STREAMING TABLE t AS SELECT offset FROM " + read(`, startingOffsets => '{"orders":{"0":1}}'`), "leaves out"},
		"a name that is taken":           {"CREATE STREAMING TABLE taken AS SELECT offset FROM " + read(""), "not a streaming table"},
		"or replace":                     {"CREATE OR REPLACE STREAMING TABLE t AS SELECT offset FROM " + read(""), "OR REFRESH"},
		"an expectation of no column":    {"CREATE STREAMING TABLE t (offset BIGINT, CONSTRAINT c EXPECT (offst > 0)) AS SELECT offset FROM " + read(""), "expectation 'c': "},
		"a schedule without times":       {"CREATE STREAMING TABLE t SCHEDULE CRON '0 0 6 30 2 ?' AT TIME ZONE 'UTC' AS SELECT offset FROM " + read(""), "no time after now"},
		"a database that is not there":   {"CREATE STREAMING TABLE nowhere.t AS SELECT offst FROM " + read(""), "offst"},
		"a user's variable in the query": {"CREATE STREAMING TABLE t AS SELECT @a AS a FROM " + read(""), "variable"},
	} {
		_, err := rows(db, c.statement)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
		gives(t, db, "SHOW TABLES", "taken")
		gives(t, db, "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'nowhere'", "0")
	}
	if infos, err := r.rows.Tables(t.Context()); err != nil || len(infos) != 1 {
		t.Errorf("the store has %d tables, %v", len(infos), err)
	}
	do(t, db, "CREATE USER u IDENTIFIED BY 'p'")
	do(t, db, "GRANT ALL ON main.* TO u")
	u := r.connect(t, "u:p@/main")
	for _, statement := range []string{"CREATE STREAMING TABLE t AS SELECT offset FROM " + read(""), "REFRESH TABLE taken", "ALTER STREAMING TABLE taken PAUSE", "DROP STREAMING TABLE taken"} {
		_, err := rows(u, statement)
		wantError(t, err, 1227, "42000", "STREAMING_ADMIN")
	}
}

func TestBadRecordsGoToTheTableOfErrors(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	cl := b.Client(t)
	send := func(values ...string) {
		for _, v := range values {
			testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Key: []byte("k"), Value: []byte(v)})
		}
	}
	send(`{"id":1}`, `{"id":"x"}`, `{"id":2}`)
	r := start(t)
	db := r.root(t)
	do(t, db, fmt.Sprintf("CREATE STREAMING TABLE t AS SELECT value:id::bigint AS id FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0]))
	// CREATE said "0 rows affected", and nothing of the record that is missing.
	gives(t, db, "SHOW WARNINGS", "Warning|1105|1 record was bad: the table 'main.t$errors' keeps it, and why")
	do(t, db, "REFRESH STREAMING TABLE t")
	gives(t, db, "SHOW WARNINGS", "")
	do(t, db, "ALTER STREAMING TABLE t PAUSE")
	do(t, db, "ALTER STREAMING TABLE t RESUME")
	do(t, db, "REFRESH STREAMING TABLE t FULL")
	gives(t, db, "SHOW WARNINGS", "Warning|1105|1 record was bad: the table 'main.t$errors' keeps it, and why")
	gives(t, db, "SELECT id FROM t ORDER BY id", "1\n2")
	gives(t, db, "SELECT topic, partition, offset, key::string, value::string FROM `t$errors`", `orders|0|1|k|{"id":"x"}`)
	send(`{"id":3}`, `{"id":""}`, `{"id":{}}`, `{"id":4}`)
	comes(t, r, "SELECT count(*), max(id) FROM t", "4|4")
	gives(t, db, "SELECT offset, error LIKE '%x%' FROM `t$errors` ORDER BY offset", "1|1\n4|0\n5|0")
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	// The row path has the same result: the engine computes what no kernel does.
	do(t, db, fmt.Sprintf("CREATE STREAMING TABLE slow AS SELECT value:id::bigint AS id, soundex(key::string) AS s FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0]))
	gives(t, db, "SHOW WARNINGS", "Warning|1105|3 records were bad: the table 'main.slow$errors' keeps them, and why")
	gives(t, db, "SELECT id, s FROM slow ORDER BY id", "1|K000\n2|K000\n3|K000\n4|K000")
	gives(t, db, "SELECT count(*) FROM `slow$errors`", "3")
}

// What a format cannot decode is a row with NULLs, or none, as mode says, and is kept in any case.
func TestRecordsThatCannotBeDecodedAreKept(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	cl := b.Client(t)
	send := func(values ...string) {
		for _, v := range values {
			testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: []byte(v)})
		}
	}
	send(`{"id":1}`, `{"id":`, `{"id":"x"}`)
	r := start(t)
	db := r.root(t)
	for table, mode := range map[string]string{"nulls": "PERMISSIVE", "drops": "DROPMALFORMED"} {
		do(t, db, fmt.Sprintf("CREATE STREAMING TABLE %s AS SELECT id, _offset FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest', format => 'json', schema => 'id BIGINT', mode => '%s')", table, b.Addrs[0], mode))
	}
	send(`no json`, `{"id":2}`)
	comes(t, r, "SELECT count(*), count(id) FROM nulls", "5|2")
	comes(t, r, "SELECT count(*), count(id) FROM drops", "2|2")
	for _, table := range []string{"nulls", "drops"} {
		comes(t, r, "SELECT offset, value::string FROM `"+table+"$errors` WHERE error <> '' ORDER BY offset", "1|{\"id\":\n2|{\"id\":\"x\"}\n3|no json")
		comes(t, r, "SELECT bad_records FROM information_schema.streaming_tables WHERE table_name = '"+table+"'", "3") // counted behind the commit; which was 0 for DROPMALFORMED
	}
	_, err := rows(db, fmt.Sprintf("CREATE STREAMING TABLE strict AS SELECT id FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest', format => 'json', schema => 'id BIGINT', mode => 'FAILFAST')", b.Addrs[0]))
	// The error did not tell that the table is there: the next CREATE said that it exists.
	if err == nil || !strings.Contains(err.Error(), "offset 1") || !strings.Contains(err.Error(), "the table 'main.strict' stays, as failed") {
		t.Errorf("FAILFAST: %v", err)
	}
	comes(t, r, "SELECT state FROM information_schema.streaming_tables WHERE table_name = 'strict'", "failed")
}

func TestBatchesAreBoundedInOffsets(t *testing.T) {
	b, _, produce := ordersTopic(t, 100)
	r := start(t)
	db := r.root(t)
	create := func(name, properties, more string) {
		do(t, db, fmt.Sprintf("CREATE STREAMING TABLE %s %s AS SELECT offset FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest', %s)", name, properties, b.Addrs[0], more))
	}
	for name, properties := range map[string]string{"backlog": "TBLPROPERTIES ('trigger' = 'manual')", "tail": ""} {
		create(name, properties, "maxOffsetsPerTrigger => 10")
		gives(t, db, "SELECT count(*) FROM "+name, "100")
		gives(t, db, "SELECT max(num_output_rows) <= 10 FROM information_schema.streaming_table_progress WHERE table_name = '"+name+"'", "1")
	}
	create("patient", "", "minOffsetsPerTrigger => 50, maxTriggerDelay => '1 hour'")
	gives(t, db, "SELECT count(*) FROM patient", "100")
	produce(100, 120)
	comes(t, r, "SELECT count(*) FROM tail", "120")
	gives(t, db, "SELECT count(*) FROM patient", "100")
	produce(120, 180)
	comes(t, r, "SELECT count(*) >= 150 FROM patient", "1") // what comes after the fiftieth may wait again
}

// The example of Databricks' page, but for the brokers.
func TestTheExampleOfDatabricksRuns(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "topic", 1, nil)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "topic", Value: []byte(`{"events":"click","ts":"2026-01-02T03:04:05Z"}`)})
	r := start(t)
	db := r.root(t)
	do(t, db, fmt.Sprintf(`CREATE OR REFRESH STREAMING TABLE catalog.schema.raw_events AS
		SELECT value::string:events, to_timestamp(value::string:ts) AS ts
		FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'topic', startingOffsets => 'earliest')`, b.Addrs[0]))
	gives(t, db, "SELECT events, ts FROM catalog.schema.raw_events", "click|2026-01-02 03:04:05.000000")
}
