package ops

import (
	"context"
	"errors"
	"sync"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// Push runs p, which only filters and projects, and hands each batch to take, which is called once at a time and must not keep the batch. It returns when src has delivered
// everything, the limit is met, something fails, take included, or ctx is done. What Run does on goroutines of its own, to read ahead of its consumer, a source of one
// lane does on that of the caller here: for a read of a few rows a goroutine and a queue cost more than the rows.
func Push(ctx context.Context, src scan.Source, p *Plan, o RunOptions, take func(*column.Batch) error) (err error) {
	defer recovered(&err)
	if !p.streams() {
		return errors.New("ops: only a projection is pushed")
	}
	if p.limit >= 0 && p.limit == p.offset {
		return nil // LIMIT 0 reads nothing
	}
	r := &Rows{options: o.withDefaults(), ctx: ctx}
	r.first = r.newStage(p)
	var one sync.Mutex
	return src.Run(ctx, func(int) (scan.Sink, error) {
		return r.first.newSink(&directOutput{fields: p.fields, one: &one, consume: take}), nil
	})
}

// directOutput hands batches to the consumer as soon as they have rows.
type directOutput struct {
	fields  []column.Field
	one     *sync.Mutex // held while the consumer has a batch of any lane
	consume func(*column.Batch) error
	batch   column.Batch
}

func (o *directOutput) take() *column.Batch {
	o.batch.Reset(o.fields)
	return &o.batch
}

func (o *directOutput) give(b *column.Batch, _ bool) error {
	if b.N == 0 {
		return nil
	}
	o.one.Lock()
	defer o.one.Unlock()
	return o.consume(b)
}
