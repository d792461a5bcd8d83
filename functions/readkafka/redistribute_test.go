package readkafka

import (
	"fmt"
	"testing"
)

// TestLimitsKeepTheOrderOfOffsetsWithRedistribute: a LIMIT without ORDER BY gives the first records of a partition, in their order.
func TestLimitsKeepTheOrderOfOffsetsWithRedistribute(t *testing.T) {
	s := newSession(t, newBroker(t))
	const call = "$('subscribe', 'events', 'redistribute', 'true')"
	rows := s.mustQuery("SELECT `offset` FROM " + call + " WHERE `partition` = 1 LIMIT 60")
	for i, r := range rows {
		if fmt.Sprint(r[0]) != fmt.Sprint(i) {
			t.Fatalf("row %d has offset %v", i, r[0])
		}
	}
	if len(rows) != 60 {
		t.Fatalf("%d rows", len(rows))
	}
	// Without a LIMIT, and at the end of a partition, every record comes once.
	for query, want := range map[string]string{
		"SELECT COUNT(*), COUNT(DISTINCT `value`), SUM(`offset`) FROM " + call:                             "[300 294 14850]",
		"SELECT `offset` FROM " + call + " WHERE `partition` = 2 ORDER BY `offset` DESC LIMIT 1":           "[99]",
		"SELECT MAX(`offset`) FROM " + call:                                                                "[99]",
		"SELECT COUNT(*) FROM (SELECT `value`, `offset` FROM " + call + " WHERE `key` IS NOT NULL) d":      "[225]",
		"SELECT `partition`, COUNT(*) FROM " + call + " GROUP BY `partition` ORDER BY `partition` LIMIT 1": "[0 100]",
	} {
		if got := fmt.Sprint(s.mustQuery(query)[0]); got != want {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
	}
}
