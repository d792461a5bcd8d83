package dialect

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
)

// seeds are statements of every kind; the scripts in testdata have more.
var seeds = []string{
	`CREATE OR REFRESH STREAMING TABLE a.t (id BIGINT NOT NULL COMMENT 'it''s \\', d TIMESTAMP DEFAULT now(), g DECIMAL(10,2) GENERATED ALWAYS AS (id * (2 + 1)), v VARCHAR(9) COLLATE utf8mb4_bin,
		PRIMARY KEY (id), CONSTRAINT ok EXPECT (id > 0 AND d IS NOT NULL) ON VIOLATION DROP ROW, CONSTRAINT f EXPECT (g < 5) ON VIOLATION FAIL UPDATE, CONSTRAINT w EXPECT (true))
		PARTITIONED BY (id) COMMENT 'c' TBLPROPERTIES ('a' = 'b') SCHEDULE CRON '0 0 6 * * ?' AT TIME ZONE 'Europe/Berlin' AS SELECT 1 AS id`,
	"CREATE STREAMING TABLE t TRIGGER ON UPDATE AT MOST EVERY INTERVAL 5 MINUTES AS SELECT 1",
	"ALTER STREAMING TABLE t ADD SCHEDULE REFRESH EVERY HOUR",
	"SELECT 1",
	"SELECT key::string:user_id::bigint AS u, count(*) FROM read_kafka(subscribe => ?, `kafka.a` => 'b') WHERE partition = ? GROUP BY 1",
	"SELECT CASE WHEN a THEN b END::decimal(10,2) ?:: int, try_cast(a AS date), CAST(a AS string) FROM c.s.t",
	"SELECT f(a)->>'$.x', value:a.`b c`['d''e'][0][*] FROM STREAM(f(a => 1)) s, STREAM g() w",
	"SELECT sum(x) OVER (PARTITION BY partition)::int, rank() OVER w FROM t WINDOW w AS (PARTITION BY key)",
	"CREATE TABLE t (key varchar(1), partition int, KEY i (key)) PARTITION BY RANGE (partition) (PARTITION p0 VALUES LESS THAN (1))",
	"ALTER TABLE c.s.t ADD KEY (key), DROP key, CHANGE a key int",
	"CREATE PROCEDURE p() BEGIN l: LOOP SELECT value:loop; END LOOP; IF (a) THEN SELECT 1; END IF; END; SELECT 2",
	"/*!50001 CREATE VIEW v AS SELECT key::int */",
	"SELECT 'a\\', 1--1, \"x\\\"\" -- c\n# d\n/* e */ FROM t;;",
	"EXPLAIN ANALYZE FORMAT=JSON SELECT ?", "DESCRIBE STREAM f(a => 1)", "CREATE OR REFRESH STREAMING TABLE t AS SELECT 1",
	"SELECT * FROM event_log(TABLE(a.b)) e JOIN event_log(FLOW(t))", "CREATE STREAMING TABLE t (a BIGINT, PRIMARY KEY (a)) CLUSTER BY (a) TBLPROPERTIES ('b' = 1, c.d = 'e') AS SELECT a FROM STREAM f(x => 1)",
	"REFRESH TABLE a.b FULL ASYNC", "ALTER STREAMING TABLE t ADD COLUMNS (a STRING, b DECIMAL(3,2))", "ALTER STREAMING TABLE t SET TBLPROPERTIES (a = 1)", "SHOW STREAMING TABLES FROM a LIKE 'b'", "DROP STREAMING TABLE IF EXISTS t", "DESC EXTENDED a.b",
	"INSERT INTO write_kafka(topic => 'a') (key, `value`, partition) VALUES (?, 'b', 1), ROW(NULL, DEFAULT, a::int)", "INSERT INTO write_kafka(a => ')') BY NAME (SELECT 1 AS value)",
	"REPLACE INTO write_kafka(a => 1) SELECT 1", "INSERT IGNORE write_kafka(a => 1) (value) VALUE ('a') ON DUPLICATE KEY UPDATE value = 1", "CREATE FLOW f COMMENT 'c' AS INSERT INTO write_kafka(a => 1) (value) SELECT 1",
	"INSERT INTO t (key) VALUES (1) ON DUPLICATE KEY UPDATE key = VALUES(key)",
	"CREATE USER u IDENTIFIED BY 'x' a::b", "GRANT SELECT ON c.s.* TO 'u'@'%'", "SET @a := 1, @@x.y = :v1", "SHOW TABLES FROM a.b",
}

func modeFrom(bits byte) Mode {
	return Mode{AnsiQuotes: bits&1 != 0, NoBackslashEscapes: bits&2 != 0, PipesAsConcat: bits&4 != 0}
}

// construct matches text that may use the dialect, or that MySQL's lexer and the engine's read differently. It knows nothing of SQL.
var construct = regexp.MustCompile(`(?i):|=>|->|--|\\|\bstream\b|cast\b|\bkey\b|event_log|\binterval\b|\bwindow\b|\blag\b|\bpartition\b|\.[^.]*\.|^\W*(explain|desc|create|alter|drop|show|refresh|backup|export|grant|revoke|insert|use)|/\*`)

func FuzzRewrite(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, byte(0))
		f.Add(s, byte(3))
	}
	f.Fuzz(func(t *testing.T, text string, bits byte) {
		m := modeFrom(bits)
		r, err := Rewrite(text, m)
		if err != nil {
			checkError(t, text, err)
			return
		}
		checkShortCut(t, text, m, r)
		switch s := r.Statement.(type) {
		case CreateStreamingTable:
			if !strings.Contains(text, "/*!") { // the ends of such comments may lie in another clause than their beginnings
				checkText(t, s, m)
			}
			return
		case InsertIntoSink:
			if s.Values != strings.HasPrefix(s.Query, "VALUES") || s.Values && s.Columns == nil || s.Query == "" || !strings.HasPrefix(text[s.Pos:], s.Query[:1]) && !s.Values || !strings.Contains(text, s.Call) {
				t.Fatalf("%q is read as %+v", text, s)
			}
			return
		case nil, Explain, DescribeFunction: // what is left is for the engine
		default:
			return
		}
		if r.Changed != (r.SQL != text) {
			t.Fatalf("Changed is %v for %q → %q", r.Changed, text, r.SQL)
		}
		checkOrigin(t, text, r)
		again, err := Rewrite(text, m)
		if err != nil || again.SQL != r.SQL {
			t.Fatalf("not deterministic: %q, %q", r.SQL, again.SQL)
		}
		if r.Changed && !construct.MatchString(text) {
			t.Fatalf("plain text changed: %q → %q", text, r.SQL)
		}
		if statement, err := sqlparser.ParseWithOptions(ctx, r.SQL, parserOptions(m)); err == nil {
			checkHeadings(t, r, statement)
		}
	})
}

// checkText wants the text of a statement to be one that has the same text.
func checkText(t *testing.T, s CreateStreamingTable, m Mode) {
	text := s.Text(m)
	again, err := Rewrite(text, m)
	if err != nil {
		t.Fatalf("%s\ncannot be read: %v", text, err)
	}
	if other := again.Statement.(CreateStreamingTable).Text(m); other != text {
		t.Fatalf("%s\nis read as\n%s", text, other)
	}
}

// checkError wants a position inside the text, and the line of the text in the message.
func checkError(t *testing.T, text string, err error) {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Kind != sqlerr.Syntax && e.Kind != sqlerr.NotSupported {
		t.Fatalf("%q: wrong kind of error: %v", text, err)
	}
	var line, column int
	p := regexp.MustCompile(`line (\d+) column (\d+): `).FindStringSubmatch(e.Msg)
	if p == nil {
		t.Fatalf("%q: no position in %q", text, e.Msg)
	}
	line, column = atoi(p[1]), atoi(p[2])
	lines := strings.Split(text, "\n")
	if line > len(lines) && !strings.Contains(e.Msg, "***") || column > utf8.RuneCountInString(text)+len(masked)+1 {
		t.Fatalf("%q: position %d:%d is outside", text, line, column)
	}
	shown := strings.Split(e.Msg, "\n")
	if last := shown[len(shown)-1]; strings.TrimLeft(last, " \t") != "^" {
		t.Fatalf("%q: no caret in %q", text, e.Msg)
	}
}

func atoi(s string) (n int) {
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}

// checkShortCut compares the fast path with the walk.
func checkShortCut(t *testing.T, text string, m Mode, r *Result) {
	full, err := rewrite(text, m)
	if err != nil {
		t.Fatalf("%q: only the short cut takes it: %v", text, err)
	}
	if full.SQL != r.SQL || full.Params != r.Params || (full.Statement == nil) != (r.Statement == nil) {
		t.Fatalf("%q: the short cut gives %q with %d parameters, the walk %q with %d", text, r.SQL, r.Params, full.SQL, full.Params)
	}
}

// checkOrigin wants positions that never go back, stay inside, and lead copied bytes to themselves.
func checkOrigin(t *testing.T, text string, r *Result) {
	before := r.Origin(-1)
	for i := -1; i <= len(r.SQL)+1; i++ {
		o := r.Origin(i)
		if o < before || o > len(text) {
			t.Fatalf("%q → %q: Origin(%d) is %d after %d", text, r.SQL, i, o, before)
		}
		before = o
	}
	for i, p := range r.pieces {
		end := len(r.SQL)
		if i+1 < len(r.pieces) {
			end = r.pieces[i+1].sql
		}
		if n := end - p.sql; p.copied && r.SQL[p.sql:end] != text[p.original:p.original+n] {
			t.Fatalf("%q → %q: piece %d is no copy", text, r.SQL, i)
		}
	}
	if !r.Changed && r.Origin(len(text)) != len(text) {
		t.Fatalf("%q: Origin of unchanged text", text)
	}
}

// checkHeadings wants no rewritten text in headings that the user did not write.
func checkHeadings(t *testing.T, r *Result, statement sqlparser.Statement) {
	list, ok := statement.(*sqlparser.Select)
	if !ok || strings.Contains(r.original, "millrace_") {
		return
	}
	for _, e := range list.SelectExprs {
		x, ok := e.(*sqlparser.AliasedExpr)
		if !ok || !x.As.IsEmpty() || x.InputExpression == "" {
			continue
		}
		heading, ok := r.Heading(x.InputExpression)
		if !ok {
			heading = x.InputExpression
		}
		if strings.Contains(heading, "millrace_") {
			t.Fatalf("%q → %q: heading %q", r.original, r.SQL, heading)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range seeds {
		f.Add(s+"; "+s, byte(0))
	}
	f.Fuzz(func(t *testing.T, text string, bits byte) {
		m := modeFrom(bits)
		first, rest := Split(text, m)
		switch {
		case first == text && rest == "":
		case first+";"+rest != text:
			t.Fatalf("%q: lost bytes: %q, %q", text, first, rest)
		}
		if again, behind := Split(first, m); again != first || behind != "" {
			t.Fatalf("%q: the first statement splits again: %q, %q", text, again, behind)
		}
	})
}
