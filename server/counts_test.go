package server

import "testing"

// NULL for LIMIT was a fault in the server, and a text was 0.
func TestLimitWantsANumberOfRows(t *testing.T) {
	db := start(t).root(t)
	db.SetMaxOpenConns(1) // prepared statements and variables are those of a connection
	do(t, db, "CREATE TABLE t (id INT)")
	do(t, db, "INSERT INTO t VALUES (1), (2), (3)")
	for _, clause := range []string{"LIMIT ?", "LIMIT 1 OFFSET ?"} {
		query := "SELECT id FROM t ORDER BY id " + clause
		for found, value := range map[string]any{"NULL": nil, "'x'": "x", "'-1'": -1, "1.5": 1.5} {
			_, err := rows(db, query, value)
			wantError(t, err, 1210, "HY000", "expected a number of rows")
			do(t, db, "SET @n = "+found)
			do(t, db, "PREPARE p FROM '"+query+"'")
			_, err = db.Exec("EXECUTE p USING @n")
			wantError(t, err, 1210, "HY000", " is ")
		}
		for _, value := range []any{1, "1", 1.0, []byte("1")} {
			if _, err := rows(db, query, value); err != nil {
				t.Errorf("%s with %v: %v", query, value, err)
			}
		}
	}
	do(t, db, "SET @n = 2")
	do(t, db, "PREPARE p FROM 'SELECT id FROM t ORDER BY id LIMIT ?'")
	want(t, db, "EXECUTE p USING @n", "id\n1\n2")
}
