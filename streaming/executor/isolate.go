package executor

import (
	"context"
	"errors"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// begins makes ready for the rows of a batch.
func (t *Table) begins() {
	t.rows.Reset(t.columns)
	t.checker.reset()
}

// takes collects the rows of a run that the checks leave.
func (t *Table) takes(b *column.Batch) error {
	b, err := t.checker.apply(b)
	if err == nil {
		t.rows.AppendRows(b, -1)
	}
	return err
}

// gives hands a step what was taken, and what was counted of it, until the next batch begins.
func (t *Table) gives(st *step) {
	st.rows, st.counts, st.computed = &t.rows, t.checker.counts(), time.Now()
}

// isolate runs the query over records without those on which it fails, which it returns; t.rows takes what the others give. A row that violates a rule ends it with the error that
// names the record. It gallops: a run that succeeds is followed by one over twice as many records, one that fails by one over half as many, so that good stretches cost
// few runs and a topic of nothing but bad records one run each.
func (t *Table) isolate(ctx context.Context, q Query, r *records) (*column.Batch, error) {
	bad := newBad()
	for from, step := 0, max(r.rows/2, 1); from < r.rows; {
		step = min(step, r.rows-from)
		before, counted := t.rows.N, t.checker.counts()
		undecoded, err := q.Run(ctx, func(_ context.Context, req scan.Request) (scan.Source, error) {
			return r.source(from, from+step, req), nil
		}, t.takes)
		if err == nil {
			bad.add(undecoded)
			from += step
			step *= 2
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !ofRecord(err) {
			return nil, err
		}
		t.rows.Truncate(before)
		t.checker.restore(counted)
		if step > 1 {
			step /= 2
			continue
		}
		if v := (*violation)(nil); errors.As(err, &v) {
			return nil, v.of(r.place(from))
		}
		bad.addRecord(r, r.at(from), err)
		from++
	}
	return bad.batch, nil
}
