package sqltable

import (
	"context"
	"sync"
	"sync/atomic"

	"millrace/internal/scan"
	"millrace/streaming/store"
)

// statement holds the snapshot that all tables of a statement are read from.
type statement struct {
	mu   sync.Mutex
	snap *shared
	// inserted counts the rows that the statement has handed to tables.
	inserted atomic.Int64
}

// shared is a snapshot that is closed when its last user lets go: the statement, and each source that reads it. A statement that failed may end
// before its sources are closed.
type shared struct {
	store.Snapshot
	mu    sync.Mutex
	users int
}

func (s *shared) retain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

func (s *shared) release() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		s.Close()
	}
}

type statementKey struct{}

// WithStatement begins a statement: all tables that are read under the context that it returns show the same moment. EndStatement must follow.
func WithStatement(ctx context.Context) context.Context {
	return context.WithValue(ctx, statementKey{}, new(statement))
}

// EndStatement lets go of what WithStatement began. It may be called twice.
func EndStatement(ctx context.Context) {
	st, ok := ctx.Value(statementKey{}).(*statement)
	if !ok {
		return
	}
	st.mu.Lock()
	snap := st.snap
	st.snap = nil
	st.mu.Unlock()
	if snap != nil {
		snap.release()
	}
}

// Inserted is the number of rows that the statement of ctx has handed to tables.
func Inserted(ctx context.Context) int64 {
	if st, ok := ctx.Value(statementKey{}).(*statement); ok {
		return st.inserted.Load()
	}
	return 0
}

// snapshot gives the statement's snapshot of s, for one user, who must release it.
func snapshot(ctx context.Context, s store.Store) (*shared, error) {
	st, ok := ctx.Value(statementKey{}).(*statement)
	if !ok {
		snap, err := s.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		return &shared{Snapshot: snap, users: 1}, nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.snap == nil {
		snap, err := s.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		st.snap = &shared{Snapshot: snap, users: 1}
	}
	st.snap.retain()
	return st.snap, nil
}

// source is a scan that holds on to its snapshot.
type source struct {
	scan.Source
	snap *shared
	once sync.Once
}

// Close implements scan.Source.
func (s *source) Close() {
	s.once.Do(func() {
		s.Source.Close()
		s.snap.release()
	})
}

// Aggregated says what the batches are, see store.Aggregated.
func (s *source) Aggregated() bool { return store.Aggregated(s.Source) }
