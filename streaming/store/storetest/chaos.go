package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// testEverythingAtOnce has many goroutines do anything to the same few tables. Every call succeeds or fails for a reason that the contract names, every row that is
// read is one that was written, and nobody waits for ever.
func testEverythingAtOnce(t *testing.T, b Backend) {
	s := open(t, b)
	var group sync.WaitGroup
	for worker := range 6 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 7))
			for range 80 {
				id := store.TableID(fmt.Sprint("t", r.IntN(3)))
				if err := anything(t.Context(), s, r, id, fmt.Sprint("worker", worker)); !expected(err) {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func expected(err error) bool {
	var held *store.HeldError
	for _, e := range []error{store.ErrNoTable, store.ErrTableExists, store.ErrFenced, store.ErrSchemaChanged, store.ErrRetry} {
		if errors.Is(err, e) {
			return true
		}
	}
	return err == nil || errors.As(err, &held)
}

// anything does one thing to a table: rows of number n have n in the first column and n or NULL in all others.
func anything(ctx context.Context, s store.Store, r *rand.Rand, id store.TableID, worker string) error {
	schema, err := s.Schema(ctx, id)
	if err != nil {
		return s.CreateTable(ctx, store.TableSpec{ID: id, Columns: []store.Column{col("id", column.Int64)}})
	}
	switch x := r.IntN(40); {
	case x < 20:
		lease, err := s.AcquireWriter(ctx, id, worker, time.Millisecond)
		if err != nil {
			return err
		}
		var rows []row
		for range 1 + r.IntN(50) {
			w := make(row, len(schema.Columns))
			n := r.Int64N(1000)
			for i := range w {
				if i == 0 || r.IntN(2) == 0 {
					w[i] = store.Int(n)
				}
			}
			rows = append(rows, w)
		}
		_, err = s.Commit(ctx, &store.Commit{
			Table: id, Lease: lease, Event: []byte("e"), Writes: []store.Write{{Table: id, SchemaVersion: schema.Version, Rows: batchOf(schema.Columns, rows)}},
		})
		return err
	case x < 30:
		snap, err := s.Snapshot(ctx)
		if err != nil {
			return err
		}
		defer snap.Close()
		if schema, err = snap.Schema(id); err != nil {
			return err
		}
		rows, err := read(ctx, snap, store.ScanSpec{Table: id, Columns: everyColumn(schema), Limit: -1})
		if err != nil {
			return err
		}
		for _, w := range rows {
			for _, v := range w {
				if !v.IsNull() && v != w[0] {
					return fmt.Errorf("a row of %s is %v", id, w)
				}
			}
		}
		stats, err := snap.Stats(id)
		if err == nil && stats.Rows != int64(len(rows)) {
			err = fmt.Errorf("%s has %d rows, statistics say %d", id, len(rows), stats.Rows)
		}
		return err
	case x < 33:
		_, err := s.AlterTable(ctx, id, schema.Version, store.AddColumn{Column: col(fmt.Sprint("c", schema.Version), column.Int64)})
		return err
	case x < 35 && len(schema.Columns) > 1:
		_, err := s.AlterTable(ctx, id, schema.Version, store.DropColumn{Name: schema.Columns[len(schema.Columns)-1].Name})
		return err
	case x < 37:
		_, err := s.Expire(ctx, id, "id", r.Int64N(200))
		return err
	case x < 38:
		return s.TruncateTable(ctx, id)
	case x < 39:
		return s.DropTable(ctx, id)
	default:
		_, err := s.Events(ctx, id, 0, 10)
		return err
	}
}
