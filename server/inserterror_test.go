package server

import (
	"strings"
	"testing"
)

// An INSERT that fails over a value has MySQL's number and words, with the column and the row, and leaves nothing behind.
func TestInsertErrorsNameColumnAndRow(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE v (id BIGINT NOT NULL, name VARCHAR(3), t TINYINT, u INT UNSIGNED, d DECIMAL(4,1), f DOUBLE, day DATE, at DATETIME(3), tm TIME)")
	for _, tc := range []struct {
		columns, values string
		number          uint16
		state, message  string
	}{
		{"id, name", "(1, 'abc'), (2, 'abcd')", 1406, "22001", "Data too long for column 'name' at row 2"},
		{"id, t", "(1, 300)", 1264, "22003", "Out of range value for column 't' at row 1"},
		{"id, t", "(1, -129)", 1264, "22003", "Out of range value for column 't' at row 1"},
		{"id, u", "(1, -1)", 1264, "22003", "Out of range value for column 'u' at row 1"},
		{"id, d", "(1, 1), (2, 2), (3, 12345)", 1264, "22003", "Out of range value for column 'd' at row 3"},
		{"id", "(99999999999999999999)", 1264, "22003", "Out of range value for column 'id' at row 1"},
		{"id, t", "(1, 'x')", 1366, "HY000", "Incorrect integer value: 'x' for column 't' at row 1"},
		{"id, d", "(1, 'zz')", 1366, "HY000", "Incorrect decimal value: 'zz' for column 'd' at row 1"},
		{"id, f", "(1, 'zz')", 1366, "HY000", "Incorrect double value: 'zz' for column 'f' at row 1"},
		{"id, t", "(1, '1x')", 1265, "01000", "Data truncated for column 't' at row 1"},
		{"id, day", "(1, '2026-02-31')", 1292, "22007", "Incorrect date value: '2026-02-31' for column 'day' at row 1"},
		{"id, at", "(1, 'soon')", 1292, "22007", "Incorrect datetime value: 'soon' for column 'at' at row 1"},
		{"id, tm", "(1, 'soon')", 1292, "22007", "Incorrect time value: 'soon' for column 'tm' at row 1"},
		{"id, name", "(NULL, 'a')", 1048, "23000", "Column 'id' cannot be null"},
	} {
		_, err := db.Exec("INSERT INTO v (" + tc.columns + ") VALUES " + tc.values)
		wantError(t, err, tc.number, tc.state, tc.message)
	}
	_, err := db.Exec("INSERT INTO v (id, name) SELECT id, name FROM (SELECT 1 AS id, 'abc' AS name UNION ALL SELECT 2, 'abcd') x")
	wantError(t, err, 1406, "22001", "Data too long for column 'name' at row 2")
	want(t, db, "SELECT count(*) AS n FROM v", "n\n0")
}

// Warnings of INSERT IGNORE had the number 1105, and named no column.
func TestInsertIgnoreWarnsAsMySQLDoes(t *testing.T) {
	db := start(t).root(t)
	db.SetMaxOpenConns(1)
	do(t, db, "CREATE TABLE o (a TINYINT NOT NULL, b VARCHAR(3), c INT, d DATE, e DECIMAL(4,1), f DOUBLE, n BIGINT UNSIGNED, at DATETIME, tm TIME)")
	for _, c := range []struct{ columns, values, stored, warning string }{
		{"a, b", "(1, 'abc')", "1|abc", ""},
		{"a", "(300)", "127", "Warning|1264|Out of range value for column 'a' at row 1"},
		{"a", "(1), (-300)", "1\n-128", "Warning|1264|Out of range value for column 'a' at row 2"},
		{"a", "(NULL)", "0", "Warning|1048|Column 'a' cannot be null"},
		{"b", "('x')", "x", "Warning|1364|Field 'a' doesn't have a default value"},
		{"a, b", "(1, 'äöüß')", "1|äöü", "Warning|1265|Data truncated for column 'b' at row 1"},
		{"a, c", "(1, 'x')", "1|0", "Warning|1366|Incorrect integer value: 'x' for column 'c' at row 1"},
		{"a, c", "(1, '12abc')", "1|12", "Warning|1265|Data truncated for column 'c' at row 1"},
		{"a, d", "(1, '2020-13-45')", "1|0000-00-00", "Warning|1265|Data truncated for column 'd' at row 1"},
		{"a, e", "(1, 123456)", "1|999.9", "Warning|1264|Out of range value for column 'e' at row 1"},
		{"a, e", "(1, -123456)", "1|-999.9", "Warning|1264|Out of range value for column 'e' at row 1"},
		{"a, f", "(1, 'x')", "1|0", "Warning|1366|Incorrect double value: 'x' for column 'f' at row 1"},
		{"a, n", "(1, -1)", "1|0", "Warning|1264|Out of range value for column 'n' at row 1"},
		{"a, at", "(1, 'soon')", "1|0000-00-00 00:00:00", "Warning|1265|Data truncated for column 'at' at row 1"},
		{"a, tm", "(1, 'soon')", "1|00:00:00.000000", "Warning|1265|Data truncated for column 'tm' at row 1"},
	} {
		t.Run(c.columns+" "+c.values, func(t *testing.T) {
			do(t, db, "TRUNCATE TABLE o")
			do(t, db, "INSERT IGNORE INTO o ("+c.columns+") VALUES "+c.values)
			gives(t, db, "SHOW WARNINGS", c.warning)
			gives(t, db, "SELECT "+c.columns+" FROM o", c.stored)
		})
	}
	do(t, db, "INSERT IGNORE INTO o (a, b) SELECT a, b FROM (SELECT 1 AS a, 'x' AS b UNION ALL SELECT 400, 'xyzzy') t")
	gives(t, db, "SELECT count(*) FROM o WHERE b = 'xyz' AND a = 127", "1")
}

// SQL has no -0: it is neither shown nor a group of its own.
func TestZeroHasNoSign(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE z (x DECIMAL(10,2), y DOUBLE)")
	do(t, db, "INSERT INTO z VALUES (-0.001, -0.001), (0, 0), (-0.0, -0e0)")
	want(t, db, "SELECT CAST(-0.0000001 AS DECIMAL(10,2)) AS a, CAST('-0.001' AS DECIMAL(10,2)) AS b, round(-0.001, 2) AS c, CAST(-0.4 AS DECIMAL) AS d", "a|b|c|d\n0.00|0.00|0.00|0")
	want(t, db, "SELECT x, count(*) AS n FROM z GROUP BY x", "x|n\n0.00|3")
	want(t, db, "SELECT CAST(y AS DECIMAL(10,2)) AS c, count(*) AS n FROM z GROUP BY c", "c|n\n0.00|3")
	want(t, db, "SELECT CAST(1.5 AS DECIMAL) AS a, CAST(-2.345 AS DECIMAL(4,2)) AS b, CAST(12345.6 AS DECIMAL(4,1)) AS c, CAST(-1e9 AS DECIMAL(3,1)) AS d, CAST(NULL AS DECIMAL) AS e",
		"a|b|c|d|e\n2|-2.35|999.9|-99.9|NULL")
}

// 0000-00-00 has no parts, with pushdown or without.
func TestTheZeroDateHasNoParts(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE z (day DATE, at DATETIME(6))")
	do(t, db, "INSERT INTO z VALUES ('0000-00-00', '0000-00-00'), ('2024-02-29', '2024-02-29 10:00:00'), (NULL, NULL)")
	for _, pushdown := range []string{"on", "off"} {
		do(t, db, "SET SESSION pushdown = '"+pushdown+"'")
		want(t, db, "SELECT year(day) AS a, quarter(at) AS b, month(day) AS c, day(at) AS d, weekday(day) AS e, dayofweek(at) AS f, dayofyear(day) AS g, hour(at) AS h FROM z ORDER BY day",
			"a|b|c|d|e|f|g|h\nNULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL\n0|0|0|0|NULL|NULL|NULL|0\n2024|1|2|29|3|5|60|10")
	}
}

func TestShowCreateTableShowsThePrimaryKey(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE k (id BIGINT NOT NULL, `a``b` INT NOT NULL COMMENT ') x', PRIMARY KEY (id, `a``b`))")
	if got, err := rows(db, "SHOW CREATE TABLE k"); err != nil || !strings.Contains(got, "COMMENT ') x',\n  PRIMARY KEY (`id`,`a``b`)\n) ENGINE") {
		t.Errorf("%q, %v", got, err)
	}
}
