package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"millrace/internal/sqlerr"
)

// formatVersion is the version of the tables that this code writes. Who raises it migrates the former ones in prepare.
const formatVersion = 1

// names are those of the store's tables, qualified and quoted.
type names struct {
	schema                                                                       string
	meta, families, tables, specs, checkpoints, events, garbage, holds, rowsBase string
}

func namesIn(schema string) names {
	n := names{schema: pgx.Identifier{schema}.Sanitize()}
	for to, name := range map[*string]string{
		&n.meta: "meta", &n.families: "families", &n.tables: "tables", &n.specs: "specs", &n.checkpoints: "checkpoints", &n.events: "events",
		&n.garbage: "garbage", &n.holds: "holds", &n.rowsBase: "rows_",
	} {
		*to = n.schema + "." + name
	}
	return n
}

// rows is the table of a part.
func (n *names) rows(part int64) string { return n.rowsBase + strconv.FormatInt(part, 10) }

// sql puts names into a statement: {tables} is the name of tables.
func (s *Store) sql(text string) string { return s.names.replacer().Replace(text) }

func (n *names) replacer() *strings.Replacer {
	return strings.NewReplacer("{meta}", n.meta, "{families}", n.families, "{tables}", n.tables, "{specs}", n.specs, "{checkpoints}", n.checkpoints,
		"{events}", n.events, "{garbage}", n.garbage, "{holds}", n.holds)
}

var layout = []string{
	`create table if not exists {meta} (key text primary key, value bigint not null)`,
	`create table if not exists {families} (number bigint primary key, holder text not null, epoch bigint not null, until timestamptz not null,
		committed bigint not null, commits bigint not null, step bigint not null, events bigint not null, collected bigint not null)`,
	`create table if not exists {tables} (number bigint primary key, id text collate "C" not null unique, owner text not null, family bigint not null, version bigint not null,
		rev bigint not null, next bigint not null, row_count bigint not null, collected bigint not null, stats bytea)`,
	`create table if not exists {specs} (number bigint not null, rev bigint not null, spec text not null, ended timestamptz, primary key (number, rev))`,
	`create table if not exists {checkpoints} (family bigint not null, step bigint not null, at timestamptz not null, positions bytea, progress bytea, primary key (family, step))`,
	`create table if not exists {events} (family bigint not null, number bigint not null, at timestamptz not null, data bytea not null, primary key (family, number))`,
	`create table if not exists {garbage} (part bigint primary key, since timestamptz not null)`,
	`create table if not exists {holds} (node text primary key, since timestamptz not null, until timestamptz not null)`,
	`insert into {meta} (key, value) values ('format', ` + strconv.Itoa(formatVersion) + `), ('next', 0) on conflict (key) do nothing`,
}

// prepare creates what is missing, several processes at once perhaps, and checks what is there.
func (s *Store) prepare(ctx context.Context) error {
	return s.on(ctx, "opening the store", func(ctx context.Context, c *pgx.Conn) error {
		format, err := s.format(ctx, c)
		if err != nil {
			return err
		}
		switch {
		case format == 0:
			if err := s.create(ctx, c); err != nil {
				return err
			}
		case format > formatVersion:
			return sqlerr.New(sqlerr.StoreFormat, "the store at '%s' has format version %d, this Millrace knows versions up to %d", s.address, format, formatVersion).
				WithHint("start the newer Millrace that wrote it")
		}
		var encoding, sync, version string
		if err := c.QueryRow(ctx, "show server_encoding").Scan(&encoding); err != nil {
			return err
		}
		if !strings.EqualFold(encoding, "UTF8") && !strings.EqualFold(encoding, "UTF-8") {
			return sqlerr.New(sqlerr.StoreFormat, "the database at '%s' has the encoding %s, want UTF8", s.address, encoding).WithHint("create another: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0")
		}
		if err := c.QueryRow(ctx, "show synchronous_commit").Scan(&sync); err != nil {
			return err
		}
		s.forceSync = sync == "off"
		if err := c.QueryRow(ctx, "select version()").Scan(&version); err != nil {
			return err
		}
		s.brin = hasBRIN(version)
		return nil
	})
}

// format gives the version of what is there, 0 for nothing or not all of it.
func (s *Store) format(ctx context.Context, c *pgx.Conn) (version int64, err error) {
	err = c.QueryRow(ctx, s.sql("select value from {meta} where key = 'format'")).Scan(&version)
	var e *pgconn.PgError
	if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &e) && (e.Code == "42P01" || e.Code == "3F000") { // undefined_table, invalid_schema_name
		return 0, nil
	}
	return version, err
}

func (s *Store) create(ctx context.Context, c *pgx.Conn) error {
	var there int
	if err := c.QueryRow(ctx, "select count(*) from pg_namespace where nspname = $1", s.options.Schema).Scan(&there); err != nil {
		return err
	}
	statements := layout
	if there == 0 { // who may not create schemas can be given one
		statements = append([]string{"create schema if not exists " + s.names.schema}, layout...)
	}
	for _, statement := range statements {
		_, err := c.Exec(ctx, s.sql(statement))
		var e *pgconn.PgError
		// IF NOT EXISTS looks before it leaps; another process may come between.
		if errors.As(err, &e) && (e.Code == "23505" || e.Code == "42P07" || e.Code == "42P06" || e.Code == "42710") {
			return errStale
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// numbers gives n new numbers, of which it returns the first.
func (s *Store) numbers(ctx context.Context, c *pgx.Conn, n int) (first int64, err error) {
	err = c.QueryRow(ctx, s.sql("update {meta} set value = value + $1 where key = 'next' returning value"), int64(n)).Scan(&first)
	return first - int64(n) + 1, err
}

// newNode names this process.
func newNode() string { return rand.Text() }
