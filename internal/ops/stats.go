package ops

import (
	"sync/atomic"
	"time"
)

// OperatorStats is what one operator of a run has done so far, over all lanes.
type OperatorStats struct {
	Name            string
	RowsIn, RowsOut int64
	// Time is the sum over the lanes, so it may exceed the time of the query.
	Time time.Duration
}

// meter is written by the lanes once a batch.
type meter struct{ in, out, nanos atomic.Int64 }

func (m *meter) count(in, out int, since time.Time) time.Time {
	now := time.Now()
	m.in.Add(int64(in))
	m.out.Add(int64(out))
	m.nanos.Add(int64(now.Sub(since)))
	return now
}

func (m *meter) stats(name string) OperatorStats {
	return OperatorStats{name, m.in.Load(), m.out.Load(), time.Duration(m.nanos.Load())}
}
