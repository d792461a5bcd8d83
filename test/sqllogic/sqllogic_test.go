package sqllogic

import (
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"millrace/test/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	dsn     = flag.String("dsn", "", "run against this server instead of Millrace; its database is dropped and made again for each file")
	name    = flag.String("server", "millrace", "what skipif and onlyif call it")
	results = flag.Bool("write-results", false, "write down what the server answers")
)

func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.slt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".slt"), func(t *testing.T) { runFile(t, path) })
	}
}

func open(t *testing.T) *sql.DB {
	if *dsn == "" {
		return script.StartServer(t).Login(t, "root", "")
	}
	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func runFile(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	records, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s, %v", path, err)
	}
	if !*results {
		if again := format(records); again != string(text) {
			t.Errorf("%s is not written as a rewrite would write it", path)
		}
	}
	conn, err := open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, s := range []string{"DROP DATABASE IF EXISTS sqllogic", "CREATE DATABASE sqllogic", "USE sqllogic"} {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	r := &runner{conn: conn, server: *name, rewrite: *results}
	for _, rec := range records {
		more, err := r.run(t.Context(), rec)
		if err != nil {
			t.Errorf("%s:%d: %s\n%v", path, rec.line, rec.sql, err)
		}
		if !more {
			break
		}
	}
	if *results {
		if err := os.WriteFile(path, []byte(format(records)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFormat(t *testing.T) {
	const text = `# a comment
skipif mariadb
query IT rowsort label
SELECT 1,
  'x'
----
1
x

statement error no such
DROP TABLE t

hash-threshold 8

halt
`
	records, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := format(records); got != text {
		t.Errorf("written as\n%s", got)
	}
	if r := records[0]; r.runs("mariadb") || !r.runs("millrace") || r.types != "IT" || r.sort != "rowsort" || r.label != "label" || len(r.want) != 2 {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{"query", "query X\nSELECT 1", "query I up\nSELECT 1", "statement maybe\nSELECT 1", "statement ok", "what", "skipif", "hash-threshold x", "halt\nSELECT 1"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
