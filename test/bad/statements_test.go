package bad

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"millrace/test/script"
)

// answer runs a statement and wants rows, or an error of MySQL; the connection must be of use afterwards.
func answer(t *testing.T, db *sql.DB, statement string) error {
	t.Helper()
	rows, err := db.Query(statement)
	if err == nil {
		for rows.Next() {
		}
		err = errors.Join(rows.Err(), rows.Close())
	}
	var e *mysql.MySQLError
	if err != nil && (!errors.As(err, &e) || strings.Contains(e.Message, "fault in the server")) {
		t.Errorf("%.300q gives %v", statement, err)
	}
	if n := one[int](t, db, "SELECT 7"); n != 7 {
		t.Errorf("after %.300q SELECT 7 gives %d", statement, n)
	}
	return err
}

func TestStatementsOfAbsurdSize(t *testing.T) {
	s := script.StartServer(t)
	db := s.Login(t, "root", "", func(c *mysql.Config) { c.MaxAllowedPacket = 0 })
	rep := strings.Repeat
	columns := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ",%d AS c%d", i, i)
		}
		return b.String()[1:]
	}
	for name, statement := range map[string]string{
		"5,000 parentheses":            "SELECT " + rep("(", 5000) + "1" + rep(")", 5000),
		"1,000,000 parentheses":        "SELECT " + rep("(", 1_000_000),
		"2,000 operators":              "SELECT 1" + rep("+1", 2000),
		"2,000 NOTs":                   "SELECT " + rep("NOT ", 2000) + "1",
		"20,000 minus signs":           "SELECT " + rep("- ", 20_000) + "1",
		"5,000 casts":                  "SELECT '1'" + rep("::int", 5000),
		"5,000 steps of a path":        "SELECT '{}':a" + rep(".a", 5000),
		"2,000 nested functions":       "SELECT " + rep("abs(", 2000) + "1" + rep(")", 2000),
		"500 nested queries":           rep("SELECT * FROM (", 500) + "SELECT 1" + rep(") t", 500),
		"10,000 columns":               "SELECT " + columns(10_000),
		"a string of 4 MB":             "SELECT length('" + rep("x", 4<<20) + "')",
		"a comment of 4 MB":            "SELECT /* " + rep("x", 4<<20) + " */ 1",
		"4 MB of white space":          "SELECT" + rep(" ", 4<<20) + "1",
		"4 MB of one name":             "SELECT " + rep("n", 4<<20),
		"10,000 values":                "SELECT 1 IN (1" + rep(",2", 10_000) + ")",
		"300 unions":                   "SELECT 1" + rep(" UNION ALL SELECT 1", 300),
		"10,000 arguments":             "SELECT * FROM read_kafka(" + rep("subscribe => 'x', ", 10_000) + "topic => 'y')",
		"a thousand levels of CASE":    "SELECT " + rep("CASE WHEN 1 THEN ", 1000) + "1" + rep(" END", 1000),
		"a number of 100,000 digits":   "SELECT 1" + rep("0", 100_000),
		"a list of 100,000 topics":     "SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => '" + rep("t,", 100_000) + "t')",
		"a regular expression of evil": "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa' REGEXP '" + rep("(a*)*", 12) + "b'",
		"bytes that are no text":       "SELECT '\xff\xfe\x00', `\xff`, \xff",
		"a zero byte":                  "SELECT 1\x00; SELECT 2",
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			err := answer(t, db, statement)
			t.Logf("%v: %.150v", time.Since(begin), err)
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestThousandsOfColumnsArriveInBothProtocols(t *testing.T) {
	db := script.StartServer(t).Login(t, "root", "")
	var b strings.Builder
	b.WriteString("SELECT 0 AS c0")
	for i := 1; i < 4000; i++ {
		fmt.Fprintf(&b, ",%d AS c%d", i, i)
	}
	stmt, err := db.Prepare(b.String())
	if err != nil {
		t.Fatal(err)
	}
	for name, query := range map[string]func() (*sql.Rows, error){
		"text": func() (*sql.Rows, error) { return db.Query(b.String()) }, "binary": func() (*sql.Rows, error) { return stmt.Query() },
	} {
		rows, err := query()
		if err != nil {
			t.Fatal(err)
		}
		values, to := make([]int, 4000), make([]any, 4000)
		for i := range values {
			to[i] = &values[i]
		}
		rows.Next()
		if err := errors.Join(rows.Scan(to...), rows.Close()); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if v != i {
				t.Fatalf("%s: column %d holds %d", name, i, v)
			}
		}
	}
	if err := stmt.Close(); err != nil {
		t.Fatal(err)
	}
}
