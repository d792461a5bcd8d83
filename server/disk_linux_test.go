package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/testkit"
)

// An export that finds the disk full leaves nothing and says so; what it would have replaced is still there.
func TestAFullDiskEndsAnExport(t *testing.T) {
	disk := testkit.MountDisk(t, 1<<20)
	r := start(t, func(c *Config) { c.ExportDir = disk.Dir })
	db := r.root(t)
	everyType(t, db, 1000)
	exports(t, db, "EXPORT (SELECT i FROM t) TO 'x' FORMAT csv", 1000, filepath.Join(disk.Dir, "x"))
	before, err := os.ReadFile(filepath.Join(disk.Dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"csv", "jsonl", "parquet OPTIONS (compression 'none')"} {
		_, err := rows(db, "EXPORT (SELECT a.*, concat(b.txt, uuid(), repeat(b.u, 50)) AS s FROM t a JOIN t b ON a.ti = b.ti) TO 'x' FORMAT "+format+" OVERWRITE")
		wantError(t, err, 31085, "HY000", "writing file 'x' failed: no space left on device")
		onlyFiles(t, disk.Dir)
		if after, err := os.ReadFile(filepath.Join(disk.Dir, "x")); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file that was there is not any more: %v", format, err)
		}
	}
}

// A backup to another disk, which is full, fails and leaves nothing; the store, whose own disk is not, takes rows meanwhile and after.
func TestAFullDiskEndsABackup(t *testing.T) {
	b, _, produce := ordersTopic(t, 20_000)
	disk := testkit.MountDisk(t, 64<<10)
	r := start(t, func(c *Config) { c.ExportDir = disk.Dir })
	db := r.root(t)
	do(t, db, ordersTable(b))
	_, err := rows(db, "BACKUP TO 'b'")
	wantError(t, err, 31085, "HY000", "writing folder 'b' failed: no space left on device")
	onlyFiles(t, disk.Dir)
	produce(20_000, 20_100)
	comes(t, r, "SELECT count(*) FROM orders", "20100")
	disk.Resize(t, 64<<20)
	if got, err := values(db, "BACKUP TO 'b'"); err != nil || !strings.HasPrefix(got, "b|1|") {
		t.Errorf("BACKUP gives %q, %v", got, err)
	}
	copied := start(t, func(c *Config) { c.DataDir = filepath.Join(disk.Dir, "b") })
	comes(t, copied, "SELECT count(*), count(DISTINCT id) FROM orders", "20100|20100")
}
