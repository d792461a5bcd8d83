package server

import (
	"strings"
	"testing"
)

// Aggregates of UNSIGNED columns are computed by the scan, as the engine computes them.
func TestAggregatesOfUnsignedNumbersArePushedDown(t *testing.T) {
	db := start(t).root(t)
	db.SetMaxOpenConns(1)
	do(t, db, "CREATE TABLE n (g INT, t TINYINT UNSIGNED, i INT UNSIGNED, b BIGINT UNSIGNED)")
	do(t, db, "INSERT INTO n VALUES (1, 255, 4294967295, 18446744073709551615), (1, 0, 0, 0), (1, 7, 3000000000, 9223372036854775808), (2, NULL, NULL, NULL), (3, 9, 10, 18446744073709551615), (3, 9, 11, 1)")
	for _, column := range []string{"t", "i", "b"} {
		list := strings.ReplaceAll("sum(#), avg(#), min(#), max(#), count(#), count(DISTINCT #), var_pop(#), stddev_samp(#), max_by(g, #), min_by(#, g)", "#", column)
		for _, tail := range []string{" FROM n", " FROM n GROUP BY g ORDER BY g", " FROM n WHERE " + column + " > 8 GROUP BY g ORDER BY g"} {
			query := "SELECT " + list + tail
			var answers [2]string
			for i, on := range []string{"on", "off"} {
				do(t, db, "SET SESSION pushdown = '"+on+"'")
				var err error
				if answers[i], err = rows(db, query); err != nil {
					t.Fatal(query, err)
				}
			}
			if answers[0] != answers[1] {
				t.Errorf("%s\npushed down\n%s\nby the engine\n%s", query, answers[0], answers[1])
			}
			do(t, db, "SET SESSION pushdown = 'on'")
			if plan, err := rows(db, "EXPLAIN "+query); err != nil || strings.Contains(plan, "GroupBy") {
				t.Errorf("%s is not pushed down: %v\n%s", query, err, plan)
			}
		}
	}
	gives(t, db, "SELECT sum(b), max(b), min(i) FROM n", "46116860184273879039|18446744073709551615|0")
}

// A rest by a column is computed by the scan, which warns of divisions by zero as the engine does.
func TestDivisionsByZeroAreWarnedOfWithPushdownToo(t *testing.T) {
	db := start(t).root(t)
	db.SetMaxOpenConns(1)
	do(t, db, "CREATE TABLE n (a BIGINT, b INT)")
	do(t, db, "INSERT INTO n VALUES (7, 3), (-7, 3), (7, 0), (8, 0), (NULL, 0), (9, NULL), (-9223372036854775808, -1)")
	for _, on := range []string{"on", "off"} {
		do(t, db, "SET SESSION pushdown = '"+on+"'")
		gives(t, db, "SELECT a % b FROM n", "1\n-1\nNULL\nNULL\nNULL\nNULL\n0")
		gives(t, db, "SHOW WARNINGS", "Warning|1365|Division by 0\nWarning|1365|Division by 0")
		gives(t, db, "SELECT count(*) FROM n WHERE a % b = 1", "1")
		// Where nothing is divided nothing is warned of.
		gives(t, db, "SELECT sum(CASE WHEN b <> 0 THEN a % b END), sum(if(b <> 0, a % b, 5)), sum(coalesce(b, a % b)) FROM n WHERE b <> 0 AND a % b < 9", "0|0|5")
		gives(t, db, "SELECT sum(CASE WHEN b <> 0 THEN a % b END), sum(if(b <> 0, a % b, 5)), sum(coalesce(b, a % b)) FROM n", "0|20|5")
		gives(t, db, "SHOW WARNINGS", "")
	}
	do(t, db, "SET SESSION pushdown = 'on'")
	if plan, err := rows(db, "EXPLAIN SELECT a % b FROM n WHERE b % a IS NULL"); err != nil || strings.Contains(plan, "not pushed") || strings.Contains(plan, "Project") {
		t.Error(plan, err)
	}
}
