package pebblestore

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"millrace/internal/column"
	"millrace/internal/scan"
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
			if c.Number != 20 || c.Epoch < 1 || c.Positions[store.Partition{}].Offset != 2000 {
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
			if version >= 2 {
				wantPrices(t, s)
			}
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
	err = errors.Join(err, insert(t, s, acquire(t, s, "u"), 0, 50), insertPrices(t, s))
	_, altered := s.AlterTable(t.Context(), "u", 1, store.AddColumn{Column: added})
	settle(t, s)
	if err := errors.Join(err, altered, s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "LOCK")); err != nil {
		t.Fatal(err)
	}
}

// prices are doubles that are encoded as decimals, and some that cannot be.
func prices() *column.Vector {
	v := &column.Vector{Type: column.Type{Kind: column.Float64}}
	for i := range 300 {
		switch {
		case i%50 == 1:
			v.AppendNull()
		case i%50 == 2:
			v.AppendFloat(math.Copysign(0, -1))
		case i%50 == 3:
			v.AppendFloat(1.0 / 3)
		default:
			v.AppendFloat(float64(i*7%1000) / 100)
		}
	}
	return v
}

func insertPrices(t *testing.T, s *Store) error {
	err := s.CreateTable(t.Context(), store.TableSpec{ID: "prices", Columns: []store.Column{{Field: column.Field{Name: "price", Type: column.Type{Kind: column.Float64}, Nullable: true}}}})
	rows := &column.Batch{N: 300, Cols: []column.Vector{*prices()}}
	_, committed := s.Commit(t.Context(), &store.Commit{Table: "prices", Writes: []store.Write{{Table: "prices", SchemaVersion: 1, Rows: rows}}})
	return errors.Join(err, committed)
}

func wantPrices(t *testing.T, s *Store) {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	src, err := snap.Scan(t.Context(), store.ScanSpec{Table: "prices", Columns: []int{0}, Limit: -1, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	c := new(collected)
	if err := src.Run(t.Context(), func(int) (scan.Sink, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
	want := prices()
	if c.rows.N != want.Len() {
		t.Fatalf("%d prices, want %d", c.rows.N, want.Len())
	}
	for i := range c.rows.N {
		if got, want := store.At(&c.rows.Cols[0], i), store.At(want, i); got != want {
			t.Errorf("price %d is %v, want %v", i, got, want)
		}
	}
}

// collected copies what a scan gives.
type collected struct{ rows column.Batch }

func (c *collected) Push(_ context.Context, b *column.Batch) error {
	if c.rows.Cols == nil {
		for i := range b.Cols {
			c.rows.Cols = append(c.rows.Cols, column.Vector{Type: b.Cols[i].Type})
		}
	}
	c.rows.AppendRows(b, -1)
	return nil
}

func (c *collected) Finish(context.Context) error { return nil }
