package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"millrace/internal/column"
)

func TestValuesAreWritten(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	r := start(t)
	db := r.root(t)
	copied := "SELECT key::string, value::string FROM " + read("copy") + " ORDER BY offset"
	if n := affected(t, r, "INSERT INTO "+write("copy")+` (key, value) VALUES ('k1', concat('a', 'b')), ('k2', NULL), (NULL, x'c3a4'), ROW("k4", '')`); n != 4 {
		t.Errorf("%d rows affected", n)
	}
	gives(t, db, copied, "k1|ab\nk2|NULL\nNULL|ä\nk4|")
	// A list in another order, with a query; VALUE and a subquery.
	do(t, db, "INSERT INTO "+write("copy")+" (`value`, KEY) SELECT value:country::string, key FROM "+read("orders")+" WHERE value:id::bigint = 4")
	do(t, db, "INSERT INTO "+write("copy")+" (value) VALUE ((SELECT max(value:country::string) FROM "+read("orders")+"));")
	gives(t, db, copied, "k1|ab\nk2|NULL\nNULL|ä\nk4|\n4|B\nNULL|C")
	// Placeholders of the call and of rows, in the binary protocol.
	at := time.UnixMilli(1767225600123).UTC()
	if n := affected(t, r, "INSERT INTO write_kafka(bootstrapServers => ?, topic => 'out') (`partition`, key, value, timestamp) VALUES (?, ?, ?, ?), (?, ?, ?, ?)", b(read),
		2, "p1", []byte("v1"), at, 1, nil, nil, at.Add(time.Hour)); n != 2 {
		t.Errorf("%d rows affected", n)
	}
	gives(t, db, "SELECT partition, key::string, value::string, timestamp FROM "+read("out")+" ORDER BY timestamp", "2|p1|v1|2026-01-01 00:00:00.123\n1|NULL|NULL|2026-01-01 01:00:00.123")
	// The transaction that planning begins is over.
	gives(t, db, "SELECT 1", "1")
	var many []string
	for i := range 5000 {
		many = append(many, fmt.Sprintf("('many', '%d')", i))
	}
	if n := affected(t, r, "INSERT INTO "+write("out", "exactlyOnce => true")+" (key, value) VALUES "+strings.Join(many, ", ")); n != 5000 {
		t.Errorf("%d rows affected", n)
	}
	if got, err := rows(db, "EXPLAIN INSERT INTO "+write("out")+" (key, value) VALUES ('a', 'b')"); err != nil || !strings.Contains(got, "Sink(write_kafka)") || !strings.Contains(got, "columns: key, value") {
		t.Errorf("%s, %v", got, err)
	}
	gives(t, db, "SELECT count(*), sum(value::string::bigint) FROM "+read("out")+" WHERE key = 'many'", "5000|12497500")
}

// The engine's own VALUES made 127 of the largest BIGINT behind a small number, and failed over NULL in a column of decimals.
func TestAColumnOfValuesHoldsThemAll(t *testing.T) {
	for name, test := range map[string]struct{ values, want string }{
		"integers":              {"(1), (9223372036854775807), (NULL), (-5)", "1,9223372036854775807,null,-5"},
		"unsigned and signed":   {"(18446744073709551615), (-1)", "18446744073709551615,-1"},
		"decimals":              {"(NULL), (1.5), (12345678901), (0.0001)", "null,1.5,12345678901,0.0001"},
		"a double":              {"(1.5), (1e3), (2)", "1.5,1000,2"},
		"booleans":              {"(true), (false), (NULL)", "true,false,null"},
		"booleans and integers": {"(true), (7)", "1,7"},
		"text of all lengths":   {"('a'), ('abc'), ('')", `"a","abc",""`},
		"numbers and text":      {"(1), ('a'), (1.50), (now() IS NULL)", `"1","a","1.50","0"`},
		"times":                 {"('2026-01-02'::date), ('2026-01-02 03:04:05.5'::timestamp), (NULL)", `"2026-01-02T00:00:00.000Z","2026-01-02T03:04:05.500Z",null`},
		"times and text":        {"('2026-01-02'::date), ('soon')", `"2026-01-02","soon"`},
		"objects":               {"(json_object('a', 1)), (NULL)", `{"a": 1},null`},
		"objects and text":      {"(json_object('a', 1)), ('x')", `"{\"a\": 1}","x"`},
		"bytes and text":        {"(x'00ff'), ('a')", `"AP8=","YQ=="`},
		"only NULL":             {"(NULL)", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			_, read, write := sinkTopics(t, 0)
			r := start(t)
			do(t, r.root(t), "INSERT INTO "+write("copy", "format => 'json'")+" (x) VALUES "+test.values)
			var want []string
			for _, v := range strings.Split(test.want, ",") {
				want = append(want, `{"x":`+v+`}`)
			}
			gives(t, r.root(t), "SELECT value::string FROM "+read("copy")+" ORDER BY offset", strings.Join(want, "\n"))
		})
	}
}

func TestWiderIsTheSameBothWays(t *testing.T) {
	var all []column.Type
	for k := column.Invalid; k <= column.JSON; k++ {
		all = append(all, column.Type{Kind: k})
	}
	all = append(all, column.Type{Kind: column.Decimal, Precision: 65, Scale: 30}, column.Type{Kind: column.Decimal, Precision: 3, Scale: 3}, column.Type{Kind: column.Timestamp, Scale: 6})
	for _, a := range all {
		for _, b := range all {
			ab, ba := wider(a, b), wider(b, a)
			if ab != ba {
				t.Errorf("%v with %v is %v, and the other way %v", a, b, ab, ba)
			}
			if again := wider(ab, b); again != ab && ab.Kind != column.Decimal {
				t.Errorf("%v with %v is %v, and with that again %v", a, b, ab, again)
			}
		}
	}
}

// A number for a key or value was refused, unless another row had text.
func TestNumbersOfValuesAreText(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	db := start(t).root(t)
	for _, into := range []string{write("copy") + " (key, value)", write("copy", "format => 'raw'") + " (key, payload)"} {
		do(t, db, "INSERT INTO "+into+" VALUES ('a', 1)")
		do(t, db, "INSERT INTO "+into+" VALUES (2, 1.50), (?, ?)", 3, int64(-4))
	}
	gives(t, db, "SELECT key::string, value::string FROM "+read("copy")+" ORDER BY offset", "a|1\n2|1.50\n3|-4\na|1\n2|1.50\n3|-4")
	do(t, db, "INSERT INTO "+write("out")+" (value) (SELECT 'a')")
	do(t, db, "INSERT INTO "+write("out", "format => 'json'")+" (value) VALUES (1)")
	gives(t, db, "SELECT value::string FROM "+read("out")+" ORDER BY value::string", "a\n{\"value\":1}")
}

// Bytes that a client binds as text were replaced by U+FFFD without a word.
func TestTextThatIsNotUTF8IsNotEncoded(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	db := start(t).root(t)
	for _, format := range []string{"json", "csv", "avro", "proto"} {
		_, err := db.Exec("INSERT INTO "+write("out", "format => '"+format+"'", "exactlyOnce => true")+" (name) VALUES (?), (?)", "good", "\xff")
		wantNumber(t, err, 31081, "row 2 cannot be written: its column 'name' holds text that is not UTF-8")
	}
	_, err := db.Exec("INSERT INTO "+write("out", "keyFormat => 'json'", "exactlyOnce => true")+" (key, value) VALUES (?, 'a')", "\xff")
	wantNumber(t, err, 31081, "its column 'key' holds text that is not UTF-8")
	gives(t, db, "SELECT count(*) FROM "+read("out"), "0")
	do(t, db, "INSERT INTO "+write("out")+" (key, value) VALUES (?, ?)", "\xff", "\xfe")
	gives(t, db, "SELECT hex(key), hex(value) FROM "+read("out"), "FF|FE")
}

func TestWhatIsWrongWithValues(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	db := start(t).root(t)
	for name, test := range map[string]struct {
		statement string
		number    uint16
		text      string
	}{
		"no list":                    {"INSERT INTO " + write("out") + " VALUES ('a', 'b')", 1064, "VALUES have no names"},
		"a row too short":            {"INSERT INTO " + write("out") + " (key, value) VALUES ('a', 'b'), ('c')", 1136, "row 2 has 1 values, and the list names 2 columns"},
		"a list that does not fit":   {"INSERT INTO " + write("out") + " (key, value) SELECT value FROM " + read("orders"), 1136, "the list names 2 columns, and the query has 1"},
		"a name twice":               {"INSERT INTO " + write("out") + " (value, VALUE) VALUES ('a', 'b')", 31002, "the list names column 'value' twice"},
		"no value":                   {"INSERT INTO " + write("out") + " (key) VALUES ('a')", 1054, "no column 'value'"},
		"another column":             {"INSERT INTO " + write("out") + " (value, id) VALUES ('a', 1)", 1054, "column 'id' has no place in a record"},
		"a number of a query":        {"INSERT INTO " + write("out") + " (value) SELECT 1", 31002, "column 'value' is INT, expected STRING or BINARY"},
		"a default":                  {"INSERT INTO " + write("out") + " (value) VALUES (DEFAULT)", 1235, "DEFAULT is no value for a sink"},
		"a column of nothing":        {"INSERT INTO " + write("out") + " (value) VALUES (other)", 1054, "other"},
		"an aggregate":               {"INSERT INTO " + write("out") + " (value) VALUES ('a'), (concat(count(*)))", 1235, "row 2 of VALUES holds an aggregate or a window function"},
		"a window function":          {"INSERT INTO " + write("out") + " (value) VALUES (row_number() OVER ())", 1235, "row 1 of VALUES holds an aggregate or a window function"},
		"an order":                   {"INSERT INTO " + write("out") + " (value) VALUES ('a'), ('b') LIMIT 1", 1235, "VALUES of a sink are rows of values, and nothing follows them"},
		"a row that fails":           {"INSERT INTO " + write("out", "exactlyOnce => true") + " (value) VALUES ('a'), ('x'::bigint::string)", 1292, "x"},
		"a row that is not writable": {"INSERT INTO " + write("out", "exactlyOnce => true") + " (`partition`, value) VALUES (0, 'a'), (7, 'b')", 31081, "row 2 cannot be written: topic 'out' has no partition 7"},
		"both":                       {"INSERT INTO " + write("out") + " (value) BY NAME VALUES ('a')", 1064, "a list of columns and BY NAME exclude each other"},
		"replace":                    {"REPLACE INTO " + write("out") + " (value) VALUES ('a')", 1235, "REPLACE does not write to a sink"},
		"ignore":                     {"INSERT IGNORE INTO " + write("out") + " SELECT value FROM " + read("orders"), 1235, "INSERT IGNORE does not write to a sink"},
		"on duplicate key":           {"INSERT INTO " + write("out") + " (key, value) VALUES ('a', 'b') ON DUPLICATE KEY UPDATE value = 'c'", 1235, "ON DUPLICATE KEY UPDATE does not apply to a sink"},
		"a flow":                     {"CREATE FLOW f AS INSERT INTO " + write("out") + " (value) VALUES ('a')", 1235, "a flow writes what a STREAM brings, and VALUES have an end"},
		"a flow with a list":         {"CREATE FLOW f AS INSERT INTO " + write("out") + " (value) SELECT value FROM STREAM " + read("orders"), 1235, "a flow takes no list of columns"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := db.Exec(test.statement)
			wantNumber(t, err, test.number, test.text)
		})
	}
	gives(t, db, "SELECT count(*) FROM "+read("out"), "0")
}

// VALUES in FROM failed over NULL in a column of decimals, and cut numbers silently to the type of those in the first row.
func TestValuesInFrom(t *testing.T) {
	db := start(t).root(t)
	gives(t, db, "SELECT * FROM (VALUES ROW(1.25, 'a', 7), ROW(NULL, NULL, NULL), ROW(2, 'abc', -7)) AS t (a, b, c)", "1.25|a|7\nNULL|NULL|NULL\n2.00|abc|-7")
	if got, err := rows(db, "EXPLAIN ANALYZE SELECT * FROM (VALUES ROW(1.5), ROW(NULL)) AS t (a)"); err != nil || !strings.Contains(got, "out 2, time") {
		t.Errorf("%s, %v", got, err)
	}
	_, err := rows(db, "SELECT * FROM (VALUES ROW(1 = 1), ROW(9223372036854775807)) AS t (a)")
	wantNumber(t, err, 1690, "9223372036854775807 out of range")
}

// PREPARE of what the engine does not know was refused, though the protocol prepares it.
func TestStatementsOfOursArePreparedByText(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	db := start(t).root(t)
	db.SetMaxOpenConns(1)
	for _, q := range []string{
		"SET @k = 'k1', @v = 'v1', @t = 'out'",
		"PREPARE s FROM 'SELECT 1'",
		"PREPARE s FROM \"INSERT INTO " + write("out") + " (key, value) VALUES (?, ?), ('k2', concat(?, '2'))\"",
		"EXECUTE s USING @k, @v, @v",
		"SET @v = 'v3'",
		"SET @text = \"INSERT INTO " + write("out") + " (value) VALUES (?)\"",
		"PREPARE s2 FROM @text",
		"EXECUTE S2 USING @v",
		"PREPARE c FROM \"CREATE STREAMING TABLE copied AS SELECT value FROM STREAM " + read("orders") + "\"",
		"EXECUTE c",
		"DROP STREAMING TABLE copied",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	gives(t, db, "SELECT key::string, value::string FROM "+read("out")+" ORDER BY value", "k1|v1\nk2|v12\nNULL|v3")
	for _, test := range []struct {
		statement string
		number    uint16
		text      string
	}{
		{"EXECUTE s USING @k", 1210, "the statement has 3 placeholders, 1 values were given"},
		{"PREPARE f FROM \"EXPORT (SELECT ?) TO 'a' FORMAT csv\"", 1235, "EXPORT may have no placeholders"},
		{"PREPARE f FROM 'REFRESH MATERIALIZED VIEW v'", 1235, "REFRESH MATERIALIZED VIEW is not supported yet"},
		{"PREPARE f FROM 'SELEC 1'", 1064, "unexpected"},
	} {
		_, err := db.Exec(test.statement)
		wantNumber(t, err, test.number, test.text)
	}
	if _, err := db.Exec("DEALLOCATE PREPARE s"); err != nil {
		t.Fatal(err)
	}
	_, err := db.Exec("EXECUTE s")
	wantNumber(t, err, 1243, "s")
	if _, err := db.Exec("PREPARE s2 FROM 'SELECT 7'"); err != nil {
		t.Fatal(err)
	}
	gives(t, db, "EXECUTE s2", "7")
}

// The protocol prepared these with no placeholders, so that the client complained about its own values.
func TestPreparingSaysWhereNoPlaceholderMayStand(t *testing.T) {
	db := start(t).root(t)
	for _, test := range []struct{ statement, text string }{
		{"EXPORT (SELECT ? AS a) TO 'x.csv' FORMAT csv", "EXPORT may have no placeholders"},
		{"CREATE STREAMING TABLE t AS SELECT value FROM STREAM read_kafka(bootstrapServers => ?, subscribe => 'a')", "CREATE STREAMING TABLE may have no placeholders"},
		{"CREATE FLOW f AS INSERT INTO write_kafka(bootstrapServers => 'b', topic => ?) SELECT value FROM STREAM read_kafka(bootstrapServers => 'b', subscribe => 'a')", "CREATE FLOW may have no placeholders"},
		{"BACKUP TO ?", "the name of a folder in quotes is expected"},
	} {
		_, err := db.Prepare(test.statement)
		if err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", test.statement, err)
		}
	}
}
