// Package memory counts what statements hold in memory against limits, so that a large one spills to disk or fails with a clear error
// before the kernel ends the process.
//
// Budgets form a tree. What is taken from one is taken from all above it:
//
//	process (--memory-limit) ─▶ statement ─▶ scan ─▶ accounts of lanes, queues, readers
//
// It is bookkeeping: owners say what they hold, a little late and by the size of their buffers. Limits therefore leave room for what nobody
// counts.
package memory

import "sync/atomic"

// Budget is an amount of memory that several owners share. All methods may be called from any goroutine; those of a nil Budget grant
// everything and count nothing.
type Budget struct {
	parent     *Budget
	limit      int64 // 0 for none
	used, peak atomic.Int64
	spilled    atomic.Int64
}

// New is a budget of limit bytes, 0 for any number.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Child is a budget of limit bytes, 0 for any number, out of b.
func (b *Budget) Child(limit int64) *Budget { return &Budget{parent: b, limit: limit} }

// Used is what is held now, and Peak the most that was.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Peak is the most that was held at once.
func (b *Budget) Peak() int64 {
	if b == nil {
		return 0
	}
	return b.peak.Load()
}

// Limit is the least limit of b and those above it, 0 when there is none.
func (b *Budget) Limit() int64 {
	limit := int64(0)
	for ; b != nil; b = b.parent {
		if b.limit > 0 && (limit == 0 || b.limit < limit) {
			limit = b.limit
		}
	}
	return limit
}

// take takes n bytes of b and all budgets above it, or of none when one has not as many left and it is not forced.
func (b *Budget) take(n int64, forced bool) bool {
	for at := b; at != nil; at = at.parent {
		now := at.used.Add(n)
		if !forced && n > 0 && at.limit > 0 && now > at.limit {
			for undo := b; ; undo = undo.parent {
				undo.used.Add(-n)
				if undo == at {
					return false
				}
			}
		}
	}
	if n > 0 {
		for at := b; at != nil; at = at.parent {
			now := at.used.Load()
			for peak := at.peak.Load(); now > peak && !at.peak.CompareAndSwap(peak, now); peak = at.peak.Load() {
			}
		}
	}
	return true
}

// Account is what one owner holds of a budget. It is used by one goroutine at a time. The zero value counts nothing.
type Account struct {
	budget *Budget
	held   int64
}

// Account is a new account that holds nothing.
func (b *Budget) Account() Account { return Account{budget: b} }

// Set makes n bytes what a holds. It reports false, and leaves a as it is, when that is more than before and more than there is.
func (a *Account) Set(n int64) bool {
	if a.budget == nil || n == a.held {
		return true
	}
	if !a.budget.take(n-a.held, false) {
		return false
	}
	a.held = n
	return true
}

// Force makes n bytes what a holds, whatever the limits are: for what is there already, or without which nothing goes on.
func (a *Account) Force(n int64) {
	if a.budget != nil && n != a.held {
		a.budget.take(n-a.held, true)
		a.held = n
	}
}

// Held is what a holds.
func (a *Account) Held() int64 { return a.held }

// Close gives everything back. The account may be used again.
func (a *Account) Close() { a.Force(0) }

// Close gives what is still held of b back to the budgets above. Nobody may take of b afterwards.
func (b *Budget) Close() {
	if b != nil && b.parent != nil {
		b.parent.take(-b.used.Load(), true)
		b.parent = nil
	}
}

// Spill notes that n bytes were written to disk for want of memory.
func (b *Budget) Spill(n int64) {
	for ; b != nil; b = b.parent {
		b.spilled.Add(n)
	}
}

// Spilled is how many bytes were written to disk for want of memory.
func (b *Budget) Spilled() int64 {
	if b == nil {
		return 0
	}
	return b.spilled.Load()
}
