package ops

import (
	"context"
	"errors"
	"sync"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// memorySource delivers batches that are in memory, by lane. It keeps the contract of scan.Source.
type memorySource struct {
	lanes [][]*column.Batch
	// idle, when set, makes each lane wait for the end of the scan after its last batch, as a quiet topic does.
	idle bool
}

func (s *memorySource) Splits() []scan.Split { return nil }
func (s *memorySource) Stats() scan.Stats    { return scan.Stats{} }
func (s *memorySource) Warnings() []string   { return nil }
func (s *memorySource) Close()               {}

func (s *memorySource) Run(ctx context.Context, newSink func(int) (scan.Sink, error)) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var lanes sync.WaitGroup
	for i, batches := range s.lanes {
		sink, err := newSink(i)
		if err != nil {
			cancel(err)
			break
		}
		lanes.Go(func() {
			if err := s.lane(inner, batches, sink); err != nil {
				cancel(err)
			}
		})
	}
	lanes.Wait()
	if err := context.Cause(inner); err != nil && !errors.Is(err, scan.Stop) {
		return err
	}
	return nil
}

func (s *memorySource) lane(ctx context.Context, batches []*column.Batch, sink scan.Sink) error {
	for _, b := range batches {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		own := *b // operators replace Sel, and lanes may be given the same rows
		if err := sink.Push(ctx, &own); err != nil {
			return err
		}
	}
	if s.idle {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return sink.Finish(ctx)
}

// ints makes a column of int64.
func ints(xs ...int64) column.Vector {
	return column.Vector{Type: column.Type{Kind: column.Int64}, Int: xs}
}

// texts makes a column of text.
func texts(xs ...string) column.Vector {
	v := column.Vector{Type: column.Type{Kind: column.Text}}
	for _, x := range xs {
		v.AppendBytes([]byte(x))
	}
	return v
}

func batchOf(cols ...column.Vector) *column.Batch {
	return &column.Batch{N: cols[0].Len(), Cols: cols}
}
