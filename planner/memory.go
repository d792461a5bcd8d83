package planner

import (
	"context"
	"reflect"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/memory"
)

// statementMemory is what one statement holds: its scans, and the operators of the engine that keep rows; and its plan.
type statementMemory struct {
	mu     sync.Mutex
	budget *memory.Budget
	// keepers are by the inputs of operators that keep rows.
	keepers map[sql.Node]*keeper
	// plan is what the statement runs.
	plan sql.Node
}

type memoryKey struct{}

// WithStatement begins a statement: what runs under the context that it returns shares one budget of memory.
func WithStatement(ctx context.Context) context.Context {
	return context.WithValue(ctx, memoryKey{}, new(statementMemory))
}

func statementMemoryOf(ctx context.Context) *statementMemory {
	s, _ := ctx.Value(memoryKey{}).(*statementMemory)
	return s
}

// scanBudget is what a scan takes memory from: a part of what its statement may have.
func (o *Options) scanBudget(ctx context.Context) *memory.Budget {
	s := statementMemoryOf(ctx)
	if s == nil {
		return o.Memory.Child(o.MemoryBytes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared(o).Child(0)
}

// Budget is what something beside the plan of a statement takes memory from, such as where its rows go: a part of what the statement under ctx may have, if there is
// one. Whoever takes of it gives it back.
func (o *Options) Budget(ctx context.Context) *memory.Budget { return o.scanBudget(ctx) }

// shared is the budget of the statement. The lock is held.
func (s *statementMemory) shared(o *Options) *memory.Budget {
	if s.budget == nil {
		s.budget = o.Memory.Child(o.MemoryBytes)
	}
	return s.budget
}

// begin notes that n is run: the first node of a statement is its plan.
func (s *statementMemory) begin(n sql.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plan == nil {
		s.plan = n
	}
}

// expect notes that an operator keeps the rows of input, whose iterator is built next.
func (s *statementMemory) expect(ctx context.Context, o *Options, input sql.Node, what string, most int64) {
	if !reflect.TypeOf(input).Comparable() {
		return // it cannot be told from others
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keepers == nil {
		s.keepers = map[sql.Node]*keeper{}
		context.AfterFunc(ctx, s.release)
	}
	k := s.keepers[input]
	if k == nil {
		budget := s.shared(o)
		k = &keeper{what: what, held: budget.Account(), limit: budget.Limit()}
		s.keepers[input] = k
	}
	k.most, k.expected = most, true
}

// claim gives what counts the rows of n, once after each expect; nil when nobody keeps them.
func (s *statementMemory) claim(n sql.Node) *keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keepers) == 0 || !reflect.TypeOf(n).Comparable() {
		return nil
	}
	k := s.keepers[n]
	if k == nil || !k.expected {
		return nil
	}
	k.expected = false
	return k
}

// release gives back what the operators of the engine hold: the statement has ended.
func (s *statementMemory) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keepers {
		k.close()
	}
}
