package store

import (
	"errors"
	"fmt"
	"time"
)

// What the methods of a Store promise to return, for errors.Is.
var (
	ErrNoTable     = errors.New("store: no such table")
	ErrTableExists = errors.New("store: the table exists")
	// ErrFenced: somebody else writes the table now. A writer that gets it stops.
	ErrFenced = errors.New("store: another writer has taken over")
	// ErrSchemaChanged: the schema is not of the version that was named.
	ErrSchemaChanged = errors.New("store: the schema has changed")
	// ErrRetry: nothing has happened, and the same call may succeed.
	ErrRetry = errors.New("store: conflict, try again")
	// ErrUnknownOutcome: the step may have happened, or may yet. Acquire the table anew and read its Checkpoint before going on.
	ErrUnknownOutcome = errors.New("store: the outcome of the commit is not known")
	// ErrClosed: the Store, or the Snapshot, was closed.
	ErrClosed = errors.New("store: closed")
)

// HeldError says that another owner holds a table.
type HeldError struct {
	Table TableID
	Owner string
	Until time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("store: table %s is held by %s until %s", e.Table, e.Owner, e.Until.UTC().Format(time.RFC3339))
}
