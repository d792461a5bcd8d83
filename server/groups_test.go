package server

import (
	"fmt"
	"testing"
)

// A user who asked for SELECT now(), count(*) FROM a table was told ERROR 1140, "nonaggregated column 'NOW()'"; the same went for version(), database(), @@version
// and all else that has no operands and is no column. MySQL gives one row.
func TestWhatIsNoColumnStandsBesideAggregates(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	db := start(t).root(t)
	do(t, db, "CREATE TABLE t (city TEXT, n INT)")
	do(t, db, "INSERT INTO t VALUES ('a', 1), ('a', 2), ('b', 3)")
	do(t, db, "CREATE TABLE none (n INT)")
	read := fmt.Sprintf("read_kafka(bootstrapServers => '%s', subscribe => 'orders')", b.Addrs[0])
	for _, constant := range []string{
		"now()", "now(3)", "current_timestamp", "utc_timestamp()", "current_date", "current_time", "sysdate()", "unix_timestamp()", "version()", "database()", "schema()",
		"connection_id()", "current_user()", "user()", "last_insert_id()", "row_count()", "found_rows()", "pi()", "rand()", "uuid()", "@@version", "@@session.sql_mode", "@u", "(SELECT max(n) FROM t)",
		"date_format(now(), '%Y')", "concat(database(), version())",
	} {
		for from, rows := range map[string]int{"t": 3, read: 10, "none": 0} {
			gives(t, db, fmt.Sprintf("SELECT c FROM (SELECT %s AS x, count(*) AS c FROM %s) q", constant, from), fmt.Sprint(rows))
			gives(t, db, fmt.Sprintf("SELECT count(*), %s IS NULL AS absent FROM %s", constant, from), fmt.Sprintf("%d|%d", rows, map[bool]int{true: 1}[constant == "@u"]))
		}
		gives(t, db, fmt.Sprintf("SELECT city, c FROM (SELECT city, %s AS x, count(*) AS c FROM t GROUP BY city) q ORDER BY city", constant), "a|2\nb|1")
		if _, err := db.Exec(fmt.Sprintf("SELECT n, %s, count(*) FROM t", constant)); err == nil {
			t.Errorf("n beside count(*) and %s is no error", constant)
		} else {
			wantError(t, err, 1140, "42000", "'t.n'")
		}
	}
	want(t, db, "SELECT city, length(database()) AS l, count(*) AS c FROM t GROUP BY city ORDER BY l, city", "city|l|c\na|4|2\nb|4|1")
	var count int
	if err := db.QueryRow("SELECT count(*), ? FROM t", 7).Scan(&count, new(any)); err != nil || count != 3 {
		t.Errorf("a placeholder beside count(*): %d, %v", count, err)
	}
}
