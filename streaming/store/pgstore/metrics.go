package pgstore

import "sync/atomic"

// counters count what a store has done since it was opened.
type counters struct {
	commits, rows, bytes, conflicts, lost, unknown, pages, read atomic.Int64
}

// Metrics are figures for operators. Those that count do so from Open on.
type Metrics struct {
	// Commits were made with so many rows, whose COPY took so many bytes.
	Commits, CommittedRows, CommittedBytes int64
	// Conflicts are transactions that the database rolled back and that were tried again, Lost connections that were found dead, Unknown commits of unknown outcome.
	Conflicts, Lost, Unknown int64
	// Pages of rows were read, with so many rows.
	Pages, RowsRead int64
	// Connections are open, of which Busy are at work, and at most MaxConnections may be. Waits counts who had to wait for one.
	Connections, Busy, MaxConnections, Waits int64
	Snapshots                                int64
}

// Metrics may be called at any time.
func (s *Store) Metrics() Metrics {
	p := s.pool.Stat()
	return Metrics{
		Commits: s.counters.commits.Load(), CommittedRows: s.counters.rows.Load(), CommittedBytes: s.counters.bytes.Load(),
		Conflicts: s.counters.conflicts.Load(), Lost: s.counters.lost.Load(), Unknown: s.counters.unknown.Load(),
		Pages: s.counters.pages.Load(), RowsRead: s.counters.read.Load(),
		Connections: int64(p.TotalConns()), Busy: int64(p.AcquiredConns()), MaxConnections: int64(p.MaxConns()), Waits: p.EmptyAcquireCount(),
		Snapshots: int64(s.snapshots.open()),
	}
}
