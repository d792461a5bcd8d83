package planner

import (
	"slices"
	"strings"
	"testing"
)

// Zones of no shift once made unix_timestamp look for the file of the zone '+00:00' at each row.
func TestSecondsOfTimesInUTCAreComputedByTheScan(t *testing.T) {
	e := newTestEngine(t, generate(4, 300))
	for _, zone := range []string{"+00:00", "UTC", "+02:00", "Europe/Berlin"} {
		e.mustQuery("SET time_zone = '" + zone + "'")
		for _, query := range []string{
			"SELECT unix_timestamp(`timestamp`), unix_timestamp({`timestamp`::DATE}), unix_timestamp({{`value`:n}?::TIMESTAMP}) FROM records() ORDER BY topic, `partition`, `offset`",
			"SELECT `offset` FROM records() ORDER BY unix_timestamp(`timestamp`), topic, `partition`, `offset` LIMIT 30",
			"SELECT COUNT(unix_timestamp(`timestamp`)), MIN(unix_timestamp(`timestamp`)), SUM(unix_timestamp(`timestamp`)) FROM records()",
			"SELECT unix_timestamp(`timestamp`) DIV 10 AS s, COUNT(*) FROM records() GROUP BY s ORDER BY s",
			"SELECT COUNT(*) FROM records() WHERE unix_timestamp(`timestamp`) > 1000 AND from_unixtime(`offset`) > '1970-01-01 00:00:05'",
			"SELECT from_unixtime(`offset` - 3), from_unixtime(32536771199 + `offset`) FROM records() ORDER BY from_unixtime(`offset`), topic, `partition`, `offset` LIMIT 9",
		} {
			e.both(query)
		}
	}
	e.mustQuery("SET time_zone = '+00:00'")
	if plan := e.plan("SELECT MAX(unix_timestamp(`timestamp`)) FROM records()"); !strings.HasPrefix(plan, "Scan(") {
		t.Errorf("not computed by the scan:\n%s", plan)
	}
	got := e.mustQuery("SELECT unix_timestamp(d), unix_timestamp(date(d)), from_unixtime(1767225600) FROM (" +
		"SELECT TIMESTAMP('2026-01-01 00:00:01.250000') AS d UNION ALL SELECT TIMESTAMP('1969-12-31 23:59:59') UNION ALL SELECT TIMESTAMP('1970-01-01 00:00:01.5')) x")
	want := []string{
		"1767225601.250000 | 1767225600 | 2026-01-01 00:00:00.000000", "0.000000 | 0 | 2026-01-01 00:00:00.000000", "1.500000 | 0 | 2026-01-01 00:00:00.000000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
