package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// errStale says that what was cached about a table does not hold any more: look again.
var errStale = errors.New("pgstore: the table was changed meanwhile")

// conflict reports whether the database rolled a transaction back because of another one.
func conflict(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return errors.Is(err, errStale)
	}
	switch e.Code {
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return true
	}
	return false
}

// lost reports whether the connection is gone, or the server does not do its work now.
func lost(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch {
		case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "57P"), // connection_exception, admin_shutdown and the like
			e.Code == "53300", e.Code == "25006", e.Code == "25P03", e.Code == "40003": // too many connections, a standby, idle for too long, completion unknown
			return true
		}
		return e.Severity == "FATAL" || e.Severity == "PANIC"
	}
	var n net.Error
	var c *pgconn.ConnectError
	var l *lostError
	return errors.As(err, &l) || errors.As(err, &c) || errors.As(err, &n) || pgconn.Timeout(err)
}

// standby reports whether a server refused to write because it may only read.
func standby(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "25006"
}

// failed is what a caller learns of an error.
func (s *Store) failed(doing string, err error) error {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooOld):
		return sqlerr.New(sqlerr.StoreFailed, "%s: the statement has run so long that rows of its snapshot are gone", doing).WithHint("run the statement again")
	case ours(err):
		return err
	case conflict(err):
		return fmt.Errorf("%w: %s: %w", store.ErrRetry, doing, err)
	case errors.As(err, &e) && e.Code == "53100":
		return sqlerr.New(sqlerr.StoreFull, "%s: the disk of the database at '%s' is full", doing, s.address).WithCause(err)
	case lost(err):
		return sqlerr.New(sqlerr.StoreAway, "%s: the database at '%s' does not answer: %s", doing, s.address, s.plain(err)).WithCause(errors.New(s.plain(err)))
	case errors.As(err, &e):
		return sqlerr.New(sqlerr.StoreFailed, "%s: the database at '%s' refused: %s (SQLSTATE %s)", doing, s.address, e.Message, e.Code).WithCause(err)
	default:
		return sqlerr.New(sqlerr.StoreFailed, "%s: %s", doing, s.plain(err))
	}
}

// plain is the text of an error without the password, should anybody have put it there.
func (s *Store) plain(err error) string {
	text := err.Error()
	if s.pool != nil {
		if p := s.pool.Config().ConnConfig.Password; len(p) > 0 {
			text = strings.ReplaceAll(text, p, "********")
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// ours reports whether err is for the caller as it is.
func ours(err error) bool {
	for _, e := range []error{store.ErrNoTable, store.ErrTableExists, store.ErrFenced, store.ErrSchemaChanged, store.ErrRetry, store.ErrUnknownOutcome, store.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	var held *store.HeldError
	var mistake *mistakeError
	_, ok := sqlerr.As(err)
	return ok || errors.As(err, &held) || errors.As(err, &mistake)
}

// mistakeError is a mistake of the caller, which no user can make.
type mistakeError struct{ text string }

func (e *mistakeError) Error() string { return e.text }

func mistake(format string, args ...any) error {
	return &mistakeError{fmt.Sprintf("store: "+format, args...)}
}

// attempts of one call, while the database rolls it back or the connection was a dead one.
const attempts = 10

// on runs do on a connection, again while that makes sense. do must have changed nothing when it returns an error, unless that is ErrUnknownOutcome.
func (s *Store) on(ctx context.Context, doing string, do func(ctx context.Context, c *pgx.Conn) error) error {
	for n := 1; ; n++ {
		err := s.once(ctx, do)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrUnknownOutcome):
			s.counters.unknown.Add(1)
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case n >= attempts || ours(err):
			return s.failed(doing, err)
		case conflict(err):
			s.counters.conflicts.Add(1)
		case lost(err) && n < 3 && !pgconn.Timeout(err):
			s.counters.lost.Add(1) // a connection of before a restart; the next one may be to the new server
		default:
			return s.failed(doing, err)
		}
		if err := pause(ctx, time.Duration(rand.Int64N(int64(time.Millisecond)<<n))); err != nil {
			return err
		}
	}
}

func (s *Store) once(ctx context.Context, do func(ctx context.Context, c *pgx.Conn) error) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	err = do(ctx, c.Conn())
	if ctx.Err() == nil && (standby(err) || pgconn.Timeout(err)) {
		s.pool.Reset() // the server is alive and another is the primary now, or it is gone without a word: so it is for the other connections
	}
	var e *pgconn.PgError
	if err != nil && c.Conn().IsClosed() && !ours(err) && !errors.As(err, &e) {
		return &lostError{err}
	}
	return err
}

// lostError is an error that came with the end of its connection.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

// acquire takes a connection from the pool, and does not wait for one for ever.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	patience, cancel := context.WithTimeout(ctx, 2*s.options.Patience)
	defer cancel()
	c, err := s.pool.Acquire(patience)
	if err != nil && ctx.Err() == nil && patience.Err() != nil {
		s.pool.Reset()
		return nil, sqlerr.New(sqlerr.StoreAway, "no connection to the database at '%s' within %v", s.address, 2*s.options.Patience).
			WithHint("all pool_max_conns connections are at work, or the database does not answer")
	}
	return c, err
}

// transact runs do in a transaction.
func (s *Store) transact(ctx context.Context, doing string, do func(ctx context.Context, c *pgx.Conn) error) error {
	return s.on(ctx, doing, func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "begin"); err != nil {
			return err
		}
		if err := do(ctx, c); err != nil {
			return s.rollback(ctx, c, err)
		}
		tag, err := c.Exec(context.WithoutCancel(ctx), "commit")
		return s.committed(tag, err)
	})
}

// rollback ends a transaction that failed with err.
func (s *Store) rollback(ctx context.Context, c *pgx.Conn, err error) error {
	if c.IsClosed() || c.PgConn().TxStatus() == 'I' {
		return err
	}
	if _, end := c.Exec(context.WithoutCancel(ctx), "rollback"); end != nil {
		s.log.Debug("rolling back", "error", s.plain(end)) // the pool throws the connection away, and the server the transaction
	}
	return err
}

// committed judges the answer to COMMIT.
func (s *Store) committed(tag pgconn.CommandTag, err error) error {
	switch {
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil:
		return errStale // the transaction had failed before: nothing has happened
	}
	var e *pgconn.PgError
	if errors.As(err, &e) && !lost(err) {
		return err // the database says that it did not
	}
	return fmt.Errorf("%w: %w", store.ErrUnknownOutcome, s.failed("committing", &lostError{err}))
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
