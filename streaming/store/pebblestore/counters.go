package pebblestore

import "sync/atomic"

// counters count what a store has done since it was opened.
type counters struct {
	commits, committedBytes       atomic.Int64
	merges, mergedSegments        atomic.Int64
	mergedRows, abandoned, failed atomic.Int64
}

// Metrics are figures for operators. Those that count do so from Open on.
type Metrics struct {
	Commits, CommittedBytes int64
	// Merges have each made one segment of several, MergedSegments in all. Abandoned ones found their sources gone.
	Merges, MergedSegments, MergedRows, MergesAbandoned, MergesFailed int64
	// CacheBytes is what decoded columns take now.
	CacheBytes, CacheHits, CacheMisses int64
	// DiskBytes is what the store takes on disk, FlushedBytes and CompactedBytes what Pebble has written besides its log, MemTableBytes what it holds in memory
	// before.
	DiskBytes, FlushedBytes, CompactedBytes, MemTableBytes int64
	Snapshots                                              int64
}

// Metrics may be called at any time before Close.
func (s *Store) Metrics() Metrics {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return Metrics{}
	}
	p := s.db.Metrics()
	m := Metrics{
		Commits: s.counters.commits.Load(), CommittedBytes: s.counters.committedBytes.Load(),
		Merges: s.counters.merges.Load(), MergedSegments: s.counters.mergedSegments.Load(), MergedRows: s.counters.mergedRows.Load(),
		MergesAbandoned: s.counters.abandoned.Load(), MergesFailed: s.counters.failed.Load(),
		DiskBytes: int64(p.DiskSpaceUsage()), MemTableBytes: int64(p.MemTable.Size), Snapshots: int64(p.Snapshots.Count),
	}
	for i := range p.Levels {
		m.FlushedBytes += int64(p.Levels[i].TableBytesFlushed)
		m.CompactedBytes += int64(p.Levels[i].TableBytesCompacted)
	}
	m.CacheBytes, m.CacheHits, m.CacheMisses = s.cache.stats()
	return m
}
