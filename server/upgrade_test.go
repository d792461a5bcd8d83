package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
	"millrace/streaming/store/pebblestore"
)

var rewrite = flag.Bool("rewrite", false, "write the data folder of the present formats in testdata/data")

// dataFolders has a data folder of each pair of formats that there has been, each written by the Millrace of its time.
const dataFolders = "testdata/data"

// presentFormats names the folder of those that this code writes.
func presentFormats() string {
	return fmt.Sprintf("catalog-%d-store-%d", catalog.FormatVersion, pebblestore.FormatVersion)
}

// nobody is where no broker is.
const nobody = "127.0.0.1:1"

// What older versions have written is there: rows of all types, positions, bad records, events, definitions, views, users, connections. CONTRIBUTING.md says when a folder is added.
func TestDataFoldersOfOlderVersionsOpen(t *testing.T) {
	t.Setenv("MILLRACE_KEY", strings.Repeat("ab", 32))
	if *rewrite {
		writeDataFolder(t)
	}
	if _, err := os.Stat(filepath.Join(dataFolders, presentFormats())); err != nil {
		t.Errorf("the formats have changed and there is no folder of them: go test -tags gms_pure_go ./server -run %s -rewrite: %v", t.Name(), err)
	}
	folders, err := os.ReadDir(dataFolders)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(dataFolders, folder.Name()))); err != nil {
				t.Fatal(err)
			}
			r := start(t, func(c *Config) { c.DataDir = dir })
			checkDataFolder(t, r)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			checkDataFolder(t, start(t, func(c *Config) { c.DataDir = dir })) // and what this version has made of it
		})
	}
}

// checkDataFolder wants what writeDataFolder has written.
func checkDataFolder(t *testing.T, r *running) {
	t.Helper()
	db := r.root(t)
	gives(t, db, "SELECT count(*), count(DISTINCT id), min(id), max(id), sum(amount), min(ts), max(ts) FROM orders", "299|299|0|298|44700.5|2026-01-01 00:00:00.000|2026-01-01 00:04:58.000")
	gives(t, db, "SELECT note, count(*) FROM orders GROUP BY note ORDER BY note", "NULL|199\nnote 0|20\nnote 1|20\nnote 2|20\nnote 3|20\nnote 4|20")
	gives(t, db, "SELECT topic, `partition`, next_offset FROM information_schema.streaming_table_partitions WHERE table_name = 'orders' ORDER BY 2", "orders|0|150\norders|1|150")
	gives(t, db, "SELECT state, `trigger`, table_rows, retention, retention_column FROM information_schema.streaming_tables WHERE table_name = 'orders'", "paused|manual|299|100000 days|ts")
	gives(t, db, "SELECT `partition`, `offset`, CAST(value AS CHAR) FROM `orders$errors`", `1|149|{"id":"none"}`)
	gives(t, db, "SELECT count(*) > 0 FROM information_schema.streaming_event_log WHERE table_name = 'orders' AND event_type = 'paused'", "1")
	gives(t, db, "SELECT count(*), sum(i), sum(u), sum(d), sum(l), max(name), max(txt), hex(max(bin)), max(day), max(at), max(ts), max(tm), count(j), sum(j->'$.x') FROM t",
		"100|-4545|419202259075049560110|-4581.36|-448200000000000000000000.0000138942|name 9|text \"Z\"; ü, line\nbreak\\  |6300FF|2026-01-28|1999-01-16 03:39:00.494901|2026-02-03 04:05:59.123|23:00:01.500000|91|4482")
	gives(t, db, "SELECT n FROM s.v WHERE country = 'A'", "100")
	gives(t, db, "SELECT count(*) FROM s.empty", "0")
	gives(t, db, "SHOW CONNECTIONS", "shop|kafka|"+nobody+"||PLAINTEXT")
	if got, err := values(db, "SHOW CREATE TABLE orders"); err != nil || !strings.Contains(got, "CLUSTER BY (country)") {
		t.Errorf("SHOW CREATE TABLE: %q, %v", got, err)
	}
	reader := r.connect(t, "reader:secret@/main")
	gives(t, reader, "SELECT count(*) FROM orders", "299")
	if _, err := rows(reader, "SELECT count(*) FROM s.v"); err == nil {
		t.Error("a user may read what was not granted")
	}
	// The definition still runs, up to the broker that is not there.
	do(t, db, "ALTER STREAMING TABLE orders RESUME")
	comes(t, r, "SELECT state, reason LIKE '%"+nobody+"%' FROM information_schema.streaming_tables WHERE table_name = 'orders'", "stalled|1")
	do(t, db, "ALTER STREAMING TABLE orders PAUSE")
	gives(t, db, "SELECT count(*) FROM orders", "299")
}

// writeDataFolder writes the folder of the present formats: as a backup, which has no lock and no key.
func writeDataFolder(t *testing.T) {
	t.Helper()
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 2, nil)
	var list []*kgo.Record
	for i := range 300 {
		note := ""
		if i%3 == 0 {
			note = fmt.Sprintf(`,"note":"note %d"`, i%5)
		}
		value := fmt.Appendf(nil, `{"id":%d,"country":"%c","amount":%d.5%s}`, i, 'A'+i%3, i, note)
		if i == 299 {
			value = []byte(`{"id":"none"}`)
		}
		list = append(list, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Timestamp: time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), Key: fmt.Append(nil, i), Value: value})
	}
	testkit.Produce(t, b.Client(t), list...)
	exports, err := filepath.Abs(dataFolders)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(exports, presentFormats())); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(exports, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	orders := func(broker string) string {
		return fmt.Sprintf("CREATE OR REFRESH STREAMING TABLE orders CLUSTER BY (country) TBLPROPERTIES ('trigger' = 'manual', 'retention' = '100000 days') AS SELECT value:id::bigint AS id, value:country AS country, value:amount::double AS amount, value:note AS note, "+
			"`timestamp` AS ts FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", broker)
	}
	do(t, db, orders(b.Addrs[0]))
	comes(t, r, "SELECT count(*) FROM `orders$errors`", "1")
	do(t, db, "ALTER STREAMING TABLE orders PAUSE")
	do(t, db, "SET SESSION streaming_table_create = 'no_validate'")
	do(t, db, orders(nobody))
	everyType(t, db, 100)
	do(t, db, "CREATE DATABASE s")
	do(t, db, "CREATE VIEW s.v AS SELECT country, count(*) AS n FROM main.orders GROUP BY country")
	do(t, db, "CREATE TABLE s.empty (a INT, b VARCHAR(10))")
	do(t, db, "CREATE USER reader IDENTIFIED BY 'secret'")
	do(t, db, "GRANT SELECT ON main.* TO reader")
	do(t, db, fmt.Sprintf("CREATE CONNECTION shop OPTIONS (bootstrapServers '%s', kafka.client.id 'x')", nobody))
	if err := r.stop(); err != nil { // which writes tables of Pebble: the folder has these and a log
		t.Fatal(err)
	}
	r = start(t, func(c *Config) { c.DataDir, c.ExportDir = dir, exports })
	do(t, r.root(t), "BACKUP TO '"+presentFormats()+"'")
}

// quiet is a logger of Pebble that says nothing.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// A folder of a newer version is refused, and the message names the version.
func TestDataFoldersOfNewerVersionsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"the catalog": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, "catalog.json")
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			newer := bytes.Replace(content, fmt.Appendf(nil, `"format": %d`, catalog.FormatVersion), []byte(`"format": 99`), 1)
			if err := os.WriteFile(path, newer, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "format 99"},
		"the store": {func(t *testing.T, dir string) {
			db, err := pebble.Open(filepath.Join(dir, "store"), &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Set([]byte{'x'}, binary.BigEndian.AppendUint64(nil, 99), pebble.Sync), db.Close()); err != nil {
				t.Fatal(err)
			}
		}, "format version 99"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(dataFolders, presentFormats()))); err != nil {
				t.Fatal(err)
			}
			c.change(t, dir)
			_, err := New(Config{DataDir: dir})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it opens: %v", err)
			}
			if name == "the store" && !sqlerr.HasKind(err, sqlerr.StoreFormat) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
