package server

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// attempt gives the error of a statement.
func attempt(db *sql.DB, statement string) error {
	_, err := db.Exec(statement)
	return err
}

func ordersRead(b *testkit.Broker) string {
	return fmt.Sprintf("STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0])
}

func TestColumnsOfStreamingTablesObeyTheirRules(t *testing.T) {
	b, cl, _ := ordersTopic(t, 10)
	r := start(t)
	db := r.root(t)
	do(t, db, `CREATE STREAMING TABLE t (
			id BIGINT NOT NULL COMMENT 'what''s ordered', amount DOUBLE,
			source STRING DEFAULT concat('shop', '-', 1), loaded TIMESTAMP DEFAULT now(), nothing INT,
			double_amount DECIMAL(10,2) GENERATED ALWAYS AS (t.amount * 2) COMMENT 'twice', label STRING GENERATED ALWAYS AS (concat(source, '/', id::string)))
		COMMENT 'orders of all shops'
		AS SELECT value:id::bigint AS id, value:amount::double AS amount FROM `+ordersRead(b))
	gives(t, db, "SELECT id, amount, source, nothing, double_amount, label FROM t WHERE id < 2 ORDER BY id", "0|0.5|shop-1|NULL|1.00|shop-1/0\n1|1.5|shop-1|NULL|3.00|shop-1/1")
	gives(t, db, "SELECT count(*) FROM t WHERE loaded > now() - INTERVAL 1 HOUR", "10")
	gives(t, db, "SELECT column_name, is_nullable, column_comment FROM information_schema.columns WHERE table_name = 't' AND (column_comment <> '' OR is_nullable = 'NO') ORDER BY 1",
		"double_amount|YES|twice\nid|NO|what's ordered")
	gives(t, db, "SELECT table_comment FROM information_schema.tables WHERE table_name = 't'", "orders of all shops")
	if got, err := values(db, "DESCRIBE EXTENDED t"); err != nil || !strings.Contains(got, "id|bigint|what's ordered") || !strings.Contains(got, "Comment|orders of all shops|") {
		t.Errorf("DESCRIBE EXTENDED: %q, %v", got, err)
	}

	testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: 1, Value: []byte(`{"amount":7,"note":"no id"}`)})
	comes(t, r, "SELECT state FROM information_schema.streaming_tables WHERE table_name = 't'", "failed")
	got, err := values(db, "SELECT reason FROM information_schema.streaming_tables WHERE table_name = 't'")
	if err != nil || !strings.Contains(got, "column 'id' is NOT NULL, and the record at topic 'orders', partition 1, offset 5 gives NULL; its row: id=NULL, amount=7, source='shop-1'") {
		t.Errorf("the reason is %q, %v", got, err)
	}
	// A reason of several lines broke the tables that clients draw.
	if shown, err := values(db, "SHOW STREAMING TABLES"); err != nil || strings.Contains(shown, "\n") || !strings.Contains(shown, "; ") {
		t.Errorf("SHOW STREAMING TABLES: %q, %v", shown, err)
	}
	gives(t, db, "SELECT count(*) FROM t", "10")
	err = attempt(db, "REFRESH STREAMING TABLE t")
	wantError(t, err, 31027, "22000", "offset 5 gives NULL")

	do(t, db, "CREATE OR REFRESH STREAMING TABLE t (id BIGINT, amount DOUBLE, source STRING, loaded TIMESTAMP, nothing INT, double_amount DECIMAL(10,2), label STRING) AS SELECT value:id::bigint AS id, value:amount::double AS amount FROM "+ordersRead(b))
	gives(t, db, "SELECT count(*), count(id), count(source) FROM t", "11|10|10")
	gives(t, db, "SELECT table_comment FROM information_schema.tables WHERE table_name = 't'", "")
}

func TestRulesThatCannotBe(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r := start(t)
	db := r.root(t)
	query := " AS SELECT value:id::bigint AS id FROM " + ordersRead(b)
	for _, c := range []struct{ columns, message string }{
		{"(id BIGINT, x INT NOT NULL)", "column 'x' is NOT NULL, and nothing gives it a value"},
		{"(id BIGINT GENERATED ALWAYS AS (1))", "column 'id' is GENERATED, and the query gives it too"},
		{"(id BIGINT, x INT GENERATED ALWAYS AS (y + 1))", "the expression of column 'x': "},
		{"(id BIGINT, x INT GENERATED ALWAYS AS (id +))", "the expression of column 'x': syntax error"},
		{"(id BIGINT, x INT GENERATED ALWAYS AS (count(*)))", "the expression of column 'x': GROUP BY, or an aggregate, in the query of a streaming table is not supported yet"},
		{"(id BIGINT, x INT DEFAULT (SELECT 1))", "DEFAULT of column 'x': a subquery in an expression"},
		{"(id BIGINT, x VARCHAR(3) DEFAULT 5)", "column 'x' is declared varchar(3), and its expression gives"},
		// A user wrote DEFAULT 'abc' for an INT: the table was made, and each of its records went to its table of errors.
		{"(id BIGINT, x INT DEFAULT 'abc')", "DEFAULT of column 'x': "},
		{"(id BIGINT, x TINYINT DEFAULT 300)", "DEFAULT of column 'x': "},
		{"(id BIGINT, x DATE DEFAULT 'yesterday')", "DEFAULT of column 'x': "},
		{"(id BIGINT, x BIGINT DEFAULT id + 1)", "DEFAULT of column 'x' uses the column 'id'"}, // it was accepted, and a column that is GENERATED
		{"(id BIGINT, x INT NOT NULL DEFAULT NULL)", "DEFAULT of column 'x' is NULL, and the column is NOT NULL"},
		{"(id BIGINT, x INT GENERATED ALWAYS AS ('abc'))", "the expression of column 'x': "},
		{"(id BIGINT, CONSTRAINT c EXPECT ('abc'::int > 0))", "expectation 'c': "},
		{"(id BIGINT, x INT DEFAULT 1 GENERATED ALWAYS AS (1))", "column 'x' has both DEFAULT and GENERATED"},
		{"(id BIGINT GENERATED BY DEFAULT AS IDENTITY)", "GENERATED BY DEFAULT of a column of a streaming table is not supported yet"},
		{"(id BIGINT MASK f)", "MASK of a column"},
		{"(id BIGINT, CONSTRAINT c CHECK (id > 0))", "this CONSTRAINT of a streaming table is not supported"},
	} {
		if err := attempt(db, "CREATE STREAMING TABLE t "+c.columns+query); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, want %q", c.columns, err, c.message)
		}
	}
	gives(t, db, "SHOW TABLES", "")
}

// A code generator read DESCRIBE of a streaming table: it showed neither DEFAULT nor GENERATED.
func TestRulesOfColumnsAreDescribed(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r := start(t)
	db := r.root(t)
	do(t, db, `CREATE STREAMING TABLE t (id BIGINT NOT NULL, text STRING DEFAULT concat('a', 'b'), n INT DEFAULT (-5), quoted STRING DEFAULT 'x''y', yes BOOLEAN DEFAULT TRUE, nothing INT DEFAULT NULL,
		loaded TIMESTAMP DEFAULT now(), exact TIMESTAMP DEFAULT CURRENT_TIMESTAMP(6), twice BIGINT GENERATED ALWAYS AS (id * 2)) AS SELECT value:id::bigint AS id FROM `+ordersRead(b))
	do(t, db, "ALTER STREAMING TABLE t ADD COLUMN (note STRING DEFAULT 'n')")
	gives(t, db, "DESCRIBE t", `id|bigint|NO||NULL|
text|longtext|YES||concat('a', 'b')|DEFAULT_GENERATED
n|int|YES||-5|
quoted|longtext|YES||x'y|
yes|tinyint(1)|YES||1|
nothing|int|YES||NULL|
loaded|datetime(6)|YES||CURRENT_TIMESTAMP|DEFAULT_GENERATED
exact|datetime(6)|YES||CURRENT_TIMESTAMP(6)|DEFAULT_GENERATED
twice|bigint|YES||NULL|STORED GENERATED
note|longtext|YES||n|`)
	gives(t, db, "SHOW FULL COLUMNS FROM t LIKE 'tw%'", "twice|bigint|NULL|YES||NULL|STORED GENERATED||")
	gives(t, db, "SELECT column_name, column_default, extra, generation_expression, is_nullable FROM information_schema.columns WHERE table_name = 't' AND column_name IN ('id', 'text', 'n', 'loaded', 'twice') ORDER BY 1",
		"id|NULL|||NO\nloaded|CURRENT_TIMESTAMP|DEFAULT_GENERATED||YES\nn|-5|||YES\ntext|concat('a', 'b')|DEFAULT_GENERATED||YES\ntwice|NULL|STORED GENERATED|id * 2|YES")
	for _, value := range []string{"5", "6"} {
		do(t, db, "CREATE OR REFRESH STREAMING TABLE u (id BIGINT, n INT DEFAULT "+value+") AS SELECT value:id::bigint AS id FROM "+ordersRead(b))
		gives(t, db, "DESCRIBE u", "id|bigint|YES||NULL|\nn|int|YES||"+value+"|")
	}

	do(t, db, "CREATE TABLE plain (a VARCHAR(10) DEFAULT 'x', b INT DEFAULT (1 + 2), c DATETIME DEFAULT CURRENT_TIMESTAMP)")
	gives(t, db, "DESCRIBE plain", "a|varchar(10)|YES||x|\nb|int|YES||(1 + 2)|DEFAULT_GENERATED\nc|datetime|YES||CURRENT_TIMESTAMP|DEFAULT_GENERATED")
}

// What SHOW CREATE shows makes the same table, also after ALTER.
func TestShowCreateGoesRound(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r := start(t)
	db := r.root(t)
	do(t, db, "CREATE STREAMING TABLE t COMMENT 'a ''b'' \\\\' TBLPROPERTIES ('trigger' = 'manual') AS SELECT value:id::bigint AS id, value:country AS country, value:id::bigint > 3 AS big FROM "+ordersRead(b)+" -- the end")
	do(t, db, "ALTER STREAMING TABLE t ALTER COLUMN country COMMENT 'where it''s from'")
	do(t, db, "ALTER STREAMING TABLE t ADD COLUMN (note STRING COMMENT 'n', twice BIGINT DEFAULT 5)")
	do(t, db, "ALTER STREAMING TABLE t SET TBLPROPERTIES ('max_batch_rows' = '1000')")
	if err := attempt(db, "ALTER STREAMING TABLE t ALTER COLUMN nowhere COMMENT 'x'"); err == nil || !strings.Contains(err.Error(), "has no column 'nowhere'") {
		t.Error(err)
	}
	show := func() string {
		t.Helper()
		var name, text string
		if err := db.QueryRow("SHOW CREATE TABLE t").Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	describe := func() string {
		t.Helper()
		got, err := values(db, "SELECT column_name, column_type, is_nullable, column_comment FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	text, columns := show(), describe()
	if !strings.Contains(text, "TBLPROPERTIES ('max_batch_rows' = '1000', 'trigger' = 'manual')") || !strings.Contains(text, "COMMENT 'a ''b'' \\\\'") {
		t.Error(text)
	}
	do(t, db, "DROP TABLE t")
	do(t, db, text)
	if again := show(); again != text {
		t.Errorf("%s\nbecame\n%s", text, again)
	}
	if again := describe(); again != columns {
		t.Errorf("%s\nbecame\n%s", columns, again)
	}
	gives(t, db, "SELECT id, country, big, note, twice FROM t WHERE id IN (3, 4) ORDER BY id", "3|A|0|NULL|5\n4|B|1|NULL|5")
}

func TestExpectationsCountDropAndFail(t *testing.T) {
	b, cl, produce := ordersTopic(t, 100)
	r := start(t)
	db := r.root(t)
	definition := func(action string) string {
		return `STREAMING TABLE t (id BIGINT, amount DOUBLE, half DOUBLE GENERATED ALWAYS AS (amount / 2),
			CONSTRAINT small EXPECT (t.half < 25), CONSTRAINT ` + "`has a's country`" + ` EXPECT (country IN ('A', 'B')) ON VIOLATION DROP ROW, country STRING,
			CONSTRAINT engine EXPECT (bit_count(id) < 100), CONSTRAINT numbered EXPECT (id >= 0) ` + action + `)
			AS SELECT value:id::bigint AS id, value:amount::double AS amount, value:country AS country FROM ` + ordersRead(b)
	}
	do(t, db, "CREATE "+definition("ON VIOLATION FAIL UPDATE"))
	gives(t, db, "SELECT count(*), max(half) FROM t WHERE country <> 'C'", "67|49.75")
	gives(t, db, "SELECT count(*) FROM t", "67")
	counted := "SELECT name, on_violation, passed_records, failed_records FROM information_schema.streaming_table_expectations WHERE table_name = 't' ORDER BY name"
	gives(t, db, counted, "engine|WARN|100|0\nhas a's country|DROP ROW|67|33\nnumbered|FAIL UPDATE|100|0\nsmall|WARN|50|50")
	produce(100, 103)
	comes(t, r, counted, "engine|WARN|103|0\nhas a's country|DROP ROW|69|34\nnumbered|FAIL UPDATE|103|0\nsmall|WARN|50|53")
	gives(t, db, "SELECT progress:data_quality.expectations[1].failed_records, progress:data_quality.dropped_records, progress:data_quality.expectations[1].dataset FROM information_schema.streaming_table_progress WHERE num_input_rows > 50",
		"33|33|\"main.t\"")
	gives(t, db, "SELECT details:flow_progress.data_quality.expectations[0].name, details:flow_progress.data_quality.dropped_records, message LIKE '%50 of ''small''%' FROM event_log(TABLE(t)) WHERE event_type = 'flow_progress' AND level = 'METRICS' LIMIT 1",
		"\"small\"|33|1")
	if got, err := values(db, "DESCRIBE EXTENDED t"); err != nil || !strings.Contains(got, "Expectation small|(t.half < 25), WARN: 50 passed, 53 failed|") {
		t.Errorf("DESCRIBE EXTENDED: %q, %v", got, err)
	}
	if text := metricsText(t, r); !strings.Contains(text, `millrace_streaming_table_expectation_failed_records_total{database="main",expectation="has a's country",table="t"} 34`) {
		t.Errorf("metrics: %s", text)
	}

	testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: 0, Value: []byte(`{"id":103,"country":"A","amount":1}`)}, &kgo.Record{Topic: "orders", Partition: 0, Value: []byte(`{"country":"A","amount":3,"note":"no id: NULL is a violation"}`)})
	comes(t, r, "SELECT state FROM information_schema.streaming_tables WHERE table_name = 't'", "failed")
	got, err := values(db, "SELECT reason FROM information_schema.streaming_tables WHERE table_name = 't'")
	if err != nil || !strings.Contains(got, "expectation 'numbered' is violated by the record at topic 'orders', partition 0, offset 53: (id >= 0) is not true; its row: id=NULL, amount=3, country='A', half=1.5") {
		t.Errorf("the reason is %q, %v", got, err)
	}
	wantError(t, attempt(db, "REFRESH STREAMING TABLE t"), 31027, "22000", "offset 53")

	do(t, db, "CREATE OR REFRESH "+definition("ON VIOLATION DROP ROW"))
	gives(t, db, "SELECT count(*), max(id) FROM t", "70|103")
	gives(t, db, "SELECT on_violation, passed_records, failed_records FROM information_schema.streaming_table_expectations WHERE name = 'numbered'", "DROP ROW|104|1")
	do(t, db, "CREATE OR REFRESH STREAMING TABLE t (id BIGINT, amount DOUBLE, half DOUBLE, country STRING) AS SELECT value:id::bigint AS id, value:amount::double AS amount, value:country AS country FROM "+ordersRead(b))
	gives(t, db, counted, "")
	produce(105, 106)
	comes(t, r, "SELECT count(*), max(id) FROM t", "71|105")
}

// A violation in the initial load fails CREATE, and nothing of its batch is there.
func TestAViolationInTheBacklogIsFound(t *testing.T) {
	b, _, produce := ordersTopic(t, 100)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	create := "CREATE STREAMING TABLE t (id BIGINT, CONSTRAINT few EXPECT (id < 77) ON VIOLATION FAIL UPDATE) AS SELECT value:id::bigint AS id FROM " + ordersRead(b)
	wantError(t, attempt(db, create), 31027, "22000", "expectation 'few' is violated by the record at topic 'orders', partition")
	gives(t, db, "SELECT count(*) FROM t", "0")
	do(t, db, "DROP TABLE t")

	produce(100, 60_000) // a backlog for a bounded scan
	create = strings.Replace(create, "77", "31415", 1)
	err := attempt(db, create)
	wantError(t, err, 31027, "22000", "expectation 'few' is violated by the record at topic 'orders', partition")
	gives(t, db, "SELECT count(*) > 0, max(id) < 31415 FROM t", "1|1")
	do(t, db, strings.Replace(strings.Replace(create, "CREATE", "CREATE OR REFRESH", 1), "FAIL UPDATE", "DROP ROW", 1))
	gives(t, db, "SELECT count(*), max(id) FROM t", "31415|31414")
	counts := fmt.Sprintf("31415|%d", 60_000-31415)
	gives(t, db, "SELECT passed_records, failed_records FROM information_schema.streaming_table_expectations", counts)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, func(c *Config) { c.DataDir = dir })
	comes(t, r, "SELECT state, passed_records, failed_records FROM information_schema.streaming_table_expectations JOIN information_schema.streaming_tables USING (table_name)", "running|"+counts)
}

// GENERATED AS (rand()) was taken, and gave another value when a batch was read again after a crash.
func TestRulesThatTheRowDoesNotDecideAreRefused(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	db := start(t).root(t)
	query := " AS SELECT value:id::bigint AS id FROM " + ordersRead(b)
	for expression, message := range map[string]string{
		"rand() > 0.5": "calls rand(), which is not decided by the row", "uuid() = 'a'": "calls uuid()", "id + sleep(0) > 1": "calls sleep()", "concat(id, lower(uuid())) = 'x'": "calls uuid()",
		"connection_id() = id": "calls connection_id(), which is about a session", "current_user() = 'a'": "calls current_user()", "current_user = 'a'": "calls current_user()", "user() = 'a'": "calls user()",
		"last_insert_id() > 1": "calls last_insert_id()", "@@hostname = 'h'": "uses the variable @@hostname",
	} {
		for _, columns := range []string{"(id BIGINT, g BOOLEAN GENERATED ALWAYS AS (%))", "(id BIGINT, CONSTRAINT c EXPECT (%))"} {
			err := attempt(db, "CREATE STREAMING TABLE t "+strings.Replace(columns, "%", expression, 1)+query)
			wantError(t, err, 1235, "42000", message)
		}
	}
	for _, clock := range []string{"now()", "current_timestamp", "curdate()", "unix_timestamp()"} {
		err := attempt(db, "CREATE STREAMING TABLE t (id BIGINT, g STRING GENERATED ALWAYS AS (concat("+clock+", 'x')))"+query)
		wantError(t, err, 1235, "42000", "a column with DEFAULT")
	}
	do(t, db, `CREATE STREAMING TABLE t (id BIGINT, loaded TIMESTAMP DEFAULT now(), u STRING DEFAULT uuid(), g BIGINT GENERATED ALWAYS AS (unix_timestamp('2026-01-01')),
		CONSTRAINT c EXPECT (loaded <= now()))`+query)
	gives(t, db, "SELECT count(*), count(DISTINCT u), max(g) FROM t", "10|10|1767225600")
	gives(t, db, "SELECT passed_records FROM information_schema.streaming_table_expectations WHERE table_name = 't'", "10")

	err := attempt(db, "CREATE STREAMING TABLE u (id BIGINT, g BIGINT GENERATED ALWAYS AS (id + 1), h BIGINT GENERATED ALWAYS AS (g * 2))"+query)
	wantError(t, err, 1054, "42S22", "'g' is GENERATED too, and sees as this one the columns of the query and those with a DEFAULT: write (id + 1) in its place")
}

// A table of SELECT 'x'::int was made, and put every record into its table of errors.
func TestConstantsThatFailForEveryRecordAreRefused(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	b.Topic(t, "copies", 1, nil)
	db := start(t).root(t)
	from := " FROM " + ordersRead(b)
	for expression, message := range map[string]string{
		"'x'::int AS a":                                 "column 'a' fails for every record: invalid value 'x' for INT",
		"offset + 'x'::int AS a":                        "column 'a' fails for every record: invalid value 'x' for INT",
		"'x'::int":                                      "column ''x'::int' fails for every record",
		"offset > -('x'::int) AS a":                     "column 'a' fails for every record",
		"CAST('x' AS DATE) AS a":                        "column 'a' fails for every record",
		"1/0 AS a":                                      "column 'a' fails for every record: Division by 0",
		"offset * (1 % 0) AS a":                         "column 'a' fails for every record: Division by 0",
		"9223372036854775807 + 1 AS a":                  "column 'a' fails for every record",
		"CASE WHEN 'a'::int = 1 THEN 1 ELSE 2 END AS a": "column 'a' fails for every record",
		"json_extract('{', '$.a') AS a":                 "column 'a' fails for every record",
	} {
		if err := attempt(db, "CREATE STREAMING TABLE t AS SELECT "+expression+from); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want %q", expression, err, message)
		}
	}
	err := attempt(db, "CREATE FLOW f AS INSERT INTO write_kafka(bootstrapServers => '"+b.Addrs[0]+"', topic => 'copies') SELECT 'x'::int::string AS value"+from)
	if err == nil || !strings.Contains(err.Error(), "column 'value' fails for every record") {
		t.Error(err)
	}
	do(t, db, "CREATE STREAMING TABLE t AS SELECT CASE WHEN offset < 0 THEN 'x'::int ELSE 1 END AS a, coalesce(offset, 'x'::int) AS b, 'x' ?:: int AS c, if(offset >= 0, 1, 1/0) AS d, rand() < 2 AS e, offset"+from)
	gives(t, db, "SELECT count(*), sum(a), count(b), count(c), count(d), sum(e) FROM t", "10|10|10|0|10|10")
	do(t, db, "SET sql_mode = ''")
	do(t, db, "CREATE STREAMING TABLE lenient AS SELECT 1/0 AS a, offset"+from)
	gives(t, db, "SELECT count(*), count(a) FROM lenient", "10|0")
}

// A user listed the columns as they wanted them: "declared timestamp, and the query gives datetime(3)", and the same of a topic declared STRING. Without the type, as the hint said, it was a
// syntax error.
func TestListedColumnsMayBeWiderThanTheQuery(t *testing.T) {
	b, cl, _ := ordersTopic(t, 2)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	do(t, db, `CREATE STREAMING TABLE t (o DECIMAL(22,1), ts TIMESTAMP NOT NULL COMMENT 'of the record', s STRING, l LONGTEXT, p BIGINT, price DECIMAL(12,4), f DOUBLE, k,
			later TIMESTAMP GENERATED ALWAYS AS (ts + INTERVAL 1 DAY), CONSTRAINT new EXPECT (ts > '2000-01-01'), CONSTRAINT small EXPECT (p < 5))
		AS SELECT offset o, timestamp ts, topic s, topic l, partition p, value:amount::decimal(8,2) AS price, value:amount::float AS f, key k FROM `+ordersRead(b))
	gives(t, db, "SELECT column_name, column_type FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position",
		"o|decimal(22,1)\nts|datetime(6)\ns|longtext\nl|longtext\np|bigint\nprice|decimal(12,4)\nf|double\nk|longblob\nlater|datetime(6)")
	const read = "SELECT o, s, l, p, price, f, ts = later - INTERVAL 1 DAY FROM t ORDER BY p, o"
	gives(t, db, read, "0.0|orders|orders|0|0.5000|0.5|1\n0.0|orders|orders|1|1.5000|1.5|1")
	do(t, db, "ALTER STREAMING TABLE t ADD COLUMN (note STRING)")
	if got, err := values(db, "SHOW CREATE TABLE t"); err != nil || !strings.Contains(got, "  `k`,\n") || !strings.Contains(got, "`ts` TIMESTAMP NOT NULL COMMENT") {
		t.Errorf("SHOW CREATE TABLE: %s, %v", got, err)
	}
	r.stop()
	r = start(t, func(c *Config) { c.DataDir = dir })
	testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: 1, Value: []byte(`{"amount":7}`)})
	comes(t, r, read, "0.0|orders|orders|0|0.5000|0.5|1\n0.0|orders|orders|1|1.5000|1.5|1\n1.0|orders|orders|1|7.0000|7|1")
	db = r.root(t)
	for columns, message := range map[string]string{
		"(o INT, ts, s)":          "column 'o' is declared int, and the query gives bigint",
		"(o, ts DATETIME(0), s)":  "column 'ts' is declared datetime, and the query gives datetime(3)",
		"(o, ts, s VARCHAR(200))": "column 's' is declared varchar(200), and the query gives varchar(249)",
		"(o, ts, s, n)":           "column 'n' has no type, and the query does not give it one",
		"(o, ts, s, n DEFAULT 1)": "column 'n' has no type",
	} {
		if err := attempt(db, "CREATE STREAMING TABLE u "+columns+" AS SELECT offset o, timestamp ts, topic s FROM "+ordersRead(b)); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want %q", columns, err, message)
		}
	}
	if err := attempt(db, "ALTER STREAMING TABLE t ADD COLUMN (more)"); err == nil || !strings.Contains(err.Error(), "a type is missing") {
		t.Errorf("ADD COLUMN without a type: %v", err)
	}
}
