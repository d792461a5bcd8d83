package server

import "testing"

// DROP TEMPORARY TABLE dropped the table of that name, which is not temporary.
func TestDropTemporaryLeavesTablesThatStay(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE kept (id INT)")
	_, err := db.Exec("DROP TEMPORARY TABLE kept")
	wantError(t, err, 1051, "42S02", "Unknown table 'main.kept'")
	_, err = db.Exec("DROP TEMPORARY TABLE main.kept, other CASCADE")
	wantError(t, err, 1051, "42S02", "Unknown table 'main.kept,main.other'")
	_, err = db.Exec("PREPARE p FROM 'DROP TEMPORARY TABLE IF EXISTS kept'")
	wantError(t, err, 1235, "42000", "DROP TEMPORARY TABLE may not stand inside PREPARE")
	db.SetMaxOpenConns(1) // warnings are those of a connection
	do(t, db, "DROP TEMPORARY TABLE IF EXISTS kept")
	want(t, db, "SHOW WARNINGS", "Level|Code|Message\nNote|1051|Unknown table 'main.kept'")
	want(t, db, "SHOW TABLES", "Tables_in_main\nkept")
	_, err = db.Exec("CREATE TEMPORARY TABLE IF NOT EXISTS kept (id INT)")
	wantError(t, err, 1235, "42000", "CREATE TEMPORARY TABLE is not supported")
}

// RENAME read no database: it renamed the table of that name in the current one.
func TestRenameStaysInTheCurrentDatabase(t *testing.T) {
	db := start(t).root(t)
	for _, s := range []string{"CREATE DATABASE other", "CREATE TABLE a (id INT)", "CREATE TABLE other.a (id INT)"} {
		do(t, db, s)
	}
	for _, s := range []string{"RENAME TABLE a TO other.b", "RENAME TABLE other.a TO other.b", "ALTER TABLE a RENAME TO other.b", "ALTER TABLE other.a RENAME TO b"} {
		_, err := db.Exec(s)
		wantError(t, err, 1235, "42000", "cannot be renamed")
	}
	_, err := db.Exec("PREPARE p FROM 'RENAME TABLE main.a TO main.b'")
	wantError(t, err, 1235, "42000", "RENAME of a table with its database may not stand inside PREPARE")
	want(t, db, "SHOW TABLES", "Tables_in_main\na")
	want(t, db, "SHOW TABLES FROM other", "Tables_in_other\na")
	do(t, db, "RENAME TABLE main.a TO main.b")
	do(t, db, "ALTER TABLE b RENAME TO c")
	want(t, db, "SHOW TABLES", "Tables_in_main\nc")
}

// Partitions that nobody has made were taken, and all rows were meant.
func TestPartitionsOfTablesAreRefused(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE t (id INT)")
	for _, s := range []string{"SELECT * FROM t PARTITION (p1)", "SELECT 1 WHERE 1 IN (SELECT id FROM t PARTITION (p1))", "INSERT INTO t PARTITION (p1) VALUES (1)", "ALTER TABLE t DROP PARTITION p1"} {
		_, err := db.Exec(s)
		wantError(t, err, 1235, "42000", "tables have no partitions")
	}
}

// The engine's grammar lacks a query that is nothing but a query in parentheses.
func TestOneQueryInParentheses(t *testing.T) {
	db := start(t).root(t)
	want(t, db, "(SELECT 'a')", "a\na")
	want(t, db, " ( ( SELECT 1 AS n UNION SELECT 2 ORDER BY n DESC LIMIT 1 ) ) ;", "n\n2")
	want(t, db, "(SELECT ? AS n)", "n\n7", 7)
	want(t, db, "(SELECT 1 AS n) UNION ALL (SELECT 2)", "n\n1\n2")
	want(t, db, "(WITH w AS (SELECT 3 AS n) SELECT n::string FROM w)", "n::string\n3")
	_, err := db.Exec("(SELECT 'a' FROM)")
	wantError(t, err, 1064, "42000", "the statement ends too early")
}
