package server

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"golang.org/x/sync/errgroup"

	"millrace/functions/readkafka"
	"millrace/internal/catalog"
	"millrace/internal/export"
	"millrace/internal/kafka"
	"millrace/internal/spill"
	"millrace/planner"
	"millrace/server/http"
	"millrace/server/wire"
	"millrace/streaming"
	"millrace/streaming/store"
)

// MainDatabase exists at the first start.
const MainDatabase = "main"

// Server is one engine with its listeners. New opens it, Run serves until its context ends, Close gives everything back.
type Server struct {
	cfg Config
	// kept has catalog and rows, which are what it says.
	kept    *kept
	catalog *catalog.Catalog
	pool    *kafka.Pool
	rows    store.Store
	tables  *streaming.Manager
	// follower is nil when nobody shares the catalog.
	follower *follower
	// registries are the clients of schema registries.
	registries *readkafka.Registries
	temp       *spill.Space
	engine     *engine
	metrics    *metrics
	tls        *certificates
	key        *rsa.PrivateKey
	// ready is set while the listeners take work.
	ready atomic.Bool
}

// New is Open without a context.
func New(cfg Config) (*Server, error) { return Open(context.Background(), cfg) }

// Open opens the catalog and makes the engine. Nothing listens yet; statements can be run with Query. ctx ends the waiting for a store that does not answer.
func Open(ctx context.Context, cfg Config) (_ *Server, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	hosts, err := parseHostRules(cfg.AllowHosts)
	if err != nil {
		return nil, err
	}
	collectLate(cfg.memory)
	s := &Server{cfg: cfg, metrics: newMetrics(cfg.Version)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.tls, err = openCertificates(cfg.TLSCert, cfg.TLSKey, cfg.TLSCA); err != nil {
		return nil, err
	}
	if s.kept, err = cfg.kept(ctx, cfg); err != nil {
		return nil, err
	}
	s.catalog, s.rows = s.kept.catalog, s.kept.rows
	if s.temp, err = openTemp(cfg); err != nil {
		return nil, err
	}
	s.pool = kafka.NewPool(kafka.PoolOptions{})
	s.registries = readkafka.NewRegistries(hosts.allow, cfg.FilesDir)
	scans := scanBudgets(cfg.memory, s.temp)
	s.metrics.memoryMetrics(scans.Memory, s.temp)
	add := func(e *engine) functionSet { return functionsOf(e, cfg, hosts, s.pool, s.registries, &scans) }
	if s.engine, err = newEngine(s.catalog, s.rows, add, scans, cfg.Log, s.metrics); err != nil {
		return nil, err
	}
	s.engine.MemoryManager = newMemoryManager(cfg.memory)
	s.engine.connections = &connections{
		catalog: s.catalog, key: cfg.key, users: s.engine.users, filesDir: cfg.FilesDir, secrets: &secrets{users: s.engine.users, dir: cfg.SecretsDir},
	}
	s.engine.exports, s.engine.version, s.engine.onDisk = export.Dir{Path: cfg.ExportDir}, cfg.Version, cfg.DataDir != ""
	if err := s.firstStart(); err != nil {
		return nil, err
	}
	s.tables = streaming.New(streaming.Options{
		Catalog: s.catalog, Store: s.rows, Pool: s.pool, Planner: streamPlanner{s.engine}, Log: cfg.Log, MaxBatchBytes: max(cfg.memory/batchShare, 1<<20),
		Owner: s.kept.owner, Shared: s.kept.shared, Clock: cfg.clock, StartPaused: cfg.StartPaused,
	})
	s.engine.streaming = s.tables
	s.engine.provider.insertBytes = int(max(cfg.memory/insertShare, 1<<20))
	s.metrics.registry.MustRegister(streamingMetrics{s.tables, s.eachStreaming})
	if err := s.tables.Start(ctx); err != nil {
		return nil, err
	}
	if s.kept.shared {
		s.follower = s.follow()
		s.engine.follower = s.follower
	}
	return s, nil
}

// firstStart makes the main database once. A user who drops it has dropped it.
func (s *Server) firstStart() error {
	if len(s.catalog.State().Databases) > 0 {
		return nil
	}
	err := s.engine.provider.CreateDatabase(nil, MainDatabase)
	if sql.ErrDatabaseExists.Is(err) { // another server was faster
		return s.engine.provider.follow()
	}
	return err
}

// Close gives back what New opened. Run must have returned. Calls after the first do nothing.
func (s *Server) Close() error {
	var err error
	if s.follower != nil {
		s.follower.close()
		s.follower = nil
	}
	if s.tables != nil {
		s.tables.Close()
		s.tables = nil
	}
	if s.engine != nil {
		err = s.engine.Engine.Close()
		s.engine = nil
	}
	if s.pool != nil {
		s.pool.Close()
		s.pool = nil
	}
	if s.registries != nil {
		s.registries.Close()
		s.registries = nil
	}
	if s.temp != nil {
		err = errors.Join(err, s.temp.Close())
		s.temp = nil
	}
	if s.kept != nil {
		err = errors.Join(err, s.kept.Close())
		s.kept, s.catalog, s.rows = nil, nil, nil
	}
	return err
}

// ReloadTLS reads the certificate files again. When they cannot be used, the old ones stay in force.
func (s *Server) ReloadTLS() error {
	if s.tls == nil {
		return nil
	}
	return s.tls.reload()
}

// Run runs the init files, listens, and serves until ctx ends; then it drains: no new statements, running ones get DrainTimeout to end. It
// returns nil after a drain, also when statements had to be cut, and an error when the server could not start or a listener failed.
func (s *Server) Run(ctx context.Context) (err error) {
	if err := sql.SystemVariables.AssignValues(map[string]any{"max_connections": int64(s.cfg.MaxConnections)}); err != nil {
		return err
	}
	if s.cfg.InitFile != "" {
		if err := s.runInit(ctx, s.cfg.InitFile); err != nil {
			return err
		}
	}
	if err := s.checkExposure(); err != nil {
		return err
	}
	if s.key, err = loginKey(s.cfg.DataDir); err != nil {
		return err
	}
	l, err := s.listen()
	if err != nil {
		return err
	}
	return l.serve(ctx)
}

// checkExposure refuses to open a server without passwords to others.
func (s *Server) checkExposure() error {
	switch {
	case s.cfg.Insecure:
		s.engine.openToAll()
	case loopback(s.cfg.Listen):
	case !s.engine.hasPasswords():
		return fmt.Errorf("'--listen' is %s, which others can reach, and no user has a password: create users with --init-file "+
			"(CREATE USER IF NOT EXISTS me IDENTIFIED BY '…'; GRANT ALL ON *.* TO me), or say --insecure", s.cfg.Listen)
	}
	return nil
}

// listeners are the open listeners of a running server.
type listeners struct {
	*Server
	mysql net.Listener
	http  net.Listener // nil when off
	wire  *wire.Server
	web   *http.Server
}

func (s *Server) listen() (_ *listeners, err error) {
	l := &listeners{Server: s}
	if l.mysql, err = net.Listen("tcp", s.cfg.Listen); err != nil {
		return nil, fmt.Errorf("'--listen': %w", err)
	}
	if err := listensAt(l.mysql.Addr()); err != nil {
		return nil, errors.Join(err, l.mysql.Close())
	}
	if s.cfg.HTTP != "" {
		if l.http, err = net.Listen("tcp", s.cfg.HTTP); err != nil {
			return nil, errors.Join(fmt.Errorf("'--http': %w", err), l.mysql.Close())
		}
	}
	l.wire = wire.NewServer(wire.Config{
		Version: ServerVersion, GetTLS: s.tls.get, RequireTLS: s.cfg.RequireTLS, RSA: s.key, Accounts: accounts{s.engine.users},
		Open: s.engine.openConn, MaxConnections: maxConnections, Log: s.cfg.Log, Redact: func(text string) string { return redact(text).text },
	})
	s.engine.killConnection = l.wire.Kill
	s.metrics.gauge("millrace_connections", "Clients that are logged in.", func() float64 { return float64(len(l.wire.Conns())) })
	l.web = http.New(http.Config{Ready: s.isReady, Metrics: s.metrics.registry, Log: s.cfg.Log})
	return l, nil
}

// maxConnections is what SET GLOBAL max_connections says now.
func maxConnections() int {
	_, v, _ := sql.SystemVariables.GetGlobal("max_connections")
	n, _, ok := integer(v)
	if !ok {
		return DefaultMaxConnections
	}
	return int(n)
}

func (s *Server) isReady() error {
	if !s.ready.Load() {
		return errors.New("the server is starting or draining")
	}
	return nil
}

// serve runs the listeners until ctx ends or one fails, drains, and waits for every goroutine.
func (l *listeners) serve(ctx context.Context) error {
	ports := map[string]string{"mysql": l.mysql.Addr().String()}
	if l.http != nil {
		ports["http"] = l.http.Addr().String()
	}
	for name, address := range l.cfg.Extra {
		ports[name] = address
	}
	var file portsFile
	if l.cfg.DataDir != "" {
		var err error
		if file, err = writePorts(l.cfg.DataDir, ports); err != nil {
			l.closeAll()
			return err
		}
	}
	g, failed := errgroup.WithContext(ctx)
	g.Go(func() error { return l.wire.Serve(l.mysql) })
	if l.http != nil {
		g.Go(func() error { return l.web.Serve(l.http) })
	}
	l.ready.Store(true)
	for _, name := range []string{"mysql", "http"} {
		if address, ok := ports[name]; ok {
			l.cfg.Announce(name, address)
		}
	}
	l.cfg.Log.Info("ready", "mysql", ports["mysql"], "http", ports["http"], "data_dir", l.cfg.DataDir, "memory_limit", l.cfg.memory, "version", l.cfg.Version)
	<-failed.Done()
	l.drain()
	err := g.Wait()
	if file.path != "" {
		err = errors.Join(err, file.remove())
	}
	return err
}

// drain stops both listeners.
func (l *listeners) drain() {
	l.ready.Store(false)
	l.cfg.Log.Info("draining", "connections", len(l.wire.Conns()), "timeout", l.cfg.DrainTimeout.String())
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.DrainTimeout)
	defer cancel()
	if err := l.wire.Shutdown(ctx); err != nil {
		l.cfg.Log.Warn("statements were cut at the end of the drain", "error", err)
	}
	web, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := l.web.Shutdown(web); err != nil {
		l.cfg.Log.Warn("closing HTTP connections", "error", err)
	}
	l.cfg.Log.Info("drained", "took", time.Since(start).String())
}

func (l *listeners) closeAll() {
	_ = l.mysql.Close() // they never served
	if l.http != nil {
		_ = l.http.Close()
	}
}

// local opens a session for statements of the process itself.
func (s *Server) local() *session {
	return s.engine.open(s.engine.localID.Add(1), sql.Client{User: localUser, Address: "localhost"})
}

// Sink takes the answers of Query, statement by statement.
type Sink interface {
	// Done is told of a statement without rows.
	Done(affected, insertID uint64, info string) error
	// Begin starts a result; Row gives a row, nil for NULL, valid until it returns; End ends it.
	Begin(columns []ResultColumn) error
	Row(values [][]byte) error
	End() error
	// Warning is told after a statement of each warning it left.
	Warning(code int, message string) error
}

// Query runs the statements of a text inside the process, as a user who may do everything, in the main database.
func (s *Server) Query(ctx context.Context, text string, out Sink) error {
	x := s.local()
	defer x.close()
	if s.engine.provider.HasDatabase(nil, MainDatabase) {
		if err := x.use(ctx, MainDatabase); err != nil {
			return err
		}
	}
	var made madeByQuery
	keeps := s.cfg.DataDir != "" || s.kept.shared
	if !keeps {
		made.first = s.catalog.State()
		made.last = made.first
	}
	for rest := text; !blank(rest); {
		var first string
		first, rest = splitOne(x, ctx, rest)
		if blank(first) {
			continue
		}
		if !keeps {
			made.last = s.catalog.State()
		}
		r := &localResults{out: out}
		if err := x.query(ctx, strings.TrimSpace(first), r); err != nil {
			return err
		}
		for _, w := range slices.Backward(x.sql.Warnings()) { // the latest comes first
			if err := out.Warning(w.Code, w.Message); err != nil {
				return err
			}
		}
		if x.warned.dropped > 0 {
			if err := out.Warning(planner.WarningCode, fmt.Sprintf("%d more warnings, which @@max_error_count does not keep", x.warned.dropped)); err != nil {
				return err
			}
		}
	}
	if !keeps {
		if warning := made.warning(s.catalog.State()); warning != "" {
			return out.Warning(planner.WarningCode, warning)
		}
	}
	return nil
}
