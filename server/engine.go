package server

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/sirupsen/logrus"

	"millrace/functions/readkafka"
	"millrace/internal/catalog"
	"millrace/internal/export"
	"millrace/planner"
	"millrace/streaming"
	"millrace/streaming/sqltable"
	"millrace/streaming/store"
)

// engine is the SQL engine with what is ours: the parser, the databases, the functions, the planner's rule.
type engine struct {
	*sqle.Engine
	provider *provider
	catalog  *catalog.Catalog
	users    *mysql_db.MySQLDb
	stored   *storedUsers
	log      *slog.Logger
	metrics  *metrics
	// connections are set once the server is made.
	connections *connections
	// streaming are the streaming tables, set once the server is made.
	streaming *streaming.Manager
	// loads are what statements wait for, by the engine's process id: *streaming.Load.
	loads sync.Map
	// exports is where EXPORT and BACKUP write, set once the server is made.
	exports export.Dir
	// onDisk says that the tables are kept in a data folder.
	onDisk bool
	// version is that of the program.
	version string
	// follower is set when other servers share the catalog.
	follower *follower
	started  time.Time

	// killConnection ends a connection of the listener; set before the listener starts.
	killConnection func(id uint32) bool

	scans scanLog
	// sessions by id; the values are *session.
	sessions  sync.Map
	pid       atomic.Uint64
	questions atomic.Int64
	localID   atomic.Uint32
}

// functionSet is what other packages add to the engine.
type functionSet struct {
	tables    []sql.TableFunction
	functions []sql.Function
}

// quietEngine turns the engine's own log off: it tells of every connection, and prints statements as they are.
var quietEngine = sync.OnceFunc(func() {
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.PanicLevel)
})

// engines is locked while an engine is made: making one sets variables of the process.
var engines sync.Mutex

// newEngine makes an engine. functions are asked for what to add once there is an engine that they can report to.
func newEngine(c *catalog.Catalog, rows store.Store, functions func(*engine) functionSet, scans planner.Options, log *slog.Logger, m *metrics) (*engine, error) {
	engines.Lock()
	defer engines.Unlock()
	quietEngine()
	prepareVariables()
	p, err := newProvider(c, rows)
	if err != nil {
		return nil, err
	}
	e := &engine{provider: p, catalog: c, log: log, metrics: m, started: time.Now(), killConnection: func(uint32) bool { return false }}
	p.engine = e
	add := functions(e)
	p.register(add.tables, add.functions)
	p.register(nil, planner.Functions())
	p.register(nil, fileFunctions())
	a := analyzer.NewBuilder(p).AddOverrides(sql.EngineOverrides{Builder: sql.BuilderOverrides{Parser: parser{}}}).Build()
	planner.InstallWith(a, scans)
	a.Catalog.AuthHandler = authorization{a.Catalog.AuthHandler}
	e.Engine = sqle.New(a, nil)
	installCheapContexts()
	a.Catalog.InfoSchema = newInfoSchema(e, a.Catalog.InfoSchema)
	e.users = a.Catalog.MySQLDb
	p.register(nil, []sql.Function{currentUser(e.users)})
	e.localID.Store(1 << 31) // out of the way of the listener's connections
	return e, e.loadUsers()
}

// loadUsers fills the grant tables from the catalog; from now on changes go back there. At the first start there is root, without a password
// and only from the machine itself.
func (e *engine) loadUsers() error {
	e.stored = &storedUsers{catalog: e.catalog, users: e.users}
	e.users.SetPersister(e.stored)
	e.users.SetEnabled(true)
	ed := e.users.Editor()
	e.users.AddSuperUser(ed, "root", "localhost", "") // until there is something in the catalog
	// Statements of the process itself (--init-file, millrace query) run as a user that nobody can log in as and that is not stored.
	e.users.AddEphemeralSuperUser(ed, localUser, "localhost", rand.Text())
	if u, ok := ed.GetUser(mysql_db.UserPrimaryKey{User: localUser, Host: "localhost"}); ok {
		u.Locked = true
		ed.PutUser(u)
	}
	ed.Close()
	return e.stored.follow()
}

// localUser runs the statements of the process itself.
const localUser = "millrace.local"

// hasPasswords reports whether some user can log in from elsewhere with a password.
func (e *engine) hasPasswords() bool {
	found := false
	rd := e.users.Reader()
	defer rd.Close()
	rd.VisitUsers(func(u *mysql_db.User) {
		if u.AuthString != "" && !u.Locked && u.Host != "localhost" && u.Host != "127.0.0.1" && u.Host != "::1" {
			found = true
		}
	})
	return found
}

// openToAll lets root in from everywhere without a password, for --insecure. It is not stored.
func (e *engine) openToAll() {
	ed := e.users.Editor()
	defer ed.Close()
	e.users.AddEphemeralSuperUser(ed, "root", "%", "")
}

// context is the engine's context for one statement of a session.
func (e *engine) context(ctx context.Context, s sql.Session, shown string) *sql.Context {
	ctx = sqltable.WithStatement(readkafka.WithStatement(context.WithValue(context.WithValue(ctx, engineOf{}, e), readColumnsOf{}, new(readColumns))))
	return sql.NewContext(ctx, sql.WithSession(s), sql.WithPid(e.pid.Add(1)), sql.WithQuery(shown), sql.WithMemoryManager(e.MemoryManager),
		sql.WithProcessList(e.ProcessList))
}
