package server

import (
	"os"
	"path/filepath"
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
