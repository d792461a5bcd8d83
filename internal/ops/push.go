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
	m := pushMemories.Get().(*pushMemory)
	var one sync.Mutex
	var first *projectSink
	err = src.Run(ctx, func(lane int) (scan.Sink, error) {
		out := &directOutput{fields: p.fields, one: &one, consume: take}
		s := r.first.newSink(out)
		if lane == 0 {
			out.batch, s.filter.rows, first = m.batch, m.rows, s
		}
		return s, nil
	})
	if first != nil {
		m.batch, m.rows = first.out.to.(*directOutput).batch, first.filter.rows
		m.batch.Reset(p.fields) // lets go of dictionaries
	}
	if m.batch.Bytes()+4*cap(m.rows) <= mostPushMemory {
		pushMemories.Put(m) // after a panic it is not: somebody may still hold it
	}
	return err
}

// pushMemory is what the first lane of a Push works in, for the next Push: a selection has room for all rows of a batch, of which a look-up finds one.
type pushMemory struct {
	batch column.Batch
	rows  []int32
}

var pushMemories = sync.Pool{New: func() any { return new(pushMemory) }}

// mostPushMemory bounds what is kept of a Push.
const mostPushMemory = 64 << 10

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
