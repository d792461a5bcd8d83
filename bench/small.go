package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	smallClients = 64
	// smallRows is the size of the table that is looked up in.
	smallRows = 10_000
	// smallUnit is the number of statements that the report's seconds are for.
	smallUnit = 100_000
)

// smallWork is a statement that is sent again and again, each time with a key; check compares what came back.
type smallWork struct {
	title    string
	prepared bool
	query    string
	keyed    bool
}

var smallWorks = map[string]smallWork{
	"one-text":       {"SELECT 1", false, "SELECT 1", false},
	"one-prepared":   {"SELECT 1", true, "SELECT 1", false},
	"point-text":     {"point look-up", false, "SELECT id, name FROM kv WHERE id = %d", true},
	"point-prepared": {"point look-up", true, "SELECT id, name FROM kv WHERE id = ?", true},
}

func smallName(id int) string { return fmt.Sprintf("name-%06d", id) }

// smallTable makes and fills kv.
func smallTable(ctx context.Context, s *mysqlServer) error {
	engine := ""
	if s.name == "MariaDB" {
		engine = " ENGINE=Aria"
	}
	statements := []string{"CREATE TABLE kv (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(32) NOT NULL, amount DOUBLE NOT NULL)" + engine}
	for from := 0; from < smallRows; from += 500 {
		var b strings.Builder
		b.WriteString("INSERT INTO kv VALUES ")
		for id := from; id < from+500; id++ {
			if id > from {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "(%d, '%s', %d.5)", id, smallName(id), id)
		}
		statements = append(statements, b.String())
	}
	return s.exec(ctx, statements...)
}

// smallResult is what the `bench small` process prints.
type smallResult struct {
	Statements int     `json:"statements"`
	Seconds    float64 `json:"seconds"`
	CPU        float64 `json:"cpu"`
	RSS        float64 `json:"rss"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
}

// runSmall is the client of P15: as many connections as -clients, each sending its next statement when the answer of the last one is there.
func runSmall(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("small", flag.ExitOnError)
	dsn := fs.String("dsn", "", "server")
	pid := fs.Int("pid", 0, "process of the server")
	work := fs.String("work", "one-text", "one or point, -text or -prepared")
	clients := fs.Int("clients", smallClients, "connections")
	seconds := fs.Float64("seconds", 2, "how long")
	if err := fs.Parse(args); err != nil {
		return err
	}
	w, ok := smallWorks[*work]
	if !ok {
		return fmt.Errorf("small: unknown work %q", *work)
	}
	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	loops := make([]*smallLoop, *clients)
	for i := range loops {
		if loops[i], err = newSmallLoop(ctx, db, w, i); err != nil {
			return err
		}
		defer loops[i].close()
	}
	server := process(*pid)
	server.resetPeak()
	cpu, start := server.cpu(), time.Now()
	end := start.Add(time.Duration(*seconds * float64(time.Second)))
	var wg sync.WaitGroup
	for _, l := range loops {
		wg.Go(func() { l.run(ctx, end) })
	}
	wg.Wait()
	res := smallResult{Seconds: time.Since(start).Seconds(), CPU: server.cpu() - cpu, RSS: server.peak()}
	var took []time.Duration
	for _, l := range loops {
		if l.err != nil {
			return l.err
		}
		took = append(took, l.took...)
	}
	slices.Sort(took)
	res.Statements = len(took)
	res.P50, res.P99 = took[len(took)/2].Seconds()*1000, took[len(took)*99/100].Seconds()*1000
	return json.NewEncoder(os.Stdout).Encode(res)
}

// smallLoop is one connection.
type smallLoop struct {
	work smallWork
	rng  *rand.Rand
	conn *sql.Conn
	stmt *sql.Stmt
	took []time.Duration
	err  error
}

func newSmallLoop(ctx context.Context, db *sql.DB, w smallWork, i int) (*smallLoop, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	l := &smallLoop{work: w, rng: rand.New(rand.NewPCG(seed, uint64(i))), conn: conn}
	if w.prepared {
		if l.stmt, err = conn.PrepareContext(ctx, w.query); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return l, l.once(ctx)
}

func (l *smallLoop) close() {
	if l.stmt != nil {
		_ = l.stmt.Close()
	}
	_ = l.conn.Close()
}

func (l *smallLoop) run(ctx context.Context, end time.Time) {
	for at := time.Now(); at.Before(end); {
		if l.err = l.once(ctx); l.err != nil {
			return
		}
		now := time.Now()
		l.took = append(l.took, now.Sub(at))
		at = now
	}
}

// once sends one statement and checks its answer.
func (l *smallLoop) once(ctx context.Context) error {
	id := l.rng.IntN(smallRows)
	var row *sql.Row
	switch {
	case l.work.prepared && l.work.keyed:
		row = l.stmt.QueryRowContext(ctx, id)
	case l.work.prepared:
		row = l.stmt.QueryRowContext(ctx)
	case l.work.keyed:
		row = l.conn.QueryRowContext(ctx, fmt.Sprintf(l.work.query, id))
	default:
		row = l.conn.QueryRowContext(ctx, l.work.query)
	}
	var got int
	if !l.work.keyed {
		if err := row.Scan(&got); err != nil || got != 1 {
			return errors.Join(err, fmt.Errorf("SELECT 1 gave %d", got))
		}
		return nil
	}
	var name string
	if err := row.Scan(&got, &name); err != nil || got != id || name != smallName(id) {
		return errors.Join(err, fmt.Errorf("the row of %d is %d, %q", id, got, name))
	}
	return nil
}

// small runs the client against a server.
func small(ctx context.Context, s *mysqlServer, work string, seconds float64) (usage, smallResult, error) {
	var res smallResult
	cmd := exec.CommandContext(ctx, os.Args[0], "small", "-dsn", s.dsn, "-pid", fmt.Sprint(int(s.process)), "-work", work, "-seconds", fmt.Sprint(seconds))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return usage{}, res, fmt.Errorf("P15 %s, %s: %w", work, s.name, err)
	}
	if err := json.Unmarshal(out, &res); err != nil {
		return usage{}, res, err
	}
	per := smallUnit / float64(res.Statements)
	return usage{Wall: res.Seconds * per, CPU: res.CPU * per, RSS: res.RSS}, res, nil
}

// measureSmall is P15: SELECT 1 and a point look-up in a closed loop of 64 connections, against the stock listener and against MariaDB.
func measureSmall(ctx context.Context, c *config, r *report) error {
	if !c.wants("P15") {
		return nil
	}
	own, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer own.stop()
	stock, err := startStock(ctx)
	if err != nil {
		return err
	}
	defer stock.stop()
	servers := []*mysqlServer{own.asMySQL(), stock}
	if maria, err := startMariaDB(ctx); err != nil {
		r.missing("P15 against MariaDB", err)
	} else {
		defer maria.stop()
		servers = append(servers, maria)
	}
	for _, s := range servers {
		if err := smallTable(ctx, s); err != nil {
			return fmt.Errorf("P15: %w", err)
		}
	}
	for _, work := range []string{"one-text", "one-prepared", "point-text", "point-prepared"} {
		if err := measureSmallWork(ctx, c, r, servers, work); err != nil {
			return err
		}
	}
	return nil
}

// measureSmallWork lets the servers take turns; the first is ours.
func measureSmallWork(ctx context.Context, c *config, r *report, servers []*mysqlServer, work string) error {
	against := make([]measurement, len(servers)-1)
	title := fmt.Sprintf("%s, %s", smallWorks[work].title, map[bool]string{false: "text", true: "prepared"}[smallWorks[work].prepared])
	for i, s := range servers[1:] {
		bar := map[string]float64{"stock": 4, "MariaDB": 0.4}[s.name]
		against[i] = measurement{ID: "P15", Title: title, Variant: "64 connections, per 100,000", Against: s.name, Records: smallUnit, Bar: bar}
	}
	var latency []smallResult
	for round := range c.pairs + 1 {
		used := make([]usage, len(servers))
		latency = latency[:0]
		for i, s := range servers {
			u, res, err := small(ctx, s, work, c.seconds)
			if err != nil {
				return err
			}
			used[i], latency = u, append(latency, res)
		}
		if round == 0 {
			continue
		}
		for i := range against {
			against[i].add(used[i+1], used[0])
		}
	}
	for i := range against {
		own, base := latency[0], latency[i+1]
		against[i].Note = fmt.Sprintf("p50 %.1f / %.1f ms, p99 %.1f / %.1f ms", base.P50, own.P50, base.P99, own.P99)
		r.add(against[i])
	}
	return nil
}
