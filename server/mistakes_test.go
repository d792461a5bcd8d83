package server

import (
	"fmt"
	"testing"
)

// A user misspelled a field, SELECT v.ordr_id of from_json(…) AS v, and was told that table 'v' does not exist; for v.customer.city, a field of a field, that
// table 'customer' does not.
func TestNamesOfFieldsThatAreWrong(t *testing.T) {
	db := start(t).root(t)
	const from = ` FROM (SELECT from_json('{"order_id":1,"customer":{"city":"Oslo"}}', 'order_id BIGINT, customer STRUCT<city: STRING>') v) x`
	want(t, db, "SELECT v.order_id, v.customer:city"+from, "order_id|city\n1|\"Oslo\"")
	for query, hint := range map[string]string{
		"SELECT v.ordr_id" + from:                        "did you mean 'order_id'?",
		"SELECT x.v.ordr_id" + from:                      "did you mean 'order_id'?",
		"SELECT 1" + from + " WHERE v.ordr_id = 1":       "did you mean 'order_id'?",
		"SELECT count(*)" + from + " GROUP BY v.ordr_id": "did you mean 'order_id'?",
		"SELECT v.zzzzzz" + from:                         "its fields are those of the schema: order_id, customer",
		"SELECT v.customer.city" + from:                  "v.customer:city",
		"SELECT 1" + from + " ORDER BY v.customer.city":  "v.customer:city",
	} {
		_, err := db.Query(query)
		wantError(t, err, 1054, "42S22", hint)
	}
}

// A user grouped by window(…) and selected window.start, as other systems have it: "table 'window' does not exist", with the hint window:start, which is a syntax
// error. Errors of window(…) named millrace_window.
func TestWindowStartOfWhatIsGroupedBy(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE TABLE t (ts DATETIME, n INT)")
	do(t, db, "INSERT INTO t VALUES ('2026-03-05 10:01:00', 1), ('2026-03-05 10:02:00', 2), ('2026-03-05 10:12:00', 3)")
	want(t, db, "SELECT window.start, window.end AS e, sum(n) AS n FROM t GROUP BY window(ts, '10 minutes') HAVING window.start > '2026-01-01' ORDER BY window.start DESC",
		"start|e|n\n2026-03-05 10:10:00.000000|2026-03-05 10:20:00.000000|3\n2026-03-05 10:00:00.000000|2026-03-05 10:10:00.000000|3")
	want(t, db, "SELECT date_format(window.start, '%H:%i') AS s, sum(n) AS n FROM t GROUP BY window(ts, '10 minutes', '5 minutes') ORDER BY 1", "s|n\n09:55|3\n10:00|3\n10:05|3\n10:10|3")
	want(t, db, "SELECT window_start(ts, '10 minutes') AS s, sum(n) AS n FROM t GROUP BY window_start(ts, '10 minutes') ORDER BY s DESC", "s|n\n2026-03-05 10:10:00.000000|3\n2026-03-05 10:00:00.000000|3")
	_, err := db.Query("SELECT window.start FROM t")
	wantError(t, err, 1146, "42S02", "window_start(…)")
	_, err = db.Query("SELECT count(*) FROM t GROUP BY window(ts, '10 minutes', '20 minutes')")
	wantError(t, err, 1292, "22007", "the slide of 'window'")
	_, err = db.Query("SELECT window(ts) FROM t")
	wantError(t, err, 1210, "HY000", "function 'window'")
	b, _, _ := ordersTopic(t, 1)
	_, err = db.Exec(fmt.Sprintf("CREATE STREAMING TABLE s AS SELECT window_start(`timestamp`, '10 minutes', '5 minutes') AS w FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders')", b.Addrs[0]))
	wantError(t, err, 1235, "42000", "a window with a slide")
}

// A user read that there is no DELETE, and DELETE FROM t removed all rows; of a table of another database it was refused.
func TestDeleteWithoutWhereRemovesAllRows(t *testing.T) {
	db := start(t).root(t)
	do(t, db, "CREATE DATABASE shop")
	for _, name := range []string{"t", "shop.u"} {
		do(t, db, "CREATE TABLE "+name+" (n INT)")
		do(t, db, "INSERT INTO "+name+" VALUES (1), (2)")
		_, err := db.Exec("DELETE FROM " + name + " WHERE n = 1")
		wantError(t, err, 1235, "42000", "DELETE of some rows")
		_, err = db.Exec("DELETE FROM " + name + " LIMIT 1")
		wantError(t, err, 1235, "42000", "DELETE of some rows")
		r, err := db.Exec("DELETE FROM " + name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := r.RowsAffected(); err != nil || n != 2 {
			t.Errorf("%d rows were removed, %v", n, err)
		}
		want(t, db, "SELECT count(*) AS n FROM "+name, "n\n0")
	}
}
