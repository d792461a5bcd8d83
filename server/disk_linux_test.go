package server

import (
	"fmt"
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
	disk := testkit.MountDisk(t, 16<<10)
	r := start(t, func(c *Config) { c.ExportDir = disk.Dir })
	db := r.root(t)
	do(t, db, ordersTable(b))
	_, err := rows(db, "BACKUP TO 'b'")
	wantError(t, err, 31085, "HY000", "writing folder 'b' failed: no space left on device")
	onlyFiles(t, disk.Dir)
	produce(20_000, 20_100)
	comes(t, r, "SELECT count(*) FROM orders", "20100")
	disk.Resize(t, 256<<20)
	if got, err := values(db, "BACKUP TO 'b'"); err != nil || !strings.HasPrefix(got, "b|1|") {
		t.Errorf("BACKUP gives %q, %v", got, err)
	}
	copied := start(t, func(c *Config) { c.DataDir = filepath.Join(disk.Dir, "b") })
	comes(t, copied, "SELECT count(*), count(DISTINCT id) FROM orders", "20100|20100")
}

// eachOnce wants topic orders to be in table orders: every id once.
func eachOnce(t *testing.T, r *running, n int) {
	t.Helper()
	comes(t, r, "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM orders", fmt.Sprintf("%d|%d|0|%d", n, n, n-1))
}

// The disk of the data folder is full while a table reads: before it is quite, and quite. The table says so, queries go on, statements that must write fail by that name, and everything goes on
// by itself when there is room: nothing is lost, nothing is there twice.
func TestATableStallsOnAFullDiskAndRecovers(t *testing.T) {
	for name, leave := range map[string]uint64{"while some is held back": 24 << 20, "to the last byte": 0} {
		t.Run(name, func(t *testing.T) {
			b, _, produce := ordersTopic(t, 1000)
			disk := testkit.MountDisk(t, 160<<20)
			dir := filepath.Join(disk.Dir, "data")
			r := start(t, func(c *Config) { c.DataDir = dir })
			db := r.root(t)
			do(t, db, ordersTable(b))
			eachOnce(t, r, 1000)
			remove := disk.Fill(t, leave)
			total := 1000
			for stalled := false; !stalled; { // small commits may still find room in files that are there
				produce(total, total+500)
				total += 500
				state, err := values(db, "SELECT state, reason LIKE '%the disk of the store in%is full%' FROM information_schema.streaming_tables")
				if err != nil {
					t.Fatal(err)
				}
				if stalled = state == "stalled|1"; !stalled && state != "running|NULL" && state != "running|0" {
					t.Fatalf("the state is %s", state)
				}
			}
			got, err := values(db, "SELECT count(*) = count(DISTINCT id), count(*) >= 1000 FROM orders")
			if err != nil || got != "1|1" {
				t.Errorf("reading meanwhile: %q, %v", got, err)
			}
			if leave == 0 {
				_, err := rows(db, "CREATE VIEW v AS SELECT * FROM orders")
				if err == nil || !strings.Contains(err.Error(), "no space left on device") {
					t.Errorf("a view is made on a full disk: %v", err)
				}
			}
			room, err := values(db, "SELECT now(6)")
			if err != nil {
				t.Fatal(err)
			}
			remove()
			eachOnce(t, r, total)
			comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
			// The log, for which there was no room either, has it with the time at which it was.
			gives(t, db, "SELECT count(*) > 0 FROM information_schema.streaming_event_log WHERE event_type = 'stalled' AND message LIKE '%is full%' AND timestamp < '"+room+"'", "1")
			do(t, db, "CREATE VIEW v AS SELECT * FROM orders")
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			produce(total, total+100)
			eachOnce(t, start(t, func(c *Config) { c.DataDir = dir }), total+100)
		})
	}
}

// A server does not start on a disk that is full or read-only, and says which; it does once it can write.
func TestAServerDoesNotStartOnADiskItCannotWriteTo(t *testing.T) {
	b, _, _ := ordersTopic(t, 1000)
	disk := testkit.MountDisk(t, 160<<20)
	dir := filepath.Join(disk.Dir, "data")
	in := func(c *Config) { c.DataDir = dir }
	r := start(t, in)
	do(t, r.root(t), ordersTable(b))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	disk.ReadOnly(t, true)
	if _, err := tryStart(t, in); err == nil || !strings.Contains(err.Error(), "read-only file system") || !strings.Contains(err.Error(), dir) {
		t.Errorf("on a read-only disk: %v", err)
	}
	disk.ReadOnly(t, false)
	remove := disk.Fill(t, 0)
	if _, err := tryStart(t, in); err == nil || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), dir) {
		t.Errorf("on a full disk: %v", err)
	}
	remove()
	eachOnce(t, start(t, in), 1000)
}
