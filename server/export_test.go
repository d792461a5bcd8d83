package server

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"millrace/internal/export"
)

// everyType makes a table t with a column of every type and n rows, every eleventh value or so NULL.
func everyType(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	do(t, db, `CREATE TABLE t (i INT, si SMALLINT, ti TINYINT, b BIGINT, u BIGINT UNSIGNED, ui INT UNSIGNED, f DOUBLE, r FLOAT, d DECIMAL(8,2), m DECIMAL(18,5), l DECIMAL(40,10), ok BOOLEAN, c CHAR(4), name VARCHAR(30),
		txt TEXT, bin VARBINARY(20), day DATE, at DATETIME(6), ts TIMESTAMP(3), sec DATETIME, tm TIME(6), j JSON)`)
	for from := 0; from < n; from += 100 {
		var list []string
		for x := from; x < min(from+100, n); x++ {
			v := func(k int, format string, args ...any) string {
				if (x*7+k)%11 == 0 {
					return "NULL"
				}
				return fmt.Sprintf(format, args...)
			}
			list = append(list, "("+strings.Join([]string{
				v(0, "%d", x-100), v(1, "%d", x*7%30000-15000), v(2, "%d", x%256-128), v(3, "%d", int64(x)*1_000_000_007*1_000_003), v(4, "%d", uint64(x)*92233720368547758), v(5, "%d", uint32(x)*12345678), v(6, "%d.25e%d", x-50, x%30-12),
				v(7, "%d.5", x%7), v(8, "-%d.%02d", x, x%100), v(9, "%d.%05d", x*31, x*31%100000), v(10, "-%d00000000000000000000.%010d", x, x*31), v(11, "%v", x%3 == 0), v(12, "'%c'", 'a'+x%26), v(13, "'name %d'", x%17),
				v(14, `'text "%c"; ü, line\nbreak\\ %s'`, 'A'+x%26, strings.Repeat(" ", x%2)), v(15, "x'%02X00FF'", x%256), v(16, "'2026-01-%02d'", 1+x%28), v(17, "'19%02d-01-%02d %02d:%02d:00.%06d'", x%100, 1+x%28, x%24, x%60, x*4999%1000000),
				v(18, "'2026-02-03 04:05:%02d.123'", x%60), v(19, "'2026-02-03 04:05:%02d'", x%60), v(20, "'%02d:00:01.5'", x%24), v(21, `'{"x":%d, "s":"ö\\n"}'`, x),
			}, ", ")+")")
		}
		do(t, db, "INSERT INTO t VALUES "+strings.Join(list, ", "))
	}
}

// table is a result as the text protocol shows it; NULL is nil.
type table struct {
	names []string
	rows  [][]*string
}

func tableOf(t *testing.T, db *sql.DB, query string) table {
	t.Helper()
	rs, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rs.Close() }()
	names, err := rs.Columns()
	if err != nil {
		t.Fatal(err)
	}
	got := table{names: names}
	for rs.Next() {
		values, to := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rs.Scan(to...); err != nil {
			t.Fatal(err)
		}
		row := make([]*string, len(names))
		for i, v := range values {
			if v.Valid {
				row[i] = &v.String
			}
		}
		got.rows = append(got.rows, row)
	}
	if err := rs.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

// same wants what was read back to be what the SELECT shows.
func (want table) same(t *testing.T, got table) {
	t.Helper()
	if strings.Join(got.names, ",") != strings.Join(want.names, ",") {
		t.Errorf("columns %v, want %v", got.names, want.names)
	}
	if len(got.rows) != len(want.rows) {
		t.Fatalf("%d rows, want %d", len(got.rows), len(want.rows))
	}
	show := func(name string, s *string) string {
		if s == nil {
			return "NULL"
		}
		if f, err := strconv.ParseFloat(*s, 64); err == nil && (name == "f" || name == "a") {
			return strconv.FormatFloat(f, 'g', -1, 64) // there are several ways to write a DOUBLE, also among drivers
		}
		return strconv.Quote(*s)
	}
	wrong := 0
	for i := range want.rows {
		for k := range want.names {
			if g, w := show(want.names[k], got.rows[i][k]), show(want.names[k], want.rows[i][k]); g != w && wrong < 10 {
				t.Errorf("row %d, %s: %s, want %s", i, want.names[k], g, w)
				wrong++
			}
		}
	}
}

// exporting starts a server that may write below a folder.
func exporting(t *testing.T) (*running, *sql.DB, string) {
	t.Helper()
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.ExportDir = dir })
	return r, r.root(t), dir
}

// exports runs an EXPORT and wants it to say what it wrote.
func exports(t *testing.T, db *sql.DB, statement string, rows int, path string) {
	t.Helper()
	got := tableOf(t, db, statement)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.rows) != 1 || *got.rows[0][1] != strconv.Itoa(rows) || *got.rows[0][2] != strconv.FormatInt(info.Size(), 10) {
		t.Errorf("%s says %q, want %d rows and %d bytes", statement, *got.rows[0][0]+" "+*got.rows[0][1]+" "+*got.rows[0][2], rows, info.Size())
	}
	onlyFiles(t, filepath.Dir(path))
}

// onlyFiles wants nothing that is being written.
func onlyFiles(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestExportedFilesHaveTheRowsOfTheQuery(t *testing.T) {
	_, db, dir := exporting(t)
	const n = 1500
	everyType(t, db, n)
	const query = "SELECT *, upper(name) AS up, NULL AS nothing FROM t ORDER BY b, i, name"
	want := tableOf(t, db, query)
	for _, q := range []string{query, "SELECT * FROM t WHERE i > 0 ORDER BY b, i, name", "SELECT name, count(*) AS n, sum(d) AS d, avg(f) AS a, max(at) AS at FROM t GROUP BY name ORDER BY name", "SELECT a.i, b.u FROM t a JOIN t b ON a.i = b.i ORDER BY 1, 2"} {
		want := tableOf(t, db, q)
		exports(t, db, fmt.Sprintf("EXPORT (%s) TO 'q.csv' FORMAT csv OPTIONS (header true, nullValue 'NULL') OVERWRITE", q), len(want.rows), filepath.Join(dir, "q.csv"))
		t.Run("csv", func(t *testing.T) { want.same(t, readCSV(t, filepath.Join(dir, "q.csv"), ',')) })
		exports(t, db, fmt.Sprintf("EXPORT (%s) TO 'q.parquet' FORMAT parquet OVERWRITE", q), len(want.rows), filepath.Join(dir, "q.parquet"))
		t.Run("parquet", func(t *testing.T) { want.same(t, readParquet(t, filepath.Join(dir, "q.parquet"))) })
	}
	exports(t, db, "EXPORT ("+query+") TO 't.jsonl' FORMAT jsonl", n, filepath.Join(dir, "t.jsonl"))
	t.Run("jsonl", func(t *testing.T) { want.same(t, readJSON(t, filepath.Join(dir, "t.jsonl"), want.names)) })
	const oneColumn = "SELECT name FROM t WHERE name IS NOT NULL ORDER BY i"
	names := tableOf(t, db, oneColumn)
	exports(t, db, "EXPORT ("+oneColumn+") TO 't.txt' FORMAT text OPTIONS (compression 'gzip')", len(names.rows), filepath.Join(dir, "t.txt"))
	t.Run("text", func(t *testing.T) {
		f, err := os.Open(filepath.Join(dir, "t.txt"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		got := table{names: names.names}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			got.rows = append(got.rows, []*string{&line})
		}
		names.same(t, got)
	})
}

func readCSV(t *testing.T, path string, sep rune) table {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma = sep
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := table{names: records[0]}
	for _, rec := range records[1:] {
		row := make([]*string, len(rec))
		for i := range rec {
			if rec[i] != "NULL" {
				row[i] = &rec[i]
			}
		}
		got.rows = append(got.rows, row)
	}
	return got
}

// readJSON reads objects; bytes come in base64.
func readJSON(t *testing.T, path string, names []string) table {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := table{names: names}
	for line := range strings.Lines(string(text)) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		row := make([]*string, len(names))
		for i, name := range names {
			raw, there := object[name]
			if !there {
				t.Fatalf("no %s in %s", name, line)
			}
			value := string(raw)
			if value == "null" {
				continue
			}
			if raw[0] == '"' {
				if err := json.Unmarshal(raw, &value); err != nil {
					t.Fatal(err)
				}
			}
			if name == "bin" {
				b, err := base64.StdEncoding.DecodeString(value)
				if err != nil {
					t.Fatal(err)
				}
				value = string(b)
			}
			row[i] = &value
		}
		got.rows = append(got.rows, row)
	}
	return got
}

// readParquet reads rows by their logical types.
func readParquet(t *testing.T, path string) table {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	fields := file.Schema().Fields()
	var got table
	for _, f := range fields {
		got.names = append(got.names, f.Name())
	}
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		buffer := make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buffer)
			for _, r := range buffer[:n] {
				row := make([]*string, len(fields))
				for i, v := range r {
					if !v.IsNull() {
						text := parquetText(fields[i], v)
						row[i] = &text
					}
				}
				got.rows = append(got.rows, row)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// scales are the digits that columns show, which Parquet does not keep.
var scales = map[string]string{"ts": "2006-01-02 15:04:05.000", "sec": "2006-01-02 15:04:05"}

func parquetText(f parquet.Field, v parquet.Value) string {
	var logical any
	if l := f.Type().LogicalType(); l != nil {
		logical = l.Value
	}
	switch l := logical.(type) {
	case *format.DecimalType:
		n := big.NewInt(0)
		switch v.Kind() {
		case parquet.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			n.SetInt64(v.Int64())
		default:
			b := v.Bytes()
			n.SetBytes(b)
			if b[0] >= 0x80 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(l.Scale)), nil)).FloatString(int(l.Scale))
	case *format.IntType:
		if !l.IsSigned {
			return strconv.FormatUint(v.Uint64(), 10)
		}
	case *format.DateType:
		return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
	case *format.TimeType:
		return time.UnixMicro(v.Int64()).UTC().Format("15:04:05.000000")
	case *format.TimestampType:
		layout := scales[f.Name()]
		if layout == "" {
			layout = "2006-01-02 15:04:05.000000"
		}
		return time.UnixMicro(v.Int64()).UTC().Format(layout)
	}
	switch v.Kind() {
	case parquet.Int32:
		return strconv.Itoa(int(v.Int32()))
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	default:
		return string(v.Bytes())
	}
}

func TestExportIsRefused(t *testing.T) {
	r, db, dir := exporting(t)
	do(t, db, "CREATE TABLE t (a INT, b INT)")
	do(t, db, "INSERT INTO t VALUES (1, 2)")
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "there.csv"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, statement string
		code            uint16
		message         string
	}{
		{"a path with ..", "EXPORT (SELECT 1) TO '../x.csv' FORMAT csv", 1290, "'../x.csv' is not below the server's --export-dir"},
		{"a path with .. inside", "EXPORT (SELECT 1) TO 'a/../../x.csv' FORMAT csv", 1290, "is not below"},
		{"an absolute path", "EXPORT (SELECT 1) TO '/tmp/x.csv' FORMAT csv", 1290, "is not below"},
		{"no path", "EXPORT (SELECT 1) TO '' FORMAT csv", 1290, "is not below"},
		{"the folder itself", "EXPORT (SELECT 1) TO '.' FORMAT csv OVERWRITE", 1290, "is not below"},
		{"a symbolic link out of it", "EXPORT (SELECT 1) TO 'link/x.csv' FORMAT csv", 31085, "path escapes"},
		{"a folder that does not exist", "EXPORT (SELECT 1) TO 'no/x.csv' FORMAT csv", 31085, "the folder of 'no/x.csv' does not exist"},
		{"a file that exists", "EXPORT (SELECT 1) TO 'there.csv' FORMAT csv", 1086, "file 'there.csv' exists"},
		{"a folder in the place of the file", "EXPORT (SELECT 1) TO 'link' FORMAT csv OVERWRITE", 1086, "not a regular file"},
		{"an unknown format", "EXPORT (SELECT 1) TO 'x' FORMAT parket", 31002, "EXPORT has no format 'parket'"},
		{"an unknown option", "EXPORT (SELECT 1) TO 'x' FORMAT csv OPTIONS (heder true)", 31001, "'heder'"},
		{"an option of another format", "EXPORT (SELECT 1) TO 'x' FORMAT parquet OPTIONS (header true)", 31001, "'header'"},
		{"a quote of two characters", "EXPORT (SELECT 1) TO 'x' FORMAT csv OPTIONS (quote 'ab')", 31002, "'quote'"},
		{"two columns of text", "EXPORT (SELECT 1, 2) TO 'x' FORMAT text", 1235, "takes one column, and the query has 2"},
		{"two columns of one name", "EXPORT (SELECT a, a FROM t) TO 'x' FORMAT parquet", 1235, "two columns are named 'a'"},
		{"keys of one name", "EXPORT (SELECT a, b AS a FROM t) TO 'x' FORMAT jsonl", 1235, "two columns are named 'a'"},
		{"no query", "EXPORT (INSERT INTO t VALUES (3, 4)) TO 'x' FORMAT csv", 1235, "EXPORT takes a query"},
		{"a table that does not exist", "EXPORT (SELECT * FROM nope) TO 'x' FORMAT csv", 1146, "nope"},
		{"a value that fails late", "EXPORT (SELECT CAST('x' AS INT) FROM t UNION ALL SELECT value::int FROM nope) TO 'x' FORMAT csv", 1146, "nope"},
		{"a TIME that is no time of day", "EXPORT (SELECT CAST('-01:00:00' AS TIME) AS tm) TO 'x' FORMAT parquet", 1292, "column 'tm' has the TIME -01:00:00"},
		{"a subquery of two rows", "EXPORT (SELECT a, (SELECT 1 UNION SELECT 2) FROM t) TO 'x' FORMAT csv", 1105, "more than 1 row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := rows(db, c.statement)
			var my *mysql.MySQLError
			if !errors.As(err, &my) || my.Number != c.code || !strings.Contains(my.Message, c.message) {
				t.Errorf("%v, want %d %s", err, c.code, c.message)
			}
		})
	}
	for dir, want := range map[string]string{dir: "link there.csv", outside: ""} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("the folder holds %s, want %s", got, want)
		}
	}
	if old, err := os.ReadFile(filepath.Join(dir, "there.csv")); err != nil || string(old) != "old" {
		t.Errorf("the file that was there: %q, %v", old, err)
	}
	exports(t, db, "EXPORT (SELECT a, b FROM t) TO 'there.csv' FORMAT csv OVERWRITE", 1, filepath.Join(dir, "there.csv"))
	exports(t, db, "EXPORT (TABLE t) TO '"+filepath.Join(dir, "abs.csv")+"' FORMAT csv", 1, filepath.Join(dir, "abs.csv"))

	do(t, db, "CREATE USER reader IDENTIFIED BY 'p'")
	do(t, db, "GRANT SELECT ON main.* TO reader")
	reader := r.connect(t, "reader:p@/main")
	_, err := rows(reader, "EXPORT (SELECT a FROM t) TO 'r.csv' FORMAT csv")
	wantError(t, err, 1227, "42000", "you may not export to a file")
	do(t, db, "GRANT FILE ON *.* TO reader")
	exports(t, reader, "EXPORT (SELECT a FROM t) TO 'r.csv' FORMAT csv", 1, filepath.Join(dir, "r.csv"))
	do(t, db, "REVOKE SELECT ON main.* FROM reader")
	_, err = rows(reader, "EXPORT (SELECT a FROM t) TO 's.csv' FORMAT csv")
	wantError(t, err, 1142, "42000", "SELECT command denied")

	_, err = rows(start(t).root(t), "EXPORT (SELECT 1) TO 'x.csv' FORMAT csv")
	wantError(t, err, 1290, "HY000", "this server lets SQL write no files")
}

// A file that is being written is not seen, and gone after a KILL.
func TestAKilledExportLeavesNothing(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r, db, dir := exporting(t)
	statement := fmt.Sprintf("EXPORT (SELECT value FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest', maxReadTimeSeconds => 600)) TO 'endless.jsonl' FORMAT jsonl", b.Addrs[0])
	done := make(chan error, 1)
	go func() {
		_, err := rows(db, statement)
		done <- err
	}()
	other := r.root(t)
	partial := func() []string {
		list, err := filepath.Glob(filepath.Join(dir, ".endless.jsonl"+export.Partial+"*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for deadline := time.Now().Add(20 * time.Second); len(partial()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no file is being written")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "endless.jsonl")); err == nil {
		t.Error("the file is seen before it is whole")
	}
	id, err := values(other, "SELECT id FROM information_schema.processlist WHERE info LIKE 'EXPORT%'")
	if err != nil || id == "" {
		t.Fatalf("the process list has %q, %v", id, err)
	}
	do(t, other, "KILL QUERY "+id)
	wantError(t, <-done, 1317, "70100", "interrupted")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestATopicIsExported(t *testing.T) {
	b, _, _ := ordersTopic(t, 5000)
	_, db, dir := exporting(t)
	query := fmt.Sprintf("SELECT value:id::bigint AS id, value:country AS country, `timestamp` AS ts, `offset`, key FROM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0])
	exports(t, db, "EXPORT ("+query+") TO 'orders.parquet' FORMAT parquet", 5000, filepath.Join(dir, "orders.parquet"))
	got := readParquet(t, filepath.Join(dir, "orders.parquet"))
	seen := map[string]bool{}
	for _, row := range got.rows {
		seen[*row[0]] = true
	}
	if len(got.rows) != 5000 || len(seen) != 5000 {
		t.Errorf("%d rows, %d ids", len(got.rows), len(seen))
	}
}

// EXPORT of a STREAM read went on for ever, also after the client had left, and its file never came.
func TestExportOfAReadWithoutEndIsRefused(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r := start(t, func(c *Config) { c.MemoryLimit, c.ExportDir = "1GiB", t.TempDir() })
	db := r.root(t)
	read := fmt.Sprintf("STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0])
	if _, err := values(db, "EXPORT (SELECT offset FROM "+read+") TO 'x.csv' FORMAT csv"); err == nil || !strings.Contains(err.Error(), "EXPORT takes all rows of a STREAM read, which has no end") {
		t.Errorf("an EXPORT without end: %v", err)
	}
	gives(t, db, "EXPORT (SELECT offset FROM (SELECT offset FROM "+read+" LIMIT 7) t) TO 'x.csv' FORMAT csv", "x.csv|7|14")
}
