package executor

import (
	"maps"
	"slices"
	"time"

	"millrace/streaming/store"
)

// State is what a table is doing.
type State string

// The states. Stalled and Failed have a reason, and Paused where nobody has paused the table.
const (
	// Starting: the initial load, or the first trigger after a restart, is not through.
	Starting State = "starting"
	Running  State = "running"
	// Stalled: something is in the way that may pass; the table tries again by itself.
	Stalled State = "stalled"
	// Paused by ALTER … PAUSE, or because the server was started so.
	Paused State = "paused"
	// Failed: somebody has to do something. RESUME and REFRESH try again.
	Failed State = "failed"
)

// Status is a table at one moment.
type Status struct {
	State  State
	Reason string
	// Err is the error behind Reason, nil for none.
	Err error
	// Since is when the state began.
	Since time.Time
	// Holder is the server that reads the table, "" for none. State and Reason are what it says.
	Holder string
	// Loaded says that the table has once reached the ends that its topics had when it was started.
	Loaded bool
	// Partitions, in order.
	Partitions []PartitionStatus
	// Batches, Rows, Records, Bytes and BadRecords count since the process started. LastCommit is when something was committed last, also by a process before.
	Batches, Rows, Records, Bytes, BadRecords int64
	LastCommit                                time.Time
	// Written is the number of rows of all batches since the table was made or emptied, whoever has made them.
	Written int64
	// Expectations count the rows that met each expectation, and those that did not, since the table was made or emptied.
	Expectations []Tally
	Mirrored     Mirrored
}

// PartitionStatus is how far a partition was read.
type PartitionStatus struct {
	store.Partition
	store.Position
	// Start and End bound its log as it was last seen, End never below Offset; -1 when it is not known.
	Start, End int64
	// LastRecord is the greatest timestamp of a record that was read since the process started, in milliseconds; 0 for none.
	LastRecord int64
}

// Lag is the number of offsets that can be read and are not, as far as that is known.
func (p *PartitionStatus) Lag() (lag int64, known bool) {
	if p.End < 0 {
		return 0, false
	}
	return max(p.End-max(p.Offset, p.Start), 0), true
}

// Lag is that of all partitions together, unknown when that of one is: less would look as if the table were fresh.
func (s *Status) Lag() (lag int64, known bool) {
	for i := range s.Partitions {
		n, known := s.Partitions[i].Lag()
		if !known {
			return 0, false
		}
		lag += n
	}
	return lag, len(s.Partitions) > 0 || s.Loaded
}

// setState changes the state and tells whoever waits.
func (t *Table) setState(s State, err error) {
	t.mu.Lock()
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	changed := t.state != s || t.reason != reason
	was := t.state
	if t.state != s {
		t.since = time.Now()
	}
	t.state, t.reason, t.stateErr = s, reason, err
	if s == Stalled || s == Paused || s == Failed { // what was seen is not true any more
		t.ends = nil
	}
	t.mu.Unlock()
	if !changed {
		return
	}
	t.notify()
	if t.standing {
		return // it is what this server sees; the table's log is for who reads it
	}
	switch {
	case s == Failed:
		t.log.Error(t.Noun+" failed", "table", t.name, "reason", reason)
	case s == Stalled:
		t.log.Warn(t.Noun+" stalled", "table", t.name, "reason", reason)
	case was != s:
		t.log.Info(t.Noun+" "+string(s), "table", t.name)
	}
	t.said = s
	t.event(string(s), reason)
}

// notify wakes those that wait for a change.
func (t *Table) notify() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.changed)
	t.changed = make(chan struct{})
}

// Status gives the table's present status.
func (t *Table) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Status{State: t.state, Reason: t.reason, Err: t.stateErr, Since: t.since, Holder: t.holder, Loaded: t.loaded, Batches: t.totals.batches, Rows: t.totals.rows, Written: t.written, Records: t.totals.records,
		Bytes: t.totals.bytes, BadRecords: t.totals.bad, LastCommit: t.totals.last, Expectations: slices.Clone(t.tallies), Mirrored: t.mirrored}
	for p, at := range t.positions {
		start, end := t.boundOf(p, at.Offset)
		s.Partitions = append(s.Partitions, PartitionStatus{Partition: p, Position: at, Start: start, End: end, LastRecord: t.newest[p]})
	}
	sortPartitions(s.Partitions)
	return s
}

// seen is what a waiter looks at.
type seen struct {
	state     State
	err       error // why, in a state that has a reason
	positions map[store.Partition]store.Position
	looked    int64
	// changed is closed when any of these changes.
	changed <-chan struct{}
}

func (t *Table) watch() seen {
	t.mu.Lock()
	defer t.mu.Unlock()
	return seen{t.state, t.stateErr, t.positions, t.looked, t.changed}
}

// setEnds notes the ends of logs.
func (t *Table) setEnds(ends map[store.Partition]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends = maps.Clone(ends)
}
