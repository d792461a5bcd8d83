package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"millrace/internal/column"
	"millrace/internal/failpoint"
	"millrace/streaming/store"
)

// step is one commit: where the table moves to, and what it brings.
type step struct {
	moves []store.Move
	// rows are those of the table, and counts what was counted of them.
	rows   *column.Batch
	counts counts
	// bad are the rows of the table of bad records, nil for none.
	bad *column.Batch
	// newest are the greatest timestamps read of each partition.
	newest map[store.Partition]int64
	// oldest is the least timestamp of what a table that follows its topics read, 0 for none.
	oldest int64
	// records and bytes were read for offsets, between start and computed.
	records, bytes, offsets int64
	start, computed         time.Time
}

// only is a step of positions.
func only(moves []store.Move) step {
	now := time.Now()
	return step{moves: moves, rows: new(column.Batch), start: now, computed: now}
}

// commit makes rows and positions visible and durable, together. It is not interrupted by the end of ctx: a commit is whole.
func (t *Table) commit(ctx context.Context, st step) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	rows := st.rows
	if err := t.makeRoom(ctx, st); err != nil {
		return err
	}
	began := time.Now()
	p := t.progress(st)
	if t.output != nil {
		if rows.N > 0 {
			if err := t.deliver(ctx, rows, &st); err != nil {
				return err
			}
		}
		rows = new(column.Batch)
	}
	t.record.Batch++
	progress, err := t.record.encode(&p)
	if err != nil {
		return err
	}
	c := &store.Commit{Table: t.ID, Lease: t.lease, Moves: st.moves, Progress: progress}
	failpoint.Hit("commit.before")
	if err := t.apply(context.WithoutCancel(ctx), c, rows, st); err != nil {
		return err
	}
	failpoint.Hit("commit.after")
	p.Duration.Commit = time.Since(began)
	t.lastBatch = time.Now()
	t.applied(st, p)
	t.badLog.add(st)
	t.tellBad(false)
	t.quality.add(&p)
	if t.quality.due() {
		t.report()
	}
	return nil
}

// apply commits c with rows, however often the store wants to be asked.
func (t *Table) apply(ctx context.Context, c *store.Commit, rows *column.Batch, st step) error {
	const attempts = 10
	for n := 1; ; n++ {
		c.Writes = c.Writes[:0]
		if rows.N > 0 {
			batch, err := t.arrange(rows)
			if err != nil {
				return err
			}
			c.Writes = append(c.Writes, store.Write{Table: t.ID, SchemaVersion: t.schema.Version, Rows: batch})
		}
		if st.bad != nil && st.bad.N > 0 {
			c.Writes = append(c.Writes, store.Write{Table: t.ErrorsID, SchemaVersion: errorsVersion, Rows: st.bad})
		}
		number, err := t.Store.Commit(ctx, c)
		switch {
		case err == nil:
			t.number = number
			return nil
		case errors.Is(err, store.ErrSchemaChanged) && n < attempts:
			if t.schema, err = t.Store.Schema(ctx, t.ID); err != nil {
				return err
			}
		case errors.Is(err, store.ErrRetry) && n < attempts:
			if err := pauseFor(ctx, time.Duration(n)*time.Millisecond); err != nil {
				return err
			}
		case errors.Is(err, store.ErrUnknownOutcome):
			return t.outcome(ctx, err)
		default:
			return err
		}
	}
}

// outcome finds out whether a commit has happened.
func (t *Table) outcome(ctx context.Context, unknown error) error {
	c, err := t.Store.Checkpoint(ctx, t.ID)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnknownOutcome, err)
	}
	if c.Epoch == t.lease.Epoch && c.Number == t.number+1 {
		t.number = c.Number
		return nil
	}
	return unknown // it may still happen: the next attempt takes a new lease, which it then cannot pass
}

// arrange gives the query's columns the order of the table's; those that the query does not have are NULL.
func (t *Table) arrange(rows *column.Batch) (*column.Batch, error) {
	out := &column.Batch{N: rows.N, Cols: make([]column.Vector, len(t.schema.Columns))}
	used := 0
	for i := range t.schema.Columns {
		c := &t.schema.Columns[i]
		if k := t.columnOf(c.Name); k >= 0 {
			out.Cols[i] = rows.Cols[k]
			out.Cols[i].Type = c.Type
			used++
			continue
		}
		out.Cols[i].Reset(c.Type)
		for range rows.N {
			c.Default.AppendTo(&out.Cols[i])
		}
	}
	if used < len(rows.Cols) {
		return nil, fmt.Errorf("executor: the query has columns that the table lacks")
	}
	return out, nil
}

// columnOf is the place of a table's column among those of the query, -1 for none.
func (t *Table) columnOf(name string) int {
	for i, f := range t.columns {
		if f.Name == name {
			return i
		}
	}
	return -1
}
