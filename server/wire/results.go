package wire

import (
	"errors"
	"fmt"

	"millrace/internal/column"
)

// Results is how a Session answers one command. For each statement the order of calls is
//
//	SetMore, if another statement follows
//	OK, or: Columns, then Row and Batch in any number and order, then EndRows
//
// An error that Query or Execute returns takes the place of whatever would come next, also between rows. Errors of these methods mean
// that the client is gone or the order is wrong; the session returns them.
type Results struct {
	c          *connection
	binary     bool
	multi      bool
	attributes []Attribute

	state resultState
	more  uint16
	rows  int64
	cols  []Column
	plan  []batchColumn
}

type resultState uint8

const (
	atStart resultState = iota
	inRows
	// answered: the last result is complete; nothing may follow it.
	answered
)

var errOrder = errors.New("results out of order")

// Multi reports whether Query may run several statements from one text.
func (r *Results) Multi() bool { return r.multi }

// Binary reports whether rows are in the binary format: the Row path has to start them with BinaryRow.
func (r *Results) Binary() bool { return r.binary }

// FoundRows reports whether the client wants UPDATE to count the rows it matched instead of those it changed.
func (r *Results) FoundRows() bool { return r.c.capabilities&capFoundRows != 0 }

// RowCount is the number of rows sent so far for the current or last statement.
func (r *Results) RowCount() int64 { return r.rows }

// Attributes are the named values that the client attached to the statement.
func (r *Results) Attributes() []Attribute { return r.attributes }

// SetMore says whether another result follows the next one.
func (r *Results) SetMore(more bool) {
	r.more = 0
	if more {
		r.more = statusMoreResults
	}
}

// next moves on after a result is complete.
func (r *Results) next() {
	r.state = atStart
	if r.more == 0 {
		r.state = answered
	}
}

// OK answers a statement that returns no rows. Most clients show info as it is.
func (r *Results) OK(affected, insertID uint64, info string) error {
	if r.state != atStart {
		return fmt.Errorf("%w: OK after a result has begun", errOrder)
	}
	r.rows = 0
	r.next()
	return r.c.ok(headerOK, affected, insertID, info, r.more)
}

// ReturnsRows says that the statement will return rows, before it is known which: a client that disconnects while the answer is still prepared ends
// the statement's context from here on, as it does after Columns.
func (r *Results) ReturnsRows() error { return r.c.returnsRows() }

// Columns starts a result set; the definitions reach the client within a millisecond even if the first row takes its time. From here
// on a client that disconnects ends the statement's context. cols must not change until EndRows.
func (r *Results) Columns(cols []Column) error {
	if r.state != atStart || len(cols) == 0 {
		return fmt.Errorf("%w: Columns after a result has begun, or without columns", errOrder)
	}
	if err := r.c.returnsRows(); err != nil {
		return err
	}
	r.state, r.cols, r.plan, r.rows = inRows, cols, r.plan[:0], 0
	w := r.c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(appendLenenc(w.begin(), uint64(len(cols))))
	for i := range cols {
		w.end(cols[i].append(w.begin()))
	}
	if r.c.capabilities&capDeprecateEOF == 0 {
		w.end(r.c.appendEOF(w.begin(), r.more))
	}
	w.arm()
	return w.err
}

// Row sends one row, which fill appends to the slice it is given: a value for each column, by the functions of this package. fill must
// not keep the slice, and an error of it leaves nothing of the row behind.
func (r *Results) Row(fill func([]byte) ([]byte, error)) error {
	if r.state != inRows {
		return fmt.Errorf("%w: Row outside of a result set", errOrder)
	}
	w := r.c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := fill(w.begin())
	if err != nil {
		return err
	}
	w.end(b)
	w.arm()
	r.rows++
	return w.err
}

// Batch sends the live rows of a batch. Without columns those of the batch are sent in their order, otherwise the named ones. Their
// kinds have to fit the column definitions. The batch is not kept.
func (r *Results) Batch(b *column.Batch, columns ...int) error {
	if r.state != inRows {
		return fmt.Errorf("%w: Batch outside of a result set", errOrder)
	}
	if err := r.bind(b, columns); err != nil {
		return err
	}
	w := r.c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	n := b.Live()
	for k := range n {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		if r.binary {
			w.end(appendBinaryRow(w.begin(), r.plan, i))
		} else {
			w.end(appendTextRow(w.begin(), r.plan, i))
		}
		if w.err != nil {
			return w.err
		}
	}
	w.arm()
	r.rows += int64(n)
	return nil
}

// EndRows completes a result set.
func (r *Results) EndRows() error {
	if r.state != inRows {
		return fmt.Errorf("%w: EndRows outside of a result set", errOrder)
	}
	r.next()
	return r.c.end(r.more)
}
