package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
	"millrace/streaming/store/pebblestore"
)

// readOnlyFS is a disk that can become read-only, as one does whose file system has found a fault.
type readOnlyFS struct {
	vfs.FS
	on atomic.Bool
}

func (f *readOnlyFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if f.on.Load() {
		return nil, &os.PathError{Op: "create", Path: name, Err: syscall.EROFS}
	}
	file, err := f.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	return &readOnlyFile{file, f}, nil
}

type readOnlyFile struct {
	vfs.File
	disk *readOnlyFS
}

func (f *readOnlyFile) Write(p []byte) (int, error) {
	if f.disk.on.Load() {
		return 0, &os.PathError{Op: "write", Path: "file", Err: syscall.EROFS}
	}
	return f.File.Write(p)
}

func TestATableStallsOnAReadOnlyDiskAndRecovers(t *testing.T) {
	b, _, produce := ordersTopic(t, 1000)
	disk := &readOnlyFS{FS: vfs.Default}
	dir := t.TempDir()
	r := start(t, func(c *Config) {
		c.DataDir = dir
		c.storeOptions = func(o *pebblestore.Options) { o.FS = disk }
	})
	db := r.root(t)
	do(t, db, ordersTable(b))
	do(t, db, "CREATE TABLE plain (a INT)")
	disk.on.Store(true)
	total := 1000
	for stalled := false; !stalled; { // what is in memory may be committed yet
		produce(total, total+100)
		total += 100
		state, err := values(db, "SELECT state, reason LIKE '%the disk of the store in%is read-only%' FROM information_schema.streaming_tables")
		if stalled = state == "stalled|1"; err != nil || !stalled && state != "running|NULL" {
			t.Fatalf("the state is %q, %v", state, err)
		}
	}
	_, err := rows(db, "INSERT INTO plain VALUES (1)")
	wantError(t, err, 31064, "HY000", "is read-only")
	gives(t, db, "SELECT count(*) = count(DISTINCT id), count(*) >= 1000 FROM orders", "1|1")
	do(t, db, "ALTER STREAMING TABLE orders PAUSE") // a table that cannot write can be stopped
	do(t, db, "ALTER STREAMING TABLE orders RESUME")
	disk.on.Store(false)
	all := fmt.Sprintf("%d|%d|%d", total, total, total-1)
	comes(t, r, "SELECT count(*), count(DISTINCT id), max(id) FROM orders", all)
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	do(t, db, "INSERT INTO plain VALUES (1)")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, func(c *Config) { c.DataDir = dir })
	comes(t, r, "SELECT count(*), count(DISTINCT id), max(id) FROM orders", all)
	gives(t, r.root(t), "SELECT sum(a) FROM plain", "1")
}

// A file of the store whose bytes are not what was written: the statement that needs them fails, naming table, column, folder and file; other segments and tables are read, both tables read on, and the damaged one is
// mended from its topic.
func TestACorruptFileConcernsOneTable(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	text := func(i int) string { return fmt.Sprintf("%016x", uint64(i+1)*0x9e3779b97f4a7c15) } // nothing that could be packed
	produced := 0
	produce := func(n int) {
		t.Helper()
		var list []*kgo.Record
		for range n {
			list = append(list, &kgo.Record{Topic: "orders", Value: fmt.Appendf(nil, `{"id":%d,"text":"%s"}`, produced, text(produced))})
			produced++
		}
		testkit.Produce(t, b.Client(t), list...)
	}
	produce(2000)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	for table, columns := range map[string]string{"bad": "value:id::bigint AS id, value:text AS text", "good": "value:id::bigint AS id"} {
		do(t, db, fmt.Sprintf("CREATE STREAMING TABLE %s AS SELECT %s FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", table, columns, b.Addrs[0]))
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "store", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(content, []byte(text(7))); at >= 0 {
			content[at] ^= 1
			flipped++
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if flipped != 1 {
		t.Fatalf("%d of %v hold the text", flipped, files)
	}
	r = start(t, func(c *Config) { c.DataDir = dir })
	db = r.root(t)
	produce(100)
	comes(t, r, "SELECT count(*), count(DISTINCT id) FROM good", "2100|2100")
	comes(t, r, "SELECT table_rows, state FROM information_schema.streaming_tables WHERE table_name = 'bad'", "2100|running")
	_, err = rows(db, "SELECT max(text) FROM bad")
	wantError(t, err, 31061, "HY000", "table 'main.bad#")
	for _, part := range []string{"segment", "'text'", dir, "file 0000", "REFRESH STREAMING TABLE"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	gives(t, db, "SELECT text = '"+text(2050)+"' FROM bad WHERE id = 2050", "1") // another segment
	do(t, db, "REFRESH STREAMING TABLE bad FULL")
	gives(t, db, "SELECT count(*), count(DISTINCT text), max(id) FROM bad", "2100|2100|2099")
}
