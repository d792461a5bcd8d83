package server

import "testing"

// A JSON value is a condition as in MySQL, the same with pushdown on and off: with it on, what was left above the scan failed in words of Go.
func TestJSONValuesAreConditions(t *testing.T) {
	db := start(t).root(t)
	db.SetMaxOpenConns(1)
	do(t, db, "CREATE TABLE n (id INT, j JSON)")
	do(t, db, `INSERT INTO n VALUES (1, '{"a":0}'), (2, '{"a":1}'), (3, '{"a":0.0}'), (4, '{"a":-0.5}'), (5, '{"a":"0"}'), (6, '{"a":false}'), (7, '{"a":null}'), (8, '{}'), (9, NULL), (10, '{"a":123456789012345678901234567890}')`)
	const list = "SELECT group_concat(id ORDER BY id) FROM n WHERE "
	for _, on := range []string{"on", "off"} {
		do(t, db, "SET SESSION pushdown = '"+on+"'")
		for condition, want := range map[string]string{
			"j->'$.a'":                         "2,4,5,6,7,10",
			"json_extract(j, '$.a')":           "2,4,5,6,7,10",
			"id > 4 AND j->'$.a'":              "5,6,7,10",
			"id = 1 OR j->'$.a'":               "1,2,4,5,6,7,10",
			"NOT j->'$.a'":                     "1,3",
			"(j->'$.a') XOR id > 4":            "2,4",
			"j":                                "1,2,3,4,5,6,7,8,10",
			"IF(j->'$.a', 'yes', 'no') = 'no'": "1,3,8,9",
			"CASE WHEN j->'$.a' THEN 1 ELSE 0 END = 0": "1,3,8,9",
		} {
			gives(t, db, list+condition, want)
		}
		gives(t, db, "SELECT count(*) FROM n x JOIN n y ON x.id = y.id AND x.j->'$.a'", "6")
		gives(t, db, "SELECT id, max(j->'$.a') AS m FROM n GROUP BY id HAVING id < 3 AND id > 1", "2|1")
	}
}
