package server

import "testing"

// The engine's sessions write every table that a statement has read back when it ends: an INSERT that was acknowledged while somebody's SELECT
// ran was gone afterwards.
func TestASelectUndoesNoInsert(t *testing.T) {
	r := start(t)
	slow, fast := conn(t, r.connect(t, "root@/main")), conn(t, r.connect(t, "root@/main"))
	exec(t, fast, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "SELECT get_lock('gate', 0)")
	id := one(t, slow, "SELECT connection_id()")
	done := make(chan error, 1)
	go func() {
		_, err := slow.ExecContext(t.Context(), "SELECT id, get_lock('gate', 60) FROM t")
		done <- err
	}()
	eventually(t, r.connect(t, "root@/main"), "SELECT count(*) FROM information_schema.processlist WHERE command = 'Query' AND id = "+id, func(n string) bool { return n == "count(*)\n1" })
	exec(t, fast, "INSERT INTO t VALUES (2)", "SELECT release_lock('gate')")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := one(t, fast, "SELECT count(*) FROM t"); got != "2" {
		t.Errorf("%s rows, want 2", got)
	}
}

// A user with nothing but SELECT saw "the definition of table 't' in the catalog cannot be read: CREATE command denied" when nobody else had used the
// table since the start of the server: tables and views are made from their definitions, as CREATE is.
func TestWhoReadsATableNeedNotBeAllowedToCreateIt(t *testing.T) {
	dir := t.TempDir()
	inDir := func(c *Config) { c.DataDir = dir }
	r := start(t, inDir)
	db := r.root(t)
	for _, s := range []string{"CREATE TABLE t (id INT DEFAULT 7, s TEXT)", "INSERT INTO t (s) VALUES ('x')", "CREATE VIEW v AS SELECT id FROM t", "CREATE USER reader IDENTIFIED BY 'p'", "GRANT SELECT ON main.t TO reader", "GRANT SELECT ON main.v TO reader"} {
		do(t, db, s)
	}
	for _, query := range []string{"SELECT id, s FROM t", "SELECT id FROM v", "SHOW TABLES", "DESCRIBE t", "SELECT column_name, is_nullable FROM information_schema.columns WHERE table_schema = 'main'", "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"} {
		if err := r.stop(); err != nil { // nobody has used the table
			t.Fatal(err)
		}
		r = start(t, inDir)
		got, err := rows(r.connect(t, "reader:p@/main"), query)
		if err != nil || got == "" {
			t.Errorf("%s: %q, %v", query, got, err)
		}
	}
}

// CREATE TABLE with a CHECK or a FULLTEXT index failed and left a table behind that took rows. Triggers, procedures and events were made, worked, and
// were gone after a restart.
func TestWhatIsNotKeptIsRefused(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE there (id INT)")
	for _, s := range []string{
		"CREATE TABLE t (id INT, CHECK (id > 0))", "CREATE TABLE t (id INT CHECK (id > 0))", "CREATE TABLE t (s TEXT, FULLTEXT (s))", "CREATE TABLE t (id INT, FOREIGN KEY (id) REFERENCES there (id))",
		"CREATE TABLE t (id INT, CONSTRAINT c CHECK (id > 0)) AS SELECT 1 AS id", "CREATE TRIGGER x BEFORE INSERT ON there FOR EACH ROW SET NEW.id = 1",
		"CREATE PROCEDURE p() SELECT 1", "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO SELECT 1", "CREATE TEMPORARY TABLE t (id INT)", "ALTER TABLE there ADD COLUMN more INT",
	} {
		_, err := db.Exec(s)
		wantError(t, err, 1235, "42000", "")
		want(t, db, "SHOW TABLES", "Tables_in_main\nthere")
	}
	do(t, db, "CREATE TABLE t (id INT PRIMARY KEY, s TEXT, KEY (id))")
}
