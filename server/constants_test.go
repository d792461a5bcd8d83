package server

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// one asks for one value on one connection, in the text protocol.
func one(t *testing.T, c *sql.Conn, query string, args ...any) string {
	t.Helper()
	var v sql.NullString
	if err := c.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if !v.Valid {
		return "NULL"
	}
	return v.String
}

func conn(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func exec(t *testing.T, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// Answers of constants are kept. Whatever else a statement may depend on is changed here between two executions of one text.
func TestNothingStaleIsAnswered(t *testing.T) {
	c := conn(t, start(t).connect(t, "root@/main"))
	exec(t, c, "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10))", "CREATE VIEW w AS SELECT 1 AS v", "CREATE DATABASE other", "CREATE TABLE other.t (id INT PRIMARY KEY, v VARCHAR(10))", "INSERT INTO other.t VALUES (1, 'o')")
	for _, tc := range []struct {
		name, query, before, change, after string
	}{
		{"rows of a table", "SELECT count(*) FROM t", "0", "INSERT INTO t VALUES (1, 'a')", "1"},
		{"a row", "SELECT max(v) FROM t", "a", "INSERT INTO t VALUES (2, 'b')", "b"},
		{"all rows", "SELECT count(*) FROM t", "2", "TRUNCATE TABLE t", "0"},
		{"a view", "SELECT v FROM w", "1", "CREATE OR REPLACE VIEW w AS SELECT 2 AS v", "2"},
		{"a system variable", "SELECT @@max_error_count", "1024", "SET max_error_count = 7", "7"},
		{"a user variable", "SELECT @a", "NULL", "SET @a = 5", "5"},
		{"sql_mode, which parses", `SELECT "a"`, "a", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "a"},
		{"escapes", `SELECT 'a\\b'`, `a\\b`, "SET sql_mode = ''", `a\b`},
		{"the database", "SELECT count(*) FROM t", "0", "USE other", "1"},
		{"the database's name", "SELECT database()", "other", "USE main", "main"},
		{"warnings", "SELECT @@warning_count", "0", "SELECT 1/0", "1"},
		{"autocommit", "SELECT @@autocommit", "1", "SET autocommit = 0", "0"},
		{"the character set of results", "SELECT 'é'", "é", "SET character_set_results = latin1", "\xe9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 3 {
				if got := one(t, c, tc.query); got != tc.before {
					t.Fatalf("%s gave %q before, want %q", tc.query, got, tc.before)
				}
			}
			exec(t, c, tc.change)
			for range 2 {
				if got := one(t, c, tc.query); got != tc.after {
					t.Errorf("%s gave %q after %s, want %q", tc.query, got, tc.change, tc.after)
				}
				if tc.name == "warnings" {
					break // a SELECT has none of its own
				}
			}
		})
	}
}

func TestTimesAndRandomNumbersAreNew(t *testing.T) {
	c := conn(t, start(t).connect(t, "root@/main"))
	for _, query := range []string{"SELECT rand()", "SELECT uuid()", "SELECT now(6)", "SELECT sysdate(6)"} {
		if a, b := one(t, c, query), one(t, c, query); a == b {
			t.Errorf("%s gave %s twice", query, a)
		}
	}
}

func TestGrantsCountAtOnce(t *testing.T) {
	r := start(t)
	root := conn(t, r.connect(t, "root@/main"))
	exec(t, root, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE USER u", "GRANT SELECT ON main.t TO u")
	u := conn(t, r.connect(t, "u@/main"))
	for range 2 {
		one(t, u, "SELECT id FROM t WHERE id = 1")
	}
	exec(t, root, "REVOKE SELECT ON main.t FROM u")
	if err := u.QueryRowContext(t.Context(), "SELECT id FROM t WHERE id = 1").Err(); err == nil {
		t.Error("a revoked privilege still counts")
	}
}

// The answer that is kept is the one that the engine gave: value, type, heading, and what it leaves for the next statement.
func TestConstantsAreAnsweredAlike(t *testing.T) {
	c := conn(t, start(t).connect(t, "root@/main"))
	describe := func(query string, args ...any) string {
		rows, err := c.QueryContext(t.Context(), query, args...)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = rows.Close() }()
		types, err := rows.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, ct := range types {
			length, _ := ct.Length()
			p, s, _ := ct.DecimalSize()
			fmt.Fprintf(&b, "%s %s %d %d,%d; ", ct.Name(), ct.DatabaseTypeName(), length, p, s)
		}
		values, ptrs := make([]any, len(types)), make([]any, len(types))
		for i := range values {
			ptrs[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(ptrs...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%#v; ", values)
		}
		return b.String() + one(t, c, "SELECT concat(found_rows(), ' ', row_count())")
	}
	for _, query := range []string{
		"SELECT 1", "select 1;", "/* ping */ SELECT 1", "SELECT 1 FROM dual", "SELECT -1, +2", "SELECT 1.50 AS d, 1e3 AS f, 'x' AS `the text`, NULL, TRUE, x'00ff', b'101'",
		"SELECT 'it''s'", "SELECT 18446744073709551615", "SELECT ''", "SELECT 1, 1", "SELECT 99999999999999999999999999999999999999999999999999999999999999999999999999", "SELECT 1 WHERE FALSE",
		"SELECT 1 LIMIT 0", "SELECT 1 FROM t", "SELECT SQL_CALC_FOUND_ROWS 1", "SELECT 1; SELECT 2", "SELECT DISTINCT 1", "SELECT 1 UNION ALL SELECT 2",
	} {
		first := describe(query)
		for range 2 {
			if again := describe(query); again != first {
				t.Errorf("%s\nfirst:  %s\nlater:  %s", query, first, again)
			}
		}
		stmt, err := c.PrepareContext(t.Context(), query)
		if err != nil {
			continue // the text protocol has said so as well
		}
		prepared := func() string {
			rows, err := stmt.QueryContext(t.Context())
			if err != nil {
				return err.Error()
			}
			defer func() { _ = rows.Close() }()
			var b strings.Builder
			columns, err := rows.Columns()
			if err != nil {
				t.Fatal(err)
			}
			values := make([]any, len(columns))
			ptrs := make([]any, len(columns))
			for i := range ptrs {
				ptrs[i] = &values[i]
			}
			for rows.Next() {
				if err := rows.Scan(ptrs...); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "%#v; ", values)
			}
			return b.String()
		}
		first = prepared()
		if again := prepared(); again != first {
			t.Errorf("%s prepared\nfirst:  %s\nlater:  %s", query, first, again)
		}
		_ = stmt.Close()
	}
}

func TestConstantsLeaveATransactionAlone(t *testing.T) {
	x := start(t).local()
	defer x.close()
	run := func(text string) {
		t.Helper()
		if err := x.query(t.Context(), text, &localResults{out: discarded{}}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run("SELECT 1")
	run("START TRANSACTION")
	before := x.sql.GetTransaction()
	run("SELECT 1")
	if after := x.sql.GetTransaction(); before == nil || after != before {
		t.Errorf("transaction %v became %v", before, after)
	}
}

func TestResetForgetsConstants(t *testing.T) {
	x := start(t).local()
	defer x.close()
	query := func() *statement {
		if err := x.query(context.Background(), "SELECT 1", &discard{}); err != nil {
			t.Fatal(err)
		}
		return x.recall("SELECT 1")
	}
	if query() == nil {
		t.Fatal("the answer is not kept")
	}
	x.reset()
	if x.recall("SELECT 1") != nil {
		t.Error("the answer outlives a reset")
	}
	for i := range 3 * constantTexts {
		if err := x.query(context.Background(), fmt.Sprintf("SELECT %d", i), &discard{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.texts) > constantTexts {
		t.Errorf("%d texts are kept", len(x.texts))
	}
}

// discarded is a Sink that takes everything and keeps nothing.
type discarded struct{}

func (discarded) Done(uint64, uint64, string) error { return nil }
func (discarded) Begin([]ResultColumn) error        { return nil }
func (discarded) Row([][]byte) error                { return nil }
func (discarded) End() error                        { return nil }
func (discarded) Warning(int, string) error         { return nil }
