package server

import (
	"fmt"
	"strings"
	"testing"
)

// CREATE VIEW took the name of a flow, and ALTER and SHOW CREATE of that name then spoke of one or the other.
func TestAViewCannotHaveTheNameOfAFlow(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	b.Topic(t, "out", 1, nil)
	db := start(t, func(c *Config) { c.MemoryLimit = "1GiB" }).root(t)
	do(t, db, fmt.Sprintf("CREATE FLOW f AS INSERT INTO write_kafka(bootstrapServers => '%[1]s', topic => 'out') BY NAME SELECT value FROM STREAM read_kafka(bootstrapServers => '%[1]s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0]))
	for _, create := range []string{"CREATE VIEW F AS SELECT 1", "CREATE OR REPLACE VIEW f AS SELECT 1"} {
		if _, err := values(db, create); err == nil || !strings.Contains(err.Error(), "already exists") {
			t.Errorf("%s: %v", create, err)
		}
	}
}

// SHOW CREATE VIEW left the list of columns out: the text made a view with other columns.
func TestShowCreateViewShowsTheListOfColumns(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE VIEW v (a, `b``c`) AS SELECT 1, 2")
	show := func() string {
		t.Helper()
		var name, text, charset, collation string
		if err := db.QueryRow("SHOW CREATE VIEW v").Scan(&name, &text, &charset, &collation); err != nil {
			t.Fatal(err)
		}
		return text
	}
	text := show()
	if want := "CREATE VIEW `v` (`a`,`b``c`) AS SELECT 1, 2"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	do(t, db, "DROP VIEW v")
	do(t, db, text)
	want(t, db, "SELECT * FROM v", "a|b`c\n1|2")
	if again := show(); again != text {
		t.Errorf("%s\nbecame\n%s", text, again)
	}
	do(t, db, "CREATE OR REPLACE VIEW v (x) AS SELECT 'a' AS y")
	if text := show(); text != "CREATE VIEW `v` (`x`) AS SELECT 'a' AS y" {
		t.Error(text)
	}
	do(t, db, "CREATE OR REPLACE VIEW v AS SELECT 'a' AS y")
	if text := show(); text != "CREATE VIEW `v` AS SELECT 'a' AS y" {
		t.Error(text)
	}
}
