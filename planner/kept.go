package planner

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/memory"
	"millrace/planner/expr"
)

// kept holds the rows of a scan that a statement runs again and again: in a correlated subquery, on the inner side of a nested loop. The
// rows of a Scan never depend on the outer row, so they are read once, which is faster, and every outer row sees the same records.
//
// Rows beyond the limit are not kept; the scan is then read again each time. Several iterators may use a kept at once.
type kept struct {
	limit int64

	mu sync.Mutex
	// of is the statement whose rows these are: a plan that is run again must read again.
	of       statement
	rows     []sql.Row
	memory   memory.Account
	complete bool
	// large is set when the rows were too many to keep.
	large bool
	// left counts the iterators that were closed before their end.
	left int
}

// statement identifies an execution.
type statement struct {
	process uint64
	start   time.Time
}

func statementOf(ctx *sql.Context) statement { return statement{ctx.Pid(), ctx.QueryTime()} }

// get gives the rows, if they are there, and whether to collect them, if they are not.
func (k *kept) get(ctx *sql.Context) (rows []sql.Row, ok, collect bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := statementOf(ctx); k.of != now {
		k.memory.Close()
		k.of, k.rows, k.complete, k.large, k.left = now, nil, false, false, 0
	}
	return k.rows, k.complete, !k.large
}

// put takes the rows of a complete read, nil when they were too many, and the memory that they take.
func (k *kept) put(ctx *sql.Context, rows []sql.Row, held memory.Account) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of != statementOf(ctx) || k.complete {
		held.Close()
		return
	}
	k.large = rows == nil
	k.rows, k.memory, k.complete = rows, held, !k.large
	if k.complete {
		of := k.of
		context.AfterFunc(ctx, func() { k.drop(of) })
	}
}

// drop forgets the rows of a statement that has ended.
func (k *kept) drop(of statement) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == of {
		k.memory.Close()
		k.of, k.rows, k.complete = statement{}, nil, false
	}
}

// leave notes that an iterator was closed before its end and reports whether that has happened before.
func (k *kept) leave() (again bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left++
	return k.left > 1
}

// keptIter gives the rows that were kept. It looks at the context itself: a join may run it for ever without a row that passes the filter
// above, and no other part of the plan would hear of the end of the statement.
type keptIter struct {
	rows []sql.Row
	next int
}

// Next implements sql.RowIter.
func (it *keptIter) Next(ctx *sql.Context) (sql.Row, error) {
	if it.next%256 == 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if it.next == len(it.rows) {
		return nil, io.EOF
	}
	it.next++
	return it.rows[it.next-1], nil
}

// Close implements sql.RowIter.
func (it *keptIter) Close(*sql.Context) error { return nil }

// keepingIter collects the rows that it passes on.
type keepingIter struct {
	sql.RowIter
	into  *kept
	rows  []sql.Row
	bytes int64
	held  memory.Account
	// large is set when the rows are too many to keep, ended when there are no more or reading them failed.
	large, ended bool
}

func (it *keepingIter) Next(ctx *sql.Context) (sql.Row, error) {
	row, err := it.RowIter.Next(ctx)
	switch {
	case err != nil:
		if errors.Is(err, io.EOF) && !it.ended && !it.large {
			if it.rows == nil {
				it.rows = []sql.Row{}
			}
			it.into.put(ctx, it.rows, it.held)
			it.held = memory.Account{}
		}
		it.ended = true
	case !it.large:
		it.bytes += rowBytes(row)
		if it.large = it.bytes > it.into.limit || !it.held.Set(it.bytes); it.large {
			it.rows = nil
			it.held.Close()
			it.into.put(ctx, nil, memory.Account{})
			break
		}
		it.rows = append(it.rows, row)
	}
	return row, err
}

// Close implements sql.RowIter. EXISTS leaves at the first row that it likes: when that happens a second time, the rest is read as far as it
// can be kept, as there will be a third. An error of that reading is nobody's: the next read will meet it, if anybody still asks.
func (it *keepingIter) Close(ctx *sql.Context) error {
	if !it.ended && !it.large && it.into.leave() {
		for !it.ended && !it.large {
			_, _ = it.Next(ctx)
		}
	}
	it.ended = true
	it.held.Close()
	return it.RowIter.Close(ctx)
}

// rowBytes estimates the memory of a row.
func rowBytes(row sql.Row) int64 {
	n := int64(24 + 16*len(row))
	for _, v := range row {
		switch v := v.(type) {
		case []byte:
			n += 24 + int64(len(v))
		case string:
			n += 16 + int64(len(v))
		case expr.JSONText:
			n += 24 + int64(len(v))
		case nil, bool:
		default:
			n += 24
		}
	}
	return n
}
