package server

import (
	"strings"
	"testing"
)

// Numbers of different types are compared as MySQL compares them, by the scan, by the keys of a table and by the engine.
func TestNumbersOfDifferentTypesCompareAsInMySQL(t *testing.T) {
	db := start(t).root(t)
	db.SetMaxOpenConns(1)
	do(t, db, "CREATE TABLE n (id INT PRIMARY KEY, d DOUBLE, f FLOAT, x DECIMAL(40,1), u BIGINT UNSIGNED, i BIGINT, s INT)")
	do(t, db, `INSERT INTO n VALUES (1, 1e308, 0.5, 0.1, 9223372036854775808, 9223372036854775807, 1), (2, 0, 2, 0.5, 9007199254740993, 9007199254740993, 2),
		(3, 1e66, 1e30, 2, 9007199254740992, 9007199254740992, 3), (4, -1e80, -1, 0, 18446744073709551615, -9223372036854775808, -4), (5, 0.1, 0.1, 1, 5, 5, 5), (6, NULL, NULL, NULL, NULL, NULL, NULL)`)
	do(t, db, "CREATE TABLE ku (u BIGINT UNSIGNED PRIMARY KEY)")
	do(t, db, "INSERT INTO ku SELECT u FROM n WHERE u IS NOT NULL")
	do(t, db, "CREATE TABLE ki (i BIGINT PRIMARY KEY)")
	do(t, db, "INSERT INTO ki SELECT i FROM n WHERE i IS NOT NULL")
	ids := func(condition string) string {
		return "SELECT group_concat(id ORDER BY id) FROM n WHERE " + condition
	}
	for _, on := range []string{"on", "off"} {
		do(t, db, "SET SESSION pushdown = '"+on+"'")
		for _, c := range []struct{ query, want string }{
			// A DOUBLE and a DECIMAL are compared as DOUBLE.
			{ids("d < 0.1"), "2,4"},
			{ids("d > 0.1"), "1,3"},
			{ids("d = 0.1"), "5"},
			{ids("0.1 <= d"), "1,3,5"},
			{ids("NOT d > 0.5"), "2,4,5"},
			{ids("d <> -0.5"), "1,2,3,4,5"},
			{ids("d > -0.5"), "1,2,3,5"},
			{ids("d BETWEEN 0.1 AND 1e70"), "3,5"},
			{ids("d BETWEEN 1e65 AND 99999999999999999999999999999999999.5"), "NULL"},
			{ids("x BETWEEN -1e66 AND 0.5"), "1,2,4"},
			{ids("d IN (0.1, 7.5)"), "5"},
			{ids("d IN (1, 0.1, 1e66)"), "3,5"},
			{ids("d NOT IN (0.1, 1.0)"), "1,2,3,4"},
			{ids("x < d"), "1,3"},
			{ids("x > d"), "2,4,5"},
			{ids("f > 0.5"), "2,3"},
			{ids("x IN (1e66, 0.5)"), "2"},
			{"SELECT IF(1e66>0.5,1,0), 1e66 < 0.5, 0.5 < 1e66, 1e66 = 0.5, 0.1 = 1e-1", "1|0|1|0|1"},
			{"SELECT sum(d > 0.5), sum(IF(d < 0.5, 1, 0)), count(CASE WHEN d > x THEN 1 END) FROM n", "2|3|2"},
			{"SELECT group_concat(CASE d WHEN 0.5 THEN 'half' WHEN 0.1 THEN 'tenth' ELSE '-' END ORDER BY id) FROM n", "-,-,-,-,tenth,-"},
			{"SELECT count(*) FROM n a JOIN n b ON a.d > b.x WHERE b.id = 2", "2"},
			{"SELECT sum(d > x), sum(u = i) FROM n", "2|3"},
			{"SELECT u = i, d > x, count(*) FROM n WHERE id < 3 GROUP BY u = i, d > x ORDER BY 1", "0|1|1\n1|0|1"},
			{"SELECT id FROM n GROUP BY id HAVING max(d) > 0.5 ORDER BY id", "1\n3"},

			// Integers are compared exactly, with and without sign.
			{ids("u > 9223372036854775807"), "1,4"},
			{ids("u >= 9223372036854775808"), "1,4"},
			{ids("u = 9007199254740992"), "3"},
			{ids("9007199254740993 = u"), "2"},
			{ids("u <=> 9007199254740993"), "2"},
			{ids("u <> 9007199254740992"), "1,2,4,5"},
			{ids("u <= 9007199254740992"), "3,5"},
			{ids("u < 9007199254740993"), "3,5"},
			{ids("u > -1"), "1,2,3,4,5"},
			{ids("u > -9007199254740993"), "1,2,3,4,5"},
			{ids("u IN (9007199254740992, 5)"), "3,5"},
			{ids("u IN (5, 9007199254740993)"), "2,5"},
			{ids("u NOT IN (-1, 9007199254740993, 18446744073709551615)"), "1,3,5"},
			{ids("u BETWEEN 9007199254740993 AND 9223372036854775807"), "2"},
			{ids("i < 9223372036854775808"), "1,2,3,4,5"},
			{ids("i >= 9223372036854775808"), "NULL"},
			{ids("i IN (9223372036854775808, 18446744073709551615, 9007199254740992)"), "3"},
			{ids("i BETWEEN 9007199254740993 AND 9223372036854775808"), "1,2"},
			{ids("u = i"), "2,3,5"},
			{ids("u > i"), "1,4"},
			{ids("i IN (u, 9007199254740993)"), "2,3,5"},
			{ids("u > s"), "1,2,3,4"},
			{ids("(u, s) IN ((9007199254740993, 2), (9007199254740992, 2))"), "2"},
			{"SELECT CAST(9007199254740993 AS UNSIGNED) = CAST(9007199254740992 AS SIGNED), CAST(18446744073709551615 AS UNSIGNED) > CAST(-1 AS SIGNED), 18446744073709551615 = 18446744073709551614", "0|1|0"},
			{"SELECT group_concat(CASE u WHEN i THEN 'i' WHEN 9223372036854775807 THEN 'max' ELSE '-' END ORDER BY id) FROM n", "-,i,i,-,i,-"},
			{"SELECT group_concat(CASE i WHEN 9007199254740992 THEN 'a' WHEN '9007199254740993' THEN 'b' ELSE '-' END ORDER BY id) FROM n", "-,b,a,-,-,-"},
			{"SELECT a.id, b.id FROM n a JOIN n b ON a.u = b.i ORDER BY a.id", "2|2\n3|3\n5|5"},
			{"SELECT a.id, b.id FROM n a LEFT JOIN n b ON a.i = b.u ORDER BY a.id", "1|NULL\n2|2\n3|3\n4|NULL\n5|5\n6|NULL"},
			{"SELECT ku.u, ki.i FROM ku JOIN ki ON ku.u = ki.i ORDER BY ku.u", "5|5\n9007199254740992|9007199254740992\n9007199254740993|9007199254740993"},
			{"SELECT u FROM ku WHERE u = 9007199254740992", "9007199254740992"},
			{"SELECT u FROM ku WHERE u > 9223372036854775807 ORDER BY u", "9223372036854775808\n18446744073709551615"},
			{"SELECT u FROM ku WHERE u IN (9007199254740993, 9223372036854775807)", "9007199254740993"},
			{"SELECT u FROM ku WHERE u = '18446744073709551615'", "18446744073709551615"},
			{"SELECT count(*) FROM ki WHERE i < 9223372036854775808", "5"},

			// An integer column and a text that is an integer are compared as integers; other texts are doubles.
			{ids("i = '9007199254740993'"), "2"},
			{ids("i = ' +9007199254740993 '"), "2"},
			{ids("'9007199254740992' = i"), "3"},
			{ids("i > '9007199254740992'"), "1,2"},
			{ids("i <> '9007199254740992'"), "1,2,4,5"},
			{ids("i IN ('9007199254740993', '5')"), "2,5"},
			{ids("i IN ('5', '18446744073709551616')"), "5"},
			{ids("i BETWEEN '5' AND '9007199254740992'"), "3,5"},
			{ids("i < '9223372036854775808'"), "1,2,3,4,5"},
			{ids("i < '99999999999999999999999999'"), "1,2,3,4,5"},
			{ids("i > '-99999999999999999999999999'"), "1,2,3,4,5"},
			{ids("u = '9007199254740992'"), "3"},
			{ids("u > '9223372036854775807'"), "1,4"},
			{ids("s = '5'"), "5"},
			{ids("i < '5.5' AND i > '4.5'"), "5"},
			{"SELECT i FROM ki WHERE i = '9007199254740993'", "9007199254740993"},
			{"SELECT i FROM ki WHERE i IN ('9007199254740993', '5') ORDER BY i", "5\n9007199254740993"},

			// Integers have an exact greatest and least.
			{"SELECT greatest(u, i), least(u, i) FROM n ORDER BY id", "9223372036854775808|9223372036854775807\n9007199254740993|9007199254740993\n9007199254740992|9007199254740992\n18446744073709551615|-9223372036854775808\n5|5\nNULL|NULL"},
			{"SELECT greatest(u, 5), least(i, s), greatest(i, 9007199254740993) FROM n WHERE id = 4", "18446744073709551615|-9223372036854775808|9007199254740993"},
			{"SELECT id FROM n WHERE greatest(u, i) > 9223372036854775807 ORDER BY id", "1\n4"},
			{"SELECT greatest(1, 2.5), least('b', 'a'), greatest(1, NULL), greatest(TRUE, 2)", "2.5|a|NULL|2"},
			{"SELECT max(greatest(u, i)) FROM n", "18446744073709551615"},

			// What is out of the range of a DECIMAL becomes its greatest or least value.
			{"SELECT CAST(1e66 AS DECIMAL(65,0)) = CAST('1e70' AS DECIMAL(65,0)), CAST(1e66 AS DECIMAL(10,2)), CAST('-1e70' AS DECIMAL(10,2)), CAST(1e30 AS DECIMAL(10,2))", "1|99999999.99|-99999999.99|99999999.99"},
			{"SELECT CAST(1e66 AS DECIMAL(65,0)), CAST(concat('-', repeat('7', 80)) AS DECIMAL(65,0))", strings.Repeat("9", 65) + "|-" + strings.Repeat("9", 65)},
			{"SHOW WARNINGS", "Warning|1264|Out of range value for decimal(65,0)\nWarning|1264|Out of range value for decimal(65,0)"},
			{"SELECT CAST('0e99' AS DECIMAL(4,1)), CAST('x' AS DECIMAL(4,1)), CAST(999.95 AS DECIMAL(4,1)), CAST('12x' AS DECIMAL(4,1)), CAST(1e-200 AS DECIMAL(4,1)), CAST(x'10' AS DECIMAL(4,0))", "0.0|0.0|999.9|12.0|0.0|16"},
			{"SELECT CAST(d AS DECIMAL(5,1)) FROM n ORDER BY id", "9999.9\n0.0\n9999.9\n-9999.9\n0.1\nNULL"},
		} {
			got, err := rows(db, c.query)
			if _, got, _ = strings.Cut(got, "\n"); err != nil || got != c.want {
				t.Errorf("pushdown %s: %s\ngave %s %v\nwant %s", on, c.query, got, err, c.want)
			}
		}
	}
}
