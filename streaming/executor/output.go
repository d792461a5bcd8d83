package executor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"millrace/internal/column"
	"millrace/internal/failpoint"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// Outputs is a Query whose rows do not go to the store: that of a flow.
type Outputs interface {
	// Output opens where the rows go, nil for the store; id is the table's, the same over restarts. Its errors are the user's, or those of brokers.
	Output(ctx context.Context, id string) (Output, error)
	// CheckOutput finds out whether Output would succeed, and leaves nothing behind. The target is where rows go, as far as that is known before there are any.
	CheckOutput(ctx context.Context) (Target, error)
}

// Target is where the rows of a flow go.
type Target struct {
	// Cluster is the id of the cluster, empty when it has none.
	Cluster string
	Topics  []string
}

// Output takes the rows of a flow. Its methods are called by the owner, one at a time; after an error, only Close.
type Output interface {
	// Exact reports whether each delivery leaves its number behind, together with its rows or not at all. Opening such an output fences the one before, so what
	// Delivered says stays true.
	Exact() bool
	// Place is where numbers are left from now on, when none was left before.
	Place(rows *column.Batch) string
	// Deliver writes rows, which belong to the caller and stay as they are until it returns. They are written when it returns no error; else some may be, or of an
	// exact output all of them or none. Only an exact one looks at d, which it leaves behind.
	Deliver(ctx context.Context, rows *column.Batch, d Delivery) error
	// Delivered gives what was left at a place last, nil for nothing. When no place is known yet, it is empty, and any counts.
	Delivered(ctx context.Context, place string) (*Delivery, error)
	// Close gives back what the output holds.
	Close()
}

// Delivery is what an exact output leaves behind with the rows of a batch.
type Delivery struct {
	// Number counts the batches of the flow.
	Number int64
	// Token is of this attempt alone: a copy of the flow, which counts on from the same number, has others.
	Token string
	// Place is where it is left.
	Place string
}

// intent is what a delivery that may have happened stands for.
type intent struct {
	Number int64        `json:"number"`
	Token  string       `json:"token,omitempty"`
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

// settleDelivery commits the positions of a delivery that has happened, and forgets one that has not. What was delivered must be what the store knows of: a store that was
// restored from a backup, or copied, does not have the last batches, and would write them again.
func (t *Table) settleDelivery(ctx context.Context) error {
	if !t.output.Exact() {
		return nil
	}
	last, err := t.output.Delivered(ctx, t.record.Place)
	if err != nil {
		return err
	}
	in := t.record.Intent
	switch {
	case last == nil && in == nil:
		return nil
	case last == nil && (t.record.Delivered > 0 || time.Since(time.UnixMilli(in.Since)) > markKept):
		return sqlerr.New(sqlerr.TableState, "whether batch %d of flow '%s' was written is not known: the consumer group that keeps its number has expired, or topic '%s', which it is kept for, was deleted", in.Number, t.name, t.record.Place).
			WithHint("DROP FLOW and CREATE FLOW begin anew; information_schema.streaming_table_partitions shows where it was")
	case last != nil && !t.knows(last):
		return sqlerr.New(sqlerr.TableState, "batch %d of flow '%s' was written by another copy of it, and what this one would write may be there already: its positions are those of a backup, or another server runs the same flow", last.Number, t.name).
			WithHint("DROP FLOW leaves it to the other server; without another, CREATE FLOW then begins where startingOffsets says: information_schema.streaming_table_partitions shows up to where rows were written for certain")
	case in == nil:
		return nil
	}
	t.record.Intent = nil
	if last == nil || last.Number < in.Number {
		return nil // the range is read again
	}
	t.record.Delivered = in.Number
	t.record.Rows += in.Rows
	return t.commit(ctx, only(in.Moves))
}

// knows reports whether the store has heard of a delivery.
func (t *Table) knows(d *Delivery) bool {
	if in := t.record.Intent; in != nil && d.Number == in.Number {
		return d.Token == in.Token
	}
	return d.Number <= t.record.Delivered
}

// deliver gives the rows of a commit to the output. Of an exact one, the intention is committed before: what number stands for which positions. Whoever finds it
// asks the output for the last number, which says whether the rows are there. bad goes with it, and may come twice.
func (t *Table) deliver(ctx context.Context, rows *column.Batch, st *step) error {
	ctx, cancel := graceful(ctx, deliveryGrace)
	defer cancel()
	if !t.output.Exact() {
		err := t.output.Deliver(ctx, rows, Delivery{})
		failpoint.Hit("flow.delivered")
		return fromWhere(err, st.moves)
	}
	if t.record.Place == "" {
		t.record.Place = t.output.Place(rows)
	}
	number := t.record.Delivered + 1
	token := rand.Text()
	t.record.Intent = &intent{Number: number, Token: token, Moves: st.moves, Rows: int64(rows.N), Since: time.Now().UnixMilli()}
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
	if err := t.output.Deliver(ctx, rows, Delivery{number, token, t.record.Place}); err != nil {
		return fromWhere(err, st.moves)
	}
	failpoint.Hit("flow.delivered")
	t.record.Intent, t.record.Delivered = nil, number
	return nil
}

// fromWhere gives an error of a row that cannot be written the records that the batch is of, and what can be done.
func fromWhere(err error, moves []store.Move) error {
	e, ok := sqlerr.As(err)
	if !ok || e.Kind != sqlerr.SinkRow {
		return err
	}
	const most = 4
	var from []string
	for _, m := range moves {
		if m.To == nil || m.From != nil && m.From.Offset >= m.To.Offset {
			continue
		}
		begins := int64(0)
		if m.From != nil {
			begins = m.From.Offset
		}
		if len(from) == most {
			from = append(from, "others")
			break
		}
		from = append(from, fmt.Sprintf("offsets %v of partition %d of topic '%s'", scan.Range{From: begins, To: m.To.Offset}, m.Partition.Partition, m.Topic))
	}
	detail := "the batch has the records of " + strings.Join(from, ", ")
	if e.Detail != "" {
		detail = e.Detail + "; " + detail
	}
	hint := "ALTER FLOW … RESUME tries again, once the topic takes the row; else DROP FLOW, and CREATE FLOW with startingOffsets behind its record, or with errorHandling => 'topic' for such rows"
	if e.Hint != "" {
		hint = strings.TrimSuffix(e.Hint, ".") + "; " + hint
	}
	return e.WithDetail("%s", detail).WithHint("%s", hint)
}
