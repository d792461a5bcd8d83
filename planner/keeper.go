package planner

import (
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"

	"millrace/internal/memory"
	"millrace/internal/sqlerr"
)

// keeper counts the rows that an operator of the engine keeps in memory: it has no other place for them. The engine says nothing about the end of
// that; so an input that is read again counts anew, and the end of the statement gives everything back.
type keeper struct {
	// what keeps the rows, for the error.
	what  string
	limit int64
	// most is how many rows are kept of those that pass, 0 for all. expected says that the iterator of the input is built next.
	most     int64
	expected bool

	mu     sync.Mutex
	held   memory.Account
	closed bool
}

// keptFreely is what the rows of an operator may take whatever others hold: a small join never fails because of them.
const keptFreely = 1 << 20

// keepsRows says which inputs of n the engine keeps in memory, for what, and how many rows of them, 0 for all.
func keepsRows(ctx *sql.Context, n sql.Node) (inputs []sql.Node, what string, most int64) {
	switch n := n.(type) {
	case *plan.Sort:
		return []sql.Node{n.Child}, "the rows of ORDER BY", 0
	case *plan.TopN:
		if limit, ok := rowCount(ctx, n.Limit); ok {
			return []sql.Node{n.Child}, "the first rows of ORDER BY", max(limit, 1)
		}
	case *plan.Window:
		return []sql.Node{n.Child}, "the rows of window functions", 0
	case *plan.HashLookup:
		if n.Lookup == nil {
			return []sql.Node{n.Child}, "the rows of the inner side of a join", 0
		}
	case *plan.CachedResults:
		if !n.IsFinalized() {
			return []sql.Node{n.Child}, "the rows of a subquery", 0
		}
	case *plan.SetOp:
		if len(n.SortConditions) == 0 {
			break
		}
		if n.Limit == nil {
			return n.Children(), "the rows of ORDER BY", 0
		}
		if limit, ok := rowCount(ctx, n.Limit); ok {
			return n.Children(), "the first rows of ORDER BY", max(limit, 1)
		}
	}
	return nil, "", 0
}

// begin starts to count: the rows of a former read are not kept any more.
func (k *keeper) begin(iter sql.RowIter) sql.RowIter {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held.Close()
	return &keeperIter{RowIter: iter, keeper: k}
}

// hold notes that n bytes are kept now.
func (k *keeper) hold(n int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed: // the statement has ended, and its iterator is about to notice
		return nil
	case k.held.Set(n):
		return nil
	case n <= keptFreely:
		k.held.Force(n)
		return nil
	}
	return sqlerr.New(sqlerr.ScanMemory, "%s need more than the statement's %d bytes of memory", k.what, k.limit).
		WithHint("filter more, select fewer columns, or raise --memory-limit: the rows of joins, of window functions and of a sort above them do not go to disk")
}

func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.held.Close()
}

// keeperIter counts the rows that it passes on.
type keeperIter struct {
	sql.RowIter
	keeper             *keeper
	rows, bytes, noted int64
}

// noteEvery is how many bytes are kept before the budget hears of them.
const noteEvery = 64 << 10

// Next implements sql.RowIter.
func (it *keeperIter) Next(ctx *sql.Context) (sql.Row, error) {
	row, err := it.RowIter.Next(ctx)
	if err != nil || it.keeper.most > 0 && it.rows >= it.keeper.most {
		return row, err
	}
	it.rows++
	it.bytes += rowBytes(row)
	if it.bytes-it.noted >= noteEvery {
		if err := it.keeper.hold(it.bytes); err != nil {
			return nil, err
		}
		it.noted = it.bytes
	}
	return row, nil
}
