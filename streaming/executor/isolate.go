package executor

import (
	"context"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// isolate runs the query over records without those on which it fails, which it returns. It gallops: a run that succeeds is followed by one over twice as many
// records, one that fails by one over half as many, so that good stretches cost few runs and a topic of nothing but bad records one run each.
func (t *Table) isolate(ctx context.Context, q Query, r *records, rows *column.Batch) (*column.Batch, error) {
	bad := newBad()
	for from, step := 0, max(r.rows/2, 1); from < r.rows; {
		step = min(step, r.rows-from)
		before := rows.N
		undecoded, err := q.Run(ctx, func(_ context.Context, req scan.Request) (scan.Source, error) {
			return r.source(from, from+step, req), nil
		}, taker(rows))
		switch {
		case err == nil:
			bad.add(undecoded)
			from += step
			step *= 2
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !ofRecord(err):
			return nil, err
		case step > 1:
			rows.Truncate(before)
			step /= 2
		default:
			rows.Truncate(before)
			bad.addRecord(r, r.at(from), err)
			from++
		}
	}
	return bad.batch, nil
}

// taker collects the rows of a run.
func taker(rows *column.Batch) func(*column.Batch) error {
	return func(b *column.Batch) error {
		rows.AppendRows(b, -1)
		return nil
	}
}
