package server

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/planner"
	"millrace/streaming/executor"
)

// A record that its format cannot decode gives a row with NULLs, or none: no error, and nothing of the query's result says so. A streaming table keeps such records. So
// beside the query a second pipeline looks at every batch that the query gets, and collects the records that are bad:
//
//	source ── batch ──▶ both ──▶ sink of the query
//	                      └────▶ sink of the faults ──▶ the record and what is wrong with it
//
// It runs in the goroutine of the lane, so it takes batches while they are valid.

// faults finds the records that cannot be decoded.
type faults struct {
	records []planner.Records
	// plan is for batches of fields.
	plan   *ops.Plan
	fields []scan.Field
}

// newFaults is nil when there is nothing to find: bytes that are not decoded, or FAILFAST, where the query itself fails.
func newFaults(layout planner.Layout) *faults {
	records := slices.DeleteFunc(slices.Clone(layout.Records), func(r planner.Records) bool { return r.How.FailsFast() })
	if len(records) == 0 {
		return nil
	}
	return &faults{records: records}
}

// faultFields are what is kept of a bad record, in the order of executor.ErrorColumns.
var faultFields = []scan.Field{scan.Topic, scan.Partition, scan.Offset, scan.Timestamp, scan.Key, scan.Value}

// compile makes the pipeline for batches that have the fields of a query and those of bad records, and gives them.
func (f *faults) compile(asked []scan.Field) ([]scan.Field, error) {
	fields := slices.Clone(asked)
	wanted := slices.Clone(faultFields)
	for _, r := range f.records {
		wanted = append(wanted, r.Fields()...)
	}
	for _, x := range wanted {
		if !slices.Contains(fields, x) {
			fields = append(fields, x)
		}
	}
	if f.plan != nil && slices.Equal(fields, f.fields) {
		return fields, nil
	}
	input := make([]column.Field, len(fields))
	for i, x := range fields {
		input[i] = x.Column()
	}
	read := func(x scan.Field) ops.Expr { return ops.Column(slices.Index(fields, x), x.Column()) }
	wrong := make([]ops.Expr, len(f.records))
	for i, r := range f.records {
		var err error
		if wrong[i], err = ops.DecodeError(r.Bytes(read), r.How); err != nil {
			return nil, err
		}
	}
	text := wrong[0]
	if len(wrong) > 1 {
		var err error
		if text, err = ops.Coalesce(wrong...); err != nil {
			return nil, err
		}
	}
	bad, err := ops.Not(ops.IsNull(text))
	if err != nil {
		return nil, err
	}
	p := ops.Pipeline{Input: input, Filter: []ops.Expr{bad}, Limit: -1}
	for _, x := range faultFields {
		p.Project = append(p.Project, read(x))
	}
	p.Project = append(p.Project, text)
	if f.plan, err = p.Compile(); err != nil {
		return nil, err
	}
	f.fields = fields
	return fields, nil
}

// watch runs the pipeline beside a source. wait must be called once the query has ended; it gives the bad records.
func (f *faults) watch(ctx context.Context, src scan.Source) (_ scan.Source, wait func() (*column.Batch, error)) {
	feed := &feed{ready: make(chan func(int) (scan.Sink, error), 1), done: make(chan struct{})}
	rows := ops.Run(ctx, feed, f.plan, ops.RunOptions{})
	found := new(column.Batch)
	found.Reset(f.plan.Fields())
	var failed error
	var collecting sync.WaitGroup
	collecting.Go(func() {
		for {
			b, err := rows.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				failed = err
				return
			}
			found.AppendRows(b, -1)
		}
	})
	wait = func() (*column.Batch, error) {
		close(feed.done)
		collecting.Wait()
		return found, errors.Join(failed, rows.Close())
	}
	return &watched{Source: src, feed: feed}, wait
}

// feed is the source of the second pipeline: it runs until the query has ended, and others push into its sinks.
type feed struct {
	ready chan func(int) (scan.Sink, error)
	done  chan struct{}
}

// Run implements scan.Source.
func (f *feed) Run(_ context.Context, newSink func(int) (scan.Sink, error)) error {
	f.ready <- newSink
	<-f.done
	return nil
}

// Splits implements scan.Source.
func (f *feed) Splits() []scan.Split { return nil }

// Stats implements scan.Source.
func (f *feed) Stats() scan.Stats { return scan.Stats{} }

// Warnings implements scan.Source.
func (f *feed) Warnings() []string { return nil }

// Close implements scan.Source.
func (f *feed) Close() {}

// watched is a source whose batches go to both pipelines.
type watched struct {
	scan.Source
	feed *feed
}

// Run implements scan.Source.
func (w *watched) Run(ctx context.Context, newSink func(int) (scan.Sink, error)) error {
	newFault := <-w.feed.ready
	return w.Source.Run(ctx, func(lane int) (scan.Sink, error) {
		query, err := newSink(lane)
		if err != nil {
			return nil, err
		}
		fault, err := newFault(lane)
		if err != nil {
			return nil, err
		}
		return both{query, fault}, nil
	})
}

// both pushes into two sinks: the second one first, for the first may end the scan.
type both struct{ query, fault scan.Sink }

// Push implements scan.Sink.
func (s both) Push(ctx context.Context, b *column.Batch) error {
	if err := s.fault.Push(ctx, b); err != nil {
		return err
	}
	return s.query.Push(ctx, b)
}

// Finish implements scan.Sink.
func (s both) Finish(ctx context.Context) error {
	return errors.Join(s.fault.Finish(ctx), s.query.Finish(ctx))
}

// openWatched opens the source of a run with the faults beside it.
func (f *faults) openWatched(ctx context.Context, open executor.Open, req scan.Request, wait *func() (*column.Batch, error)) (scan.Source, error) {
	fields, err := f.compile(req.Fields)
	if err != nil {
		return nil, err
	}
	req.Fields = fields
	src, err := open(ctx, req)
	if err != nil {
		return nil, err
	}
	src, *wait = f.watch(ctx, src)
	return src, nil
}
