// Package streaming is the life of streaming tables: from the statement that makes one to the one that drops it, over restarts.
//
//	CREATE STREAMING TABLE ──▶ Manager.Create   type the query (Planner), reach Kafka, fix the start; only then
//	                               │            store.CreateTable → positions → catalog → executor
//	                               ▼
//	                          executor.Table    reads and commits until Drop or Close
//
// A flow is a streaming table whose rows go to an executor.Output, a topic, in the place of the store; its table there stays empty (docs/adr/0013-sinks.md).
//
// An error before the catalog is written leaves nothing behind. What a crash leaves in the store without an entry in the catalog is removed
// at the next start. The catalog is the truth about which tables there are, the store about what they hold and how far they have read.
//
// Statements on one table run one after the other; reading tables never waits for them.
package streaming

import (
	"context"

	"millrace/internal/catalog"
	"millrace/internal/column"
	"millrace/streaming/executor"
)

// Planner turns the query of a definition into something that runs. The server supplies it: it knows SQL, users and functions.
type Planner interface {
	// Plan reads and types the query as its owner, without reaching Kafka. Its errors are the user's: a syntax, a name, a privilege, a construct that streaming
	// tables do not have.
	//
	// The expressions of the definition may name the columns of the table by its name, table.
	Plan(ctx context.Context, d catalog.Streaming, table string) (*Planned, error)
}

// Planned is a query that can run.
type Planned struct {
	executor.Query
	// Schemas are the versions of subjects in a schema registry that Columns come from: those of the definition, or the latest.
	Schemas map[string]int
	// Samples are the columns that records had where nothing else says which there are: those of the definition, or of the records as they are now.
	Samples map[string]string
	// Columns are those of the result of the query as it is written, without what the definition adds to it.
	Columns []Column
	// Added are the columns that the definition computes in addition.
	Added []Column
}

// Column is a column of a query or of a table.
type Column struct {
	column.Field
	// SQL is the type as CREATE TABLE has it, empty for one that is listed without a type and has that of the query.
	SQL     string
	NotNull bool
	Comment string
}

// Name identifies a table.
type Name struct{ Database, Table string }

func (n Name) String() string { return n.Database + "." + n.Table }
