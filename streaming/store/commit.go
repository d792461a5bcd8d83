package store

import (
	"time"

	"millrace/internal/column"
)

// Commit is one atomic step of a table and those that it owns.
type Commit struct {
	// Table is the table whose checkpoint moves on. Of a table that nobody has acquired since it was created, Lease may be zero: rows only, without
	// fencing, also from several committers at once.
	Table TableID
	Lease Lease
	// Writes are rows of Table and of tables that it owns, at most one for each. A write may have no rows.
	Writes []Write
	// Moves advance positions, at most one for each partition; each must be where it is said to be, or nothing happens and Commit gives ErrFenced.
	Moves []Move
	// Progress, when not nil, replaces the record of progress that Checkpoint gives: what the writer wants to find after a restart.
	Progress []byte
	// Event, when not nil, is added to the log of the table.
	Event []byte
}

// Write is rows to add to a table. The batch has all columns of the schema, in order, with their types; its live rows are added, in order. It belongs
// to the caller, who must not change it until Commit has returned.
type Write struct {
	Table         TableID
	SchemaVersion int64
	Rows          *column.Batch
}

// Partition is a partition that a table is read from. Source tells apart the reads of a query that has several; it is empty where there is one.
type Partition struct {
	Source    string
	Topic     string
	Partition int32
}

// Position is where a partition is read on from.
type Position struct {
	// TopicID is the topic's id at the broker, all zero where the broker has none: a topic that was re-created has another.
	TopicID [16]byte
	// Offset is the next one to read.
	Offset int64
	// LeaderEpoch of the last record before Offset, -1 when it is not known: a log that was cut and continued has another.
	LeaderEpoch int32
}

// Move takes a partition from one position to another, compare-and-set.
type Move struct {
	Partition
	// From is the position before, nil for a partition that has none yet.
	From *Position
	// To is the position after, nil to forget the partition.
	To *Position
}

// Checkpoint says up to where a table has been read.
type Checkpoint struct {
	// Epoch and Number are those of the last commit that was made under a lease; both 0 when there was none since the table was created or truncated.
	Epoch, Number int64
	Positions     map[Partition]Position
	Progress      []byte
}

// Lease is the right to write a table.
type Lease struct {
	Table TableID
	Owner string
	// Epoch is greater than that of every former lease of the table. 0 is no lease.
	Epoch int64
	// Until is when others may take it, by the store's clock.
	Until time.Time
}

// Event is an entry of a table's log.
type Event struct {
	// Number counts the events of a table, from 1.
	Number int64
	// Time is when the store added it.
	Time time.Time
	Data []byte
}
