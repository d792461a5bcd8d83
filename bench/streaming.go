package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/data"
)

// createEvents is the streaming table of P10 and P13: five columns of the events.
const createEvents = `CREATE STREAMING TABLE %s AS SELECT value::string:id::bigint AS id, value::string:type AS type, value::string:country AS country,
 value::string:amount::double AS amount, to_timestamp(value::string:ts) AS ts
FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => '%s', startingOffsets => 'earliest')`

// fiveLoop extracts the same five fields by hand and keeps nothing but their sums.
func fiveLoop() (func(*kgo.Record), func() string) {
	var n, id int64
	var amount float64
	texts, times := 0, int64(0)
	return func(r *kgo.Record) {
			if !gjson.ValidBytes(r.Value) {
				return
			}
			v := gjson.GetManyBytes(r.Value, "id", "type", "country", "amount", "ts")
			n++
			id += v[0].Int()
			texts += len(v[1].Str) + len(v[2].Str)
			amount += v[3].Float()
			if t, err := time.Parse(time.RFC3339Nano, v[4].Str); err == nil {
				times += t.UnixMilli() & 1
			}
		}, func() string {
			return fmt.Sprint(n, id, texts)
		}
}

const fiveQuery = "SELECT COUNT(*), SUM(id), SUM(length(type)) + SUM(length(country)) FROM %s"

func init() { works["five"] = fiveLoop }

// measureStreaming is P10 to P13 and P16.
func measureStreaming(ctx context.Context, c *config, r *report) error {
	for _, m := range []struct {
		ids []string
		run func(context.Context, *config, *report) error
	}{{[]string{"P10", "P13"}, measureBacklog}, {[]string{"P11"}, measureFreshness}, {[]string{"P12", "P16"}, measureManyTables}} {
		if !slices.ContainsFunc(m.ids, c.wants) {
			continue
		}
		if err := m.run(ctx, c, r); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(m.ids, ", "), err)
		}
	}
	return nil
}

// measureBacklog is P10, a streaming table that reads a backlog, and P13, queries on what it has stored.
func measureBacklog(ctx context.Context, c *config, r *report) error {
	broker, stopBroker, err := c.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	fmt.Fprintf(os.Stderr, "producing %d events (lz4)\n", c.records)
	if err := fill(ctx, broker, "events", "lz4", c.records); err != nil {
		return err
	}
	url, args, stopStore, err := c.startStore(ctx)
	if err != nil {
		return err
	}
	defer stopStore()
	s, err := startServer(ctx, c.binary, append(args, "--memory-limit", "384MiB")...)
	if err != nil {
		return err
	}
	defer s.stop()
	m := measurement{ID: "P10", Title: "streaming table of five JSON columns, a backlog", Variant: "durability sync, --memory-limit 384MiB", Against: "kgo poll loop, no store", Bar: 0.8, MaxRSS: 400, Records: c.records}
	if c.postgres {
		m.Variant, m.Against, m.Bar = "PostgreSQL, "+m.Variant, "COPY of the same rows from memory", 0.5
	}
	pairs := c.pairs
	if !c.wants("P10") {
		pairs = 0 // a table for P13 is all that is wanted
	}
	for i := range pairs + 1 {
		base, want, err := loop(ctx, broker, "events", "five")
		if err == nil && c.postgres {
			base, err = copyLoop(ctx, url, c.records)
		}
		if err != nil {
			return err
		}
		table := fmt.Sprintf("events_%d", i)
		own, _, err := s.query(ctx, fmt.Sprintf(createEvents, table, broker, "events"))
		if err != nil {
			return err
		}
		_, got, err := s.query(ctx, fmt.Sprintf(fiveQuery, table))
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("the table holds %s, the loop found %s", got, want)
		}
		if i > 0 {
			m.add(base, own)
		}
		if i < pairs { // the last one stays for P13
			if _, _, err := s.query(ctx, "DROP TABLE "+table); err != nil {
				return err
			}
		}
	}
	if pairs > 0 {
		r.add(m)
	}
	if !c.wants("P13") {
		return nil
	}
	return measureStored(ctx, c, r, s, fmt.Sprintf("events_%d", pairs))
}

// each runs work, which p does, times over and gives what one costs: a single one is shorter than a tick of the CPU's clock.
func each(p process, times int, work func() error) (usage, error) {
	p.resetPeak()
	cpu, start := p.cpu(), time.Now()
	for range times {
		if err := work(); err != nil {
			return usage{}, err
		}
	}
	n := float64(times)
	return usage{Wall: time.Since(start).Seconds() / n, CPU: (p.cpu() - cpu) / n, RSS: p.peak()}, nil
}

// measureStored is P13 on a table of events: against a loop over slices in memory.
func measureStored(ctx context.Context, c *config, r *report, s *server, table string) error {
	stored := []string{"view", "click", "search", "cart", "purchase", "refund", "login", "logout", "share", "rate"}
	kinds, amounts := make([]string, c.records), make([]float64, c.records)
	for i := range kinds {
		kinds[i], amounts[i] = stored[(i*7919)%len(stored)], float64(i%10_000)/100
	}
	type group struct {
		n   int
		sum float64
	}
	var sink map[string]*group
	byKind := func() error {
		groups := map[string]*group{}
		for i, k := range kinds {
			g := groups[k]
			if g == nil {
				g = &group{}
				groups[k] = g
			}
			g.n++
			g.sum += amounts[i]
		}
		sink = groups
		return nil
	}
	top := func() error {
		best := make([]float64, 0, 11)
		for _, a := range amounts {
			if len(best) == 10 && a <= best[9] {
				continue
			}
			at, _ := slices.BinarySearchFunc(best, a, func(x, y float64) int {
				switch {
				case x > y:
					return -1
				case x < y:
					return 1
				}
				return 0
			})
			if best = slices.Insert(best, at, a); len(best) > 10 {
				best = best[:10]
			}
		}
		return nil
	}
	last := data.At(c.records)
	span := time.Duration(c.records) * time.Millisecond
	from, to := last.Add(-span/2), last.Add(-span/2+span/100)
	const clock = "2006-01-02 15:04:05.000"
	for _, q := range []struct {
		title, query string
		base         func() error
		maxWall      float64
	}{
		{"GROUP BY text, SUM of a double", "SELECT type, COUNT(*), SUM(amount) FROM %s GROUP BY type", byKind, 0},
		{"ORDER BY double DESC LIMIT 10", "SELECT amount, id FROM %s ORDER BY amount DESC LIMIT 10", top, 0},
		{"1 % of the time", "SELECT COUNT(*), SUM(amount) FROM %s WHERE ts >= '" + from.Format(clock) + "' AND ts < '" + to.Format(clock) + "'", nil, 0.005},
		{"look-up by id", fmt.Sprintf("SELECT * FROM %%s WHERE id = %d", c.records/3), nil, 0.020},
	} {
		m := measurement{ID: "P13", Title: "stored table: " + q.title, Variant: "warm", Against: "one goroutine over slices", Records: c.records, MaxWall: q.maxWall}
		if q.base == nil {
			m.Against = "itself"
		} else {
			m.Bar = 1
		}
		query := fmt.Sprintf(q.query, table)
		cold, _, err := s.query(ctx, query)
		if err != nil {
			return err
		}
		m.Note = fmt.Sprintf("first run %.0f ms", cold.Wall*1000)
		const times = 10
		for range c.pairs {
			own, err := each(s.process, times, func() error {
				_, _, err := s.query(ctx, query)
				return err
			})
			if err != nil {
				return err
			}
			base := own
			if q.base != nil {
				if base, err = each(process(os.Getpid()), times, q.base); err != nil {
					return err
				}
			}
			m.add(base, own)
		}
		r.add(m)
	}
	_ = sink
	return nil
}

// producer sends records to topics that it makes.
type producer struct {
	*kgo.Client
}

func newProducer(ctx context.Context, broker string, topics ...string) (*producer, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ProducerLinger(0))
	if err != nil {
		return nil, err
	}
	resps, err := kadm.NewClient(cl).CreateTopics(ctx, 1, 1, nil, topics...)
	if err == nil {
		err = resps.Error()
	}
	if err != nil {
		cl.Close()
		return nil, err
	}
	return &producer{cl}, nil
}

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s_%d", prefix, i)
	}
	return out
}

// createSmall makes a streaming table of two columns for each topic.
func (s *server) createSmall(ctx context.Context, broker string, topics []string) error {
	for _, t := range topics {
		query := fmt.Sprintf(`CREATE STREAMING TABLE %s AS SELECT value::string:id::bigint AS id, value::string:v AS v
FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => '%s', startingOffsets => 'earliest')`, t, broker, t)
		if _, _, err := s.query(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// startFollowing makes n topics and a server with a streaming table of the same name for each. stop ends all.
func startFollowing(ctx context.Context, c *config, prefix string, n int) (s *server, p *producer, topics []string, stop func(), err error) {
	var ends []func()
	stop = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	broker, stopBroker, err := c.startBroker(ctx)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	ends = append(ends, stopBroker)
	topics = names(prefix, n)
	if p, err = newProducer(ctx, broker, topics...); err != nil {
		return nil, nil, nil, nil, err
	}
	ends = append(ends, p.Close)
	_, args, stopStore, err := c.startStore(ctx)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	ends = append(ends, stopStore)
	if s, err = startServer(ctx, c.binary, args...); err != nil {
		return nil, nil, nil, nil, err
	}
	ends = append(ends, s.stop)
	return s, p, topics, stop, s.createSmall(ctx, broker, topics)
}

// measureFreshness is P11: 1,000 records a second into 20 tables, each in turn, and clients that ask for some of them every millisecond.
func measureFreshness(ctx context.Context, c *config, r *report) error {
	const tables, watchers = 20, 8
	s, p, topics, stop, err := startFollowing(ctx, c, "fresh", tables)
	if err != nil {
		return err
	}
	defer stop()
	records := min(c.records, 20_000)
	type sent struct {
		table string
		id    int
		at    time.Time
	}
	watch := make(chan sent, watchers) // a record that no watcher is free for is not watched
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var mu sync.Mutex
	var waits []float64
	var failed error
	var wg sync.WaitGroup
	for range watchers {
		wg.Go(func() {
			for w := range watch {
				wait, err := visible(ctx, db, w.table, w.id, w.at)
				mu.Lock()
				waits, failed = append(waits, wait), errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	cpu := s.cpu()
	start := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range records {
		<-tick.C
		t := topics[i%tables]
		at := time.Now()
		p.Produce(ctx, &kgo.Record{Topic: t, Value: fmt.Appendf(nil, `{"id":%d,"v":"value %d"}`, i, i)}, nil)
		select {
		case watch <- sent{t, i, at}:
		default:
		}
	}
	close(watch)
	wg.Wait()
	if failed != nil {
		return failed
	}
	slices.Sort(waits)
	u := usage{Wall: time.Since(start).Seconds(), CPU: s.cpu() - cpu, RSS: s.peak()}
	p50, p99, variant := 0.030, 0.250, ""
	if c.postgres {
		p50, p99, variant = 0, 0.500, "PostgreSQL, "
	}
	for _, q := range []struct {
		name string
		at   float64
		most float64
	}{{"p50", 0.5, p50}, {"p99", 0.99, p99}} {
		wait := usage{Wall: waits[min(int(q.at*float64(len(waits))), len(waits)-1)], CPU: u.CPU, RSS: u.RSS}
		m := measurement{ID: "P11", Title: "produced → visible, " + q.name, Variant: variant + fmt.Sprintf("20 tables, 1,000 records/s, %d watched", len(waits)), Against: "itself", MaxWall: q.most, Records: records}
		m.add(wait, wait)
		r.add(m)
	}
	return nil
}

// visible asks every millisecond whether a row is there and gives the seconds from at until it was.
func visible(ctx context.Context, db *sql.DB, table string, id int, at time.Time) (float64, error) {
	const patience = 10 * time.Second
	query := "SELECT id FROM " + table + " WHERE id = ?"
	stmt, err := db.PrepareContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Close() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var got int
		switch err := stmt.QueryRowContext(ctx, id).Scan(&got); {
		case err == nil:
			return time.Since(at).Seconds(), nil
		case !errors.Is(err, sql.ErrNoRows):
			return 0, err
		case time.Since(at) > patience:
			return 0, fmt.Errorf("row %d of %s is not visible after %v", id, table, patience)
		}
		<-tick.C
	}
}

// measureManyTables is P12, 200 tables of which each gets 100 rows a second, and P16, the start with them.
func measureManyTables(ctx context.Context, c *config, r *report) error {
	const tables, rate, seconds = 200, 100, 20
	s, p, topics, stop, err := startFollowing(ctx, c, "many", tables)
	if err != nil {
		return err
	}
	defer stop()
	cpu := s.cpu()
	start := time.Now()
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for i := range rate * seconds {
		<-tick.C
		for _, t := range topics {
			p.Produce(ctx, &kgo.Record{Topic: t, Value: fmt.Appendf(nil, `{"id":%d,"v":"value %d"}`, i, i)}, nil)
		}
	}
	if err := p.Flush(ctx); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	used := s.cpu() - cpu
	for _, t := range topics {
		var got int
		for deadline := time.Now().Add(10 * time.Second); got < rate*seconds; <-tick.C {
			if err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+t).Scan(&got); err != nil {
				return err
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s has %d of %d rows", t, got, rate*seconds)
			}
		}
	}
	if c.wants("P12") {
		const commits = "SELECT commit_ms FROM information_schema.streaming_table_progress WHERE num_input_rows > 0 ORDER BY commit_ms"
		rows, err := s.db.QueryContext(ctx, commits)
		if err != nil {
			return err
		}
		var all []float64
		for rows.Next() {
			var ms float64
			if err := rows.Scan(&ms); err != nil {
				return err
			}
			all = append(all, ms)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		if len(all) == 0 {
			return errors.New("no commit is among the tables' progress")
		}
		p99 := all[min(len(all)*99/100, len(all)-1)] / 1000
		m := measurement{ID: "P12", Title: "200 tables, 100 rows a second each: commit, p99", Variant: fmt.Sprintf("%.0f %% of a core", 100*used/took), Against: "itself", MaxWall: 0.150, Records: tables * rate * seconds}
		u := usage{Wall: p99, CPU: used / took, RSS: s.peak()}
		m.add(usage{Wall: p99, CPU: 0.5, RSS: u.RSS}, u)
		m.CPUBar = 1
		r.add(m)
	}
	if !c.wants("P16") {
		return nil
	}
	m := measurement{ID: "P16", Title: "start with 200 streaming tables", Variant: "until ready", Against: "itself", MaxWall: 1, Records: tables}
	for range c.pairs {
		ready, err := s.restart(ctx)
		if err != nil {
			return err
		}
		m.add(ready, ready)
	}
	r.add(m)
	return nil
}
