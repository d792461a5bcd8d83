package server

import (
	"database/sql"
	"strings"
	"testing"
)

// A user with a single grant saw the names of all tables and views of the database in information_schema.tables and SHOW TABLES, and the text of every
// view by SHOW CREATE VIEW.
func TestWhatAUserMayNotReadIsNotShown(t *testing.T) {
	r := start(t)
	db := r.root(t)
	for _, s := range []string{
		"CREATE TABLE open_table (id INT)", "CREATE TABLE hidden_table (hidden_column INT)",
		"CREATE VIEW open_view AS SELECT id FROM open_table", "CREATE VIEW hidden_view AS SELECT hidden_column AS hidden_name FROM hidden_table",
		"CREATE USER u IDENTIFIED BY 'p'", "GRANT SELECT ON main.open_table TO u", "GRANT SELECT ON main.open_view TO u",
	} {
		do(t, db, s)
	}
	as := r.connect(t, "u:p@/main")
	want(t, as, "SHOW TABLES", "Tables_in_main\nopen_table\nopen_view")
	want(t, as, "SHOW FULL TABLES", "Tables_in_main|Table_type\nopen_table|BASE TABLE\nopen_view|VIEW")
	want(t, as, "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1", "TABLE_NAME|TABLE_TYPE\nopen_table|BASE TABLE\nopen_view|VIEW")
	want(t, as, "SELECT count(*) > 10 FROM information_schema.tables WHERE table_schema = 'information_schema'", "count(*) > 10\n1")
	for _, table := range []string{"tables", "tables_extensions", "views", "view_table_usage", "columns", "columns_extensions", "column_statistics", "statistics", "partitions", "table_constraints", "key_column_usage", "streaming_tables"} {
		got, err := rows(as, "SELECT * FROM information_schema."+table)
		if err != nil || strings.Contains(got, "hidden") {
			t.Errorf("information_schema.%s: %v\n%s", table, err, got)
		}
	}
	for _, s := range []string{"SHOW CREATE VIEW hidden_view", "SHOW CREATE TABLE hidden_view", "SHOW CREATE TABLE main.hidden_table", "SHOW CREATE VIEW `main`.`hidden_view`", "SHOW COLUMNS FROM hidden_view", "DESCRIBE hidden_table", "SHOW INDEX FROM hidden_view", "SELECT * FROM hidden_view", "SHOW TABLE STATUS LIKE 'hidden%'"} {
		got, err := rows(as, s)
		if strings.Contains(got, "hidden_column") || strings.Contains(got, "hidden_name") || strings.HasPrefix(s, "SHOW CREATE") && err == nil || strings.Contains(got, "BASE TABLE") {
			t.Errorf("%s: %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"SHOW CREATE VIEW open_view", "SHOW CREATE TABLE open_view", "SHOW CREATE TABLE open_table", "DESCRIBE open_view"} {
		if got, err := rows(as, s); err != nil || !strings.Contains(got, "id") {
			t.Errorf("%s: %q, %v", s, got, err)
		}
	}
	want(t, db, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'main'", "count(*)\n4")
	want(t, db, "SHOW TABLES", "Tables_in_main\nhidden_table\nhidden_view\nopen_table\nopen_view")
}

// event_log of a table without rights was empty, and SHOW CREATE said of some tables that they do not exist, of others that they are denied: who may not read a table
// is told so, with MySQL's number, whether it is there or not.
func TestWhoMayNotReadATableIsToldTheSameByAll(t *testing.T) {
	b, _, _ := ordersTopic(t, 1)
	b.Topic(t, "copies", 1, nil)
	r := start(t)
	db := r.root(t)
	for _, s := range []string{
		"CREATE STREAMING TABLE there AS SELECT offset FROM " + ordersRead(b), "CREATE TABLE plain (id INT)", "CREATE DATABASE other",
		"CREATE FLOW f AS INSERT INTO write_kafka(bootstrapServers => '" + b.Addrs[0] + "', topic => 'copies') SELECT value FROM " + ordersRead(b),
		"CREATE USER stranger IDENTIFIED BY 'p'", "GRANT SELECT ON other.* TO stranger", "CREATE USER guest IDENTIFIED BY 'p'", "GRANT SELECT ON main.plain TO guest",
		"CREATE USER reader IDENTIFIED BY 'p'", "GRANT SELECT ON main.there TO reader", "GRANT SELECT ON main.f TO reader",
		"CREATE USER writer IDENTIFIED BY 'p'", "GRANT INSERT ON main.plain TO writer",
	} {
		do(t, db, s)
	}
	statements := []string{
		"SELECT * FROM main.%", "SELECT * FROM event_log(TABLE(main.%))", "SELECT * FROM event_log(main.%) AS l JOIN event_log(main.%) AS m", "EXPLAIN SELECT * FROM event_log(main.%)",
		"SHOW CREATE TABLE main.%", "SHOW CREATE STREAMING TABLE main.%", "SHOW CREATE FLOW main.%", "DESCRIBE EXTENDED main.%",
		"DESCRIBE main.%", "SHOW COLUMNS FROM main.%", "SHOW FULL FIELDS FROM % FROM main", "SHOW COLUMNS FROM other.% FROM main", "SHOW INDEX FROM main.%", "SHOW KEYS FROM % FROM main",
	}
	for _, user := range []string{"stranger:p@/other", "guest:p@/main"} {
		as := r.connect(t, user)
		for _, s := range statements {
			for _, name := range []string{"there", "f", "nowhere"} {
				_, err := rows(as, strings.ReplaceAll(s, "%", name))
				wantError(t, err, 1142, "42000", "SELECT command denied to user '"+user[:strings.Index(user, ":")]+"'@'%' for table 'main."+name+"'")
			}
		}
	}
	as := r.connect(t, "reader:p@/main")
	for _, name := range []string{"there", "f"} {
		if _, err := values(as, "SELECT event_type FROM event_log("+name+")"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Whatever privilege there is, it is enough for the names of columns.
	writer := r.connect(t, "writer:p@/")
	for _, s := range []string{"DESCRIBE main.plain", "SHOW COLUMNS FROM plain FROM main", "SHOW INDEX FROM main.plain"} {
		for _, db := range []*sql.DB{writer, r.connect(t, "guest:p@/main")} {
			if got, err := values(db, s); err != nil || strings.Contains(s, "INDEX") != (got == "") {
				t.Errorf("%s: %q, %v", s, got, err)
			}
		}
	}
	gives(t, writer, "SHOW COLUMNS FROM information_schema.engines LIKE 'XA'", "XA|varchar(3) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci|YES|||")
	_, err := rows(writer, "DESCRIBE main.there")
	wantError(t, err, 1142, "42000", "SELECT command denied to user 'writer'@'%' for table 'main.there'")
	for s, message := range map[string]string{"DESCRIBE nowhere": "nowhere", "SELECT * FROM event_log(nowhere)": "table 'main.nowhere' does not exist", "SELECT * FROM event_log(plain)": "table 'main.plain' is not a streaming table"} {
		if err := attempt(db, s); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", s, err)
		}
	}
}
