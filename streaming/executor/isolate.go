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
			truncate(rows, before)
			step /= 2
		default:
			truncate(rows, before)
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

// truncate takes a batch back to its first n rows.
func truncate(b *column.Batch, n int) {
	for i := range b.Cols {
		v := &b.Cols[i]
		switch {
		case v.Type.Kind.IsView():
			if n < len(v.Beg) {
				v.Data = v.Data[:dataEnd(v, n)]
			}
			v.Beg, v.End = v.Beg[:n], v.End[:n]
		case v.Type.Kind == column.Float64:
			v.Float = v.Float[:n]
		default:
			v.Int = v.Int[:n]
		}
	}
	b.N = n
}

// dataEnd is where the bytes of the first n values end: values were appended one behind the other.
func dataEnd(v *column.Vector, n int) uint32 {
	end := uint32(0)
	for i := n - 1; i >= 0; i-- {
		if !v.IsNull(i) {
			return v.End[i]
		}
	}
	return end
}
