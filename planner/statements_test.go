package planner

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	budget "millrace/internal/memory"
	"millrace/internal/scan"
)

// TestStatementsAgree runs scripts that change tables from scans, with and without pushdown, and compares what the last statement shows.
func TestStatementsAgree(t *testing.T) {
	for _, script := range []string{
		"CREATE TABLE t AS SELECT topic, COUNT(*) AS c FROM records() GROUP BY topic; SELECT * FROM t ORDER BY topic",
		"CREATE TABLE t AS SELECT `key`, `offset` AS o FROM records() WHERE `partition` = 1 AND `offset` < 9; SELECT * FROM t ORDER BY o, `key`",
		"INSERT INTO numbers SELECT 1000 + `offset`, topic FROM records() WHERE topic = 'a' AND `partition` = 0 AND `offset` BETWEEN 2 AND 6; SELECT * FROM numbers ORDER BY n",
		"INSERT INTO numbers SELECT MAX(`offset`) + 100, 'x' FROM records(); SELECT * FROM numbers ORDER BY n",
		"INSERT INTO numbers (s, n) SELECT topic, `offset` + 500 FROM (SELECT DISTINCT topic, `offset` FROM records() WHERE topic = 'b') d; SELECT * FROM numbers ORDER BY n",
		"INSERT INTO numbers VALUES ((SELECT COUNT(*) FROM records() WHERE `partition` = 2) + 1000, 'c'); SELECT * FROM numbers ORDER BY n",
		"DELETE FROM numbers WHERE n IN (SELECT `offset` FROM records() WHERE `partition` = 1); SELECT * FROM numbers ORDER BY n",
		"UPDATE numbers SET s = (SELECT MAX(topic) FROM records() WHERE `offset` = n); SELECT * FROM numbers ORDER BY n",
		"PREPARE p FROM 'SELECT COUNT(*) FROM records() WHERE `partition` = ? AND `offset` > ? AND topic = ?'; SET @p = 1, @o = 3, @t = 'a'; EXECUTE p USING @p, @o, @t",
		"SET @p = 1; SELECT COUNT(*) FROM records() WHERE `partition` = @p",
		"WITH RECURSIVE r AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM r WHERE i < (SELECT MAX(`partition`) FROM records())) SELECT i, (SELECT COUNT(*) FROM records() WHERE `partition` = i) FROM r ORDER BY i",
		"CREATE VIEW w AS SELECT topic, COUNT(*) AS c, SUM(`offset`) AS s FROM records() GROUP BY topic; SELECT * FROM w WHERE topic = 'a'",
		"CREATE VIEW w AS SELECT * FROM v WHERE len > 2; SELECT COUNT(*), MAX(len), MIN(`offset`) FROM w WHERE `partition` = 1",
		"CREATE PROCEDURE p(x INT) SELECT COUNT(*) FROM records() WHERE `partition` = x AND `offset` > 2; CALL p(1); CALL p(2)",
		"SELECT j.x, COUNT(*) FROM records(), JSON_TABLE('[1,2]', '$[*]' COLUMNS (x INT PATH '$')) j WHERE `partition` = j.x GROUP BY j.x ORDER BY j.x",
		"SELECT COUNT(*) FROM records() a, records() b WHERE a.`partition` = 0 AND b.`partition` = 1 AND a.topic = b.topic AND a.`offset` < b.`offset`",
		"SELECT {`value`:s} AS s, COUNT(*) AS n, MAX(`offset`) AS m FROM records() GROUP BY s ORDER BY n DESC, s LIMIT 3",
		"SELECT {`value`:s} AS s, COUNT(*) AS n FROM records() GROUP BY s HAVING n > 1 AND s > 'a' ORDER BY s DESC",
		"SELECT {`value`:s}, COUNT(*) AS n FROM (SELECT `key` AS `value`, `value` AS v FROM records()) records GROUP BY {v:s}, `value` ORDER BY n, 1",
		"SELECT `offset` FROM records() WHERE topic = 'a' EXCEPT SELECT `offset` FROM records() WHERE topic = 'b' ORDER BY 1",
		"SELECT topic FROM records() INTERSECT SELECT s FROM numbers ORDER BY 1",
		"SELECT r.topic, q.n FROM records() r LEFT JOIN (SELECT n FROM numbers WHERE n > 1) q ON q.n = r.`offset` WHERE r.`partition` = 0 ORDER BY r.topic, r.`offset`, q.n",
		"SELECT (SELECT topic FROM records() WHERE `offset` = 3 AND `partition` = 1 ORDER BY topic LIMIT 1), (SELECT COUNT(*) FROM v)",
		"SELECT n, (SELECT COUNT(*) FROM (SELECT `offset` AS o FROM records() WHERE `partition` = 1) d WHERE d.o > n) FROM numbers ORDER BY n",
		"SELECT n, (SELECT SUM(c) FROM (SELECT topic, COUNT(*) AS c FROM records() WHERE `offset` > n GROUP BY topic) d) FROM numbers ORDER BY n",
		"SELECT n, (SELECT GROUP_CONCAT(DISTINCT len ORDER BY len) FROM v WHERE `partition` = 1 AND len > n) FROM numbers ORDER BY n",
		"SELECT o.n FROM numbers o WHERE EXISTS (SELECT 1 FROM records() r WHERE r.`offset` = o.n AND EXISTS (SELECT 1 FROM v WHERE v.`offset` = r.`offset` AND v.len > o.n)) ORDER BY o.n",
		"SELECT n, l.o, m.c FROM numbers, LATERAL (SELECT MIN(`offset`) AS o FROM records() WHERE `offset` > n) l, LATERAL (SELECT COUNT(*) AS c FROM records() WHERE `offset` = l.o AND `partition` = 0) m ORDER BY n",
	} {
		var results [2][]string
		for i, on := range []string{"off", "on"} {
			e := newTestEngine(t, generate(21, 200))
			e.pushdown(on)
			for _, statement := range strings.Split(script, "; ") {
				rows, err := e.query(statement)
				if err != nil {
					t.Fatalf("pushdown %s: %s: %v", on, statement, err)
				}
				results[i] = rows
			}
		}
		if len(results[0]) == 0 {
			t.Errorf("%s: shows nothing", script)
		}
		if !slices.Equal(results[0], results[1]) {
			t.Errorf("%s\nby the engine\n%s\npushed down\n%s", script, strings.Join(results[0], "\n"), strings.Join(results[1], "\n"))
		}
	}
}

// A user saw "Incorrect string value" for hex(substr(value, 7)), and U+FFFD in the place of bytes: what takes a part of text took bytes for text.
func TestPartsOfBytesAreBytes(t *testing.T) {
	for _, on := range []string{"off", "on"} {
		e := newTestEngine(t, []record{{value: []byte("\x00\x00\x00\x00\x07\xff\xc3\xa4z"), topic: "t"}})
		e.pushdown(on)
		for _, c := range [][2]string{
			{"hex(substr(`value`, 5))", "07FFC3A47A"}, {"hex(substring(`value`, 6, 2))", "FFC3"}, {"hex(substring(`value` FROM -3 FOR 1))", "C3"}, {"hex(mid(`value`, 7, 1))", "C3"},
			{"hex(left(`value`, 6))", "0000000007FF"}, {"hex(right(`value`, 2))", "A47A"}, {"hex(reverse(`value`))", "7AA4C3FF0700000000"}, {"length(left(`value`, 100))", "9"},
			{"hex(substr(`value`, 0))", ""}, {"hex(substr(`value`, -10))", ""}, {"hex(substr(`value`, 2, 9223372036854775807))", "00000007FFC3A47A"}, {"hex(left(`value`, -1))", ""},
			{"substr(`value`, NULL)", "NULL"}, {"substr(`key`, 1)", "NULL"}, {"reverse(`key`)", "NULL"}, {"hex(reverse(x'c3a4'))", "A4C3"}, {"hex(left(CAST('äz' AS BINARY), 1))", "C3"},
			{"reverse('äz')", "zä"}, {"left({`offset`::STRING}, 1)", "0"},
		} {
			for _, query := range []string{"SELECT " + c[0] + " FROM records()", "SELECT x FROM (SELECT " + c[0] + " AS x FROM records()) d GROUP BY x"} {
				if rows, err := e.query(query); err != nil || len(rows) != 1 || strings.Trim(rows[0], "'") != c[1] {
					t.Errorf("pushdown %s: %s: %q, %v; it is %s", on, query, rows, err, c[1])
				}
			}
		}
		if rows, err := e.query("SELECT hex(x), hex(y) FROM (SELECT left(`value`, 6) AS x, substr(`value`, 6) AS y FROM records()) d WHERE x < x'0000000008' AND y = x'ffc3a47a'"); err != nil || len(rows) != 1 {
			t.Errorf("pushdown %s: through a derived table: %q, %v", on, rows, err)
		}
	}
}

// TestScanThatRunsAgainIsReadOnce: a correlated subquery and the inner side of a nested loop run once for each outer row.
func TestScanThatRunsAgainIsReadOnce(t *testing.T) {
	for _, c := range []struct {
		query string
		reads int
	}{
		{"SELECT n, (SELECT COUNT(*) FROM records() WHERE `partition` = n) FROM numbers", 1},
		{"SELECT n, (SELECT COUNT(*) FROM records() WHERE `partition` = 1) FROM numbers", 1},
		{"SELECT n, l.c FROM numbers, LATERAL (SELECT COUNT(*) AS c FROM records() WHERE `partition` = n) l", 1},
		{"SELECT COUNT(*) FROM records() a, records() b WHERE a.`offset` < b.`offset`", 2},
		{"SELECT COUNT(*) FROM numbers, records() b WHERE n < b.`offset`", 1},
		{"SELECT n, (SELECT COUNT(*) FROM v x WHERE x.len > n AND EXISTS (SELECT 1 FROM records() y WHERE y.`offset` = x.`offset` + n)) FROM numbers", 3},
	} {
		e := newTestEngine(t, generate(22, 60))
		e.both(c.query)
		before := len(e.log.requests)
		e.mustQuery(c.query)
		if n := len(e.log.requests) - before; n != c.reads {
			t.Errorf("%s: %d reads, want %d", c.query, n, c.reads)
		}
	}
}

func TestScanTooLargeToKeepIsReadAgain(t *testing.T) {
	for name, o := range map[string]Options{"what may be kept": {KeepBytes: 1000}, "what the statement may hold": {MemoryBytes: 1000}, "what all may hold": {Memory: budget.New(1000)}} {
		e := newTestEngineWith(t, generate(23, 200), o)
		before := len(e.log.requests)
		const query = "SELECT n, (SELECT COUNT(`value`) FROM records() WHERE `partition` = n) FROM numbers ORDER BY n"
		got := e.mustQuery(query)
		if n := len(e.log.requests) - before; n != 4 {
			t.Errorf("%s: %d reads", name, n)
		}
		e.pushdown("off")
		if want := e.mustQuery(query); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if n := o.Memory.Used(); n != 0 {
			t.Errorf("%s: %d bytes are still taken", name, n)
		}
	}
}

// TestRowsThatAreKeptCountUntilTheStatementEnds: a plan may live on, its rows may not.
func TestRowsThatAreKeptCountUntilTheStatementEnds(t *testing.T) {
	o := Options{Memory: budget.New(0)}
	e := newTestEngineWith(t, generate(23, 200), o)
	outside := e.ctx
	ctx, end := context.WithCancel(WithStatement(t.Context()))
	e.ctx = outside.WithContext(ctx)
	e.mustQuery("SELECT n, (SELECT COUNT(`value`) FROM records() WHERE `partition` = n) FROM numbers")
	if o.Memory.Used() == 0 {
		t.Error("rows that are kept take no memory")
	}
	e.ctx = outside
	end()
	for o.Memory.Used() != 0 { // the end is noticed by a goroutine
		if t.Context().Err() != nil {
			t.Fatal("rows are kept after the end of their statement")
		}
		runtime.Gosched()
	}
}

// TestNowIsTheSameInstantInEveryZone: times of records are UTC, now() is the wall clock of the session's zone.
func TestNowIsTheSameInstantInEveryZone(t *testing.T) {
	now := time.Now().UnixMilli()
	var all []record
	for i := range 10 {
		// From 55 minutes ago to 35 minutes ahead.
		at := now + int64(i-6)*10*60_000 + 5*60_000
		all = append(all, record{topic: "a", offset: int64(i), at: &at, value: fmt.Appendf(nil, `{"t":"%s"}`, time.UnixMilli(at).UTC().Format("2006-01-02 15:04:05"))})
	}
	e := newTestEngine(t, all)
	for _, zone := range []string{"+00:00", "+05:30", "-08:00"} {
		e.mustQuery("SET SESSION time_zone = '" + zone + "'")
		for _, q := range []string{
			"SELECT COUNT(*) FROM records() WHERE `timestamp` <= now()",
			"SELECT COUNT(*) FROM records() WHERE `timestamp` BETWEEN now() - interval 1 hour AND current_timestamp(6)",
			"SELECT COUNT(*) FROM v WHERE now(3) >= `timestamp`",
			"SELECT COUNT(*) FROM (SELECT `timestamp` AS ts, `offset` + 1 AS o FROM records()) d WHERE ts <= now()",
			"SELECT COUNT(*) FROM records() WHERE {{`value`:t}::TIMESTAMP} <= now()",
			"SELECT SUM(`timestamp` <= now()) FROM records()",
		} {
			if got := e.both(q); len(got) != 1 || got[0] != "6" {
				t.Errorf("%s: %s: got %v", zone, q, got)
			}
		}
	}
}

// TestStatementsPushInto: what a statement that writes reads is pruned as a SELECT's would be.
func TestStatementsPushInto(t *testing.T) {
	for _, statement := range []string{
		"CREATE TABLE t AS SELECT topic, COUNT(*) AS c FROM records() WHERE `partition` = 1 GROUP BY topic",
		"CREATE TABLE t AS SELECT * FROM v WHERE `partition` = 1",
		"INSERT INTO numbers SELECT 1000 + MAX(`offset`), 'x' FROM records() WHERE `partition` = 1",
		"DELETE FROM numbers WHERE n IN (SELECT `offset` FROM records() WHERE `partition` = 1)",
		"UPDATE numbers SET s = (SELECT MAX(topic) FROM records() WHERE `partition` = 1 AND `offset` = n)",
		"SET @m = (SELECT MAX(`offset`) FROM records() WHERE `partition` = 1)",
		"SELECT MAX(`offset`) INTO @m FROM records() WHERE `partition` = 1",
	} {
		e := newTestEngine(t, generate(24, 60))
		e.mustQuery(statement)
		if len(e.log.requests) == 0 {
			t.Errorf("%s: nothing is read", statement)
		}
		for _, r := range e.log.requests {
			if len(r.Bounds.Partitions) != 1 || slices.Contains(r.Fields, scan.Value) && strings.Contains(statement, "AS SELECT topic") {
				t.Errorf("%s: reads %+v", statement, r)
			}
		}
	}
}

// A CREATE TABLE … AS SELECT that failed once left an empty table behind, so that the corrected statement failed too.
func TestCreateTableThatFailsLeavesNoTable(t *testing.T) {
	e := newTestEngine(t, generate(3, 60))
	for _, pushdown := range []string{"on", "off"} {
		e.pushdown(pushdown)
		if _, err := e.query("CREATE TABLE made AS SELECT {{`value`:n}::BIGINT} AS n FROM records()"); err == nil {
			t.Fatal("a value that is no number was cast")
		}
		if rows, err := e.query("SELECT * FROM made"); err == nil {
			t.Errorf("pushdown %s: the table is there, with %d rows", pushdown, len(rows))
		}
		e.mustQuery("CREATE TABLE made AS SELECT {{`value`:n}?::BIGINT} AS n FROM records()")
		if rows := e.mustQuery("SELECT * FROM made"); len(rows) != 60 {
			t.Errorf("pushdown %s: %d rows", pushdown, len(rows))
		}
		if _, err := e.query("CREATE TABLE made AS SELECT 1 AS n"); err == nil {
			t.Error("a table was made over another")
		}
		if rows := e.mustQuery("SELECT * FROM made"); len(rows) != 60 {
			t.Errorf("pushdown %s: %d rows are left", pushdown, len(rows))
		}
		e.mustQuery("DROP TABLE made")
	}
}

// An error of a cast once named its record only where the scan computed all of the projection.
func TestCastsBelowWhatTheEngineComputesNameTheirRecord(t *testing.T) {
	e := newTestEngine(t, generate(3, 60))
	for _, q := range []string{"SELECT {{`value`:n}::BIGINT} / 3 FROM records()", "SELECT soundex({{`value`:n}::INT}) FROM records()", "SELECT 1 + soundex({{`value`:n}::INT}), topic FROM records() WHERE topic = 'a'"} {
		_, err := e.query(q)
		if err == nil || !strings.Contains(err.Error(), "partition") || !strings.Contains(err.Error(), "offset") {
			t.Errorf("%s: %v", q, err)
		}
	}
}
