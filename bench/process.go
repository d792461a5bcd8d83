package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql" // the client of the server under test
)

// usage is what a piece of work cost the process that did it.
type usage struct {
	Wall float64 // seconds
	CPU  float64 // seconds, user and system
	RSS  float64 // peak, MiB
}

// child runs a process of this program and returns its address line; stop ends it and waits.
func child(ctx context.Context, args ...string) (addr string, stop func(), err error) {
	cmd, addr, err := spawn(ctx, args...)
	if err != nil {
		return "", nil, err
	}
	return addr, func() { terminate(cmd) }, nil
}

// spawn runs a process of this program until it has told its address.
func spawn(ctx context.Context, args ...string) (*exec.Cmd, string, error) {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		terminate(cmd)
		return nil, "", fmt.Errorf("%v: %w", args, err)
	}
	return cmd, strings.TrimSpace(line), nil
}

// terminate ends a process that spawn started and waits for its end.
func terminate(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
}

// loop runs the baseline as a process and returns what it cost and found. Wall counts from the creation of its Kafka client.
func loop(ctx context.Context, broker, topic, work string) (usage, string, error) {
	return runBaseline(ctx, "-broker", broker, "-topic", topic, "-work", work)
}

// loopTo runs the baseline that sends the records of a topic to another.
func loopTo(ctx context.Context, broker, topic, to string) (usage, string, error) {
	return runBaseline(ctx, "-broker", broker, "-topic", topic, "-work", "send", "-to", to)
}

func runBaseline(ctx context.Context, args ...string) (usage, string, error) {
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"loop"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return usage{}, "", err
	}
	var res loopResult
	if err := json.Unmarshal(out, &res); err != nil {
		return usage{}, "", err
	}
	u := usage{Wall: res.Seconds, CPU: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.RSS = float64(r.Maxrss) / 1024
	}
	return u, res.Answer, nil
}

// server is a millrace process and a client connection to it.
type server struct {
	process
	cmd *exec.Cmd
	db  *sql.DB
	dir string
	dsn string
	// binary and args start the process.
	binary string
	args   []string
}

func startServer(ctx context.Context, binary string, args ...string) (*server, error) {
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, binary: binary, args: append([]string{"serve", "--listen", "127.0.0.1:0", "--http", "", "--data-dir", dir, "--log-level", "error"}, args...)}
	return s, s.start(ctx)
}

// start runs the process and connects to it.
func (s *server) start(ctx context.Context) error {
	s.cmd = exec.CommandContext(ctx, s.binary, s.args...)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.process = process(s.cmd.Process.Pid)
	sc := bufio.NewScanner(out)
	for sc.Scan() && !strings.Contains(sc.Text(), "mysql listening on") {
	}
	b, err := os.ReadFile(filepath.Join(s.dir, "ports.json"))
	if err != nil {
		return errors.Join(err, sc.Err())
	}
	var ports struct {
		MySQL string `json:"mysql"`
	}
	if err := json.Unmarshal(b, &ports); err != nil {
		return err
	}
	s.dsn = "root@tcp(" + ports.MySQL + ")/main"
	if s.db, err = sql.Open("mysql", s.dsn); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	return s.db.PingContext(ctx)
}

func (s *server) stop() {
	s.end()
	_ = os.RemoveAll(s.dir)
}

// end stops the process and waits for it.
func (s *server) end() {
	_ = s.db.Close()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// restart stops the process, starts it with the same data and returns how long it took to answer a client.
func (s *server) restart(ctx context.Context) (usage, error) {
	s.end()
	begin := time.Now()
	if err := s.start(ctx); err != nil {
		return usage{}, err
	}
	return usage{Wall: time.Since(begin).Seconds(), CPU: s.cpu(), RSS: s.peak()}, nil
}

// query runs a query and returns what it cost the server process and its rows as text.
func (s *server) query(ctx context.Context, query string) (usage, string, error) {
	s.resetPeak()
	cpu := s.cpu()
	start := time.Now()
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return usage{}, "", err
	}
	defer func() { _ = rows.Close() }()
	cols, err := rows.Columns()
	if err != nil {
		return usage{}, "", err
	}
	cells, ptrs := make([]sql.RawBytes, len(cols)), make([]any, len(cols))
	for i := range cells {
		ptrs[i] = &cells[i]
	}
	var out []string
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return usage{}, "", err
		}
		var b bytes.Buffer
		for i, c := range cells {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.Write(c)
		}
		out = append(out, b.String())
	}
	if err := rows.Err(); err != nil {
		return usage{}, "", err
	}
	u := usage{Wall: time.Since(start).Seconds(), CPU: s.cpu() - cpu, RSS: s.peak()}
	if len(out) == 1 {
		return u, out[0], nil
	}
	return u, fmt.Sprint(out), nil
}
