package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/testkit"
)

// sinkTopics is a broker with orders to read, topic out with three partitions and copy with one.
func sinkTopics(t *testing.T, orders int) (b *testkit.Broker, read, write func(topic string, more ...string) string) {
	t.Helper()
	b, _, _ = ordersTopic(t, orders)
	b.Topic(t, "out", 3, nil)
	b.Topic(t, "copy", 1, nil)
	call := func(function, argument string) func(string, ...string) string {
		return func(topic string, more ...string) string {
			args := append([]string{"bootstrapServers => '" + b.Addrs[0] + "'"}, more...)
			if topic != "" {
				args = append(args, argument+" => '"+topic+"'")
			}
			return function + "(" + strings.Join(args, ", ") + ")"
		}
	}
	return b, call("read_kafka", "subscribe"), call("write_kafka", "topic")
}

func affected(t *testing.T, r *running, statement string, args ...any) int64 {
	t.Helper()
	res, err := r.root(t).Exec(statement, args...)
	if err != nil {
		t.Fatalf("%s\n%v", statement, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRowsAreWrittenToATopic(t *testing.T) {
	_, read, write := sinkTopics(t, 1000)
	r := start(t)
	db := r.root(t)
	// What goes through the planner's batches, and what the engine computes row by row.
	if n := affected(t, r, "INSERT INTO "+write("copy")+" SELECT key, value FROM "+read("orders")+" WHERE value:id::bigint < 600"); n != 600 {
		t.Errorf("%d rows affected", n)
	}
	gives(t, db, "SELECT count(*), count(DISTINCT value:id::bigint), sum(value:id::bigint), sum(key::string::bigint) FROM "+read("copy"), "600|600|179700|179700")
	if n := affected(t, r, "INSERT INTO "+write("copy")+" SELECT concat('sum of ', country) AS value FROM (SELECT value:country AS country, count(*) AS n FROM "+read("orders")+" GROUP BY value:country) AS t ORDER BY country"); n != 3 {
		t.Errorf("%d rows affected", n)
	}
	gives(t, db, "SELECT value::string, key IS NULL FROM "+read("copy")+" WHERE offset >= 600 ORDER BY offset", "sum of A|1\nsum of B|1\nsum of C|1")
	// Every column that a record has.
	do(t, db, "INSERT INTO "+write("", "includeHeaders => true")+` SELECT 'out' AS topic, 2 AS `+"`partition`"+`, x'00ff' AS key, CAST(NULL AS CHAR) AS value, '2026-01-31 08:00:00.123'::timestamp AS timestamp,
		'[{"key":"a","value":"text"},{"key":"a","value":null},{"key":"b","value":{"base64":"AP8="}}]' AS headers`)
	do(t, db, "INSERT INTO "+write("", "includeHeaders => true")+" SELECT 'out' AS topic, NULL AS `partition`, '' AS key, '' AS value, 1700000000000 AS timestamp, NULL AS headers")
	gives(t, db, "SELECT partition, hex(key), value IS NULL, timestamp, headers FROM "+read("out", "includeHeaders => true")+" WHERE partition = 2 AND value IS NULL",
		`2|00FF|1|2026-01-31 08:00:00.123|[{"key":"a","value":"text"},{"key":"a","value":null},{"key":"b","value":{"base64":"AP8="}}]`)
	gives(t, db, "SELECT key::string, value::string, timestamp, headers IS NULL FROM "+read("out", "includeHeaders => true")+" WHERE value IS NOT NULL", "||2023-11-14 22:13:20.000|1")
	// As a prepared statement, with placeholders on both sides.
	if n := affected(t, r, "INSERT INTO write_kafka(bootstrapServers => ?, topic => ?) SELECT concat(?, value:id) AS value FROM "+read("orders")+" WHERE value:id::bigint = ?", b(read), "copy", "prepared ", 7); n != 1 {
		t.Errorf("%d rows affected", n)
	}
	gives(t, db, "SELECT value::string FROM "+read("copy")+" WHERE offset >= 603", "prepared 7")
	// A whole topic as it is.
	do(t, db, "INSERT INTO "+write("copy")+" BY NAME SELECT key, value, partition - partition AS `partition`, timestamp FROM "+read("out"))
	gives(t, db, "SELECT count(*) FROM "+read("copy"), "606")
	if n := affected(t, r, "INSERT INTO "+write("copy")+" SELECT value FROM "+read("orders")+" WHERE false"); n != 0 {
		t.Errorf("%d rows affected", n)
	}
}

// wantNumber is wantError without the state, which follows from the number.
func wantNumber(t *testing.T, err error, number uint16, text string) {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != number || !strings.Contains(e.Message, text) {
		t.Errorf("error %v\nwant %d …%s…", err, number, text)
	}
}

// b takes the broker's address out of a call.
func b(read func(string, ...string) string) string {
	_, rest, _ := strings.Cut(read("x"), "bootstrapServers => '")
	broker, _, _ := strings.Cut(rest, "'")
	return broker
}

func TestRowsThatCannotBeWrittenAreNamed(t *testing.T) {
	_, read, write := sinkTopics(t, 100)
	db := start(t).root(t)
	from := " FROM " + read("orders") + " ORDER BY value:id::bigint"
	for name, test := range map[string]struct {
		statement string
		number    uint16
		text      string
	}{
		"no value":               {write("out") + " SELECT key" + from, 1054, "the query has no column 'value'"},
		"another column":         {write("out") + " SELECT value, value:id AS id" + from, 1054, "column 'id' has no place in a record"},
		"a number as value":      {write("out") + " SELECT 1 AS value", 31002, "column 'value' is INT, expected STRING or BINARY\nhint: cast it: value::string AS value"},
		"two values":             {write("out") + " SELECT 'a' AS value, 'b' AS VALUE", 31002, "two columns of the query are named 'value'"},
		"no topic":               {write("") + " SELECT 'a' AS value", 31003, "'write_kafka' needs the argument 'topic', or a column of that name"},
		"unknown topic":          {write("outt") + " SELECT 'a' AS value", 31016, "topic 'outt' does not exist\nhint: did you mean 'out'?"},
		"unknown topic of a row": {write("") + " SELECT value, CASE WHEN value:id::bigint < 5 THEN 'out' ELSE 'nope' END AS topic" + from, 31081, "row 6 cannot be written: topic 'nope' does not exist"},
		"NULL topic":             {write("") + " SELECT value, CASE WHEN value:id::bigint <> 41 THEN 'out' END AS topic" + from, 31081, "row 42 cannot be written: its column 'topic' is NULL"},
		"no such partition":      {write("out") + " SELECT value, CASE WHEN value:id::bigint = 9 THEN 3 ELSE 0 END AS `partition`" + from, 31081, "row 10 cannot be written: topic 'out' has no partition 3; it has 3 partitions"},
		"negative partition":     {write("out") + " SELECT value, -1 AS `partition`" + from, 31081, "row 1 cannot be written: topic 'out' has no partition -1"},
		"too large":              {write("out", "`kafka.max.request.size` => 1024") + " SELECT CASE WHEN value:id::bigint = 3 THEN repeat('x', 2000) ELSE 'x' END AS value" + from, 31081, "row 4 cannot be written: its record of 2000 bytes is too large for topic 'out'"},
		"malformed headers":      {write("out", "includeHeaders => true") + " SELECT 'a' AS value, '{}' AS headers", 31081, "row 1 cannot be written: its column 'headers' is"},
		"no time":                {write("out") + " SELECT 'a' AS value, 'soon' AS timestamp", 31081, "row 1 cannot be written: its column 'timestamp' is 'soon', expected a time"},
		"a date as time":         {write("out") + " SELECT 'a' AS value, '2026-01-01'::date AS timestamp", 31002, "column 'timestamp' is DATE, expected TIMESTAMP, its text, or BIGINT in milliseconds"},
		"before 1970":            {write("out") + " SELECT 'a' AS value, '1960-01-01 00:00:00'::timestamp AS timestamp", 31081, "row 1 cannot be written: its column 'timestamp' is before 1970"},
		"a number before 1970":   {write("out") + " SELECT 'a' AS value, -5 AS timestamp", 31081, "row 1 cannot be written: its column 'timestamp' is before 1970, which brokers refuse"},
		// It was written, and read back as NULL, or as a time of 1816.
		"the largest number":   {write("out") + " SELECT 'a' AS value, 9223372036854775807 AS timestamp", 31081, "row 1 cannot be written: its column 'timestamp' is after 2262-04-11 23:47:16.854"},
		"a time far away":      {write("out") + " SELECT 'a' AS value, '9999-12-31 00:00:00'::timestamp AS timestamp", 31081, "row 1 cannot be written: its column 'timestamp' is after 2262"},
		"a query that fails":   {write("out") + " SELECT concat(value:country, '!')::bigint::string AS value" + from, 1292, "A!"},
		"endless":              {write("out") + " SELECT value FROM STREAM " + read("orders"), 31024, "INSERT INTO write_kafka takes all rows"},
		"an argument of reads": {write("out", "subscribe => 'orders'") + " SELECT 'a' AS value", 31001, "write_kafka has no argument 'subscribe'"},
		"a near miss":          {write("out", "partitoner => 'sticky'") + " SELECT 'a' AS value", 31001, "did you mean 'partitioner'?"},
		"acks":                 {write("out", "acks => 2") + " SELECT 'a' AS value", 31002, "'acks' is '2', expected all, -1, 1 or 0"},
		"no broker":            {"write_kafka(bootstrapServers => '127.0.0.1:1', topic => 'out') SELECT 'a' AS value", 31010, "127.0.0.1:1"},
		"metadata address":     {"write_kafka(bootstrapServers => '169.254.169.254:9092', topic => 'out') SELECT 'a' AS value", 31011, "169.254.169.254"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := db.Exec("INSERT INTO " + test.statement)
			wantNumber(t, err, test.number, test.text)
		})
	}
	_, err := rows(db, "SELECT * FROM "+write("out"))
	wantNumber(t, err, 1235, "'write_kafka' cannot be read: it is a sink")
	want(t, db, "SELECT 1", "1\n1")
}

func TestColumnsThatAreNotWrittenAreWarnedOf(t *testing.T) {
	_, _, write := sinkTopics(t, 0)
	db := start(t).root(t)
	for statement, warning := range map[string]string{
		write("out") + " SELECT 'a' AS value, 'other' AS topic":                    "the column 'topic' is not looked at",
		write("out") + " SELECT 'a' AS value, '[]' AS headers":                     "the column 'headers' is not written",
		write("out", "includeHeaders => true") + " SELECT 'a' AS value":            "'includeHeaders' has no effect",
		write("out", "`kafka.retries` => 3") + " SELECT 'a' AS value":              "'kafka.retries' is ignored",
		write("out", `producerConfig => '{"retries":3}'`) + " SELECT 'a' AS value": "'kafka.retries' is ignored",
	} {
		do(t, db, "INSERT INTO "+statement)
		if got, err := rows(db, "SHOW WARNINGS"); err != nil || !strings.Contains(got, warning) {
			t.Errorf("%s warns %q, %v", statement, got, err)
		}
	}
}

func TestExplainShowsTheSink(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	db := start(t).root(t)
	got, err := rows(db, "EXPLAIN INSERT INTO "+write("out", "compression => 'zstd'")+" SELECT value FROM "+read("orders"))
	for _, part := range []string{"Sink(write_kafka)\n", "compression: zstd", "topic: out", "Scan(read_kafka)"} {
		if err != nil || !strings.Contains(got, part) {
			t.Errorf("%v\n%s\nlacks %s", err, got, part)
		}
	}
	gives(t, db, "SELECT count(*) FROM "+read("out"), "0")
	_, err = rows(db, "EXPLAIN FORMAT=JSON INSERT INTO "+write("out")+" SELECT value FROM "+read("orders"))
	wantNumber(t, err, 1235, "EXPLAIN of a sink has no format but TREE")
}

// EXPLAIN ANALYZE writes, as the statement does.
func TestExplainAnalyzeShowsWhatTheSinkDid(t *testing.T) {
	_, read, write := sinkTopics(t, 2000)
	db := start(t).root(t)
	analyzed := func(statement string, parts ...string) {
		t.Helper()
		got, err := rows(db, "EXPLAIN ANALYZE INSERT INTO "+statement)
		for _, part := range parts {
			if err != nil || !regexp.MustCompile(part).MatchString(got) {
				t.Errorf("%v\n%s\nlacks %s", err, got, part)
			}
		}
	}
	// As batches, as rows of the engine, of VALUES, with rows that are set aside.
	analyzed(write("out", "exactlyOnce => true")+" (value, key) SELECT value, key FROM "+read("orders")+" WHERE value:id::bigint < 500", `Sink\(write_kafka\)  \[rows in 500, written 500, time `, `batches: \d+ acknowledged, \d{4,} bytes of records, \d{3,} compressed`, `columns: value, key`,
		`run: rows out 500, time `, `source: 2 of 2 splits`)
	analyzed(write("out")+" SELECT a.value FROM "+read("orders")+" AS a JOIN "+read("orders")+" AS b ON a.value:id = b.value:id", `rows in 2000, written 2000`, `Join  \[rows in \d+, out 2000`)
	analyzed(write("out")+" (value) VALUES ('a'), ('b')", `rows in 2, written 2`, `batches: [12] acknowledged`, `Values`)
	analyzed(write("out", "errorHandling => 'copy'")+" (value, `partition`) VALUES ('a', 0), ('b', 7)", `rows in 2, written 1`, `set aside: 1 rows that cannot be written`)
	gives(t, db, "SELECT count(*) FROM "+read("out"), "2503")
	_, err := rows(db, "EXPLAIN ANALYZE INSERT INTO "+write("out")+" SELECT 'v' AS value, 7 AS `partition`")
	wantNumber(t, err, 31081, "row 1 cannot be written: topic 'out' has no partition 7")
	_, err = rows(db, "EXPLAIN ANALYZE INSERT INTO "+write("out")+" SELECT value FROM STREAM "+read("orders"))
	wantNumber(t, err, 31024, "INSERT INTO write_kafka takes all rows")
}

func TestWriteKafkaNeedsItsPrivilege(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	r := start(t)
	db := r.root(t)
	do(t, db, "CREATE CONNECTION shop OPTIONS (bootstrapServers '"+b(read)+"')")
	for _, u := range []string{"reader", "writer", "user"} {
		do(t, db, "CREATE USER "+u+" IDENTIFIED BY 'p'")
		do(t, db, "GRANT SELECT ON main.* TO "+u)
	}
	do(t, db, "GRANT KAFKA_READ ON *.* TO reader")
	do(t, db, "GRANT KAFKA_WRITE ON *.* TO writer WITH GRANT OPTION")
	do(t, db, "GRANT USAGE ON CONNECTION shop TO user")
	connection := "write_kafka(connection => 'shop', topic => 'out') SELECT 'a' AS value"
	for _, test := range []struct {
		user, statement string
		number          uint16
		text            string
	}{
		{"reader", "INSERT INTO " + write("out") + " SELECT 'a' AS value", 1142, "write_kafka needs the privilege KAFKA_WRITE"},
		{"reader", "EXPLAIN INSERT INTO " + write("out") + " SELECT 'a' AS value", 1142, "write_kafka needs the privilege KAFKA_WRITE"},
		{"reader", "SELECT * FROM " + write("out"), 1142, "write_kafka needs the privilege KAFKA_WRITE"},
		{"writer", "INSERT INTO " + write("out") + " SELECT 'a' AS value", 0, ""},
		{"writer", "INSERT INTO " + write("out") + " SELECT value FROM " + read("orders"), 1142, "read_kafka needs the privilege KAFKA_READ"},
		{"writer", "INSERT INTO " + connection, 1142, "you may not use connection 'shop'"},
		// What was granted for reading does not let anybody write.
		{"user", "INSERT INTO " + connection, 1142, "write_kafka needs the privilege KAFKA_WRITE"},
		{"writer", "GRANT KAFKA_WRITE ON *.* TO user", 0, ""},
		{"user", "INSERT INTO " + connection, 0, ""},
		{"writer", "REVOKE KAFKA_WRITE ON *.* FROM user", 0, ""},
		{"user", "INSERT INTO " + connection, 1142, "write_kafka needs the privilege KAFKA_WRITE"},
	} {
		_, err := r.connect(t, test.user+":p@/main").Exec(test.statement)
		switch {
		case test.number == 0 && err != nil:
			t.Errorf("%s: %s\n%v", test.user, test.statement, err)
		case test.number != 0:
			wantNumber(t, err, test.number, test.text)
		}
	}
	gives(t, db, "SELECT count(*) FROM "+read("out"), "2")
}

// A broker that does not acknowledge must not hold up KILL.
func TestKillEndsAWrite(t *testing.T) {
	b, read, write := sinkTopics(t, 1000)
	r := start(t)
	held, hold := make(chan struct{}), make(chan struct{})
	b.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(held)
		b.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	defer close(hold)
	conn, err := r.root(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var id int
	if err := conn.QueryRowContext(t.Context(), "SELECT connection_id()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := conn.ExecContext(context.Background(), "INSERT INTO "+write("out")+" SELECT key, value FROM "+read("orders"))
		ended <- err
	}()
	<-held
	begin := time.Now()
	do(t, r.root(t), fmt.Sprintf("KILL QUERY %d", id))
	err = <-ended
	wantNumber(t, err, 1317, "")
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestAnExactlyOnceStatementWritesAllOrNothing(t *testing.T) {
	_, read, write := sinkTopics(t, 1000)
	r := start(t)
	db := r.root(t)
	rows := " FROM " + read("orders")
	committed, all := read("out"), read("out", "isolationLevel => 'read_uncommitted'")
	if n := affected(t, r, "INSERT INTO "+write("out", "exactlyOnce => true")+" SELECT key, value"+rows); n != 1000 {
		t.Errorf("%d rows affected", n)
	}
	gives(t, db, "SELECT count(*), count(DISTINCT value:id::bigint) FROM "+committed, "1000|1000")
	// A row that fails takes the others with it, also those that brokers have.
	_, err := db.Exec("INSERT INTO " + write("out", "exactlyOnce => true", "`kafka.max.request.size` => 1024") + " SELECT CASE WHEN value:id::bigint = 997 THEN repeat('x', 2000) ELSE 'x' END AS value" + rows + " ORDER BY value:id::bigint")
	wantNumber(t, err, 31081, "row 998 cannot be written: its record of 2000 bytes is too large")
	_, err = db.Exec("INSERT INTO " + write("out", "exactlyOnce => true") + " SELECT CASE WHEN value:id::bigint = 600 THEN concat(value:country, '!')::bigint::string ELSE 'x' END AS value" + rows + " ORDER BY value:id::bigint")
	wantNumber(t, err, 1292, "A!")
	gives(t, db, "SELECT count(*) FROM "+committed, "1000")
	// With an id of its own, twice: the second fences the first, which is over.
	for range 2 {
		do(t, db, "INSERT INTO "+write("out", "exactlyOnce => true", "transactionalId => 'import'", "`kafka.transaction.timeout.ms` => 30000")+" SELECT value"+rows+" LIMIT 10")
	}
	gives(t, db, "SELECT count(*) FROM "+committed, "1020")
	if got, err := values(db, "SELECT count(*) >= 1020 FROM "+all); err != nil || got != "1" {
		t.Errorf("uncommitted: %s, %v", got, err)
	}
	for arguments, text := range map[string]string{
		"exactlyOnce => true, acks => 1":                           "'exactlyOnce' and 'acks' exclude each other",
		"exactlyOnce => true, `kafka.enable.idempotence` => false": "'exactlyOnce' and 'kafka.enable.idempotence' exclude each other",
		"transactionalId => 'x'":                                   "'transactionalId' is given without 'exactlyOnce'",
	} {
		_, err := db.Exec("INSERT INTO " + write("out", arguments) + " SELECT 'a' AS value")
		wantNumber(t, err, 31004, text)
	}
}

// KILL in the middle of a transaction leaves nothing that a consumer sees, and nothing that holds it up.
func TestKillAbortsATransaction(t *testing.T) {
	b, read, write := sinkTopics(t, 1000)
	r := start(t)
	conn, err := r.root(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var id int
	if err := conn.QueryRowContext(t.Context(), "SELECT connection_id()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	held, hold := make(chan struct{}), make(chan struct{})
	produced := 0
	b.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		if produced++; produced == 2 {
			close(held)
			b.SleepControl(func() { <-hold })
		}
		return nil, nil, false
	})
	ended := make(chan error, 1)
	go func() {
		_, err := conn.ExecContext(context.Background(), "INSERT INTO "+write("out", "exactlyOnce => true", "partitioner => 'roundrobin'", "`kafka.max.request.size` => 1024")+" SELECT value FROM "+read("orders"))
		ended <- err
	}()
	<-held
	do(t, r.root(t), fmt.Sprintf("KILL QUERY %d", id))
	time.AfterFunc(50*time.Millisecond, func() { close(hold) })
	err = <-ended
	wantNumber(t, err, 1317, "")
	// What comes later is seen at once.
	do(t, r.root(t), "INSERT INTO "+write("out", "exactlyOnce => true")+" SELECT 'after' AS value, 0 AS `partition` UNION ALL SELECT 'after', 1 UNION ALL SELECT 'after', 2")
	comes(t, r, "SELECT count(*), min(value::string) FROM "+read("out"), "3|after")
}

// Rows that cannot be written go to a topic of their own, with what is wrong with them; the others are written.
func TestRowsThatCannotBeWrittenGoToATopicOfTheirOwn(t *testing.T) {
	for _, exactly := range []string{"false", "true"} {
		t.Run("exactlyOnce "+exactly, func(t *testing.T) {
			_, read, write := sinkTopics(t, 0)
			r := start(t)
			db := r.root(t)
			more := []string{"exactlyOnce => " + exactly, "errorHandling => map('output', 'copy')", "`kafka.max.request.size` => 2000"}
			res, err := db.Exec("INSERT INTO " + write("", append(more, "keyFormat => 'short'")...) + `
				SELECT 'out' AS topic, 1 AS key, 'good' AS value, 0 AS ` + "`partition`" + ` UNION ALL SELECT NULL, 2, 'no topic', 0 UNION ALL SELECT 'out', 40000, 'a key too large', 0
				UNION ALL SELECT 'out', 4, 'no such partition', 7 UNION ALL SELECT 'none', 5, 'no such topic', 0 UNION ALL SELECT 'out', 6, repeat('x', 3000), 0 UNION ALL SELECT 'out', 7, 'good, too', 0`)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := res.RowsAffected(); err != nil || n != 2 {
				t.Errorf("%d rows affected, %v", n, err)
			}
			var level, text string
			var code int
			if err := db.QueryRow("SHOW WARNINGS").Scan(&level, &code, &text); err != nil || !strings.HasPrefix(text, "rows that cannot be written, now in topic 'copy': 5; the first: row 2 cannot be written: its column 'topic' is NULL") {
				t.Errorf("warning %q, %v", text, err)
			}
			gives(t, db, "SELECT value::string FROM "+read("out")+" ORDER BY offset", "good\ngood, too")
			gives(t, db, "SELECT value:error_message::string, value:failed_row:value::string FROM "+read("copy")+" ORDER BY offset",
				"row 2 cannot be written: its column 'topic' is NULL|no topic\nrow 3 cannot be written: its key 40000 does not fit short|a key too large\n"+
					"row 4 cannot be written: topic 'out' has no partition 7; it has 3 partitions|no such partition\nrow 5 cannot be written: topic 'none' does not exist|no such topic\n"+
					"row 6 cannot be written: its record of 3002 bytes is too large for 'kafka.max.request.size'|NULL")
		})
	}
	_, _, write := sinkTopics(t, 0)
	db := start(t).root(t)
	for name, test := range map[string]struct {
		argument string
		number   uint16
		text     string
	}{
		"no name":           {"'{\"out\": 1}'", 31002, "expected an object with 'output'"},
		"the topic itself":  {"'out'", 31002, "'error_handling' is 'out', which is the topic of the other rows"},
		"a topic not there": {"'none'", 31016, "topic 'none'"},
		"what is no topic":  {"'a b'", 31002, "'error_handling' 'a b' is no name of a topic"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := db.Exec("INSERT INTO " + write("out", "error_handling => "+test.argument) + " SELECT 'v' AS value")
			wantNumber(t, err, test.number, test.text)
		})
	}
}
