package server

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"millrace/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server under test.
type running struct {
	*Server
	addr, http string
	stop       func() error // drains and waits; may be called once by the test
	log        *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a server on free ports until the test ends.
func start(t testing.TB, change ...func(*Config)) *running {
	t.Helper()
	r, err := tryStart(t, change...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryStart(t testing.TB, change ...func(*Config)) (*running, error) {
	t.Helper()
	r := &running{log: &lockedBuffer{}}
	ready := make(chan struct{})
	addresses := map[string]string{}
	cfg := Config{
		Listen: "127.0.0.1:0", HTTP: "127.0.0.1:0", DataDir: t.TempDir(), DrainTimeout: 5 * time.Second, MemoryLimit: "1GiB",
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&cfg)
	}
	if cfg.kept == nil {
		cfg.Store = storeOf(t, cfg.DataDir)
	}
	cfg.Announce = func(name, address string) {
		addresses[name] = address
		if name == "http" || name == "mysql" && cfg.HTTP == "" {
			close(ready)
		}
	}
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	r.Server = s
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-done, s.Close())
	})
	select {
	case <-ready:
	case err := <-done:
		cancel()
		done <- nil
		return nil, errors.Join(err, s.Close())
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	r.addr, r.http = addresses["mysql"], addresses["http"]
	return r, nil
}

// connect opens a client of one connection.
func (r *running) connect(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", strings.Replace(dsn, "@", "@tcp("+r.addr+")", 1))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (r *running) root(t testing.TB) *sql.DB { return r.connect(t, "root@/main") }

// rows runs a query and renders its result: a line of headings, a line for each row.
func rows(db *sql.DB, query string, args ...any) (string, error) {
	rs, err := db.Query(query, args...)
	if err != nil {
		return "", err
	}
	defer func() { _ = rs.Close() }()
	var b strings.Builder
	for {
		names, err := rs.Columns()
		if err != nil {
			return "", err
		}
		b.WriteString(strings.Join(names, "|"))
		for rs.Next() {
			values := make([]sql.NullString, len(names))
			to := make([]any, len(names))
			for i := range values {
				to[i] = &values[i]
			}
			if err := rs.Scan(to...); err != nil {
				return "", err
			}
			b.WriteString("\n")
			for i, v := range values {
				if i > 0 {
					b.WriteString("|")
				}
				if v.Valid {
					b.WriteString(v.String)
				} else {
					b.WriteString("NULL")
				}
			}
		}
		if err := rs.Err(); err != nil {
			return "", err
		}
		if !rs.NextResultSet() {
			return b.String(), rs.Err()
		}
		b.WriteString("\n--\n")
	}
}

func want(t *testing.T, db *sql.DB, query, result string, args ...any) {
	t.Helper()
	got, err := rows(db, query, args...)
	if err != nil {
		t.Errorf("%s: %v", query, err)
	} else if got != result {
		t.Errorf("%s\n got %q\nwant %q", query, got, result)
	}
}

func do(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// wantError checks number, SQLSTATE and a part of the text.
func wantError(t *testing.T, err error, number uint16, state, text string) {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		t.Errorf("error %v, want %d", err, number)
		return
	}
	if e.Number != number || string(e.SQLState[:]) != state || !strings.Contains(e.Message, text) {
		t.Errorf("error %d (%s) %s\nwant %d (%s) …%s…", e.Number, e.SQLState, e.Message, number, state, text)
	}
}

func TestSelectTextAndPrepared(t *testing.T) {
	db := start(t).root(t)
	want(t, db, "SELECT 1", "1\n1")
	want(t, db, "SELECT 1 AS a, 'x' AS b, NULL AS c, 1.50 AS d, 2e0 AS e", "a|b|c|d|e\n1|x|NULL|1.50|2")
	want(t, db, "SELECT ? + 1 AS n, ? AS s, ? AS z", "n|s|z\n42|text|NULL", 41, "text", nil)
	want(t, db, "SELECT version(), @@version, @@version_comment, @@time_zone, @@secure_file_priv, database()",
		"version()|@@version|@@version_comment|@@time_zone|@@secure_file_priv|database()\n8.0.36-millrace|8.0.36-millrace|Millrace: SQL on Kafka|+00:00|NULL|main")
	want(t, db, "SELECT CAST('2024-02-29 12:34:56.789' AS DATETIME(3)) AS t, CAST('2024-02-29' AS DATE) AS d, CAST('01:02:03' AS TIME) AS c", "t|d|c\n2024-02-29 12:34:56.789|2024-02-29|01:02:03.000000")
	want(t, db, "SELECT CAST(? AS DATETIME(3)) AS t, CAST('2024-02-29' AS DATE) AS d, CAST('01:02:03' AS TIME) AS c", "t|d|c\n2024-02-29 12:34:56.789|2024-02-29|01:02:03.000000", "2024-02-29 12:34:56.789")
}

// A tool that builds an address of @@hostname and @@port connected to 3306.
func TestVariablesTellWhereTheServerIs(t *testing.T) {
	r := start(t)
	db := r.root(t)
	_, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	gives(t, db, "SELECT @@port, @@global.port, @@hostname, @@bind_address, @@socket", port+"|"+port+"|"+host+"|127.0.0.1|")
	gives(t, db, "SHOW VARIABLES LIKE 'port'", "port|"+port)
	gives(t, db, "SELECT @@version_compile_os, @@version_compile_machine, @@license", runtime.GOOS+"|"+runtime.GOARCH+"|Apache-2.0")
}

func TestTablesSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	do(t, db, "CREATE TABLE t (id INT PRIMARY KEY, `key` VARCHAR(20), at DATETIME(6))")
	want(t, db, "SHOW WARNINGS", "Level|Code|Message\nWarning|31100|the PRIMARY KEY of table 't' is informational: rows with the same key are kept")
	res, err := db.Exec("INSERT INTO t VALUES (?, ?, ?), (2, 'b', NULL)", 1, "a", time.Date(2024, 1, 2, 3, 4, 5, 4_000_000, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); n != 2 || err != nil {
		t.Errorf("%d rows affected, %v", n, err)
	}
	want(t, db, "SELECT * FROM t ORDER BY id", "id|key|at\n1|a|2024-01-02 03:04:05.004000\n2|b|NULL")
	want(t, db, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'main'", "count(*)\n1")
	_, err = db.Exec("INSERT INTO t VALUES (NULL, 'no key', NULL)")
	wantError(t, err, 1048, "23000", "")
	_, err = db.Exec("UPDATE t SET id = 3")
	wantError(t, err, 1235, "42000", "UPDATE is not supported")
	_, err = db.Exec("DELETE FROM t WHERE id = 1")
	wantError(t, err, 1235, "42000", "DELETE of some rows is not supported")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	db = start(t, func(c *Config) { c.DataDir = dir }).root(t)
	want(t, db, "SELECT * FROM t ORDER BY id", "id|key|at\n1|a|2024-01-02 03:04:05.004000\n2|b|NULL")
	do(t, db, "TRUNCATE TABLE t")
	want(t, db, "SELECT count(*) FROM t", "count(*)\n0")
	do(t, db, "INSERT INTO t SELECT 3, 'c', NULL")
	do(t, db, "RENAME TABLE t TO u")
	want(t, db, "SELECT * FROM u", "id|key|at\n3|c|NULL")
	do(t, db, "DROP TABLE u")
	want(t, db, "SHOW TABLES", "Tables_in_main")
}

func TestErrorsHaveNumberStateAndPlace(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE t (id INT PRIMARY KEY)")
	for _, test := range []struct {
		statement string
		number    uint16
		state     string
		text      string
	}{
		{"SELEC 1", 1064, "42000", "line 1 column 1"},
		{"SELECT 1 FROM", 1064, "42000", "line 1 column 14"},
		{"SELECT id,\n  id FRM t WHERE", 1064, "42000", "line 2 column"},
		{"", 1065, "42000", "empty"},
		{"-- nothing", 1065, "42000", "empty"},
		{"SELECT * FROM nowhere", 1146, "42S02", "table 'nowhere' does not exist"},
		{"SELECT nope FROM t", 1054, "42S22", "nope"},
		{"USE nowhere", 1049, "42000", "nowhere"},
		{"SELECT no_such_function(1)", 1305, "42000", "no_such_function"},
		{"SELECT * FROM no_such_function('#named', 'a', 1)", 1305, "42000", "no_such_function"},
		{"CREATE TABLE t (id INT)", 1050, "42S01", "t"},
		{"CREATE DATABASE main", 1007, "HY000", "main"},
		{"SELECT (SELECT 1 UNION SELECT 2)", 1242, "21000", ""},
		{"SET SESSION no_such_variable = 1", 1193, "HY000", "no_such_variable"},
		{"SELECT load_file('/etc/passwd')", 1290, "HY000", "LOAD_FILE"},
		{"SELECT 1 INTO OUTFILE '/tmp/x'", 1290, "HY000", "OUTFILE"},
		{"LOAD DATA INFILE '/etc/passwd' INTO TABLE t", 1290, "HY000", "LOAD DATA"},
		{"SELECT 1; SELECT 2", 1064, "42000", "line 1 column 11"},
		{"CREATE MATERIALIZED VIEW s AS SELECT 1", 1235, "42000", "CREATE MATERIALIZED VIEW is not supported yet"},
		{"EXPLAIN FORMAT=XML SELECT 1", 1064, "42000", "allowed are TREE and JSON"},
		{"EXPLAIN ANALYZE INSERT INTO t VALUES (1)", 1235, "42000", "changes nothing"},
		{"KILL 4000000", 1094, "HY000", "4000000"},
	} {
		_, err := db.Exec(test.statement)
		t.Run(test.statement, func(t *testing.T) { wantError(t, err, test.number, test.state, test.text) })
	}
	want(t, db, "SELECT 1", "1\n1") // the connection survived all of it
}

func TestMultiStatements(t *testing.T) {
	r := start(t)
	db := r.connect(t, "root@/main?multiStatements=true")
	want(t, db, "SELECT 1; SELECT ';' AS s; -- end\n", "1\n1\n--\ns\n;")
	_, err := rows(db, "SELECT 1; SELECT nope; SELECT 3")
	wantError(t, err, 1054, "42S22", "nope")
	want(t, db, "SELECT 2", "2\n2")
}

func TestWarnings(t *testing.T) {
	db := start(t).root(t)
	want(t, db, "SELECT @@query_alloc_block_sizes, @@session.nonsense, 1", "@@query_alloc_block_sizes|@@session.nonsense|1\nNULL|NULL|1")
	want(t, db, "SELECT @@warning_count, @@error_count + 1 AS e", "@@warning_count|e\n2|1")
	want(t, db, "SELECT 1/0", "1/0\nNULL")
	got, err := rows(db, "SHOW WARNINGS")
	if err != nil || !strings.Contains(got, "Warning|1365|") {
		t.Errorf("SHOW WARNINGS: %q %v", got, err)
	}
}

func TestViewsKeepTheirTextAndSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	inDir := func(c *Config) { c.DataDir = dir }
	r := start(t, inDir)
	db := r.root(t)
	do(t, db, "CREATE DATABASE shop")
	do(t, db, "CREATE VIEW shop.v AS SELECT '{\"a\":{\"b\":7}}':a.b::bigint + 1, '5'::int AS five")
	check := func(db *sql.DB) {
		t.Helper()
		want(t, db, "SELECT five FROM shop.v", "five\n5")
		got, err := rows(db, "SHOW CREATE VIEW shop.v")
		if err != nil || !strings.Contains(got, "SELECT '{\"a\":{\"b\":7}}':a.b::bigint + 1, '5'::int AS five") {
			t.Errorf("SHOW CREATE VIEW: %q %v", got, err)
		}
		want(t, db, "SELECT view_definition FROM information_schema.views WHERE table_schema = 'shop'", "VIEW_DEFINITION\nSELECT '{\"a\":{\"b\":7}}':a.b::bigint + 1, '5'::int AS five")
	}
	check(db)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, inDir)
	db = r.root(t)
	check(db)
	do(t, db, "DROP VIEW shop.v")
	_, err := db.Exec("DROP VIEW shop.v")
	wantError(t, err, 1051, "42S02", "")
}

func TestViewsAreReadInTheModeTheyWereMadeIn(t *testing.T) {
	r := start(t)
	a, b := r.root(t), r.root(t)
	do(t, a, `CREATE VIEW backslash AS SELECT 'a\' UNION SELECT 1 -- ' AS s`)
	do(t, b, "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'")
	do(t, b, `CREATE VIEW plain AS SELECT 'a\' AS s, 1 AS "n"`)
	for _, db := range []*sql.DB{a, b} {
		want(t, db, "SELECT * FROM backslash", "s\na' UNION SELECT 1 -- ")
		want(t, db, "SELECT * FROM plain", "s|n\na\\|1")
	}
	want(t, b, `SELECT 'x\' AS s`, "s\nx\\")
	do(t, a, "RENAME TABLE plain TO renamed")
	want(t, a, "SELECT * FROM renamed", "s|n\na\\|1")
}

func TestUsersAndGrantsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	inDir := func(c *Config) { c.DataDir = dir }
	r := start(t, inDir)
	db := r.root(t)
	for _, s := range []string{
		"CREATE USER native@'%' IDENTIFIED WITH mysql_native_password BY 'pw-native'",
		"CREATE USER sha@'%' IDENTIFIED WITH caching_sha2_password BY 'pw-sha'",
		"CREATE USER plain@'%' IDENTIFIED BY 'pw-plain'",
		"GRANT SELECT ON main.* TO native@'%', sha@'%', plain@'%'",
		"GRANT KAFKA_READ ON *.* TO sha@'%'",
		"CREATE TABLE main.t (id INT)",
	} {
		do(t, db, s)
	}
	_, err := db.Exec("GRANT KAFKA_READ ON main.* TO sha@'%'")
	wantError(t, err, 3619, "HY000", "KAFKA_READ")
	_, err = db.Exec("GRANT KAFKA_READ ON *.* TO nobody")
	wantError(t, err, 1410, "42000", "nobody")
	check := func(r *running) {
		t.Helper()
		for user, password := range map[string]string{"native": "pw-native", "sha": "pw-sha", "plain": "pw-plain"} {
			as := r.connect(t, user+":"+password+"@/main")
			want(t, as, "SELECT current_user()", "current_user()\n"+user+"@%")
			_, err := as.Exec("CREATE TABLE denied (id INT)")
			wantError(t, err, 1142, "42000", "denied")
			_, err = as.Exec("GRANT KAFKA_READ ON *.* TO " + user + "@'%'")
			wantError(t, err, 1227, "42000", "KAFKA_READ")
			wrong := r.connect(t, user+":wrong@/main")
			wantError(t, wrong.Ping(), 1045, "28000", "Access denied")
		}
		got, err := rows(r.root(t), "SHOW GRANTS FOR sha@'%'")
		if err != nil || !strings.Contains(strings.ToLower(got), "grant kafka_read on *.* to `sha`@`%`") {
			t.Errorf("SHOW GRANTS: %q %v", got, err)
		}
	}
	check(r)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, inDir)
	check(r)
	db = r.root(t)
	do(t, db, "REVOKE KAFKA_READ ON *.* FROM sha@'%'")
	got, err := rows(db, "SHOW GRANTS FOR sha@'%'")
	if err != nil || strings.Contains(strings.ToLower(got), "kafka_read") {
		t.Errorf("after REVOKE: %q %v", got, err)
	}
}

func TestReadKafkaNeedsItsPrivilege(t *testing.T) {
	r := start(t)
	db := r.root(t)
	do(t, db, "CREATE USER u IDENTIFIED BY 'p'")
	do(t, db, "GRANT SELECT ON main.* TO u")
	as := r.connect(t, "u:p@/main")
	_, err := rows(as, "SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 't')")
	wantError(t, err, 1142, "42000", "")
	want(t, db, "DESCRIBE read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 't')", "Field|Type|Null|Key|Default|Extra\n"+
		"key|longblob|YES||NULL|\nvalue|longblob|YES||NULL|\ntopic|varchar(249)|NO||NULL|\npartition|int|NO||NULL|\noffset|bigint|NO||NULL|\ntimestamp|datetime(3)|YES||NULL|\ntimestampType|int|NO||NULL|")
}

func TestKillQueryAndConnection(t *testing.T) {
	r := start(t)
	db, other := r.root(t), r.root(t)
	var id int64
	if err := db.QueryRow("SELECT connection_id()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	kill := func(statement string) error {
		t.Helper()
		done := make(chan error, 1)
		go func() {
			_, err := rows(db, "SELECT sleep(60)")
			done <- err
		}()
		for deadline := time.Now().Add(testkit.Patience); ; {
			got, err := rows(other, "SELECT info FROM information_schema.processlist WHERE id = ?", id)
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("the statement does not show in the process list: %q %v", got, err)
			}
			if strings.Contains(got, "sleep(60)") {
				break
			}
		}
		start := time.Now()
		do(t, other, fmt.Sprintf(statement, id))
		err := <-done
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %v", statement, took)
		}
		return err
	}
	wantError(t, kill("KILL QUERY %d"), 1317, "70100", "interrupted")
	want(t, db, "SELECT 1", "1\n1")
	if err := kill("KILL %d"); err == nil {
		t.Error("the statement of a killed connection succeeded")
	}
}

func TestMaxExecutionTime(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "SET SESSION max_execution_time = 100")
	_, err := rows(db, "SELECT sleep(30)")
	wantError(t, err, 3024, "HY000", "max_execution_time")
	_, err = rows(db, "EXPLAIN ANALYZE SELECT sleep(30)")
	wantError(t, err, 3024, "HY000", "max_execution_time")
	want(t, db, "SELECT 1", "1\n1")
}

func TestTooManyConnections(t *testing.T) {
	r := start(t, func(c *Config) { c.MaxConnections = 1 })
	want(t, r.root(t), "SELECT 1", "1\n1")
	var e *mysql.MySQLError
	if err := r.root(t).Ping(); !errors.As(err, &e) || e.Number != 1040 {
		t.Errorf("error %v, want 1040", err)
	}
}

func TestSessionsAreSeparate(t *testing.T) {
	r := start(t)
	a, b := r.root(t), r.root(t)
	do(t, a, "SET @x = 5, SESSION sql_mode = 'ANSI_QUOTES'")
	want(t, a, `SELECT @x AS "x"`, "x\n5")
	want(t, b, "SELECT @x AS x", "x\nNULL")
}

func TestExplainIsATree(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE t (id INT PRIMARY KEY)")
	for _, q := range []string{"EXPLAIN SELECT * FROM t WHERE id > 3", "EXPLAIN FORMAT=TREE SELECT * FROM t WHERE id > 3", "DESC SELECT * FROM t WHERE id > 3"} {
		got, err := rows(db, q)
		if err != nil || !strings.Contains(got, "Filter") && !strings.Contains(got, "Scan(t)") {
			t.Errorf("%s: %q %v", q, got, err)
		}
	}
	got, err := rows(db, "DESCRIBE t")
	if err != nil || !strings.HasPrefix(got, "Field|Type|Null|Key|Default|Extra\nid|int|NO||NULL|") {
		t.Errorf("DESCRIBE t: %q %v", got, err)
	}
}

// EXPLAIN ANALYZE is a statement like any other: it can be prepared with values, it fails as its query does, and it changes nothing.
func TestExplainAnalyze(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE t (id INT PRIMARY KEY)")
	do(t, db, "INSERT INTO t VALUES (1), (2), (3)")
	do(t, db, "PREPARE p FROM 'EXPLAIN ANALYZE FORMAT=JSON SELECT id FROM t WHERE id % 2 = 1'")
	for _, q := range []struct {
		statement string
		args      []any
		text      string
	}{
		{"EXPLAIN ANALYZE SELECT id FROM t WHERE id % 2 = 1", nil, "filter: rows in 3, out 2, time "},
		{"EXPLAIN ANALYZE SELECT id FROM t WHERE id % 2 = ?", []any{1}, "filter: rows in 3, out 2, time "},
		{"EXPLAIN ANALYZE FORMAT=JSON SELECT id FROM t WHERE id % 2 = ?", []any{1}, `"rows": 2`},
		{"EXPLAIN FORMAT=JSON SELECT id FROM t WHERE id % 2 = ?", []any{1}, `"pushed": "checked in the scan"`},
		{"EXECUTE p", nil, `"rows": 2`},
	} {
		got, err := rows(db, q.statement, q.args...)
		if err != nil || !strings.HasPrefix(got, "plan\n") || !strings.Contains(got, q.text) {
			t.Errorf("%s: %s %v, want %s in it", q.statement, got, err, q.text)
		}
	}
	_, err := rows(db, "EXPLAIN ANALYZE SELECT (SELECT id FROM t)")
	wantError(t, err, 1242, "21000", "")
	_, err = rows(db, "EXPLAIN ANALYZE DELETE FROM t")
	wantError(t, err, 1235, "42000", "changes nothing")
	want(t, db, "SELECT count(*) AS n FROM t", "n\n3")
}

func TestPreparedInSQL(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "PREPARE p FROM 'SELECT ?::int + 1 AS n'")
	do(t, db, "SET @a = 41")
	want(t, db, "EXECUTE p USING @a", "n\n42")
	do(t, db, "DEALLOCATE PREPARE p")
	_, err := rows(db, "EXECUTE p USING @a")
	wantError(t, err, 1243, "HY000", "p")
}
