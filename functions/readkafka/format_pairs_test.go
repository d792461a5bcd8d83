package readkafka

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// Pushed down and by the engine, typed columns give the same: each predicate with each projection, over records good and bad.
func TestPredicatesOnDecodedColumnsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	pick := func(s ...string) string { return s[r.Intn(len(s))] }
	var list []any
	for range 120 {
		if r.Intn(12) == 0 {
			list = append(list, nil)
			continue
		}
		list = append(list, fmt.Sprintf(`{"id":%s,"name":%s,"price":%s,"paid":%s,"small":%s,"ratio":%s,"day":%s,"at":%s}`,
			pick("1", "2", "-3", "9007199254740993", "null", `"x"`), pick(`"a"`, `"B"`, `"\u00e4"`, `""`, "null"), pick("0", "1.50", `"-2.25"`, "null", "1e9"), pick("true", "false", "null"),
			pick("-128", "127", "0", "300", "null"), pick("0.5", "1.1", "-1", "null"), pick(`"2026-01-02"`, `"1999-12-31"`, "null", `"soon"`), pick(`"2026-01-02T03:04:05.678901Z"`, "1700000000.5", "null"))+pick("", "", "", "", "}"))
	}
	s := newSession(t, newTopic(t, values(list...)...))
	predicates := []string{
		"id > 1", "id IN (1, 9007199254740993)", "id IS NULL", "name = 'a'", "name >= 'B'", "name LIKE '%ä%'", "price > 0.5", "price <> 1.5", "paid", "NOT paid", "small BETWEEN -1 AND 200", "ratio < 1",
		"day = '2026-01-02'", "at > '2024-01-01'", "_error IS NULL AND id = 1", "id = 1 OR name = 'B'", "id + 1 > 2",
	}
	projections := []string{
		"_offset, id, name, price, paid, small, ratio, day, at", "COUNT(*), SUM(id), MIN(price), MAX(at), SUM(small)", "name, COUNT(*) FROM %s WHERE %p GROUP BY name", "DISTINCT paid", "id * 2, UPPER(name), price + 1, COALESCE(name, '-')",
	}
	for _, predicate := range predicates {
		for _, projection := range projections {
			query := "SELECT " + projection
			if !strings.Contains(query, " FROM ") {
				query += " FROM %s WHERE %p"
			}
			for _, mode := range []string{"PERMISSIVE", "DROPMALFORMED"} {
				s.both(strings.ReplaceAll(query, "%p", predicate), ordersDDL+", 'mode', '"+mode+"'")
			}
		}
	}
}
