package server

import (
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
