package pebblestore

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"millrace/internal/column"
	"millrace/streaming/store"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/format-N of the present version")

// TestOlderFormatsAreRead opens a store of each version of the layout that there has been: testdata/format-N, written by the Millrace of its time. With -rewrite, which is for new
// versions only, the present one is written.
func TestOlderFormatsAreRead(t *testing.T) {
	if *rewrite {
		writeFormat(t, filepath.Join("testdata", fmt.Sprint("format-", FormatVersion)))
	}
	for version := 1; version <= FormatVersion; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", fmt.Sprint("format-", version)))); err != nil {
				t.Fatal(err)
			}
			s := openTest(t, dir, Options{})
			wantCount(t, s, "t", 20*100)
			wantCount(t, s, "u", 50)
			c, err := s.Checkpoint(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			if c.Number != 20 || c.Epoch != 1 || c.Positions[store.Partition{}].Offset != 2000 {
				t.Errorf("the checkpoint is %+v", c)
			}
			events, err := s.Events(t.Context(), "t", 0, 10)
			if err != nil || len(events) != 1 || string(events[0].Data) != "created" {
				t.Errorf("events are %v, %v", events, err)
			}
			schema, err := s.Schema(t.Context(), "u")
			if err != nil {
				t.Fatal(err)
			}
			if schema.Version != 2 || schema.Columns[2].Default != store.Text("\x00\xff") || schema.Columns[2].Width != 20 {
				t.Errorf("the schema is %+v", schema)
			}
			if err := insert(t, s, acquire(t, s, "t"), 2000, 10); err != nil {
				t.Fatal(err)
			}
			wantCount(t, s, "t", 2010)
		})
	}
}

func writeFormat(t *testing.T, dir string) {
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	added := store.Column{Field: column.Field{Name: "added", Type: column.Type{Kind: column.Bytes}, Width: 20}, Default: store.Text("\x00\xff")}
	err = s.CreateTable(t.Context(), numbersTable("t"), numbersTable("u"))
	err = errors.Join(err, s.AppendEvent(t.Context(), "t", []byte("created")))
	l := acquire(t, s, "t")
	for i := range 20 {
		err = errors.Join(err, insert(t, s, l, i*100, 100))
	}
	err = errors.Join(err, insert(t, s, acquire(t, s, "u"), 0, 50))
	_, altered := s.AlterTable(t.Context(), "u", 1, store.AddColumn{Column: added})
	settle(t, s)
	if err := errors.Join(err, altered, s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "LOCK")); err != nil {
		t.Fatal(err)
	}
}
