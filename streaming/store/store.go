// Package store is the contract between streaming tables and what keeps their rows.
//
// A streaming table is a sequence of bounded scans whose rows and end positions are committed together. A Store therefore
// does one thing that a file does not: Commit makes rows, the positions up to which they were read, and a record of progress visible and
// durable in one atomic step, and only if the table still stands where the committer believes it does. From that follow the promises:
// after any crash the rows of a table are exactly those of the records below its positions.
//
//	executor ── AcquireWriter ──▶ Lease{Epoch}
//	         ── Checkpoint    ──▶ positions, progress           where to read on from
//	         ── Commit        ──▶ rows + From→To, or nothing    fenced by epoch and by compare-and-set
//
//	sqltable ── Snapshot ──▶ one consistent view of all tables
//	              └─ Scan ──▶ scan.Source: splits, lanes, column batches into the operators of internal/ops
//
// Batches, not rows, cross the interface. What a query means is not the store's to say: predicates that it is given only leave out what cannot
// qualify, and the operators above filter exactly. A store may add up groups of rows (ScanSpec.Aggregation) where that is provably what the operators
// would do, and they merge its results.
//
// Tables without a writer (CREATE TABLE, INSERT, TRUNCATE) live in the same store: their commits carry no lease and no positions.
//
// storetest.Run is the conformance suite that every Store must pass.
package store

import (
	"context"
	"time"

	"millrace/internal/scan"
)

// Store keeps tables. All methods may be called at once from any goroutine. A method that returns an error has changed nothing,
// with the one exception of ErrUnknownOutcome. Errors that are not sentinels of this package are sqlerr errors or causes for the log.
type Store interface {
	// CreateTable creates tables in one atomic step: all or none. ErrTableExists when an ID is taken.
	CreateTable(ctx context.Context, specs ...TableSpec) error
	// AlterTable applies changes in order, in one atomic step, and returns the new schema, whose Version is from+1. It never touches rows: what was
	// written before a column was added reads as that column's Default. ErrSchemaChanged when the version is not from. Commits that were
	// built for the old version then fail with ErrSchemaChanged; snapshots taken before keep the old schema.
	AlterTable(ctx context.Context, table TableID, from int64, changes ...SchemaChange) (*Schema, error)
	// DropTable drops the table and those that it owns: rows, positions, progress, events and leases in one atomic step. Snapshots
	// taken before still read them.
	DropTable(ctx context.Context, table TableID) error
	// TruncateTable empties the table and those that it owns, in one atomic step: rows, positions and progress, not events. It ends the
	// lease of the table: commits under it fail with ErrFenced.
	TruncateTable(ctx context.Context, table TableID) error
	// Schema gives the table's present schema.
	Schema(ctx context.Context, table TableID) (*Schema, error)
	// Tables lists all tables, ordered by ID.
	Tables(ctx context.Context) ([]TableInfo, error)

	// AcquireWriter makes owner the one writer of the table, and of those that it owns, for ttl from now, under an epoch greater than
	// all before, also those of a former table of that ID. It succeeds when nobody holds the table, when owner itself does (the former lease is then fenced) and when the holder's time is up;
	// else it fails with a *HeldError.
	AcquireWriter(ctx context.Context, table TableID, owner string, ttl time.Duration) (Lease, error)
	// RenewWriter extends a lease to ttl from now; ErrFenced when it has been lost.
	RenewWriter(ctx context.Context, lease Lease, ttl time.Duration) error
	// ReleaseWriter ends a lease, so that others need not wait for its end. Releasing a lease that was lost does nothing.
	ReleaseWriter(ctx context.Context, lease Lease) error
	// Checkpoint gives the positions, progress and number of the table's last commit.
	Checkpoint(ctx context.Context, table TableID) (*Checkpoint, error)

	// Commit applies c in one atomic step and returns its number, which is 0 without a lease. When it returns, the step is visible to new snapshots and, unless
	// the table's Durability is Async, durable.
	//
	// ErrFenced: the lease is no longer the table's, or a position is not at its From; stop, somebody else writes the table.
	// ErrSchemaChanged: rows were built for another version; read the schema and build them anew.
	// ErrRetry: a conflict that is nobody's fault; the same commit may be tried again.
	// ErrUnknownOutcome: the step may have happened, or may yet. Acquire the table anew: no commit under the former lease happens after that. Then read
	// the Checkpoint: it has happened when Epoch is the former lease's and Number is the one after that of the last successful commit.
	Commit(ctx context.Context, c *Commit) (number int64, err error)
	// AppendEvent adds an event to the log of the table, as Commit.Event does.
	AppendEvent(ctx context.Context, table TableID, data []byte) error
	// Events lists events with a number greater than after, oldest first, at most limit. Only the newest MaxEvents of a table are kept.
	Events(ctx context.Context, table TableID, after int64, limit int) ([]Event, error)

	// Snapshot is a consistent view of all tables as of now. It does not wait for writers, nor they for it. The caller must Close it: until
	// then the disk space of what it can see is not given back.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Expire removes the rows of the table whose value in the named column, a Timestamp, Date or integer, is below before; NULLs stay. It returns how
	// many it removed. It may work in several steps, each atomic; rows that expire later than others may vanish before them.
	Expire(ctx context.Context, table TableID, columnName string, before int64) (removed int64, err error)

	// Close ends background work and releases the store. It waits for calls that are under way. Snapshots must be closed before.
	Close() error
}

// MaxEvents is the number of events kept for a table.
const MaxEvents = 1000

// Snapshot is a consistent view of all tables. Its methods may be called at once from any goroutine, but not during or after Close.
type Snapshot interface {
	// Schema gives the schema of a table as of the snapshot; ErrNoTable when there was none.
	Schema(table TableID) (*Schema, error)
	// Checkpoint gives the checkpoint of a table as of the snapshot: the positions that its rows were read up to.
	Checkpoint(table TableID) (*Checkpoint, error)
	// Stats sums up what the snapshot holds of a table.
	Stats(table TableID) (*TableStats, error)
	// Scan prepares a read. What will be read is fixed when it returns; nothing has been read yet. The Source must be closed before the Snapshot is.
	//
	// The Source keeps the contract of scan.Source: Run once, one Sink per lane, batches valid until Push returns and not to be written
	// to, Stop ends everything. Its Splits are runs of stored rows: Topic is the table, Partition counts from 0, Range numbers rows of the
	// table in the order in which they are stored. Lanes take splits in order, so with one lane rows come in that order: the order of commits, but for
	// sorted tables, whose compacted parts are sorted.
	Scan(ctx context.Context, spec ScanSpec) (scan.Source, error)
	// Close releases the snapshot. It is safe to call twice.
	Close()
}

// ScanSpec says what a query wants of a table.
type ScanSpec struct {
	Table TableID
	// Columns are the columns to deliver, as indexes into Schema.Columns, in the order of the batch's columns. None is allowed: the
	// batches then only count rows.
	Columns []int
	// Where is a conjunction of conditions that every wanted row meets. Rows that do not may be left out, and may still be delivered: the
	// caller filters exactly.
	Where []Condition
	// Limit is the number of rows after which the caller will stop, -1 for none. It is a hint for sizing reads: the Sink ends the
	// scan with scan.Stop.
	Limit int64
	// Lanes bounds the number of lanes; 0 lets the store choose.
	Lanes int
	// Top, when not nil, says that the caller keeps only the Rows rows with the greatest (with Ascending the least) values of a column; NULL counts as
	// less than all. The store may leave out rows that cannot be among them, also when other keys decide between equal values. It then asks sinks that
	// are a scan.Keeper what they have, each while its lane does not push; a Timestamp is in milliseconds there. Rows come in no order then.
	Top *Top
	// Aggregation, when not nil, says that the caller wants groups, and that Where is all that it filters by. A store that can compute partial results of
	// them, with Where exactly as it is written, may deliver those in place of rows; its Source then says so, see Aggregated. Else it delivers Columns, as ever.
	Aggregation *Aggregation
}

// Top names the rows that an ORDER BY with LIMIT keeps, by its first key: a column of an integer kind but Uint64, or Float64, of which sinks tell values by
// scan.FloatOrder.
type Top struct {
	// Column is an index into Schema.Columns.
	Column    int
	Ascending bool
	Rows      int64
	// Ties says that of rows with equal values any will do, as nothing else orders them: what equals the last row that is kept may be left out.
	Ties bool
}

// TableStats sums up a table.
type TableStats struct {
	Rows int64
	// Bytes is what the rows take in the store, compressed.
	Bytes int64
	// Segments is the number of pieces that the rows are stored in.
	Segments int64
	// Columns are in the order of Schema.Columns.
	Columns []ColumnStats
}

// ColumnStats sums up a column.
type ColumnStats struct {
	Nulls int64
	// Bytes is what the column takes in the store.
	Bytes int64
	// Min and Max bound the values that are not NULL and not NaN, when Bounded; they need not occur. Unbounded are JSON columns, and columns without
	// such values.
	Min, Max Value
	Bounded  bool
	// NaN says that there may be NaNs, which lie in no bounds.
	NaN bool
}
