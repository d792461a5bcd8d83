package server

import "testing"

// The type of a column of VALUES was that of its first number, and the others an error when they did not fit.
func TestColumnsOfValuesHoldAllTheirNumbers(t *testing.T) {
	db := start(t).root(t)
	db.SetMaxOpenConns(1)
	for values, want := range map[string]string{
		"ROW(1), ROW(300)": "1\n300",
		"ROW(-1), ROW(9223372036854775807), ROW(NULL)": "-1\n9223372036854775807\nNULL",
		"ROW(NULL), ROW(1), ROW(70000)":                "NULL\n1\n70000",
		"ROW(0), ROW(18446744073709551615)":            "0\n18446744073709551615",
		"ROW(-1), ROW(18446744073709551615)":           "-1\n18446744073709551615",
		"ROW(1), ROW(-9223372036854775808), ROW(9.5)":  "1.0\n-9223372036854775808.0\n9.5",
		"ROW(1.5), ROW(300)":                           "1.5\n300.0",
		"ROW(.25), ROW(1), ROW(-12345.6)":              "0.25\n1.00\n-12345.60",
		"ROW(1.5), ROW(22.75)":                         "1.50\n22.75",
		"ROW(1), ROW(2e3), ROW(1234.5)":                "1\n2000\n1234.5",
		"ROW(2e300), ROW(1.5), ROW(-70000)":            "2e+300\n1.5\n-70000",
		"ROW(1), ROW('a')":                             "1\na",
		"ROW(1), ROW(2)":                               "1\n2",
	} {
		for _, query := range []string{"SELECT * FROM (VALUES " + values + ") AS v", "SELECT * FROM (SELECT x FROM (VALUES " + values + ") AS v (x)) AS w", "WITH c AS (SELECT * FROM (VALUES " + values + ") AS v) SELECT * FROM c"} {
			gives(t, db, query, want)
		}
	}
	gives(t, db, "SELECT a.x, sum(b.y) FROM (VALUES ROW(1, 'k'), ROW(300, 'l')) AS a (x, k) JOIN (VALUES ROW('k', 1), ROW('l', 4000000000), ROW('l', 1)) AS b (k, y) USING (k) GROUP BY a.x ORDER BY a.x", "1|1\n300|4000000001")
	do(t, db, "CREATE VIEW wide AS SELECT * FROM (VALUES ROW(1), ROW(300)) AS v (x)")
	gives(t, db, "SELECT x, x + 1 FROM wide", "1|2\n300|301")
	do(t, db, "CREATE TABLE kept AS SELECT x FROM wide")
	gives(t, db, "SELECT x FROM kept ORDER BY x", "1\n300")
	do(t, db, "INSERT INTO kept SELECT * FROM (VALUES ROW(2), ROW(70000)) AS v")
	do(t, db, "PREPARE s FROM 'SELECT * FROM (VALUES ROW(1), ROW(300)) AS v'")
	gives(t, db, "EXECUTE s", "1\n300")
	gives(t, db, "SELECT sum(x) FROM kept", "70303")
	gives(t, db, "SELECT data_type FROM information_schema.columns WHERE table_name = 'kept'", "bigint")
}
