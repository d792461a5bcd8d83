package server

import (
	"strings"
	"testing"
)

// Users wrote ALTER TABLE t DROP SCHEDULE and the like, and were told of a column, an unexpected word, or of rights on a table ”.
func TestClausesOfStreamingTablesElsewhereAreExplained(t *testing.T) {
	b, _, _ := ordersTopic(t, 1)
	db := start(t).root(t)
	do(t, db, "CREATE STREAMING TABLE t AS SELECT value:id::bigint AS id FROM "+ordersRead(b))
	do(t, db, "CREATE TABLE plain (schedule INT, id INT)")
	for statement, want := range map[string]string{
		"ALTER TABLE t DROP SCHEDULE":                                  `the schedule of a streaming table is dropped by ALTER STREAMING TABLE`,
		"ALTER TABLE t ADD SCHEDULE EVERY 5 MINUTES":                   "SCHEDULE is for streaming tables",
		"ALTER TABLE t ADD SCHEDULE REFRESH EVERY 5 MINUTES":           "SCHEDULE is for streaming tables",
		"alter table t alter schedule cron '0 0 * * * ?'":              "SCHEDULE is for streaming tables",
		"ALTER TABLE t ADD TRIGGER ON UPDATE":                          "TRIGGER is for streaming tables",
		"ALTER TABLE main.t PAUSE":                                     "PAUSE is for streaming tables",
		"ALTER TABLE t RESUME":                                         "write ALTER STREAMING TABLE",
		"ALTER TABLE t SET TBLPROPERTIES ('trigger' = 'manual')":       "SET TBLPROPERTIES is for streaming tables",
		"ALTER TABLE t UNSET TBLPROPERTIES ('trigger')":                "UNSET TBLPROPERTIES is for streaming tables",
		"ALTER TABLE t ALTER COLUMN id COMMENT 'x'":                    "ALTER COLUMN … COMMENT is for streaming tables",
		"ALTER TABLE t CLUSTER BY (id)":                                "CLUSTER BY is for streaming tables",
		"CREATE TABLE u (id BIGINT) SCHEDULE EVERY 1 HOUR AS SELECT 1": "write CREATE STREAMING TABLE",
		"CREATE TABLE u TBLPROPERTIES ('a' = 'b') AS SELECT 1":         "TBLPROPERTIES is for streaming tables",
		"CREATE TABLE u (id BIGINT, CONSTRAINT c EXPECT (id > 0))":     "an expectation is for streaming tables",
		"CREATE OR REFRESH TABLE u AS SELECT 1":                        "write CREATE OR REFRESH STREAMING TABLE",
		"ALTER TABLE t ADD COLUMN x INT":                               "a streaming table is changed by ALTER STREAMING TABLE",
		"ALTER TABLE t DROP COLUMN id":                                 "a streaming table is changed by ALTER STREAMING TABLE",
		"ALTER TABLE t COMMENT = 'x'":                                  "ALTER TABLE with COMMENT is not supported",
		"ALTER TABLE t ALTER COLUMN id SET DEFAULT 5":                  "ALTER TABLE with a change of a DEFAULT is not supported",
		"ALTER TABLE t COLLATE utf8mb4_bin":                            "ALTER TABLE with a change of the collation is not supported",
		"ALTER TABLE t ADD PRIMARY KEY (id)":                           "ALTER TABLE with a PRIMARY KEY is not supported",
		"ALTER TABLE plain DROP SCHEDULE":                              "table plain cannot be altered",
		"ALTER TABLE plain ADD COMMENT":                                "syntax error",
	} {
		if err := attempt(db, statement); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", statement, err, want)
		}
	}
	gives(t, db, "SHOW TABLES", "plain\nt")
}
