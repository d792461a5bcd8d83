package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// mysqlServer is a server that speaks MySQL's protocol, one of those that are compared. stop ends it and waits.
type mysqlServer struct {
	process
	name string
	dsn  string
	stop func()
}

// ready waits until the server answers.
func (s *mysqlServer) ready(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", s.name, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// asMySQL is the server under test as one among others.
func (s *server) asMySQL() *mysqlServer {
	return &mysqlServer{process: s.process, name: "millrace", dsn: s.dsn, stop: s.stop}
}

// mariadbScript starts and stops a MariaDB server; it is run from the root of the repository.
const mariadbScript = "scripts/mariadb/server"

// startMariaDB starts a MariaDB server with a database main. An error says why there is none; the caller leaves its figures out.
func startMariaDB(ctx context.Context) (*mysqlServer, error) {
	dir, err := os.MkdirTemp("", "millrace-bench-mariadb-")
	if err != nil {
		return nil, err
	}
	stop := func() {
		_ = exec.Command(mariadbScript, "stop", dir).Run() // it has ended before, or the script says why it cannot on its own stderr
		_ = os.RemoveAll(dir)
	}
	if out, err := exec.CommandContext(ctx, mariadbScript, "start", dir).CombinedOutput(); err != nil {
		stop()
		return nil, fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
	}
	env, err := readEnv(filepath.Join(dir, "env"))
	if err != nil {
		stop()
		return nil, err
	}
	pid, err := strconv.Atoi(env["MARIADB_PID"])
	if err != nil {
		stop()
		return nil, err
	}
	s := &mysqlServer{process: process(pid), name: "MariaDB", dsn: "root@tcp(" + env["MARIADB_ADDR"] + ")/", stop: stop}
	if err := s.exec(ctx, "CREATE DATABASE main"); err != nil {
		stop()
		return nil, err
	}
	s.dsn += "main"
	return s, nil
}

// readEnv reads the NAME=value lines that a script of scripts/ leaves.
func readEnv(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	env := map[string]string{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if name, v, ok := strings.Cut(sc.Text(), "="); ok {
			env[name] = v
		}
	}
	return env, sc.Err()
}

// exec runs statements one after the other on one connection.
func (s *mysqlServer) exec(ctx context.Context, statements ...string) error {
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for _, text := range statements {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// take takes all rows of a query off the server as fast as a client can and tells what that cost the server's process.
func (s *mysqlServer) take(ctx context.Context, query string) (u usage, rows int64, err error) {
	c, err := dialRaw(ctx, s.dsn)
	if err != nil {
		return u, 0, fmt.Errorf("%s: %w", s.name, err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	s.resetPeak()
	cpu, start := s.cpu(), time.Now()
	if rows, err = c.drain(query); err != nil {
		return u, rows, fmt.Errorf("%s: %w", s.name, err)
	}
	return usage{Wall: time.Since(start).Seconds(), CPU: s.cpu() - cpu, RSS: s.peak()}, rows, nil
}

// answer is what a query gave: how many rows, how many bytes of text, and a sum over the rows that does not depend on their order.
type answer struct {
	rows, bytes int64
	sum         uint64
}

// answer reads all rows of a query by a driver.
func (s *mysqlServer) answer(ctx context.Context, query string) (d answer, err error) {
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return d, fmt.Errorf("%s: %w", s.name, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	cols, err := rows.Columns()
	if err != nil {
		return d, err
	}
	cells, ptrs := make([]sql.RawBytes, len(cols)), make([]any, len(cols))
	for i := range cells {
		ptrs[i] = &cells[i]
	}
	h := fnv.New64a()
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return d, err
		}
		d.rows++
		h.Reset()
		for _, c := range cells {
			d.bytes += int64(len(c))
			_, _ = h.Write(c)
			_, _ = h.Write([]byte{0xff, byte(len(c))})
		}
		d.sum += h.Sum64()
	}
	if err := rows.Err(); err != nil {
		return d, fmt.Errorf("%s: %w", s.name, err)
	}
	return d, nil
}
