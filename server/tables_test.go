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
