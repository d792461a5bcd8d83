package streaming

import (
	"context"
	"errors"

	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// bad is how many bad records a table keeps. The store is asked, for another server may read the table. A count that cannot be had stops no statement.
func (m *Manager) bad(ctx context.Context, id store.TableID) int64 {
	snap, err := m.Store.Snapshot(ctx)
	if err == nil {
		defer snap.Close()
		var stats *store.TableStats
		if stats, err = snap.Stats(errorsID(string(id))); err == nil {
			return stats.Rows
		}
	}
	if !errors.Is(err, store.ErrNoTable) {
		m.Log.Warn("counting the bad records of a table", "table", string(id), "error", err)
	}
	return 0
}

// warnOfBad says that a load has met bad records: CREATE has succeeded, and rows that its user expects are not there.
func (m *Manager) warnOfBad(ctx context.Context, a awaited, warn Warn) {
	n := m.bad(ctx, a.table.ID) - a.bad
	switch {
	case n == 1:
		warn("1 record was bad: the table '%s' keeps it, and why", a.table.Name+executor.ErrorsSuffix)
	case n > 1:
		warn("%d records were bad: the table '%s' keeps them, and why", n, a.table.Name+executor.ErrorsSuffix)
	}
}
