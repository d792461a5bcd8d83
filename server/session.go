package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/go-mysql-server/sql/plan"

	"millrace/internal/catalog"
	"millrace/internal/column"
	"millrace/planner"
	"millrace/server/dialect"
	"millrace/server/wire"
)

// results is where a session puts its answers: the protocol's, or those of a query inside the process.
type results interface {
	OK(affected, insertID uint64, info string) error
	Columns([]wire.Column) error
	Row(fill func([]byte) ([]byte, error)) error
	EndRows() error
	SetMore(bool)
	Multi() bool
	Binary() bool
	RowCount() int64
}

// batches is implemented by results that take whole batches.
type batches interface {
	Batch(b *column.Batch, columns ...int) error
}

// session runs the statements of one connection on the engine. It is used by one goroutine at a time.
type session struct {
	engine *engine
	id     uint32
	client sql.Client
	// background sessions belong to nobody who is connected: they are in no list of connections.
	background bool
	sql        *engineSession
	// idle is the engine's context of the session outside of statements: for its settings.
	idle *sql.Context
	// scanned is what the last statement that read a topic has read.
	scanned lastScan
	warned  warned
	// dropped are databases whose tables the statement under way has yet to drop.
	dropped []catalog.Database
	// settings counts what may have changed a setting; texts are statements whose answer is known until it does.
	settings uint64
	texts    map[string]*statement
	// lookups are statements whose plan is kept, by the form of their text; form is memory to make one in.
	lookups map[string]*statement
	form    []byte
	// own are statements of the dialect that PREPARE has named, by their names in lower case.
	own map[string]*statement
}

// open makes a session; its user must have been authenticated.
func (e *engine) open(id uint32, client sql.Client) *session {
	x := &session{engine: e, id: id, client: client}
	e.ProcessList.AddConnection(id, client.Address)
	return x.start()
}

// openBackground makes a session for the query of a streaming table or flow, with the rights of its owner.
func (e *engine) openBackground(client sql.Client) *session {
	x := &session{engine: e, id: e.localID.Add(1), client: client, background: true}
	return x.start()
}

func (x *session) start() *session {
	x.fresh(x.engine.defaultDatabase())
	x.engine.sessions.Store(x.id, x)
	return x
}

// listed puts the session as it is now into the list of connections.
func (x *session) listed() {
	if !x.background {
		x.engine.ProcessList.ConnectionReady(x.sql)
	}
}

// defaultDatabase is where a session starts whose client names no database: a table function needs one. None when main was dropped.
func (e *engine) defaultDatabase() string {
	if e.provider.HasDatabase(nil, MainDatabase) {
		return MainDatabase
	}
	return ""
}

// Open implements wire.Config.Open.
func (e *engine) openConn(c *wire.Conn) (wire.Session, error) {
	x := e.open(c.ID, sql.Client{User: c.Account.User, Address: c.Host, Capabilities: c.Capabilities})
	return wireSession{x}, nil
}

// fresh starts with default variables and nothing prepared.
func (x *session) fresh(db string) {
	base := fullVariables(func() *sql.BaseSession { return sql.NewBaseSessionWithClientServer("millrace", x.client, x.id) })
	x.sql = &engineSession{Session: memory.NewSession(base, stored{x.engine.provider}).SetGlobals(map[string]any{})}
	x.sql.SetCurrentDatabase(db)
	x.idle = x.context(context.Background(), "")
	x.warned = warned{}
	x.lookups, x.own = nil, nil
	x.settings++
	x.listed()
}

func (x *session) context(ctx context.Context, shown string) *sql.Context {
	return x.engine.context(planner.WithStatement(planner.WithBetweenBatches(ctx, x.boundWarnings)), x.sql, shown)
}

// release gives back locks; the session is ending or starts afresh.
func (x *session) release() {
	ctx := x.context(context.Background(), "")
	_, err := x.engine.LS.ReleaseAll(ctx)
	if err = errors.Join(err, x.engine.Analyzer.Catalog.UnlockTables(ctx, x.id)); err != nil {
		x.engine.log.Warn("releasing the locks of a session", "connection", x.id, "error", err)
	}
	sql.SessionEnd(x.sql)
}

// close ends the session.
func (x *session) close() {
	x.release()
	x.engine.sessions.CompareAndDelete(x.id, x)
	x.engine.CloseSession(x.id)
	x.engine.ProcessList.RemoveConnection(x.id)
}

// reset takes the session back to its start but keeps the database.
func (x *session) reset() {
	db := x.sql.GetCurrentDatabase()
	x.release()
	x.fresh(db)
}

// state is what follows each result: status flags, warnings, database.
func (x *session) state() (status, warnings uint16, db string) {
	if x.autocommit(x.idle) {
		status |= wire.StatusAutocommit
	}
	if x.sql.GetTransaction() != nil {
		status |= wire.StatusInTrans
	}
	if mode, err := x.sql.GetSessionVariable(x.idle, "sql_mode"); err == nil {
		if m, ok := mode.(string); ok && strings.Contains(m, "NO_BACKSLASH_ESCAPES") {
			status |= wire.StatusNoBackslashEscapes
		}
	}
	return status, x.sentWarningCount(), x.sql.GetCurrentDatabase()
}

func (x *session) autocommit(c *sql.Context) bool {
	on, err := plan.IsSessionAutocommit(c)
	return err == nil && on
}

// use makes a database the current one.
func (x *session) use(ctx context.Context, name string) error {
	c := x.context(ctx, "")
	db, err := x.engine.Analyzer.Catalog.Database(c, name)
	if err != nil {
		return fault(ctx, err)
	}
	if p, ok := db.(mysql_db.PrivilegedDatabase); ok {
		db = p.Unwrap()
	}
	x.settings++
	x.sql.SetCurrentDatabase(db.Name())
	if err := x.sql.UseDatabase(c, db); err != nil {
		return fault(ctx, err)
	}
	x.listed()
	return nil
}

// query runs the statements of a text one after the other; the first error ends it.
func (x *session) query(ctx context.Context, text string, r results) error {
	if st := x.recall(text); st != nil {
		r.SetMore(false)
		return x.run(ctx, st, bindings{}, r)
	}
	if st, keys := x.keptText(text); st != nil {
		r.SetMore(false)
		return x.run(ctx, st, bindings{keys: keys}, r)
	}
	for whole := true; ; whole = false {
		c := x.context(ctx, "")
		first, rest := dialect.Split(text, dialectMode(sql.LoadSqlMode(c)))
		more := !blank(rest)
		if more && !r.Multi() {
			return dialect.ErrorAt(text, len(text)-len(strings.TrimLeft(rest, " \t\r\n")), "one statement is expected, another follows")
		}
		r.SetMore(more)
		st, err := parse(c, first)
		if err != nil {
			err = fault(ctx, err)
			x.failed(redact(first), time.Now(), err)
			x.warnOfError(ctx, err)
			return err
		}
		if err := x.run(ctx, st, bindings{}, r); err != nil || !more {
			if err == nil && whole {
				x.remember(text, st)
				x.keepText(text, st)
			}
			return err
		}
		text = rest
	}
}

// blank reports whether nothing but white space, comments and delimiters is left of a text.
func blank(text string) bool { return skipBlank(text) == "" }

// skipBlank is the text from its first token on.
func skipBlank(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n;")
		switch {
		case strings.HasPrefix(text, "#"), strings.HasPrefix(text, "-- "), strings.HasPrefix(text, "--\n"), text == "--":
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*") && !strings.HasPrefix(text, "/*!") && !strings.HasPrefix(text, "/*+"):
			var closed bool
			if _, text, closed = strings.Cut(text, "*/"); !closed {
				return ""
			}
		default:
			return text
		}
	}
}
