package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/tidwall/gjson"

	"millrace/bench/data"
)

// postgresScript starts and stops PostgreSQL; it is run from the root of the repository.
const postgresScript = "scripts/postgres/server"

// startStore starts what streaming tables are kept in, when that is not the server's own directory, and gives the server's arguments for it. url is empty for the directory.
func (c *config) startStore(ctx context.Context) (url string, args []string, stop func(), err error) {
	if !c.postgres {
		return "", nil, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "millrace-bench-postgres-")
	if err != nil {
		return "", nil, nil, err
	}
	if out, err := exec.CommandContext(ctx, postgresScript, "start", dir).CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, nil, fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
	}
	stop = func() {
		_ = exec.Command(postgresScript, "stop", dir).Run()
		_ = os.RemoveAll(dir)
	}
	env, err := readEnv(filepath.Join(dir, "env"))
	if err != nil {
		stop()
		return "", nil, nil, err
	}
	url = strings.Trim(env["POSTGRES_URL"], "'")
	return url, []string{"--store", url}, stop, nil
}

// copyChunk is how many rows a transaction of copyLoop has.
const copyChunk = 100_000

// copyLoop is a program that copies the rows of createEvents into a plain table, with pgx's own CopyFrom. They are in memory already: only COPY and its commits are timed.
func copyLoop(ctx context.Context, url string, records int) (u usage, err error) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return u, err
	}
	defer func() { _ = c.Close(ctx) }()
	columns := []string{"id", "type", "country", "amount", "ts"}
	if _, err := c.Exec(ctx, "drop table if exists bare; create table bare (id bigint, type text, country text, amount double precision, ts timestamp)"); err != nil {
		return u, err
	}
	rows := make([][]any, 0, copyChunk)
	flush := func() error {
		start := time.Now()
		_, err := c.CopyFrom(ctx, pgx.Identifier{"bare"}, columns, pgx.CopyFromRows(rows))
		u.Wall += time.Since(start).Seconds()
		rows = rows[:0]
		return err
	}
	err = data.Events.Each(records, func(_ int, _, value []byte) error {
		v := gjson.GetManyBytes(bytes.Clone(value), columns...)
		at, err := time.Parse(time.RFC3339Nano, v[4].Str)
		if err != nil {
			return err
		}
		if rows = append(rows, []any{v[0].Int(), v[1].Str, v[2].Str, v[3].Float(), at.UTC()}); len(rows) < copyChunk {
			return nil
		}
		return flush()
	})
	if err == nil && len(rows) > 0 {
		err = flush()
	}
	if err != nil {
		return u, err
	}
	_, err = c.Exec(ctx, "drop table bare")
	return u, err
}
