package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// answerOf is all that a client sees of a query: columns, rows, the error, warnings, and what is left for FOUND_ROWS() and ROW_COUNT().
func answerOf(t *testing.T, c *sql.Conn, run func() (*sql.Rows, error)) string {
	t.Helper()
	var b strings.Builder
	rs, err := run()
	if err == nil {
		types, typed := rs.ColumnTypes()
		if typed != nil {
			t.Fatal(typed)
		}
		values, to := make([]any, len(types)), make([]any, len(types))
		for i, ct := range types {
			length, _ := ct.Length()
			nullable, _ := ct.Nullable()
			fmt.Fprintf(&b, "%s %s %d %t; ", ct.Name(), ct.DatabaseTypeName(), length, nullable)
			to[i] = &values[i]
		}
		for rs.Next() {
			if err := rs.Scan(to...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%q; ", fmt.Sprint(values...))
		}
		err = errors.Join(rs.Err(), rs.Close())
	}
	if err != nil {
		return b.String() + err.Error()
	}
	b.WriteString(one(t, c, "SELECT concat(found_rows(), ' ', row_count())"))
	return b.String()
}

// kept runs f and reports how many plans were used again meanwhile.
func (r *running) kept(f func()) int64 {
	before := r.engine.metrics.keptPlans.Load()
	f()
	return r.engine.metrics.keptPlans.Load() - before
}

const lookupTable = `CREATE TABLE k (
	big BIGINT NOT NULL PRIMARY KEY, small SMALLINT, tiny TINYINT, n INT, u INT UNSIGNED, b BOOLEAN, text VARCHAR(20), word CHAR(5), folded VARCHAR(20) COLLATE utf8mb4_0900_ai_ci,
	bytes VARBINARY(20), f DOUBLE, d DECIMAL(10, 2), at DATETIME(6), day DATE)`

var lookupRows = []string{
	"INSERT INTO k VALUES (1, 1, 1, 1, 1, TRUE, 'a', 'a', 'a', 'a', 1, 1, '2026-01-02 03:04:05', '2026-01-02')",
	"INSERT INTO k VALUES (2, -2, -2, -2, 2, FALSE, 'A', 'a ', 'A', 'A', -2.5, -2.5, '2026-01-02 00:00:00', '2026-01-03')",
	"INSERT INTO k VALUES (9223372036854775807, 300, 100, 70000, 4000000000, NULL, 'é', '', 'é', 'é', 9223372036854775807, 70000, NULL, NULL)",
	"INSERT INTO k VALUES (0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
	"INSERT INTO k VALUES (5, 5, 5, 5, 5, TRUE, '5', '5', '5', '5', 5, 5, '2026-01-02 03:04:05', '2026-01-02')",
}

// A kept plan answers as one made for the statement at hand, for values of all types and columns of all types, also in turns.
func TestKeptPlansAnswerAsNewOnes(t *testing.T) {
	r := start(t)
	c := conn(t, r.root(t))
	exec(t, c, append([]string{lookupTable}, lookupRows...)...)
	values := []any{
		int64(1), int64(2), int64(5), int64(-2), int64(300), int64(70000), int64(4000000000), int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64), "a", "A", "a ", "é", "", "5", "5.0", "x'y",
		"\xff\xfe", nil, true, 2.5, []byte("a"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02", int64(1), "a",
	}
	other := conn(t, r.root(t))
	fresh := func(query string, args ...any) string {
		exec(t, other, "SET @a = 1") // after which nothing of before is used
		c := other
		return answerOf(t, c, func() (*sql.Rows, error) { return c.QueryContext(t.Context(), query, args...) })
	}
	for _, column := range []string{"big", "small", "tiny", "n", "u", "b", "text", "word", "folded", "bytes", "f", "d", "at", "day"} {
		query := "SELECT * FROM k WHERE " + column + " = ?"
		stmt, err := c.PrepareContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		used := r.kept(func() {
			for _, v := range values {
				want := fresh(query, v)
				for range 3 {
					if got := answerOf(t, c, func() (*sql.Rows, error) { return stmt.QueryContext(t.Context(), v) }); got != want {
						t.Errorf("%s with %#v\nkept: %s\nnew:  %s", query, v, got, want)
					}
				}
			}
		})
		keeps := map[string]bool{"big": true, "small": true, "tiny": true, "n": true, "b": true, "text": true, "word": true}[column]
		if keeps != (used > 0) {
			t.Errorf("%d executions of %s were by kept plans", used, query)
		}
		_ = stmt.Close()
		for _, literal := range []string{"1", "2", "5", "300", "070", "9223372036854775807", "9223372036854775808", "1e0", "5.0", "0x61", "'a'", "'A'", "'5'", "'a' 'b'", "'it''s'", `'\a'`, "TRUE", "NULL", "-2", "n", "5", "'a'"} {
			query := "SELECT big, " + column + " FROM k WHERE " + column + " = " + literal
			want := fresh(query)
			for range 3 {
				if got := answerOf(t, c, func() (*sql.Rows, error) { return c.QueryContext(t.Context(), query) }); got != want {
					t.Errorf("%s\nkept: %s\nnew:  %s", query, got, want)
				}
			}
		}
	}
}

// A key that many rows have: batches come from several lanes, and LIMIT ends them.
func TestKeptPlansGiveManyRows(t *testing.T) {
	r := start(t)
	c := conn(t, r.root(t))
	exec(t, c, "CREATE TABLE many (id BIGINT, word VARCHAR(100), at DATETIME(6))")
	for range 4 {
		exec(t, c, "INSERT INTO many WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT 7, repeat('x', a.i % 90), '2026-01-02 03:04:05' FROM n AS a JOIN (SELECT 1 AS j UNION ALL SELECT 2 UNION ALL SELECT 3) AS b")
	}
	count := func(query string) (n int) {
		t.Helper()
		rs, err := c.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rs.Close() }()
		for rs.Next() {
			n++
		}
		if rs.Err() != nil {
			t.Fatal(rs.Err())
		}
		return n
	}
	for query, want := range map[string]int{"SELECT * FROM many WHERE id = 7": 10_800, "SELECT word FROM many WHERE id = 7 LIMIT 5000": 5000, "SELECT word FROM many WHERE id = 7 LIMIT 10000, 5000": 800, "SELECT at FROM many WHERE id = 8": 0, "SELECT at FROM many WHERE id = 7 LIMIT 0": 0} {
		for range 3 {
			if n := count(query); n != want {
				t.Errorf("%s gives %d rows, want %d", query, n, want)
			}
			if n := one(t, c, "SELECT found_rows()"); n != fmt.Sprint(want) {
				t.Errorf("FOUND_ROWS() after %s is %s, want %d", query, n, want)
			}
		}
	}
}

// Which statements keep their plans, and which are no look-ups.
func TestLookupsKeepTheirPlans(t *testing.T) {
	r := start(t)
	c := conn(t, r.root(t))
	exec(t, c, append([]string{lookupTable, "CREATE VIEW w AS SELECT big, text FROM k"}, lookupRows...)...)
	for query, keeps := range map[string]bool{
		"SELECT text FROM k WHERE big = 5":                              true,
		"SELECT * FROM k WHERE big = 5":                                 true,
		"select k.text AS x, n from main.k WHERE k.big = 5 LIMIT 1":     true,
		"SELECT x.text FROM k AS x WHERE (x.big = 5 AND x.text = '5')":  true,
		"SELECT text FROM k WHERE text = 'a' LIMIT 1, 2":                true,
		"SELECT `text` FROM `k` WHERE `big` = 5":                        true,
		"SELECT text FROM w WHERE big = 5":                              false,
		"SELECT text FROM K WHERE BIG = 5":                              true,
		"SELECT text FROM MAIN.k WHERE big = 5":                         true,
		"SELECT text FROM k WHERE big = 5 AND big = 5":                  false,
		"SELECT text FROM k WHERE big = 5 OR big = 1":                   false,
		"SELECT text FROM k WHERE big > 5":                              false,
		"SELECT text FROM k WHERE big = NULL":                           false,
		"SELECT text, 1 FROM k WHERE big = 5":                           false,
		"SELECT upper(text) FROM k WHERE big = 5":                       false,
		"SELECT count(*) FROM k WHERE big = 5":                          false,
		"SELECT DISTINCT text FROM k WHERE big = 5":                     false,
		"SELECT text FROM k WHERE big = 5 ORDER BY n":                   false,
		"SELECT text FROM k WHERE big = 5 FOR UPDATE":                   false,
		"SELECT @@sql_mode FROM k WHERE big = 5":                        false,
		"SELECT text FROM k WHERE big = 5 -- note":                      false,
		"SELECT text FROM k WHERE big = @a":                             false,
		"SELECT a.text FROM k AS a JOIN k AS b USING (big) WHERE a.n=5": false,
		"SELECT SQL_CALC_FOUND_ROWS text FROM k WHERE big = 5 LIMIT 1":  false,
		"SELECT text FROM k WHERE big = 5; SELECT 1":                    false,
	} {
		used := r.kept(func() {
			for range 3 {
				answerOf(t, c, func() (*sql.Rows, error) { return c.QueryContext(t.Context(), query) })
			}
		})
		if want := map[bool]int64{true: 2}[keeps]; used != want {
			t.Errorf("%d of 3 executions of %s were by a kept plan, want %d", used, query, want)
		}
	}
}

// Whatever a plan depends on is changed between two executions, by this session or another.
func TestKeptPlansDoNotOutliveWhatTheyDependOn(t *testing.T) {
	r := start(t)
	root := conn(t, r.root(t))
	exec(t, root, "CREATE DATABASE other", "CREATE TABLE other.t (id BIGINT, v VARCHAR(20))", "INSERT INTO other.t VALUES (1, 'other')", "CREATE USER u", "GRANT ALL ON *.* TO u")
	c := conn(t, r.connect(t, "u@/main"))
	var settings []string // of c
	const query = "SELECT * FROM t WHERE id = ?"
	exec(t, root, "CREATE TABLE t (id BIGINT, v VARCHAR(20))", "INSERT INTO t VALUES (1, 'one'), (1, 'two')")
	stmt, err := c.PrepareContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		name string
		// by others, by the session itself; kept says that the plan holds again afterwards.
		others, own []string
		kept        bool
		// want is the error where another session of the user is not let in at all.
		want string
	}{
		{"nothing", nil, nil, true, ""},
		{"rows", []string{"INSERT INTO t VALUES (1, 'three')"}, nil, true, ""},
		{"rows of its own", nil, []string{"INSERT INTO t VALUES (1, 'four')"}, true, ""},
		{"no rows", []string{"TRUNCATE TABLE t", "INSERT INTO t VALUES (1, 'again')"}, nil, true, ""},
		{"another table of the name", []string{"DROP TABLE t", "CREATE TABLE t (v VARCHAR(20), id BIGINT)", "INSERT INTO t VALUES ('turned', 1)"}, nil, true, ""},
		{"a key of another type", []string{"DROP TABLE t", "CREATE TABLE t (v VARCHAR(20), id VARCHAR(20))", "INSERT INTO t VALUES ('text', '1'), ('more', '01')"}, nil, false, ""},
		{"no table", []string{"DROP TABLE t"}, nil, false, ""},
		{"a view", []string{"CREATE VIEW t AS SELECT id + 0 AS id, v FROM other.t"}, nil, false, ""},
		{"another view", []string{"CREATE OR REPLACE VIEW t AS SELECT id + 0 AS id, upper(v) AS v FROM other.t"}, nil, false, ""},
		{"a table again", []string{"DROP VIEW t", "CREATE TABLE t (id BIGINT, v VARCHAR(20))", "INSERT INTO t VALUES (1, 'table')"}, nil, true, ""},
		{"another name", []string{"RENAME TABLE t TO away"}, nil, false, ""},
		{"the name again", []string{"RENAME TABLE away TO t"}, nil, true, ""},
		{"no privilege", []string{"REVOKE ALL ON *.* FROM u"}, nil, false, "denied"},
		{"the privilege on another table", []string{"GRANT SELECT ON other.t TO u", "CREATE TABLE more (id INT)", "GRANT SELECT ON main.more TO u"}, nil, false, ""},
		{"the privilege", []string{"GRANT SELECT ON main.t TO u"}, nil, true, ""},
		{"all privileges", []string{"GRANT ALL ON *.* TO u"}, nil, true, ""},
		{"another database", nil, []string{"USE other"}, true, ""},
		{"the database gone", []string{"DROP DATABASE other"}, nil, false, "does not exist"},
		{"the database again", []string{"CREATE DATABASE other", "CREATE TABLE other.t (id INT, v VARCHAR(20))", "INSERT INTO other.t VALUES (1, 'anew')"}, nil, true, ""},
		{"the first database", nil, []string{"USE main"}, true, ""},
		{"fewer rows", nil, []string{"INSERT INTO t VALUES (1, 'b')", "SET sql_select_limit = 1"}, true, ""},
		{"all rows", nil, []string{"SET sql_select_limit = DEFAULT"}, true, ""},
		{"the sql_mode", nil, []string{"SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'"}, true, ""},
		{"a collation that folds", nil, []string{"SET collation_connection = utf8mb4_0900_ai_ci"}, true, ""},
		{"the character set of results", nil, []string{"SET character_set_results = latin1"}, true, ""},
		{"no pushdown", nil, []string{"SET pushdown = 'off'"}, false, ""},
		{"pushdown", nil, []string{"SET pushdown = 'on'"}, true, ""},
		{"a transaction", nil, []string{"START TRANSACTION"}, false, ""},
		{"its end", nil, []string{"COMMIT"}, true, ""},
		{"no autocommit", nil, []string{"SET autocommit = 0"}, false, ""},
		{"autocommit", nil, []string{"SET autocommit = 1"}, true, ""},
		{"the time zone", nil, []string{"SET time_zone = '+02:00'"}, true, ""},
		{"locked warnings", nil, []string{"SELECT 1/0", "SET lock_warnings = 1"}, false, ""},
		{"warnings", nil, []string{"SET lock_warnings = 0"}, true, ""},
		{"no user", []string{"DROP USER u"}, nil, false, "Access denied for user 'u'"},
	} {
		exec(t, root, change.others...)
		exec(t, c, change.own...)
		for _, s := range change.own {
			if !strings.HasPrefix(s, "INSERT") {
				settings = append(settings, s)
			}
		}
		text := strings.ReplaceAll(query, "?", "1")
		want, wantText := change.want, change.want
		if want == "" {
			db := r.connect(t, "u@/main")
			fresh := conn(t, db)
			exec(t, fresh, settings...)
			want = answerOf(t, fresh, func() (*sql.Rows, error) { return fresh.QueryContext(t.Context(), query, 1) })
			wantText = answerOf(t, fresh, func() (*sql.Rows, error) { return fresh.QueryContext(t.Context(), text) })
			_ = db.Close()
		}
		used := r.kept(func() {
			for range 3 {
				if got := answerOf(t, c, func() (*sql.Rows, error) { return stmt.QueryContext(t.Context(), 1) }); !strings.Contains(got, want) {
					t.Errorf("%s\nkept: %s\nnew:  %s", change.name, got, want)
				}
				if got := answerOf(t, c, func() (*sql.Rows, error) { return c.QueryContext(t.Context(), text) }); !strings.Contains(got, wantText) {
					t.Errorf("%s, as text\nkept: %s\nnew:  %s", change.name, got, wantText)
				}
			}
		})
		if change.kept != (used > 0) {
			t.Errorf("%s: %d executions by a kept plan", change.name, used)
		}
	}
}

// Columns of a view may have the names of others of its table: equal first values must not hide which is which.
func TestKeptPlansTellColumnsOfViewsApart(t *testing.T) {
	r := start(t)
	c := conn(t, r.root(t))
	exec(t, c, "CREATE TABLE t (a BIGINT, b BIGINT, v VARCHAR(20))", "INSERT INTO t VALUES (1, 2, 'one, two'), (5, 5, 'fives')", "CREATE VIEW w AS SELECT b AS a, a AS b, v FROM t")
	stmt, err := c.PrepareContext(t.Context(), "SELECT v FROM w WHERE a = ? AND b = ?")
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []struct {
		a, b int
		want string
	}{{5, 5, "fives"}, {5, 5, "fives"}, {2, 1, "one, two"}, {1, 2, ""}} {
		var got string
		if err := stmt.QueryRowContext(t.Context(), keys.a, keys.b).Scan(&got); err != nil && !errors.Is(err, sql.ErrNoRows) || got != keys.want {
			t.Errorf("a = %d AND b = %d gives %q, %v, want %q", keys.a, keys.b, got, err, keys.want)
		}
	}
}

// Sessions look a row up while the table is dropped and made again: an answer is of the table that is there, never of one that was gone before the statement began.
func TestKeptPlansAndDefinitionsAtOnce(t *testing.T) {
	r := start(t)
	root := conn(t, r.root(t))
	exec(t, root, "CREATE TABLE t (id BIGINT, made BIGINT)", "INSERT INTO t VALUES (1, 0)")
	var made atomic.Int64
	const rounds = 40
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range 4 {
		db := r.root(t)
		stmt, err := db.Prepare("SELECT made FROM t WHERE id = ?")
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			defer func() { _ = stmt.Close() }()
			for made.Load() < rounds && ctx.Err() == nil {
				least := made.Load()
				var got int64
				var err error
				if i%2 == 0 {
					err = stmt.QueryRow(1).Scan(&got)
				} else {
					err = db.QueryRow("SELECT made FROM t WHERE id = 1").Scan(&got)
				}
				var gone *mysql.MySQLError
				switch {
				case errors.Is(err, sql.ErrNoRows), errors.As(err, &gone) && gone.Number == 1146: // in between
				case err != nil:
					t.Error(err)
					return
				case got < least:
					t.Errorf("the row is of table %d, when %d had been made", got, least)
					return
				}
			}
		})
	}
	for n := int64(1); n <= rounds; n++ {
		columns := []string{"id BIGINT, made BIGINT", "made BIGINT, id BIGINT", "id INT, more DOUBLE, made BIGINT"}[n%3]
		exec(t, root, "DROP TABLE t", "CREATE TABLE t ("+columns+")", fmt.Sprintf("INSERT INTO t (id, made) VALUES (1, %d)", n))
		made.Store(n)
	}
	readers.Wait()
}

// The plan of a look-up in a streaming table sees what REFRESH … FULL has read anew.
func TestKeptPlansOfStreamingTables(t *testing.T) {
	b, _, produce := ordersTopic(t, 10)
	r := start(t)
	db := r.root(t)
	do(t, db, ordersTable(b))
	stmt, err := db.Prepare("SELECT amount FROM orders WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	amounts := func(id int) (n int) {
		t.Helper()
		rs, err := stmt.Query(id)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rs.Close() }()
		for rs.Next() {
			n++
		}
		if rs.Err() != nil {
			t.Fatal(rs.Err())
		}
		return n
	}
	used := r.kept(func() {
		for range 3 {
			if n := amounts(7); n != 1 {
				t.Errorf("%d rows", n)
			}
		}
	})
	if used != 2 {
		t.Errorf("%d of 3 executions were by a kept plan", used)
	}
	produce(10, 20)
	comes(t, r, "SELECT count(*) FROM orders", "20")
	if n := amounts(17); n != 1 {
		t.Errorf("%d rows of what came later", n)
	}
	do(t, db, "REFRESH STREAMING TABLE orders FULL")
	comes(t, r, "SELECT count(*) FROM orders", "20")
	for id := range 20 {
		if n := amounts(id); n != 1 {
			t.Errorf("%d rows of order %d after a full refresh", n, id)
		}
	}
}

// A session keeps few statements, and forgets them when it is reset.
func TestKeptTextsAreFew(t *testing.T) {
	r := start(t)
	x := r.local()
	defer x.close()
	query := func(text string) {
		t.Helper()
		if err := x.query(t.Context(), text, &discard{}); err != nil {
			t.Fatal(err)
		}
	}
	query("CREATE TABLE t (id BIGINT, v VARCHAR(20))")
	for i := range 3 * lookupTexts {
		query(fmt.Sprintf("SELECT id AS c%d FROM t WHERE id = %d", i, i))
	}
	if n := len(x.lookups); n == 0 || n > lookupTexts {
		t.Errorf("%d texts are kept", n)
	}
	x.reset()
	if len(x.lookups) > 0 {
		t.Error("kept texts outlive a reset")
	}
}
