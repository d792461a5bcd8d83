package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"millrace/bench/data"
)

// growth is how the cost of a query grows with one thing, which is doubled three times.
type growth struct {
	Of   string    `json:"of"`
	X    []float64 `json:"x"`
	Wall []float64 `json:"wall"`
	CPU  []float64 `json:"cpu"`
}

func (g *growth) row() string {
	cells := func(v []float64, format string) string {
		var b strings.Builder
		for i, x := range v {
			if i > 0 {
				b.WriteString(" / ")
			}
			fmt.Fprintf(&b, format, x)
		}
		return b.String()
	}
	cpu := "-"
	if middle(g.CPU) >= 0.05 { // below that it is clock ticks
		cpu = fmt.Sprintf("%.2f", slope(g.X, g.CPU))
	}
	return fmt.Sprintf("| %s | %s | %s | %.2f | %s | %s |", g.Of, cells(g.X, "%.0f"), cells(g.Wall, "%.3f"), slope(g.X, g.Wall), cells(g.CPU, "%.2f"), cpu)
}

// doubled are the steps of a growth.
var doubled = []int{1, 2, 4, 8}

// eventFields are what columns are made of.
var eventFields = []string{"type", "country", "user", "qty", "amount", "ts", "session", "url"}

// measureGrowth finds how cost grows with records, partitions, topics, columns, groups and queries at once.
func measureGrowth(ctx context.Context, c *config, r *report) error {
	if !c.wants("SLOPES") || !c.slopes {
		return nil
	}
	broker, stopBroker, err := c.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	s, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer s.stop()
	base := max(c.records/8, 8000)
	read := func(how, what string) string {
		return fmt.Sprintf("read_kafka(bootstrapServers => '%s', %s => '%s')", broker, how, what)
	}
	topic := func(name string, records, partitions int) error {
		fmt.Fprintln(os.Stderr, "producing", records, "records:", name)
		return data.Produce(ctx, broker, data.Topic{Name: name, Set: data.Events, Records: records, Partitions: int32(partitions), Codec: "lz4"})
	}
	const grouped = "SELECT " + value + ":type, COUNT(*), SUM(" + value + ":qty::bigint) FROM %s GROUP BY 1"
	if err := topic("growth", base, 8); err != nil {
		return err
	}
	common := read("subscribe", "growth")
	for _, dimension := range []struct {
		of string
		// at prepares step n and gives its size, its query, and how often it runs at once.
		at func(n int) (x int, query string, times int, err error)
	}{
		{"records", func(n int) (int, string, int, error) {
			name := fmt.Sprintf("growth-records-%d", n)
			return n * base, fmt.Sprintf(grouped, read("subscribe", name)), 1, topic(name, n*base, 8)
		}},
		{"partitions", func(n int) (int, string, int, error) {
			name := fmt.Sprintf("growth-partitions-%d", n)
			return 4 * n, fmt.Sprintf(grouped, read("subscribe", name)), 1, topic(name, base, 4*n)
		}},
		{"topics", func(n int) (int, string, int, error) {
			name := fmt.Sprintf("growth-topics-%d", n)
			return 25 * n, "SELECT COUNT(value), SUM(length(value)) FROM " + read("subscribePattern", name+"-.*"), 1, fillTopics(ctx, broker, name, 25*n, base/(25*n))
		}},
		{"columns", func(n int) (int, string, int, error) {
			var columns []string
			for _, f := range eventFields[:n] {
				columns = append(columns, "MAX("+value+":"+f+")")
			}
			return n, "SELECT " + strings.Join(columns, ", ") + " FROM " + common, 1, nil
		}},
		{"groups", func(n int) (int, string, int, error) {
			return 10_000 * n, fmt.Sprintf("SELECT COUNT(*), SUM(n) FROM (SELECT %s:id::bigint %% %d AS g, COUNT(*) AS n FROM %s GROUP BY 1) AS t", value, 10_000*n, common), 1, nil
		}},
		{"queries at once", func(n int) (int, string, int, error) { return n, fmt.Sprintf(grouped, common), n, nil }},
	} {
		g := growth{Of: dimension.of}
		for _, n := range doubled {
			x, query, times, err := dimension.at(n)
			if err != nil {
				return fmt.Errorf("growth with %s: %w", dimension.of, err)
			}
			wall, cpu, err := s.repeat(ctx, query, times, c.pairs)
			if err != nil {
				return fmt.Errorf("growth with %s: %w", dimension.of, err)
			}
			g.X, g.Wall, g.CPU = append(g.X, float64(x)), append(g.Wall, wall), append(g.CPU, cpu)
		}
		r.Growth = append(r.Growth, g)
		fmt.Fprintln(os.Stderr, g.row())
	}
	return nil
}

// repeat runs a query several times at once, again and again, and gives the medians of wall time and CPU of a round. The first is not counted.
func (s *server) repeat(ctx context.Context, query string, atOnce, rounds int) (wall, cpu float64, err error) {
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxIdleConns(atOnce)
	var walls, cpus []float64
	for round := range rounds + 1 {
		before, start := s.cpu(), time.Now()
		errs := make([]error, atOnce)
		var wg sync.WaitGroup
		for i := range atOnce {
			wg.Go(func() { errs[i] = s.discard(ctx, db, query) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return 0, 0, err
			}
		}
		if round > 0 {
			walls, cpus = append(walls, time.Since(start).Seconds()), append(cpus, s.cpu()-before)
		}
	}
	return middle(walls), max(middle(cpus), 0.001), nil
}

// discard runs a query and reads its rows.
func (s *server) discard(ctx context.Context, db *sql.DB, query string) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}
