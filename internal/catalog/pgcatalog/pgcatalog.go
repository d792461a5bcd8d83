// Package pgcatalog keeps the catalog in PostgreSQL, for servers that share a database: a catalog.Document that is one row.
//
//	CREATE TABLE millrace.catalog (id int PRIMARY KEY, version bigint, writer text, content bytea)
//
// A change is one UPDATE … WHERE version = what it was made from. Nothing else is asked of the server: no locks that are held, no notifications, no transaction of
// several statements, so that what speaks PostgreSQL's protocol and keeps a row will do. Others learn of a change by asking for the version, often.
//
// When the connection breaks, it is not known whether an UPDATE has happened, or will yet. Each change therefore carries a token of its own, and is tried again with the same
// token: it happens at most once, as the version can be left only once, and the token tells whether it was this change that did.
//
// The token also tells versions with the same number apart. A replica that takes over without the last commits of its primary counts on from an earlier version, and another
// change then has the number of one that is known here.
package pgcatalog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"millrace/internal/catalog"
	"millrace/internal/postgres"
)

// The times of one attempt and of all attempts at a change. A server that is paused takes connections and does not answer, so each has its end.
const (
	attemptTime = 5 * time.Second
	changeTime  = 20 * time.Second
	retryAfter  = 50 * time.Millisecond
)

// Options of Open.
type Options struct {
	// Wait is for how long a server that does not answer is waited for, 0 for one attempt.
	Wait time.Duration
	Log  *slog.Logger
}

// Document is the catalog in a database.
type Document struct {
	pool    *pgxpool.Pool
	primary postgres.Primary
	where   string

	mu sync.Mutex
	// version was read or written last, by a change with the token writer.
	version int64
	writer  string
}

var _ catalog.Document = (*Document)(nil)

// Open connects to the database of a URL, and makes the table if it is missing. A server that does not answer yet is waited for, as Options say; what waiting does not mend, such as a
// password that is refused, is an error at once.
func Open(ctx context.Context, url string, o Options) (*Document, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	d := &Document{where: place(config)}
	d.primary.Follow(&config.ConnConfig.Config, func() { d.pool.Reset() })
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fault(config, err)
	}
	d.pool = pool
	if err := d.await(ctx, o); err != nil {
		pool.Close()
		return nil, err
	}
	return d, nil
}

// await makes the table as soon as the server answers.
func (d *Document) await(ctx context.Context, o Options) error {
	deadline := time.Now().Add(o.Wait)
	for first := true; ; first = false {
		err := d.makeTable(ctx)
		if err == nil || ctx.Err() != nil || !passes(err) || time.Now().After(deadline) {
			return d.fault(err)
		}
		if first {
			o.Log.Warn("waiting for PostgreSQL", "store", d.where, "for", o.Wait.String(), "error", d.fault(err))
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// makeTable makes what is missing. Servers that start together get into each other's way: the loser tries again.
func (d *Document) makeTable(ctx context.Context) error {
	return d.attempts(ctx, time.Now(), func(ctx context.Context) error {
		var there bool
		if err := d.pool.QueryRow(ctx, `SELECT count(*) > 0 FROM information_schema.tables WHERE table_schema = 'millrace' AND table_name = 'catalog'`).Scan(&there); err != nil || there {
			return err
		}
		for _, ddl := range []string{
			`CREATE SCHEMA IF NOT EXISTS millrace`,
			`CREATE TABLE IF NOT EXISTS millrace.catalog (id int PRIMARY KEY, version bigint NOT NULL, writer text NOT NULL, content bytea NOT NULL)`,
		} {
			if _, err := d.pool.Exec(ctx, ddl); err != nil {
				return err
			}
		}
		return nil
	})
}

// Read implements catalog.Document.
func (d *Document) Read(ctx context.Context, known int64) (content []byte, version int64, err error) {
	var writer string
	by := d.writerOf(known)
	err = d.attempts(ctx, time.Now(), func(ctx context.Context) error {
		row := d.pool.QueryRow(ctx, `SELECT version, writer, CASE WHEN version = $1 AND writer = $2 THEN NULL ELSE content END FROM millrace.catalog WHERE id = 1`, known, by)
		content, version, writer = nil, 0, ""
		if err := row.Scan(&version, &writer, &content); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return nil
	})
	if err == nil {
		d.note(version, writer)
	}
	return content, version, d.fault(err)
}

// writerOf is the token of the change that made a version, empty when that is not known here.
func (d *Document) writerOf(version int64) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if version != d.version {
		return ""
	}
	return d.writer
}

// note remembers who made the newest version.
func (d *Document) note(version int64, writer string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.version, d.writer = version, writer
}

// Replace implements catalog.Document.
func (d *Document) Replace(ctx context.Context, from int64, content []byte) error {
	token, by := rand.Text(), d.writerOf(from)
	if content == nil {
		content = []byte{}
	}
	err := d.attempts(ctx, time.Now().Add(changeTime), func(ctx context.Context) error {
		const insert = `INSERT INTO millrace.catalog (id, version, writer, content) VALUES (1, $1, $2, $3) ON CONFLICT (id) DO NOTHING`
		const update = `UPDATE millrace.catalog SET version = $1, writer = $2, content = $3 WHERE id = 1 AND version = $1 - 1 AND (writer = $4 OR $4 = '')`
		statement, values := update, []any{from + 1, token, content, by}
		if from == 0 {
			statement, values = insert, values[:3]
		}
		done, err := d.pool.Exec(ctx, statement, values...)
		if err != nil || done.RowsAffected() == 1 {
			return err
		}
		var ours bool
		err = d.pool.QueryRow(ctx, `SELECT version = $1 AND writer = $2 FROM millrace.catalog WHERE id = 1`, from+1, token).Scan(&ours)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return catalog.ErrChanged // from a version that is not there
		case err == nil && !ours:
			return catalog.ErrChanged
		}
		return err
	})
	switch {
	case err == nil:
		d.note(from+1, token)
	case errors.Is(err, catalog.ErrChanged):
		return err
	}
	return d.fault(err)
}

// attempts calls do until it succeeds, fails for good or time is up; twice at least, as a connection of the pool may have died unnoticed.
func (d *Document) attempts(ctx context.Context, until time.Time, do func(context.Context) error) error {
	for n := 1; ; n++ {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		err := do(attempt)
		timedOut := attempt.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || errors.Is(err, catalog.ErrChanged) || ctx.Err() != nil {
			return err
		}
		if timedOut {
			d.pool.Reset() // the server may be gone without a word, for the other connection too
			err = fmt.Errorf("no answer within %v: %w", attemptTime, err)
		}
		if again := passes(err); !again || time.Now().After(until) && (n > 1 || timedOut) {
			return err
		}
		if err := pause(ctx, retryAfter*time.Duration(n)); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Where implements catalog.Document.
func (d *Document) Where() string { return "the catalog in " + d.where }

// Close implements catalog.Document.
func (d *Document) Close() error {
	d.pool.Close()
	return nil
}
