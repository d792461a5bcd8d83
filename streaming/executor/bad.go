package executor

import (
	"context"
	"errors"
	"time"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// ErrorsSuffix is what the names of tables of bad records end with.
const ErrorsSuffix = "$errors"

// ErrorColumns are the columns of a table of bad records.
func ErrorColumns() []column.Field {
	text, moment := column.Type{Kind: column.Text}, column.Type{Kind: column.Timestamp, Scale: 3}
	return []column.Field{
		scan.Topic.Column(), scan.Partition.Column(), scan.Offset.Column(), scan.Timestamp.Column(), scan.Key.Column(), scan.Value.Column(),
		{Name: "error", Type: text}, {Name: "seen_at", Type: moment},
	}
}

// seenColumn is the column of ErrorColumns that the oldest rows are found by.
const seenColumn = "seen_at"

// errorsVersion is the version of the schema of tables of bad records, which nothing changes.
const errorsVersion = 1

// bad collects bad records as the rows of their table.
type bad struct {
	batch *column.Batch
	now   int64
}

func newBad() *bad {
	b := &bad{new(column.Batch), time.Now().UnixMicro()}
	b.batch.Reset(ErrorColumns())
	return b
}

// The places of the columns that are not those of the record.
const (
	atError = 6
	atSeen  = 7
)

// addRecord adds a record on which the query fails.
func (b *bad) addRecord(r *records, x row, err error) {
	from := r.pieces[x.piece]
	for c, at := range []int{atTopic, atPartition, atOffset, atTimestamp, atKey, atValue} {
		b.batch.Cols[c].AppendRow(&from.Cols[at], x.i)
	}
	b.batch.Cols[atError].AppendBytes([]byte(err.Error()))
	b.batch.Cols[atSeen].AppendInt(b.now)
	b.batch.N++
}

// add adds records that could not be decoded, as a run gives them; nil for none.
func (b *bad) add(undecoded *column.Batch) {
	if undecoded == nil {
		return
	}
	for c := range undecoded.Cols {
		b.batch.Cols[c].AppendFrom(&undecoded.Cols[c], undecoded.Sel, undecoded.Live())
	}
	for range undecoded.Live() {
		b.batch.Cols[atSeen].AppendInt(b.now)
	}
	b.batch.N += undecoded.Live()
}

// badOf is the rows for what one run gave, nil for none.
func badOf(undecoded *column.Batch) *column.Batch {
	if undecoded == nil || undecoded.Live() == 0 {
		return nil
	}
	b := newBad()
	b.add(undecoded)
	return b.batch
}

// makeRoom removes the oldest bad records when there would be more than the setting allows.
func (t *Table) makeRoom(ctx context.Context, st step) error {
	if st.bad == nil || st.bad.N == 0 {
		return nil
	}
	limit := t.setting().ErrorBytes
	for range 20 {
		stats, schema, err := t.errorStats(ctx)
		if err != nil {
			return err
		}
		if stats.Bytes <= limit || stats.Rows == 0 {
			return nil
		}
		seen := stats.Columns[schema.Index(seenColumn)]
		if !seen.Bounded {
			return nil
		}
		// Half of the time that is covered: what is left is the newer half, more or less.
		oldest, newest := seen.Min.Int64(), seen.Max.Int64()
		before := oldest + (newest-oldest)/2 + 1
		if _, err := t.Store.Expire(ctx, t.ErrorsID, seenColumn, before); err != nil && !errors.Is(err, store.ErrNoTable) {
			return err
		}
	}
	return nil
}

func (t *Table) errorStats(ctx context.Context) (*store.TableStats, *store.Schema, error) {
	snap, err := t.Store.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer snap.Close()
	schema, err := snap.Schema(t.ErrorsID)
	if err != nil {
		return nil, nil, err
	}
	stats, err := snap.Stats(t.ErrorsID)
	return stats, schema, err
}
