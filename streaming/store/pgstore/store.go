// Package pgstore keeps streaming tables in PostgreSQL, or what speaks like it, so that several processes can share them.
//
// docs/adr/0012-postgresql-store.md has the tables, what happens in which order, and why. It uses no more than all relatives of PostgreSQL have:
// ordinary tables, UPDATE … RETURNING as compare-and-set, COPY within a transaction, the database's clock.
//
//	Commit    compare-and-set of lease, versions, positions ── COPY rows ── checkpoint, COMMIT            one transaction
//	Snapshot  the numbers of rows and revisions, by one SELECT; no connection, no transaction
//	Scan      ranges of row numbers ── lanes: take a connection, read a page, give it back, push
//	janitor   a goroutine removes what has been hidden for long enough
//
// Nothing but caches is kept in memory: a process that dies leaves a transaction that the database rolls back.
package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"millrace/internal/postgres"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// Options of Open. A zero field takes its default.
type Options struct {
	// Schema is the schema of the database that holds everything (millrace). It is created when it is missing.
	Schema string
	// MaxConns bounds the connections, where the URL does not say pool_max_conns (16).
	MaxConns int32
	// Patience is how long a connection may be silent while something is expected of it, before it is given up (15 s).
	Patience time.Duration
	// Grace is how long what was dropped, truncated or has expired is still there for snapshots that began before (2 min).
	Grace time.Duration
	// Log gets changes of state and faults, never a password. Nothing by default.
	Log *slog.Logger
	// Failpoint, when not nil, is called at points of interest by their name, for tests that crash there: commit.checked, commit.copied, commit.sent,
	// commit.applied, expire.applied, truncate.prepared, truncate.applied, drop.applied, clear.marked.
	Failpoint func(name string)

	dial func(ctx context.Context, network, address string) (net.Conn, error) // of tests
}

func (o Options) withDefaults() Options {
	if o.Schema == "" {
		o.Schema = "millrace"
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 16
	}
	if o.Patience <= 0 {
		o.Patience = 15 * time.Second
	}
	if o.Grace <= 0 {
		o.Grace = 2 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string) {}
	}
	if o.dial == nil {
		o.dial = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	}
	return o
}

// Store implements store.Store.
type Store struct {
	options Options
	log     *slog.Logger
	pool    *pgxpool.Pool
	primary postgres.Primary
	address string // for messages: without user and password
	names   names
	// forceSync: the server's default for synchronous_commit is off.
	forceSync bool
	// brin: the database has BRIN indexes.
	brin bool

	specs     specs
	snapshots snapshots
	leases    leases
	summaries summaries
	counters  counters
	node      string // of this process, in holds

	// life is held for reading by each call.
	life   sync.RWMutex
	closed bool

	stop context.CancelFunc
	work sync.WaitGroup // goroutines of the store's own
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the database that a URL like postgres://user:password@host:5432/database?sslmode=verify-full names, and creates what is missing of it. Any number of processes may have
// it open.
func Open(ctx context.Context, url string, options Options) (*Store, error) {
	o := options.withDefaults()
	config, err := configure(url, &o)
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, log: o.Log, address: postgres.Address(&config.ConnConfig.Config), names: namesIn(o.Schema), node: newNode()}
	s.primary.Follow(&config.ConnConfig.Config, s.promoted)
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, s.failed("opening", err)
	}
	if err := s.prepare(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.work.Go(func() { s.janitor(life) })
	return s, nil
}

// connectTime is how long making a connection may take, with all servers that the URL names.
const connectTime = 5 * time.Second

// promoted drops what may be of a primary that was replaced: connections to it, and what was read there if its successor lacks the last commits.
func (s *Store) promoted() {
	s.log.Warn("store: another server of the database is the primary now", "store", s.address)
	s.specs.forget()
	s.pool.Reset()
}

// configure reads the URL. What is wrong with it is not said in the parser's words, which quote it: a password with a '#' or '/' in it looks like a port.
func configure(url string, o *Options) (*pgxpool.Config, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the address of the store is no URL that begins with 'postgres://'")
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the URL of the store cannot be read: want postgres://user:password@host:port/database?sslmode=…").
			WithHint("characters such as '@', '/', '#', '%%' in user or password are percent-encoded: '%%40', '%%2F', '%%23', '%%25'")
	}
	if !strings.Contains(url, "pool_max_conns=") {
		config.MaxConns = o.MaxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 { // that of each server, which one that is silent takes all of
		config.ConnConfig.ConnectTimeout = connectTime / time.Duration(len(postgres.Hosts(&config.ConnConfig.Config)))
	}
	if config.PingTimeout == 0 {
		config.PingTimeout = o.Patience / 3
	}
	dial := o.dial
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &patientConn{Conn: c, patience: o.Patience}, nil
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { return settle(ctx, c, o.Patience) }
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "millrace"
	}
	return config, nil
}

// settle has the server end the transactions of a process that is gone without a word, or stopped: they hold the lease of a table that another wants to take over. Servers that do not know a
// setting go without.
func settle(ctx context.Context, c *pgx.Conn, patience time.Duration) error {
	idle := max(4*patience.Milliseconds(), 1)
	seconds := max(int64(patience.Seconds()), 1)
	for _, text := range []string{
		fmt.Sprintf("set idle_in_transaction_session_timeout = %d", idle), fmt.Sprintf("set tcp_keepalives_idle = %d", seconds),
		fmt.Sprintf("set tcp_keepalives_interval = %d", seconds), "set tcp_keepalives_count = 3",
	} {
		var refused *pgconn.PgError
		if _, err := c.Exec(ctx, text); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// enter begins a call, which ends with leave when enter succeeds. Close waits for it. A call must not enter twice.
func (s *Store) enter(ctx context.Context) error {
	s.life.RLock()
	err := context.Cause(ctx)
	if s.closed {
		err = store.ErrClosed
	}
	if err != nil {
		s.life.RUnlock()
	}
	return err
}

func (s *Store) leave() { s.life.RUnlock() }

// Close implements store.Store. It gives back the leases that were taken through this Store.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.work.Wait()
	s.releaseAll()
	s.pool.Close()
	return nil
}
