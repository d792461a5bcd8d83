package planner

import (
	"context"
	"sync"

	"millrace/internal/memory"
)

// statementMemory is what the scans of one statement share.
type statementMemory struct {
	once   sync.Once
	budget *memory.Budget
}

type memoryKey struct{}

// WithStatement begins a statement: the scans that run under the context that it returns share one budget of memory.
func WithStatement(ctx context.Context) context.Context {
	return context.WithValue(ctx, memoryKey{}, new(statementMemory))
}

// scanBudget is what a scan takes memory from: a part of what its statement may have.
func (o *Options) scanBudget(ctx context.Context) *memory.Budget {
	s, ok := ctx.Value(memoryKey{}).(*statementMemory)
	if !ok {
		return o.Memory.Child(o.MemoryBytes)
	}
	s.once.Do(func() { s.budget = o.Memory.Child(o.MemoryBytes) })
	return s.budget.Child(0)
}
