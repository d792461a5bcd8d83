package planner

import (
	"strings"
	"testing"
)

// WHERE rand() < 0.5 once kept all rows or none: the engine evaluated the condition once, when it planned.
func TestConditionsThatDifferEachTimeAreEvaluatedForEachRow(t *testing.T) {
	e := newTestEngine(t, generate(1, 400))
	for _, where := range []string{"rand() < 0.5", "rand() < 0.5 AND `offset` >= 0", "NOT rand() >= 0.5", "substring(hex(random_bytes(1)), 1, 1) < '8'"} {
		for _, pushdown := range []string{"on", "off"} {
			e.pushdown(pushdown)
			if n := e.mustQuery("SELECT COUNT(*) FROM records() WHERE " + where)[0]; n == "0" || n == "400" {
				t.Errorf("pushdown %s, WHERE %s keeps %s of 400 records", pushdown, where, n)
			}
		}
	}
	if rows := e.mustQuery("SELECT COUNT(*) FROM records() WHERE rand(3) = rand(3)"); rows[0] != "400" {
		t.Errorf("a seed gives %s of 400 records", rows[0])
	}
	if rows := e.mustQuery("SELECT COUNT(DISTINCT u) FROM (SELECT uuid() AS u FROM records()) d"); rows[0] != "400" {
		t.Errorf("%s different of 400", rows[0])
	}
}

// SELECT INTERVAL 1 DAY once made the engine panic.
func TestIntervalsStandWhereATimeIsOnly(t *testing.T) {
	e := newTestEngine(t, nil)
	for _, bad := range []string{"SELECT INTERVAL 1 DAY", "SELECT n FROM numbers WHERE INTERVAL 1 DAY", "SELECT concat(INTERVAL 1 DAY)", "SELECT (SELECT INTERVAL 1 DAY)", "SELECT CASE WHEN TRUE THEN INTERVAL 1 HOUR END"} {
		if _, err := e.query(bad); err == nil || !strings.Contains(err.Error(), "is no value of its own") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
	for _, good := range []string{
		"SELECT now() + INTERVAL 1 DAY", "SELECT INTERVAL 1 DAY + now()", "SELECT date_add(now(), INTERVAL 1.5 SECOND)", "SELECT '2026-01-02' - INTERVAL (1 + 1) DAY",
		"SELECT COUNT(*) OVER (ORDER BY `timestamp` RANGE BETWEEN INTERVAL 1 SECOND PRECEDING AND CURRENT ROW) FROM records()",
	} {
		if _, err := e.query(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}
