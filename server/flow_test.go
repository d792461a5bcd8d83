package server

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// flowOf is a flow that copies orders to a topic.
func flowOf(read func(string, ...string) string, sink string) string {
	return "CREATE FLOW f AS INSERT INTO " + sink + " BY NAME SELECT key, value FROM STREAM " + read("orders", "startingOffsets => 'earliest'") + " WHERE value:id::bigint >= 0"
}

func TestAFlowWritesWhatItsTopicsBring(t *testing.T) {
	for _, exactly := range []string{"false", "true"} {
		t.Run("exactlyOnce="+exactly, func(t *testing.T) {
			b, read, write := sinkTopics(t, 1000)
			more := func(from, to int) {
				var list []*kgo.Record
				for i := from; i < to; i++ {
					list = append(list, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, `{"id":%d}`, i)})
				}
				testkit.Produce(t, b.Client(t), list...)
			}
			dir := t.TempDir()
			r := start(t, func(c *Config) { c.DataDir = dir })
			db := r.root(t)
			do(t, db, flowOf(read, write("out", "exactlyOnce => "+exactly)))
			count := "SELECT count(*), count(DISTINCT value:id::bigint), sum(value:id::bigint) FROM " + read("out")
			comes(t, r, count, "1000|1000|499500")
			comes(t, r, "SELECT flow_name, state, rows_written, lag, reason FROM information_schema.streaming_flows", "f|running|1000|0|NULL")
			more(1000, 1010)
			comes(t, r, count, "1010|1010|509545")
			// A pause ends it until it is resumed, and over a restart.
			do(t, db, "ALTER FLOW f PAUSE")
			more(1010, 1020)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			r = start(t, func(c *Config) { c.DataDir = dir })
			db = r.root(t)
			comes(t, r, "SELECT state FROM information_schema.streaming_flows", "paused")
			// Its rows were counted anew after a restart, and it had no lag.
			comes(t, r, "SELECT rows_written, lag FROM information_schema.streaming_flows", "1010|10")
			if got, err := values(db, "SHOW FLOWS"); err != nil || !strings.HasPrefix(got, "main|f|paused|NULL|1010|10|") {
				t.Errorf("%s, %v", got, err)
			}
			gives(t, db, "SELECT count(*) FROM "+read("out"), "1010")
			do(t, db, "ALTER FLOW f RESUME")
			comes(t, r, count, "1020|1020|519690")
			// Its records are there before its positions, which are committed after them.
			comes(t, r, "SELECT sum(next_offset), sum(lag) FROM information_schema.streaming_table_partitions WHERE table_name = 'f'", "1020|0")
			comes(t, r, "SELECT state FROM information_schema.streaming_flows", "running")
			if got, err := values(db, "SHOW FLOWS LIKE 'F%'"); err != nil || !strings.HasPrefix(got, "main|f|running|NULL|") {
				t.Errorf("%s, %v", got, err)
			}
			// It is no table.
			_, err := rows(db, "SELECT * FROM f")
			wantNumber(t, err, 1146, "f")
			gives(t, db, "SHOW TABLES", "")
			gives(t, db, "SHOW STREAMING TABLES", "")
			do(t, db, "DROP FLOW f")
			more(1020, 1030)
			gives(t, db, "SHOW FLOWS", "")
			gives(t, db, "SELECT count(*) FROM "+read("out"), "1020")
			do(t, db, "DROP FLOW IF EXISTS f")
			_, err = db.Exec("DROP FLOW f")
			wantNumber(t, err, 1146, "flow 'main.f' does not exist")
		})
	}
}

func TestWhatAFlowCannotBeIsSaidAtOnce(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	r := start(t)
	db := r.root(t)
	from := " FROM STREAM " + read("orders", "startingOffsets => 'earliest'")
	do(t, db, "CREATE TABLE t (id INT)")
	for name, test := range map[string]struct {
		statement string
		number    uint16
		text      string
	}{
		"no value":           {"INSERT INTO " + write("out") + " BY NAME SELECT key" + from, 1054, "the query has no column 'value'"},
		"unknown topic":      {"INSERT INTO " + write("outt") + " BY NAME SELECT value" + from, 31016, "did you mean 'out'?"},
		"a read with an end": {"INSERT INTO " + write("out") + " BY NAME SELECT value FROM " + read("orders"), 31003, "the query of a flow reads a stream, and this read_kafka has an end\nhint: write STREAM before it"},
		// Its errors spoke of the query of a streaming table.
		"distinct rows":    {"INSERT INTO " + write("out") + " BY NAME SELECT DISTINCT value" + from, 1235, "DISTINCT in the query of a flow is not supported yet"},
		"no query":         {"INSERT INTO " + write("out") + " value", 1064, "a query or VALUES are expected"},
		"once":             {"INSERT ONCE INTO " + write("out") + " BY NAME SELECT value" + from, 1235, "INSERT ONCE is not supported"},
		"into a table":     {"INSERT INTO t BY NAME SELECT value" + from, 1235, "a flow into a table is not supported yet"},
		"an id of its own": {"INSERT INTO " + write("out", "exactlyOnce => true", "transactionalId => 'x'") + " BY NAME SELECT value" + from, 31005, "'transactionalId' is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := db.Exec("CREATE FLOW f AS " + test.statement)
			wantNumber(t, err, test.number, test.text)
			gives(t, db, "SHOW FLOWS", "")
		})
	}
	do(t, db, flowOf(read, write("out")))
	do(t, db, "CREATE STREAMING TABLE held AS SELECT value"+from)
	do(t, db, "REFRESH STREAMING TABLE held")
	for statement, text := range map[string]string{
		flowOf(read, write("out")):       "flow 'main.f' exists",
		"DROP STREAMING TABLE f":         "'main.f' is a flow, not a table",
		"REFRESH STREAMING TABLE f FULL": "'main.f' is a flow, not a table",
		"ALTER STREAMING TABLE f PAUSE":  "'main.f' is a flow, not a table",
		"DROP FLOW t":                    "'main.t' is a table, not a flow",
		"SHOW CREATE FLOW t":             "'main.t' is a table, not a flow",
		// These said that there is no such table, or view, or showed the flow.
		"DROP TABLE f":               "'main.f' is a flow, not a table",
		"SELECT * FROM f":            "'main.f' is a flow, not a table",
		"TRUNCATE main.f":            "'main.f' is a flow, not a table",
		"SHOW CREATE TABLE f":        "'main.f' is a flow, not a table",
		"DROP VIEW f":                "'main.f' is not a view",
		"DROP VIEW IF EXISTS t":      "'main.t' is not a view",
		"SHOW CREATE VIEW t":         "'main.t' is not a view",
		"SHOW CREATE VIEW main.held": "'main.held' is not a view",
		"CREATE TABLE f (id INT)":    "already exists",
		"CREATE STREAMING TABLE f AS SELECT value" + from: "'main.f' is a flow, not a table",
	} {
		if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %s", statement, err, text)
		}
	}
	if got, err := values(db, "SHOW CREATE FLOW f"); err != nil || !strings.HasPrefix(got, "f|CREATE FLOW f AS INSERT INTO") {
		t.Errorf("%s, %v", got, err)
	}
	do(t, db, strings.Replace(flowOf(read, write("out")), "FLOW f", "FLOW IF NOT EXISTS f", 1))
	gives(t, db, "SHOW WARNINGS", "Warning|1105|flow 'main.f' exists")
	// The events of states had no message, and FLOW(f) was a syntax error.
	comes(t, r, "SELECT event_type, message FROM event_log(FLOW(f)) WHERE event_type IN ('starting', 'running', 'paused') ORDER BY id",
		"starting|the flow starts to read\nrunning|the flow has read what its topics held when it started, and is running")
	gives(t, db, "SELECT count(*) FROM event_log(TABLE(held)) WHERE message IS NULL OR details:message IS NULL AND details:flow_progress IS NULL", "0")
	// Who makes a flow needs both privileges, and keeps needing them.
	do(t, db, "CREATE USER u IDENTIFIED BY 'p'")
	do(t, db, "GRANT SELECT ON main.* TO u")
	do(t, db, "GRANT KAFKA_READ, STREAMING_ADMIN ON *.* TO u")
	as := r.connect(t, "u:p@/main")
	flow := strings.Replace(flowOf(read, write("copy")), "FLOW f", "FLOW g", 1)
	_, err := as.Exec(flow)
	wantNumber(t, err, 1142, "write_kafka needs the privilege KAFKA_WRITE")
	do(t, db, "GRANT KAFKA_WRITE ON *.* TO u")
	do(t, as, flow)
	comes(t, r, "SELECT count(*) FROM "+read("copy"), "10")
	do(t, db, "REVOKE STREAMING_ADMIN ON *.* FROM u")
	_, err = as.Exec("DROP FLOW g")
	wantNumber(t, err, 1227, "you may not drop a flow")
}

// The reason of a flow whose source was created again advised REFRESH STREAMING TABLE, which flows do not have.
func TestAFlowWhoseTopicIsCreatedAgain(t *testing.T) {
	b, read, write := sinkTopics(t, 10)
	r := start(t)
	do(t, r.root(t), flowOf(read, write("out")))
	comes(t, r, "SELECT state, lag FROM information_schema.streaming_flows", "running|0")
	if err := b.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	b.Topic(t, "orders", 1, nil)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Value: []byte(`{"id":1000}`)})
	comes(t, r, "SELECT state, reason LIKE '%created again%hint: DROP FLOW and CREATE FLOW begin anew%' FROM information_schema.streaming_flows", "failed|1")
	gives(t, r.root(t), "SELECT count(*) FROM "+read("out"), "10")
}

// A row that cannot be written fails the flow with the reason; records on which its query fails are kept beside it, and it goes on.
func TestRowsThatAFlowCannotWrite(t *testing.T) {
	b, read, write := sinkTopics(t, 10)
	r := start(t)
	db := r.root(t)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Partition: 0, Value: []byte(`{"id": "seven"}`)})
	do(t, db, "CREATE FLOW f AS INSERT INTO "+write("out", "format => 'json'", "exactlyOnce => true")+" BY NAME SELECT value:id::bigint AS id, value:id::bigint > 5 AS big FROM STREAM "+read("orders", "startingOffsets => 'earliest'"))
	comes(t, r, "SELECT count(*), min(value::string) FROM "+read("out"), `10|{"id":0,"big":false}`)
	comes(t, r, "SELECT value, partition, offset FROM `f$errors`", `{"id": "seven"}|0|5`)
	do(t, db, "CREATE FLOW g AS INSERT INTO "+write("")+" SELECT value, CASE WHEN value:id::string <> '9' THEN 'copy' END AS topic FROM STREAM "+read("orders", "startingOffsets => 'earliest'"))
	comes(t, r, "SELECT state FROM information_schema.streaming_flows WHERE flow_name = 'g'", "failed")
	if got, err := values(db, "SELECT reason FROM information_schema.streaming_flows WHERE flow_name = 'g'"); err != nil || !strings.Contains(got, "cannot be written: its column 'topic' is NULL") ||
		!strings.Contains(got, "the batch has the records of offsets [0, ") || !strings.Contains(got, "of partition 1 of topic 'orders'") || !strings.Contains(got, "DROP FLOW, and CREATE FLOW with startingOffsets behind its record") {
		t.Errorf("%s, %v", got, err)
	}
}

// A flow that read the topic it wrote was accepted without a word, and one record became hundreds within seconds.
func TestAFlowThatReadsWhatItWritesIsWarnedOf(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	r := start(t)
	conn, err := r.root(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for flow, own := range map[string]bool{"out": false, "orders": true} {
		var level, text string
		var code int
		if _, err := conn.ExecContext(t.Context(), "CREATE FLOW f_"+flow+" AS INSERT INTO "+write(flow)+" SELECT value FROM STREAM "+read("orders", "startingOffsets => 'earliest'")+" WHERE value:id::bigint < 0"); err != nil {
			t.Fatal(err)
		}
		err := conn.QueryRowContext(t.Context(), "SHOW WARNINGS").Scan(&level, &code, &text)
		if warned := err == nil && strings.Contains(text, "the flow reads topic 'orders', which it writes"); warned != own {
			t.Errorf("%s: %q, %v", flow, text, err)
		}
	}
}

// A flow that went on from a backup wrote again, silently, what had been written since. And a copy that ran beside the original fenced it without end, and was fenced by it.
func TestACopyOfAFlowFailsRatherThanWriteTwice(t *testing.T) {
	if *givenStore != "" {
		t.Skip("BACKUP copies a data folder")
	}
	b, read, write := sinkTopics(t, 10)
	more := func(from, to int) {
		for i := from; i < to; i++ {
			testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d}`, i)})
		}
	}
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.ExportDir = dir })
	count := "SELECT count(*), count(DISTINCT value:id::bigint) FROM " + read("out")
	states := "SELECT state, reason LIKE '%another copy%' FROM information_schema.streaming_flows"
	do(t, r.root(t), flowOf(read, write("out", "exactlyOnce => true")))
	do(t, r.root(t), "BACKUP TO 'early'") // the first batch may not be there yet
	comes(t, r, "SELECT rows_written, lag FROM information_schema.streaming_flows", "10|0")
	if _, err := rows(r.root(t), "BACKUP TO 'b'"); err != nil {
		t.Fatal(err)
	}
	// Beside the original, whoever writes the next batch goes on, and the other fails.
	beside := start(t, func(c *Config) { c.DataDir = filepath.Join(dir, "b") })
	comes(t, beside, "SELECT state FROM information_schema.streaming_flows", "running")
	more(10, 20)
	comes(t, r, count, "20|20")
	oneFails := func() {
		t.Helper()
		for deadline := time.Now().Add(testkit.Patience); ; {
			var both []string
			for _, x := range []*running{r, beside} {
				got, err := values(x.root(t), states)
				if err != nil {
					t.Fatal(err)
				}
				both = append(both, got)
			}
			if slices.Sort(both); slices.Equal(both, []string{"failed|1", "running|NULL"}) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the flows are %q", both)
			}
		}
	}
	oneFails()
	more(20, 30)
	comes(t, r, count, "30|30")
	do(t, r.root(t), "ALTER FLOW f RESUME")
	do(t, beside.root(t), "ALTER FLOW f RESUME")
	oneFails()
	for _, x := range []*running{r, beside} {
		if err := x.stop(); err != nil {
			t.Fatal(err)
		}
	}
	// After a restore, the rows since the backup are there.
	restored := start(t, func(c *Config) { c.DataDir = filepath.Join(dir, "early") })
	comes(t, restored, states, "failed|1")
	gives(t, restored.root(t), count, "30|30")
}

// What the call of a sink holds is shown nowhere, not in a plan, not in a definition, not in an error.
func TestSecretsOfASinkAreNotShown(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	r := start(t)
	db := r.root(t)
	secret := "`kafka.security.protocol` => 'PLAINTEXT', schemaRegistryUrl => 'http://127.0.0.1:1', schemaRegistryAuthUser => 'u', schemaRegistryAuthPassword => 'hunter22', format => 'json'"
	query := " SELECT key, value FROM " + read("orders")
	var shown []string
	for _, statement := range []string{"EXPLAIN INSERT INTO " + write("out", secret) + query, "SHOW WARNINGS"} {
		got, err := rows(db, statement)
		shown = append(shown, fmt.Sprint(got, err))
	}
	if !strings.Contains(shown[0], "schemaRegistryAuthPassword: [redacted]") {
		t.Error(shown[0])
	}
	_, err := db.Exec("INSERT INTO " + write("nope", secret) + query)
	shown = append(shown, fmt.Sprint(err))
	_, err = db.Exec("INSERT INTO " + write("out", secret, "fromat => 'json'") + query)
	shown = append(shown, fmt.Sprint(err))
	do(t, db, "SET SESSION streaming_table_create = 'no_validate'")
	do(t, db, "CREATE FLOW f AS INSERT INTO "+write("out", secret)+" BY NAME SELECT value:id AS id FROM STREAM "+read("orders", "startingOffsets => 'earliest'"))
	comes(t, r, "SELECT state FROM information_schema.streaming_flows", "stalled")
	for _, statement := range []string{"SHOW CREATE FLOW f", "SELECT * FROM information_schema.streaming_flows", "DESCRIBE EXTENDED f", "SHOW FLOWS", "SELECT * FROM information_schema.streaming_event_log"} {
		got, err := rows(db, statement)
		shown = append(shown, fmt.Sprint(got, err))
	}
	for _, s := range shown {
		if strings.Contains(s, "hunter22") {
			t.Error(s)
		}
	}
	if d := shown[6]; !strings.Contains(d, "FLOW") {
		t.Error(d)
	}
}

// A flow noticed only after ten seconds that its topic was deleted. The number of an exactly-once flow goes with the topic, and its reason spoke of a group that had expired.
func TestAFlowWhoseTargetIsDeleted(t *testing.T) {
	for _, exactly := range []string{"false", "true"} {
		t.Run("exactlyOnce="+exactly, func(t *testing.T) {
			b, read, write := sinkTopics(t, 10)
			r := start(t)
			do(t, r.root(t), flowOf(read, write("out", "exactlyOnce => "+exactly)))
			comes(t, r, "SELECT state, rows_written, lag FROM information_schema.streaming_flows", "running|10|0")
			if err := b.DeleteTopic("out"); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Partition: 1, Value: []byte(`{"id":10}`)})
			comes(t, r, `SELECT state, reason LIKE 'topic ''out'' does not exist%' FROM information_schema.streaming_flows`, "stalled|1")
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v to notice", took)
			}
			b.Topic(t, "out", 1, nil)
			if exactly == "false" {
				comes(t, r, "SELECT state, rows_written, lag FROM information_schema.streaming_flows", "running|11|0")
				gives(t, r.root(t), "SELECT value:id::bigint FROM "+read("out"), "10")
				return
			}
			comes(t, r, `SELECT state, reason LIKE 'whether batch % was written is not known: % or topic ''out'', which it is kept for, was deleted%hint: DROP FLOW%' FROM information_schema.streaming_flows`, "failed|1")
		})
	}
}

// The reason of a flow whose brokers were away spoke of a table, and of a statement that flows do not have.
func TestTheReasonOfAFlowSpeaksOfAFlow(t *testing.T) {
	b, read, write := sinkTopics(t, 10)
	r := start(t)
	do(t, r.root(t), flowOf(read, write("out")))
	comes(t, r, "SELECT state, rows_written, lag FROM information_schema.streaming_flows", "running|10|0")
	b.Close()
	comes(t, r, "SELECT state, reason LIKE '%the flow has worked with its brokers before%DROP FLOW and CREATE FLOW%', reason LIKE '%table%' FROM information_schema.streaming_flows", "stalled|1|0")
}
