package executor

import (
	"context"
	"encoding/json"
	"time"

	"millrace/internal/column"
	"millrace/internal/failpoint"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// Outputs is a Query whose rows do not go to the store: that of a flow.
type Outputs interface {
	// Output opens where the rows go, nil for the store; id is the table's, the same over restarts. Its errors are the user's, or those of brokers.
	Output(ctx context.Context, id string) (Output, error)
	// CheckOutput finds out whether Output would succeed, and leaves nothing behind.
	CheckOutput(ctx context.Context) error
}

// Output takes the rows of a flow. Its methods are called by the owner, one at a time; after an error, only Close.
type Output interface {
	// Exact reports whether each delivery leaves its number behind, together with its rows or not at all. Opening such an output fences the one before, so what
	// Delivered says stays true.
	Exact() bool
	// Place is where numbers are left from now on, when none was left before.
	Place(rows *column.Batch) string
	// Deliver writes rows, which belong to the caller and stay as they are until it returns. They are written when it returns no error; else some may be, or of an
	// exact output all of them or none. number and place are for an exact one.
	Deliver(ctx context.Context, rows *column.Batch, number int64, place string) error
	// Delivered gives the number that was left at a place last; found is false when there is none.
	Delivered(ctx context.Context, place string) (number int64, found bool, err error)
	// Close gives back what the output holds.
	Close()
}

// intent is what a delivery that may have happened stands for.
type intent struct {
	Number int64        `json:"number"`
	Moves  []store.Move `json:"moves"`
	Rows   int64        `json:"rows"`
	// Since is when it was noted, in milliseconds since 1970.
	Since int64 `json:"since"`
}

// deliveryGrace is for how long a delivery goes on after the table was told to stop: a batch is finished where that is quick.
const deliveryGrace = 3 * time.Second

// graceful gives a context that ends some time after ctx.
func graceful(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(grace, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(late, func() { t.Stop() })
	})
	return late, func() {
		stop()
		cancel(nil)
	}
}

// opensOutput opens the output of a flow, and finds out what became of a delivery that its last owner did not settle. The caller calls close.
func (t *Table) opensOutput(ctx context.Context, q Query) (closes func(), err error) {
	outputs, ok := q.(Outputs)
	if !ok {
		return func() {}, nil
	}
	t.output, err = outputs.Output(ctx, string(t.ID))
	if err != nil || t.output == nil {
		t.output = nil
		return func() {}, err
	}
	closes = func() {
		t.output.Close()
		t.output = nil
	}
	if err := t.settleDelivery(ctx); err != nil {
		closes()
		return func() {}, err
	}
	return closes, nil
}

// markKept is for how long brokers certainly keep the number of a delivery.
const markKept = 24 * time.Hour

// settleDelivery commits the positions of a delivery that has happened, and forgets one that has not.
func (t *Table) settleDelivery(ctx context.Context) error {
	in := t.record.Intent
	if in == nil {
		return nil
	}
	number, found, err := t.output.Delivered(ctx, t.record.Place)
	switch {
	case err != nil:
		return err
	case !found && (t.record.Delivered > 0 || time.Since(time.UnixMilli(in.Since)) > markKept):
		return sqlerr.New(sqlerr.TableState, "whether batch %d of flow '%s' was written is not known: the consumer group that keeps its position has expired", in.Number, t.name).
			WithHint("DROP FLOW and CREATE FLOW begin anew; information_schema.streaming_table_partitions shows where it was")
	}
	t.record.Intent = nil
	if !found || number < in.Number {
		return nil // the range is read again
	}
	t.record.Delivered = in.Number
	t.record.Rows += in.Rows
	return t.commit(ctx, step{moves: in.Moves})
}

// deliver gives the rows of a commit to the output. Of an exact one, the intention is committed before: what number stands for which positions. Whoever finds it
// asks the output for the last number, which says whether the rows are there. bad goes with it, and may come twice.
func (t *Table) deliver(ctx context.Context, rows *column.Batch, st *step) error {
	ctx, cancel := graceful(ctx, deliveryGrace)
	defer cancel()
	if !t.output.Exact() {
		err := t.output.Deliver(ctx, rows, 0, "")
		failpoint.Hit("flow.delivered")
		return err
	}
	if t.record.Place == "" {
		t.record.Place = t.output.Place(rows)
	}
	number := t.record.Delivered + 1
	t.record.Intent = &intent{Number: number, Moves: st.moves, Rows: int64(rows.N), Since: time.Now().UnixMilli()}
	progress, err := json.Marshal(t.record)
	if err != nil {
		return err
	}
	failpoint.Hit("flow.intending")
	c := &store.Commit{Table: t.ID, Lease: t.lease, Progress: progress}
	if err := t.apply(context.WithoutCancel(ctx), c, new(column.Batch), *st); err != nil {
		return err
	}
	st.bad = nil
	failpoint.Hit("flow.intended")
	if err := t.output.Deliver(ctx, rows, number, t.record.Place); err != nil {
		return err
	}
	failpoint.Hit("flow.delivered")
	t.record.Intent, t.record.Delivered = nil, number
	return nil
}
