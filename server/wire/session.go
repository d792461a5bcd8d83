package wire

import (
	"context"

	"millrace/internal/sqlerr"
)

// Why the context of a statement ends, as context.Cause tells. Each is the error the client is sent when the statement fails because
// of it, so that a Session need not translate context.Canceled.
var (
	ErrClientGone error = sqlerr.New(sqlerr.Interrupted, "the client disconnected")
	ErrKilled     error = sqlerr.New(sqlerr.Interrupted, "the connection was killed")
	ErrShutdown   error = sqlerr.New(sqlerr.ServerGone, "the server is shutting down")
)

// Session executes the statements of one connection, from login to its end or to the next COM_CHANGE_USER.
//
// The methods are called one at a time, all by the goroutine of the connection; Results calls State while Query or Execute run, so
// they must not hold a lock that State takes. Close is the last call and comes exactly once.
//
// A context ends when the server shuts down, when the connection is killed, when a write to the client fails, and, once the statement
// has sent column definitions, when the client disconnects: a statement that returns rows is of no use then, one that changes
// something should finish. KILL QUERY is the session's own affair: it cancels a context that it derives from this one.
//
// An error may be any; one that is or wraps a *sqlerr.Error reaches the client with that kind's number, SQLSTATE and text, others
// as 1105 with their text. After an error the connection remains usable.
type Session interface {
	// Query runs the text of COM_QUERY and answers through r; several statements only if r.Multi allows them. The first error
	// ends the chain.
	Query(ctx context.Context, text string, r *Results) error
	// Prepare sets Params, Columns and Plan of a new statement.
	Prepare(ctx context.Context, text string) (*Stmt, error)
	// Execute runs a prepared statement with st.Params parameters and answers through r, which encodes in binary.
	Execute(ctx context.Context, st *Stmt, args []Param, r *Results) error
	// CloseStmt frees what Prepare allocated. Statements that are open when the session ends or is reset are closed first.
	CloseStmt(st *Stmt)
	// UseDB makes db the current database.
	UseDB(ctx context.Context, db string) error
	// Reset takes the session back to its state after login, but keeps the current database.
	Reset(ctx context.Context) error
	// FieldList describes the columns of a table whose names match wildcard, a LIKE pattern; empty means all.
	FieldList(ctx context.Context, table, wildcard string) ([]Column, error)
	// State reports the status flags, the number of warnings of the last statement, and the current database.
	State() (status, warnings uint16, db string)
	// Statistics is the one line of COM_STATISTICS.
	Statistics() string
	// Kill ends the connection with the id, as KILL does; it checks that the user may.
	Kill(ctx context.Context, id uint32) error
	// Close frees everything.
	Close()
}

// Stmt is a prepared statement. The session fills in Params, Columns and Plan.
type Stmt struct {
	// ID is the number the client uses; it is set after Prepare returns.
	ID uint32
	// Params is the number of placeholders.
	Params int
	// Columns of the result, empty if there is none or it is not known before Execute.
	Columns []Column
	// Plan belongs to the session.
	Plan any

	// types are those of the last execution: clients send them only when they change.
	types []byte
	long  longData
}

// Param is the value of a placeholder or query attribute.
type Param struct {
	// Type is the code the client sent, which tells text from bytes and decimals.
	Type byte
	// Unsigned is the client's word; an unsigned V is a uint64 anyway.
	Unsigned bool
	// V is nil, int64, uint64, float64, string, or []byte for the BLOB and BIT types. Dates and times are strings in MySQL's
	// format, with six fractional digits if the client sent microseconds. The receiver owns the memory.
	V any
}

// Attribute is a named value that a client attached to a statement.
type Attribute struct {
	Name string
	Param
}
