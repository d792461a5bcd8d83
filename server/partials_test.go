package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// preferPostgres has a test run on PostgreSQL if there is one.
func preferPostgres(t *testing.T) {
	if url := os.Getenv("MILLRACE_TEST_POSTGRES"); *givenStore == "" && url != "" {
		*givenStore = url
		t.Cleanup(func() { *givenStore = "" })
	}
}

// What PostgreSQL computes are the cases where that provably comes to the same, and no others.
func TestExplainSaysWhatTheStoreComputes(t *testing.T) {
	preferPostgres(t)
	if *givenStore == "" {
		t.Skip("the embedded store computes no groups")
	}
	db := start(t).root(t)
	do(t, db, "CREATE TABLE g (i INT, w INT UNSIGNED, u BIGINT UNSIGNED, f DOUBLE, d DECIMAL(65,30), s VARCHAR(30), ci VARCHAR(20) COLLATE utf8mb4_0900_ai_ci, bin VARBINARY(20), day DATE, at DATETIME(6), j JSON)")
	do(t, db, "INSERT INTO g (i, s) VALUES (1, 'a'), (2, 'a'), (3, NULL)")
	for query, want := range map[string]bool{
		"SELECT s, count(*) FROM g GROUP BY s":                                                             true,
		"SELECT s, sum(i) AS n FROM g GROUP BY s HAVING n > 1 ORDER BY n DESC LIMIT 1":                     true,
		"SELECT sum(i), avg(d), min(at), max(s), count(f), count(j) FROM g":                                true,
		"SELECT DISTINCT s, bin FROM g":                                                                    true,
		"SELECT count(*) FROM g WHERE i > 1 AND s = 'a' AND at < '2026-01-01 00:00:01'":                    true,
		"SELECT sum(i) + 1, max(i) - min(i) FROM g WHERE i BETWEEN 1 AND 2 OR i IS NULL":                   false,
		"SELECT sum(w), min(w), max(w), avg(w), count(w), sum(u), min(u), max(u), avg(u), count(u) FROM g": true,
		"SELECT sum(i) FROM g WHERE w > 3000000000 AND w <= 4294967295 AND w >= 0":                         true,
		"SELECT sum(w), count(u) FROM g WHERE w BETWEEN 1 AND 3000000000 AND i = 1":                        true,
		"SELECT w, u, count(*) FROM g GROUP BY w, u":                                                       true,
		"SELECT sum(i) FROM g WHERE u > 5":                                                                 false,
		"SELECT max(i) - min(i) FROM g WHERE f IS NULL":                                                    true,
		"SELECT count(*) FROM g":                                                                           false, // which is known
		"SELECT sum(f) FROM g":                                                                             false,
		"SELECT min(f) FROM g":                                                                             false,
		"SELECT f, count(*) FROM g GROUP BY f":                                                             false,
		"SELECT max(bin) FROM g":                                                                           false,
		"SELECT sum(i + 1) FROM g":                                                                         false,
		"SELECT i + 1, count(*) FROM g GROUP BY i + 1":                                                     false,
		"SELECT count(DISTINCT i) FROM g":                                                                  false,
		"SELECT count(*) FROM g WHERE f > 0":                                                               false,
		"SELECT count(*) FROM g WHERE s LIKE '%a'":                                                         false,
		"SELECT count(*) FROM g WHERE ci = 'a'":                                                            false,
		"SELECT ci, count(*) FROM g GROUP BY ci":                                                           false,
		"SELECT count(*) FROM g WHERE day < '2026-01-01 12:00:00'":                                         false,
		"SELECT count(*) FROM g WHERE j IS NULL":                                                           false,
	} {
		plan, err := rows(db, "EXPLAIN "+query)
		if got := strings.Contains(plan, "partial aggregates: computed by the store"); err != nil || got != want {
			t.Errorf("%s: computed by the store is %v, %v\n%s", query, got, err, plan)
		}
	}
	for statement, want := range map[string]string{
		"EXPLAIN FORMAT=JSON SELECT s, count(*) FROM g GROUP BY s":         `"partial_aggregates": true`,
		"EXPLAIN ANALYZE FORMAT=JSON SELECT s, count(*) FROM g GROUP BY s": `"partial_aggregates": true`,
		"EXPLAIN ANALYZE SELECT s, count(*) FROM g GROUP BY s":             "partial aggregates: computed by the store",
	} {
		if plan, err := rows(db, statement); err != nil || !strings.Contains(plan, want) {
			t.Errorf("%s: %v\n%s", statement, err, plan)
		}
	}
}

// Groups that PostgreSQL computes, of which the scan merges the results, and groups that the engine makes of rows by itself are the same, for generated queries on
// NULLs, extremes and values that PostgreSQL has no like of.
func TestStoredGroupsComeToTheSameWhereverTheyAreComputed(t *testing.T) {
	preferPostgres(t)
	db := start(t).root(t)
	r := rand.New(rand.NewPCG(7, 7))
	do(t, db, `CREATE TABLE g (i INT, b BIGINT, u BIGINT UNSIGNED, w INT UNSIGNED, ti TINYINT, f DOUBLE, d DECIMAL(65,30), n DECIMAL(9,2), ok BOOLEAN, s VARCHAR(30) COLLATE utf8mb4_bin,
		ci VARCHAR(20) COLLATE utf8mb4_0900_ai_ci, bin VARBINARY(20), day DATE, at DATETIME(6), tm TIME(6), j JSON, few INT NOT NULL)`)
	do(t, db, "CREATE TABLE nothing LIKE g")
	values := [][]string{
		{"0", "1", "-1", "2147483647", "-2147483648"},
		{"0", "9223372036854775807", "-9223372036854775808", "-9223372036854775807"},
		{"0", "18446744073709551615", "9223372036854775808", "9223372036854775807", "1"},
		{"0", "4294967295", "2147483648", "2147483647", "17"},
		{"0", "127", "-128"},
		{"0", "-0e0", "1.5e308", "-1e-300", "0.1"},
		{"0", "99999999999999999999999999999999999.999999999999999999999999999999", "-99999999999999999999999999999999999.999999999999999999999999999999", "0.000000000000000000000000000001", "-1.5"},
		{"0.00", "9999999.99", "-9999999.99", "0.01"},
		{"true", "false"},
		{"''", "'a'", "'A'", "'b '", "'b'", "'ä'", "'\U0001F600'", "x'00'", "x'01'", "x'610062'", "x'610162'"},
		{"'a'", "'A'", "'b'", "''"},
		{"x''", "x'00'", "x'FF00'", "x'61'"},
		{"'2026-01-01'", "'0001-01-01'", "'9999-12-31'"},
		{"'2026-01-01 00:00:00'", "'1000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"},
		{"'00:00:00'", "'838:59:59'", "'-838:59:59'"},
		{`'{"a": 1}'`, `'[]'`},
	}
	for range 6 {
		var list []string
		for range 60 {
			var row []string
			for _, v := range values {
				if r.IntN(6) == 0 {
					row = append(row, "NULL")
				} else {
					row = append(row, v[r.IntN(len(v))])
				}
			}
			list = append(list, "("+strings.Join(append(row, fmt.Sprint(r.IntN(3))), ", ")+")")
		}
		do(t, db, "INSERT INTO g VALUES "+strings.Join(list, ", "))
	}
	keys := []string{"i", "b", "u", "w", "ti", "d", "n", "ok", "s", "bin", "day", "at", "few", "ci"}
	aggregates := []string{"count(*)", "count(i)", "count(f)", "count(j)", "count(s)", "count(tm)", "sum(i)", "sum(b)", "sum(u)", "sum(w)", "sum(ti)", "sum(d)", "sum(n)",
		"sum(few)", "min(i)", "max(b)", "min(u)", "max(u)", "min(w)", "max(w)", "avg(u)", "avg(w)", "count(u)", "count(w)", "min(d)", "max(d)", "max(n)", "min(s)", "max(s)", "min(bin)", "max(ci)", "min(day)", "max(day)", "min(at)", "max(at)", "min(tm)", "max(f)", "avg(n)", "avg(i)", "avg(d)", "avg(b)", "max(few)"}
	conditions := []string{"i > 0", "i <= 0", "i < 1.5", "i > -1.5", "b = 9223372036854775807", "b <> 0", "u > 5", "u = 18446744073709551615", "u >= 9223372036854775808", "u < 9223372036854775808", "u <> 9223372036854775807", "u BETWEEN 1 AND 9223372036854775808",
		"u IN (0, 18446744073709551615)", "u > -1", "u < -1", "u = -1", "u < 1.5", "u > 18446744073709551615", "u IS NULL", "w > 2147483647", "w >= 2147483648", "w = 4294967295", "w <> 0",
		"w < 4294967296", "w > -1", "w < 0.5", "w IN (17, 4294967295, -1)", "w BETWEEN 17 AND 2147483648", "w > 5000000000", "w IS NOT NULL", "w > 17 AND u > 1", "d > -1.5", "d <= 0", "d = 0.000000000000000000000000000001", "n >= 0.01", "n < 9999999.99", "ok", "ok = 0",
		"s = 'b'", "s = 'b '", "s > 'a'", "s < 'b'", "s IN ('a', 'ä', '')", "s = x'00'", "ci = 'a'", "bin = x'00'", "bin > x'00'", "day < '2026-01-01 12:00:00'", "day <= '2026-01-01'", "day < '2026-01-01'",
		"at >= '2026-01-01'", "at > '2026-01-01'", "tm > '00:00:00'", "i IS NULL", "s IS NOT NULL", "f > 0.1", "f = 0", "f IS NULL", "j IS NULL", "few = 1", "few IN (0, 2)", "few BETWEEN 1 AND 2",
		"i IN (1, 99999999999)", "i < 99999999999", "s LIKE 'a%'", "i > 0 AND d > 0", "i > 0 OR d > 0", "NOT (few > 1)"}
	some := func(list []string, least, most int) []string {
		var out []string
		for n := least + r.IntN(most-least+1); len(out) < n; {
			if x := list[r.IntN(len(list))]; !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
		return out
	}
	sorted := func(text string) []string { return slices.Sorted(strings.SplitSeq(text, "\n")) }
	pushed := 0
	for n := range 400 {
		by, what, where := some(keys, 0, 2), some(aggregates, 1, 4), some(conditions, 0, 2)
		if n%3 == 0 {
			where = nil
		}
		table := "g"
		if n%10 == 9 {
			table = "nothing"
		}
		q := "SELECT " + strings.Join(slices.Concat(by, what), ", ") + " FROM " + table
		if len(where) > 0 {
			q += " WHERE (" + strings.Join(where, ") AND (") + ")"
		}
		if len(by) > 0 {
			q += " GROUP BY " + strings.Join(by, ", ")
			if n%5 == 0 {
				q += " HAVING " + what[0] + " IS NOT NULL AND count(*) > 1"
			}
		}
		on, err := rows(db, q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		plan, err := rows(db, "EXPLAIN "+q)
		if err != nil {
			t.Fatalf("EXPLAIN %s: %v", q, err)
		}
		does := strings.Contains(plan, "partial aggregates: computed by the store")
		if does {
			pushed++
		}
		do(t, db, "SET SESSION pushdown = 'off'")
		off, err := rows(db, q)
		do(t, db, "SET SESSION pushdown = 'on'")
		if err != nil {
			t.Fatalf("%s without pushdown: %v", q, err)
		}
		if !slices.Equal(sorted(on), sorted(off)) {
			t.Errorf("%s (partial: %v)\nwith    %q\nwithout %q", q, does, sorted(on), sorted(off))
		}
	}
	t.Logf("%d queries were pushed down", pushed)
	if *givenStore != "" && pushed < 80 || *givenStore == "" && pushed > 0 {
		t.Errorf("%d queries were pushed down", pushed)
	}
}
