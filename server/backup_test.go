package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A backup that is made while tables read is a data folder of its own: its rows are those of the records below its positions, and a server on it reads on from there.
func TestABackupIsADataFolder(t *testing.T) {
	b, _, produce := ordersTopic(t, 1000)
	t.Setenv("MILLRACE_KEY", strings.Repeat("ab", 32))
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.ExportDir = dir })
	db := r.root(t)
	do(t, db, ordersTable(b))
	do(t, db, strings.Replace(ordersTable(b), "TABLE orders", "TABLE still", 1))
	do(t, db, "ALTER STREAMING TABLE still PAUSE")
	do(t, db, "CREATE TABLE plain (a INT)")
	do(t, db, "INSERT INTO plain VALUES (1), (2)")
	do(t, db, "CREATE VIEW v AS SELECT country, count(*) AS n FROM orders GROUP BY country")
	do(t, db, "CREATE USER reader IDENTIFIED BY 'p'")
	do(t, db, "GRANT SELECT ON main.* TO reader")
	do(t, db, fmt.Sprintf("CREATE CONNECTION shop OPTIONS (bootstrapServers '%s', kafka.client.id 'x')", b.Addrs[0]))

	stop := make(chan struct{})
	var writer sync.WaitGroup
	total := 1000
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				produce(total, total+100)
				total += 100
			}
		}
	})
	for i := range 3 {
		name := fmt.Sprintf("backup%d", i)
		if i == 2 {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil { // an empty folder may be there
				t.Fatal(err)
			}
		}
		got, err := values(db, fmt.Sprintf("BACKUP TO '%s'", name))
		if err != nil || !strings.HasPrefix(got, name+"|3|") {
			t.Errorf("BACKUP gives %q, %v", got, err)
		}
		comes(t, r, fmt.Sprintf("SELECT count(*) >= %d FROM orders", 1100*(i+1)), "1")
	}
	close(stop)
	writer.Wait()
	onlyFiles(t, dir)

	for i := range 3 {
		copied := start(t, func(c *Config) { c.DataDir = filepath.Join(dir, fmt.Sprintf("backup%d", i)) })
		cdb := copied.root(t)
		gives(t, cdb, "SELECT sum(a) FROM plain", "3")
		gives(t, cdb, "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM still", "1000|1000|0|999")
		gives(t, cdb, "SELECT sum(next_offset) FROM information_schema.streaming_table_partitions WHERE table_name = 'still'", "1000")
		comes(t, copied, "SELECT count(*), count(DISTINCT id), max(id) FROM orders", fmt.Sprintf("%d|%d|%d", total, total, total-1))
		gives(t, cdb, "SELECT sum(n) FROM v", fmt.Sprint(total))
		gives(t, copied.connect(t, "reader:p@/main"), "SELECT sum(a) FROM plain", "3")
		gives(t, cdb, "SELECT count(*) FROM read_kafka(connection => 'shop', subscribe => 'orders') WHERE `offset` < 10", "20")
	}
	comes(t, r, "SELECT count(*), count(DISTINCT id) FROM orders", fmt.Sprintf("%d|%d", total, total))

	for _, c := range []struct {
		name, folder string
		code         uint16
		message      string
	}{
		{"a folder that is not empty", "backup0", 1086, "'backup0' exists and is not empty"},
		{"a path out of the folder", "../x", 1290, "is not below the server's --export-dir"},
		{"a folder on the way that does not exist", "no/x", 31085, "no such file or directory"},
	} {
		_, err := rows(db, "BACKUP TO '"+c.folder+"'")
		t.Run(c.name, func(t *testing.T) { wantError(t, err, c.code, "HY000", c.message) })
	}
	reader := r.connect(t, "reader:p@/main")
	_, err := rows(reader, "BACKUP TO 'mine'")
	wantError(t, err, 1227, "42000", "FILE")
	do(t, db, "GRANT FILE ON *.* TO reader")
	_, err = rows(reader, "BACKUP TO 'mine'")
	wantError(t, err, 1227, "42000", "BACKUP_ADMIN")
	do(t, db, "GRANT BACKUP_ADMIN ON *.* TO reader")
	if _, err := rows(reader, "BACKUP TO 'mine'"); err != nil {
		t.Error(err)
	}
	_, err = rows(start(t).root(t), "BACKUP TO 'x'")
	wantError(t, err, 1290, "HY000", "this server lets SQL write no files")
	memory := start(t, func(c *Config) { c.DataDir, c.ExportDir = "", dir })
	_, err = rows(memory.root(t), "BACKUP TO 'x'")
	wantError(t, err, 1235, "42000", "this server keeps nothing on disk")
	onlyFiles(t, dir)
}
